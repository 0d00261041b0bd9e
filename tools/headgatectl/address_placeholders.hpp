// Text without its addresses: each IPv4, IPv6 and MAC address has a placeholder in its place.
//
// The same address has the same placeholder in all texts, however it is written: "ipv4-1", "ipv6-2", "mac-1". What stands
// behind it stays, so a network keeps its length: "ipv4-3/24". 0.0.0.0 and ::, which say nothing of a host, stay too.
// Also taken are networks cut short behind the word net ("net 10.1"), and the MAC address in a name of an interface such
// as enx0123456789ab. In doubt it takes too much: a version of four numbers is an address.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace headgate {

class AddressPlaceholders {
 public:
  std::string replace(std::string_view text);

  std::size_t addresses() const { return placeholders_.size(); }  // that were replaced, each once

 private:
  std::string placeholder(const std::string& kind, const std::string& address);

  std::map<std::string, std::string> placeholders_;  // by kind and address in one way of writing
  std::map<std::string, std::size_t> of_kind_;       // how many there are
};

}  // namespace headgate
