// Errors and warnings as they are found, with their places.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_file.hpp"
#include "config/reading.hpp"

namespace headgate {

struct Place {
  std::size_t line = 0;  // from 1; 0: no place in the file
  std::size_t column = 0;
  std::shared_ptr<const std::string> file;  // null: the first of the configuration
};

class Findings {
 public:
  explicit Findings(std::string file) : files_({std::move(file)}) {}
  // `files` in order; not empty.
  explicit Findings(std::vector<std::string> files) : files_(std::move(files)) {}

  void add_error(Place place, std::string message);
  void add_warning(Place place, std::string message);

  // What `reading` says of `key`. True when the value was read.
  bool add(Place place, std::string_view key, Reading reading);

  std::size_t errors() const { return errors_.size(); }

  // Moves all to `result`, in order of the files and of what stands in them.
  void hand_over(ConfigResult& result);

 private:
  const std::string& name_of(const Place& place) const { return place.file ? *place.file : files_.front(); }
  std::size_t rank_of(const ConfigError& error) const;

  std::vector<std::string> files_;
  std::vector<ConfigError> errors_;
  std::vector<ConfigWarning> warnings_;
};

}  // namespace headgate
