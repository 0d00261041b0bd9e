// Errors and warnings as they are found, with their places.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_file.hpp"
#include "config/reading.hpp"

namespace headgate {

struct Place {
  std::size_t line = 0;  // from 1; 0: no place in the file
  std::size_t column = 0;
};

class Findings {
 public:
  explicit Findings(std::string file) : file_(std::move(file)) {}

  void add_error(Place place, std::string message);
  void add_warning(Place place, std::string message);

  // What `reading` says of `key`. True when the value was read.
  bool add(Place place, std::string_view key, Reading reading);

  std::size_t errors() const { return errors_.size(); }

  // Moves all to `result`, in file order.
  void hand_over(ConfigResult& result);

 private:
  std::string file_;
  std::vector<ConfigError> errors_;
  std::vector<ConfigWarning> warnings_;
};

}  // namespace headgate
