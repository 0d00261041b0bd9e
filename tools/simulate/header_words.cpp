#include "header_words.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "config/dscp_grammar.hpp"
#include "config/mark_grammar.hpp"
#include "traffic_grammar.hpp"

namespace headgate {
namespace {

// The part in front of a port, and the port; what a bracket holds has colons of its own.
std::pair<TrafficWord, TrafficWord> without_port(const TrafficWord& word) {
  const std::size_t bracket = word.text.rfind(']');
  const bool only_address = bracket == std::string_view::npos &&
                            std::count(word.text.begin(), word.text.end(), ':') > 1;  // 2001:db8::1
  const std::size_t colon = only_address
                                ? std::string_view::npos
                                : word.text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  TrafficWord address{word.text.substr(0, colon), word.column};
  TrafficWord port{{}, word.column + word.text.size()};
  if (colon != std::string_view::npos) port = {word.text.substr(colon + 1), word.column + colon + 1};
  if (address.text.starts_with('[') && address.text.ends_with(']')) {
    address.text = address.text.substr(1, address.text.size() - 2);
    ++address.column;
  }
  return {address, port};
}

// Returns whether it is one of IPv6.
bool read_address(const TrafficWord& word, std::array<std::uint8_t, 16>& address) {
  const std::string text(word.text);
  address = {};
  if (inet_pton(AF_INET6, text.c_str(), address.data()) == 1) return true;
  address[10] = address[11] = 0xff;
  if (inet_pton(AF_INET, text.c_str(), address.data() + 12) == 1) return false;
  throw TrafficError(word.column, quoted(word.text) +
                                      " is no address; expected such as 10.0.0.1:1000 or [2001:db8::1]:1000");
}

}  // namespace

EndpointWord read_endpoint(const TrafficWord& word, const TrafficSource& source) {
  EndpointWord read;
  const auto [address, port] = without_port(word);
  read.ipv6 = read_address(address, read.endpoint.address);
  if (port.text.empty()) return read;
  if (source.protocol == IPPROTO_ICMP)
    throw TrafficError(port.column - 1, "icmp has no ports; expected the address alone");
  read.has_port = true;
  read.endpoint.port = static_cast<std::uint16_t>(number_of(port, 0, 65'535));
  return read;
}

bool take_protocol(const TrafficWord& word, TrafficSource& source) {
  if (word.text == "udp") {
    source.protocol = IPPROTO_UDP;
  } else if (word.text == "tcp") {
    source.protocol = IPPROTO_TCP;
  } else if (word.text == "icmp") {
    source.protocol = IPPROTO_ICMP;
  } else {
    return false;
  }
  return true;
}

void read_endpoints(const TrafficWord& word, TrafficSource& source) {
  const std::size_t arrow = word.text.find('>');
  if (arrow == std::string_view::npos)
    throw TrafficError(word.column,
                       quoted(word.text) + " has no \">\"; expected such as 10.0.0.1:1000>10.0.0.2:53");
  const EndpointWord from = read_endpoint({word.text.substr(0, arrow), word.column}, source);
  source.ipv6 = from.ipv6;
  source.source = from.endpoint;
  const TrafficWord to{word.text.substr(arrow + 1), word.column + arrow + 1};
  const EndpointWord read_to = read_endpoint(to, source);
  source.destination = read_to.endpoint;
  if (read_to.ipv6 != source.ipv6)
    throw TrafficError(to.column, "the addresses are not of one family; expected two of IPv4 or two of IPv6");
}

void name_icmp_of_ipv6(TrafficSource& source) {
  if (source.ipv6 && source.protocol == IPPROTO_ICMP) source.protocol = IPPROTO_ICMPV6;
}

namespace {

void read_dscp_option(TrafficWords& words, TrafficSource& source) {
  const TrafficWord word = words.next("a code point, such as ef or 46");
  std::uint64_t points = 0;
  check_reading(read_dscp(word.text, points), word);
  source.traffic_class = static_cast<std::uint8_t>(source.traffic_class | std::countr_zero(points) << 2);
}

void read_mark_option(TrafficWords& words, TrafficSource& source) {
  const TrafficWord word = words.next("the firewall's mark, such as 0x10");
  std::vector<MarkSelector> marks;
  check_reading(read_mark(word.text, marks), word);
  source.mark = marks.front().value;
}

}  // namespace

bool take_header_option(const TrafficWord& word, TrafficWords& words, TrafficSource& source) {
  if (word.text == "dscp") {
    read_dscp_option(words, source);
  } else if (word.text == "ecn") {
    source.traffic_class |= 2;  // ECT(0)
  } else if (word.text == "l4s") {
    source.traffic_class |= 1;  // ECT(1)
  } else if (word.text == "mark") {
    read_mark_option(words, source);
  } else {
    return false;
  }
  return true;
}

}  // namespace headgate
