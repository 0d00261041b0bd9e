// Sets of networks in the kernel, as longest-prefix tries that a program on the hook looks addresses up in.
//
// Main thread.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "linux/file_descriptor.hpp"
#include "linux/match_translator.hpp"
#include "vocabulary/network_set.hpp"

namespace headgate {

class NetworkMaps {
 public:
  // Loads them: some 100 ms for 100 000 networks. Throws std::system_error.
  explicit NetworkMaps(const NetworkSet& networks);

  NetworkTries tries() const { return {.ipv4 = ipv4_.get(), .ipv6 = ipv6_.get()}; }

 private:
  FileDescriptor ipv4_;
  FileDescriptor ipv6_;
};

// Those that anybody has. Equal sets have the same.
class SharedNetworkMaps {
 public:
  // `meanwhile` is called after each that was loaded.
  explicit SharedNetworkMaps(std::function<void()> meanwhile = {}) : meanwhile_(std::move(meanwhile)) {}

  std::shared_ptr<const NetworkMaps> get(const std::shared_ptr<const NetworkSet>& networks);

 private:
  struct Entry {
    std::shared_ptr<const NetworkSet> networks;
    std::weak_ptr<const NetworkMaps> maps;
  };
  std::function<void()> meanwhile_;
  std::vector<Entry> entries_;
};

}  // namespace headgate
