#include "traffic_grammar.hpp"

#include <algorithm>

#include "config/quantity.hpp"
#include "config/suggestion.hpp"
#include "header_words.hpp"
#include "synthetic_frame.hpp"
#include "traffic_words.hpp"

namespace headgate {
namespace {

constexpr std::uint32_t kMostFlows = 1'000'000;
constexpr std::string_view kBeginnings[] = {"udp", "tcp", "icmp", "steady", "poisson", "onoff"};
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
  if (take_protocol(word, source)) return;
  throw TrafficError(word.column,
                     "a source does not begin with " + quoted(word.text) + "; " +
                         (has_pattern ? suggest(word.text, kProtocols) : suggest(word.text, kBeginnings)));
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
  } else if (!take_header_option(word, words, source)) {
    throw TrafficError(word.column,
                       "there is no option " + quoted(word.text) + "; " + suggest(word.text, kOptions));
  }
}

TrafficSource read_source(std::string_view text, std::size_t column) {
  TrafficWords words(text, column);
  TrafficSource source;
  read_pattern(words, source);
  read_protocol(words, source);
  read_endpoints(words.next("from where to where, such as 10.0.0.1:1000>10.0.0.2:53"), source);
  name_icmp_of_ipv6(source);
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
