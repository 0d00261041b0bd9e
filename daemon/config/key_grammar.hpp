// The grammar of `key`: which flows of a class get a bucket of their own.
//
//   class | src | dst | src-dst | 5-tuple | src-mac | dst-mac | vlan, or a list of parts that go together
//   src, dst and src-dst take prefixes: "dst/24" (IPv4; IPv6 addresses stay whole), "dst/24,64" (IPv4 and
//   IPv6)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/reading.hpp"
#include "vocabulary/flow_key.hpp"

namespace headgate {

// Reads a key part by part. Parts that say the same twice, or that want both addresses of one side, are
// refused.
class KeyReader {
 public:
  Reading add(std::string_view text);
  const KeySpec& key() const { return key_; }

 private:
  std::vector<std::string> parts_;  // names of what was added
  KeySpec key_;
};

}  // namespace headgate
