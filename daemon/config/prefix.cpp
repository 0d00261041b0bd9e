#include "config/prefix.hpp"

#include <arpa/inet.h>

#include <algorithm>
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

bool is_ipv4(const Prefix& prefix) {
  constexpr std::array<std::uint8_t, kIpv4Place> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return prefix.length >= kIpv4PrefixBits &&
         std::equal(kMapped.begin(), kMapped.end(), prefix.address.begin());
}

Prefix shortened(const Prefix& prefix, std::uint8_t length) {
  Prefix network = prefix;
  network.length = std::min(prefix.length, length);
  for (std::size_t bit = network.length; bit < 8 * network.address.size(); ++bit)
    network.address[bit / 8] &= static_cast<std::uint8_t>(~(0x80U >> bit % 8));
  return network;
}

std::uint8_t length_kept(const KeySpec& key, bool of_ipv4) {
  const bool destination = key.destination_address;
  if (!of_ipv4) return destination ? key.destination_prefix_v6 : key.source_prefix_v6;
  const std::uint8_t bits = destination ? key.destination_prefix_v4 : key.source_prefix_v4;
  return static_cast<std::uint8_t>(kIpv4PrefixBits + bits);
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
