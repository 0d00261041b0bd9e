#include "config/prefix.hpp"

#include <arpa/inet.h>

#include <cstddef>

#include "config/network_grammar.hpp"

namespace headgate {
namespace {

constexpr std::size_t kIpv4Place = 12;  // of the first byte of an IPv4 address

// Its address fills the last bytes; `length` is that of the range.
template <typename Number>
Prefix prefix_at_the_end(const AddressRange<Number>& network) {
  Prefix prefix;
  Number address = network.first;
  for (std::size_t i = 0; i < sizeof(Number); ++i, address >>= 8)
    prefix.address[prefix.address.size() - 1 - i] = static_cast<std::uint8_t>(address & 0xff);
  for (Number host = network.first ^ network.last; host != 0; host >>= 1) --prefix.length;
  return prefix;
}

}  // namespace

Prefix prefix_of(const AddressRange<Ipv4Number>& network) {
  Prefix prefix = prefix_at_the_end(network);
  prefix.address[kIpv4Place - 2] = prefix.address[kIpv4Place - 1] = 0xff;
  return prefix;
}

Prefix prefix_of(const AddressRange<Ipv6Number>& network) {
  return prefix_at_the_end(network);
}

Reading read_prefix(std::string_view text, Prefix& prefix) {
  Networks networks;
  Reading reading = read_network(text, networks);
  if (!reading.ok()) return reading;
  prefix = networks.ipv4.empty() ? prefix_of(networks.ipv6.front()) : prefix_of(networks.ipv4.front());
  return reading;
}

std::string to_text(const Prefix& prefix) {
  const bool ipv4 = is_ipv4(prefix);
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(ipv4 ? AF_INET : AF_INET6, prefix.address.data() + (ipv4 ? kIpv4Place : 0), text, sizeof text);
  const bool address_alone = prefix.length == 8 * prefix.address.size();
  return address_alone
             ? text
             : std::string(text) + "/" + std::to_string(prefix.length - (ipv4 ? kIpv4PrefixBits : 0));
}

}  // namespace headgate
