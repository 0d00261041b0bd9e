// The networks that the classes of a configuration name, in the file itself or in files of their own.
//
// A file has one network a line; "#" begins a comment. It is read once for each configuration, and classes that name the
// same networks share one set.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/reading.hpp"
#include "vocabulary/network_set.hpp"

namespace headgate {

class NetworkLists {
 public:
  static constexpr std::size_t kMostNetworks = 100'000;  // of a list, and of a file

  // `meanwhile` is called after each step that takes some time.
  explicit NetworkLists(std::function<void()> meanwhile = {}) : meanwhile_(std::move(meanwhile)) {}

  struct File {
    Networks networks;
    Reading reading;
  };
  // Reads it where that has not been done. What is wrong names the file, and the first line that is.
  const File& file(const std::string& path);

  // The set of these networks, which were given by these texts.
  std::shared_ptr<const NetworkSet> share(Networks networks, const std::vector<std::string>& texts);

  // After a step of another that took some time.
  void pause() const;

 private:
  std::function<void()> meanwhile_;
  std::map<std::string, File> files_;
  std::map<std::vector<std::string>, std::shared_ptr<const NetworkSet>> sets_;
};

// Of a file with networks: whether it is absolute. Whether there is such a file is seen when it is read.
Reading check_list_path(std::string_view path);

// One list: networks, and absolute paths of files of networks.
class NetworkListReader {
 public:
  explicit NetworkListReader(NetworkLists& lists) : lists_(lists) {}

  Reading add(std::string_view text);
  // What was added. Says of a list without networks that it has none: its files hold comments only.
  Reading settle(std::shared_ptr<const NetworkSet>& networks);

 private:
  Reading add_file(std::string_view path);

  NetworkLists& lists_;
  Networks networks_;
  std::vector<std::string> texts_;
};

}  // namespace headgate
