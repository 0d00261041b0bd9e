#include "traffic_grammar.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>

#include "config/dscp_grammar.hpp"
#include "config/mark_grammar.hpp"
#include "config/quantity.hpp"
#include "config/suggestion.hpp"
#include "synthetic_frame.hpp"
#include "traffic_words.hpp"

namespace headgate {
namespace {

constexpr std::uint32_t kMostFlows = 1'000'000;
constexpr std::string_view kBeginnings[] = {"udp", "tcp", "icmp", "steady", "poisson", "onoff"};
constexpr std::string_view kProtocols[] = {"udp", "tcp", "icmp"};
constexpr std::string_view kOptions[] = {"from", "to",  "flows", "burst", "count",
                                         "dscp", "ecn", "l4s",   "mark"};

void read_pattern(TrafficWords& words, TrafficSource& source) {
  if (words.take("steady")) return;
  if (words.take("poisson")) {
    source.pattern = ArrivalPattern::poisson;
  } else if (words.take("onoff")) {
    source.pattern = ArrivalPattern::on_off;
    const TrafficWord on = words.next("how long it sends, a time such as 200ms");
    source.on = time_of(on);
    const TrafficWord off = words.next("how long it is silent, a time such as 800ms");
    source.off = time_of(off);
    if (source.on <= Duration::zero())
      throw TrafficError(on.column, "it must send for some time; expected such as 200ms");
  }
}

void read_protocol(TrafficWords& words, TrafficSource& source) {
  const bool has_pattern = source.pattern != ArrivalPattern::steady;
  const TrafficWord word = words.next(list_of_words(kProtocols));
  if (word.text == "udp") {
    source.protocol = IPPROTO_UDP;
  } else if (word.text == "tcp") {
    source.protocol = IPPROTO_TCP;
  } else if (word.text == "icmp") {
    source.protocol = IPPROTO_ICMP;
  } else {
    throw TrafficError(word.column,
                       "a source does not begin with " + quoted(word.text) + "; " +
                           (has_pattern ? suggest(word.text, kProtocols) : suggest(word.text, kBeginnings)));
  }
}

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

bool read_endpoint(const TrafficWord& word, const TrafficSource& source, TrafficEndpoint& endpoint) {
  const auto [address, port] = without_port(word);
  const bool ipv6 = read_address(address, endpoint.address);
  if (port.text.empty()) return ipv6;
  if (source.protocol == IPPROTO_ICMP)
    throw TrafficError(port.column - 1, "icmp has no ports; expected the address alone");
  endpoint.port = static_cast<std::uint16_t>(number_of(port, 0, 65'535));
  return ipv6;
}

void read_endpoints(TrafficWords& words, TrafficSource& source) {
  const TrafficWord word = words.next("from where to where, such as 10.0.0.1:1000>10.0.0.2:53");
  const std::size_t arrow = word.text.find('>');
  if (arrow == std::string_view::npos)
    throw TrafficError(word.column,
                       quoted(word.text) + " has no \">\"; expected such as 10.0.0.1:1000>10.0.0.2:53");
  source.ipv6 = read_endpoint({word.text.substr(0, arrow), word.column}, source, source.source);
  const TrafficWord to{word.text.substr(arrow + 1), word.column + arrow + 1};
  if (read_endpoint(to, source, source.destination) != source.ipv6)
    throw TrafficError(to.column, "the addresses are not of one family; expected two of IPv4 or two of IPv6");
  if (source.ipv6 && source.protocol == IPPROTO_ICMP) source.protocol = IPPROTO_ICMPV6;
}

void read_size(TrafficWords& words, TrafficSource& source) {
  const TrafficWord word = words.next("the size of a frame, such as 1200b, or 64b..1514b");
  const std::size_t dots = word.text.find("..");
  const TrafficWord least{word.text.substr(0, dots), word.column};
  source.least_bytes = source.most_bytes = size_of(least);
  if (dots != std::string_view::npos) {
    const TrafficWord most{word.text.substr(dots + 2), word.column + dots + 2};
    source.most_bytes = size_of(most);
    if (source.most_bytes < source.least_bytes)
      throw TrafficError(most.column, "the second size is less than the first; expected the larger one here");
  }
  const std::size_t headers = header_bytes_of(source);
  if (source.least_bytes < headers)
    throw TrafficError(word.column, quoted(least.text) + " is less than its headers; expected at least " +
                                        std::to_string(headers) + "b");
}

void read_flows(TrafficWords& words, TrafficSource& source) {
  source.flows = static_cast<std::uint32_t>(number_of(words.next("how many flows"), 1, kMostFlows));
  if (words.take("sources")) {
    source.flows_by = FlowsBy::source_address;
  } else if (words.take("destinations")) {
    source.flows_by = FlowsBy::destination_address;
  } else {
    words.take("ports");
  }
}

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

void read_option(TrafficWords& words, TrafficSource& source) {
  const TrafficWord word = words.next({});
  if (word.text == "from") {
    source.from = time_of(words.next("a time since the beginning, such as 1s"));
  } else if (word.text == "to") {
    const TrafficWord to = words.next("a time since the beginning, such as 9s");
    source.to = time_of(to);
  } else if (word.text == "flows") {
    read_flows(words, source);
  } else if (word.text == "burst") {
    const TrafficWord burst = words.next("how many packets come at once, such as 10p");
    source.burst = static_cast<std::uint32_t>(std::min<std::uint64_t>(packets_of(burst), kMaxBurstPackets));
  } else if (word.text == "count") {
    source.count = packets_of(words.next("how many packets come in all, such as 100p"));
  } else if (word.text == "dscp") {
    read_dscp_option(words, source);
  } else if (word.text == "ecn") {
    source.traffic_class |= 2;  // ECT(0)
  } else if (word.text == "l4s") {
    source.traffic_class |= 1;  // ECT(1)
  } else if (word.text == "mark") {
    read_mark_option(words, source);
  } else {
    throw TrafficError(word.column,
                       "there is no option " + quoted(word.text) + "; " + suggest(word.text, kOptions));
  }
}

TrafficSource read_source(std::string_view text, std::size_t column) {
  TrafficWords words(text, column);
  TrafficSource source;
  read_pattern(words, source);
  read_protocol(words, source);
  read_endpoints(words, source);
  read_size(words, source);
  source.rate = rate_of(words.next("the rate of each flow, such as 5mbit or 1000pps"));
  while (!words.at_end()) read_option(words, source);
  if (source.to && *source.to <= source.from)
    throw TrafficError(column, "the source ends before it begins; expected a \"to\" behind its \"from\"");
  if (source.flows > 65'536 && source.flows_by == FlowsBy::source_port)
    throw TrafficError(
        column, "there are but 65536 ports; expected \"sources\" or \"destinations\" behind so many flows");
  return source;
}

}  // namespace

std::vector<TrafficSource> read_traffic(std::string_view text) {
  std::vector<TrafficSource> sources;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(';', from), text.size());
    const std::string_view one = text.substr(from, to - from);
    // A ";" at the end is none between two.
    if (one.find_first_not_of(" \t\n") != std::string_view::npos) {
      sources.push_back(read_source(one, from + 1));
    } else if (to < text.size() || sources.empty()) {
      throw TrafficError(
          from + 1, "there is no source; expected such as \"udp 10.0.0.1:1000>10.0.0.2:53 1200b 5mbit\"");
    }
    from = to + 1;
  }
  return sources;
}

}  // namespace headgate
