#include "described_packet.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <optional>
#include <string>

#include "config/suggestion.hpp"
#include "header_words.hpp"
#include "synthetic_frame.hpp"
#include "traffic_grammar.hpp"

namespace headgate {
namespace {

constexpr std::uint16_t kSourcePort = 40'000;
constexpr std::uint16_t kDestinationPort = 9;  // discard
constexpr std::uint32_t kBytes = 64;
constexpr std::size_t kMacBytes = 12;
constexpr std::uint32_t kTagBytes = 4;

constexpr std::string_view kWords[] = {"udp",   "tcp",  "icmp", "src", "dst", "sport",
                                       "dport", "vlan", "dscp", "ecn", "l4s", "mark"};

TrafficEndpoint documented(const char* ipv4, const char* ipv6, bool is_ipv6) {
  TrafficEndpoint endpoint;
  if (is_ipv6) {
    inet_pton(AF_INET6, ipv6, endpoint.address.data());
  } else {
    endpoint.address[10] = endpoint.address[11] = 0xff;
    inet_pton(AF_INET, ipv4, endpoint.address.data() + 12);
  }
  return endpoint;
}

// What the words have said so far; the whole is made of it when all have been read.
struct Description {
  TrafficSource source;
  std::optional<EndpointWord> from, to;
  std::size_t to_column = 1;
  std::optional<TrafficWord> source_port, destination_port;
  std::optional<TrafficWord> size;
  std::uint16_t vlan = 0;
};

void take_endpoints(const TrafficWord& word, Description& description) {
  const std::size_t arrow = word.text.find('>');
  const TrafficWord to{word.text.substr(arrow + 1), word.column + arrow + 1};
  description.from = read_endpoint({word.text.substr(0, arrow), word.column}, description.source);
  description.to = read_endpoint(to, description.source);
  description.to_column = to.column;
}

bool begins_with_digit(std::string_view text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

void take_word(TrafficWords& words, Description& description) {
  const TrafficWord word = words.next({});
  if (take_protocol(word, description.source)) return;
  if (take_header_option(word, words, description.source)) return;
  if (word.text == "src") {
    description.from = read_endpoint(words.next("the source address, such as 10.0.0.5"), description.source);
  } else if (word.text == "dst") {
    const TrafficWord to = words.next("the destination address, such as 1.1.1.1");
    description.to = read_endpoint(to, description.source);
    description.to_column = to.column;
  } else if (word.text == "sport") {
    description.source_port = words.next("the source port, a whole number from 0 to 65535");
  } else if (word.text == "dport") {
    description.destination_port = words.next("the destination port, a whole number from 0 to 65535");
  } else if (word.text == "vlan") {
    description.vlan = static_cast<std::uint16_t>(number_of(words.next("the VLAN, from 1 to 4094"), 1, 4094));
  } else if (word.text.find('>') != std::string_view::npos) {
    take_endpoints(word, description);
  } else if (begins_with_digit(word.text)) {
    description.size = word;
  } else {
    throw TrafficError(word.column, "no packet has " + quoted(word.text) + "; " + suggest(word.text, kWords));
  }
}

void set_addresses(Description& description) {
  TrafficSource& source = description.source;
  const auto& said = description.from ? description.from : description.to;
  if (!said)
    throw TrafficError(
        1, "the packet has no address; expected such as \"src 10.0.0.5 dst 1.1.1.1 udp dport 53\"");
  source.ipv6 = said->ipv6;
  if (description.from && description.to && description.to->ipv6 != source.ipv6)
    throw TrafficError(description.to_column,
                       "the addresses are not of one family; expected two of IPv4 or two of IPv6");
  source.source =
      description.from ? description.from->endpoint : documented("192.0.2.1", "2001:db8::1", source.ipv6);
  source.destination =
      description.to ? description.to->endpoint : documented("198.51.100.1", "2001:db8::2", source.ipv6);
  name_icmp_of_ipv6(source);
}

void set_port(const std::optional<TrafficWord>& word, const std::optional<EndpointWord>& said, bool has_ports,
              std::uint16_t otherwise, TrafficEndpoint& endpoint) {
  const bool at_address = said && said->has_port;
  if ((word || at_address) && !has_ports)
    throw TrafficError(word ? word->column : 1, "icmp has no ports; expected the addresses alone");
  if (word && at_address)
    throw TrafficError(word->column, "the port stands behind the address already; expected it once");
  if (word)
    endpoint.port = static_cast<std::uint16_t>(number_of(*word, 0, 65'535));
  else if (!at_address)
    endpoint.port = otherwise;
}

std::uint32_t length_of(const Description& description) {
  const auto least = static_cast<std::uint32_t>(header_bytes_of(description.source)) +
                     (description.vlan != 0 ? kTagBytes : 0);
  if (!description.size) return std::max(kBytes, least);
  const std::uint32_t length = size_of(*description.size);
  if (length >= least) return length;
  throw TrafficError(description.size->column, quoted(description.size->text) +
                                                   " is less than its headers; expected at least " +
                                                   std::to_string(least) + "b");
}

void insert_tag(std::vector<std::byte>& frame, std::uint16_t vlan) {
  const std::byte tag[] = {std::byte{0x81}, std::byte{0}, std::byte(vlan >> 8), std::byte(vlan & 0xff)};
  frame.insert(frame.begin() + kMacBytes, std::begin(tag), std::end(tag));
}

}  // namespace

DescribedPacket read_packet(std::string_view text) {
  TrafficWords words(text, 1, "the packet");
  Description description;
  while (!words.at_end()) take_word(words, description);
  set_addresses(description);
  TrafficSource& source = description.source;
  const bool has_ports = source.protocol == IPPROTO_UDP || source.protocol == IPPROTO_TCP;
  set_port(description.source_port, description.from, has_ports, kSourcePort, source.source);
  set_port(description.destination_port, description.to, has_ports, kDestinationPort, source.destination);
  DescribedPacket packet{.frame = {}, .length = length_of(description), .mark = source.mark};
  const std::uint32_t tag = description.vlan != 0 ? kTagBytes : 0;
  SyntheticFrame frame(source);
  const auto headers = frame.headers(0, packet.length - tag);
  packet.frame.assign(headers.begin(), headers.end());
  if (tag != 0) insert_tag(packet.frame, description.vlan);
  return packet;
}

}  // namespace headgate
