#include "support/scenario.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "support/numbered_packets.hpp"

namespace headgate {
namespace {

// The words of a statement, taken one by one.
class Words {
 public:
  explicit Words(const std::string& line) {
    std::istringstream stream(line.substr(0, line.find('#')));
    for (std::string word; stream >> word;) words_.push_back(word);
  }

  bool empty() const { return next_ == words_.size(); }
  std::string take() {
    if (empty()) throw std::runtime_error("the statement ends too early");
    return words_[next_++];
  }
  bool take_if(std::string_view word) {
    if (empty() || words_[next_] != word) return false;
    ++next_;
    return true;
  }
  void expect_end() const {
    if (!empty()) throw std::runtime_error("unexpected: " + words_[next_]);
  }

 private:
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

// "12.5" and its unit. A fraction is kept exactly, as a number of 10^-9.
struct Quantity {
  explicit Quantity(const std::string& word) {
    const std::size_t end = std::min(word.find_first_not_of("0123456789."), word.size());
    const std::string number = word.substr(0, end);
    unit = word.substr(end);
    const std::size_t point = std::min(number.find('.'), number.size());
    std::string fraction = point < number.size() ? number.substr(point + 1) : "";
    if (point == 0 || fraction.size() > 9) throw std::runtime_error("not a quantity: " + word);
    fraction.resize(9, '0');
    whole = std::stoull(number.substr(0, point));
    billionths = std::stoull(fraction);
  }

  std::uint64_t times(std::uint64_t factor) const {
    if (billionths * factor % 1'000'000'000 != 0) throw std::runtime_error("finer than its unit can be");
    return whole * factor + billionths * factor / 1'000'000'000;
  }

  std::uint64_t whole;
  std::uint64_t billionths;
  std::string unit;
};

std::optional<std::uint64_t> nanoseconds_of(const std::string& unit) {
  if (unit == "ns") return 1;
  if (unit == "us") return 1'000;
  if (unit == "ms") return 1'000'000;
  if (unit == "s") return 1'000'000'000;
  return std::nullopt;
}

Duration take_time(Words& words) {
  const std::string word = words.take();
  if (word == "0") return {};
  const Quantity quantity(word);
  const auto unit = nanoseconds_of(quantity.unit);
  if (!unit) throw std::runtime_error("not a time: " + word);
  return Duration(quantity.times(*unit));
}

std::uint64_t take_number(Words& words) {
  const Quantity quantity(words.take());
  if (!quantity.unit.empty()) throw std::runtime_error("a plain number was expected");
  return quantity.times(1);
}

void take_rate(Words& words, Rate& rate) {
  const Quantity quantity(words.take());
  if (quantity.unit == "pps") {
    rate.packets = PacketRate{quantity.times(1)};
  } else if (quantity.unit == "kbit") {
    rate.bits = BitRate{quantity.times(1'000)};
  } else if (quantity.unit == "mbit") {
    rate.bits = BitRate{quantity.times(1'000'000)};
  } else if (quantity.unit == "gbit") {
    rate.bits = BitRate{quantity.times(1'000'000'000)};
  } else {
    throw std::runtime_error("not a rate: " + quantity.unit);
  }
}

void take_burst(Words& words, Burst& burst) {
  const Quantity quantity(words.take());
  if (quantity.unit == "p") {
    burst.packets = quantity.times(1);
  } else if (quantity.unit == "b") {
    burst.bytes = DataSize{quantity.times(1)};
  } else {
    throw std::runtime_error("not a burst: " + quantity.unit);
  }
}

void take_limit(Words& words, QueueCapacity& queue) {
  const Quantity quantity(words.take());
  if (quantity.unit == "p") {
    queue.packets = quantity.times(1);
  } else if (quantity.unit == "b") {
    queue.bytes = DataSize{quantity.times(1)};
  } else if (const auto unit = nanoseconds_of(quantity.unit)) {
    queue.time = Duration(quantity.times(*unit));
  } else {
    throw std::runtime_error("not a queue limit: " + quantity.unit);
  }
}

ClassConfig take_class(Words& words) {
  ClassConfig config = shaped_class(words.take(), {}, {});
  while (!words.empty()) {
    if (words.take_if("rate")) {
      take_rate(words, config.rate);
    } else if (words.take_if("burst")) {
      take_burst(words, config.burst);
    } else if (words.take_if("queue")) {
      take_limit(words, config.queue);
    } else {
      throw std::runtime_error("rate, burst or queue was expected: " + words.take());
    }
  }
  if (config.queue == QueueCapacity{}) config.queue.packets = 100;
  return config;
}

ClassIndex find_class(const Scenario& scenario, const std::string& name) {
  for (ClassIndex index = 0; index < scenario.classes.size(); ++index) {
    if (scenario.classes[index].name == name) return index;
  }
  throw std::runtime_error("no such class: " + name);
}

ScenarioFlow take_flow(Words& words, const Scenario& scenario) {
  const std::string word = words.take();
  const std::size_t colon = word.find(':');
  if (colon != std::string::npos)
    return {find_class(scenario, word.substr(0, colon)), word.substr(colon + 1)};
  if (scenario.classes.size() != 1) throw std::runtime_error("say CLASS:FLOW when there are several classes");
  return {0, word};
}

DropReason take_reason(Words& words) {
  const std::string word = words.take();
  const auto found = std::find(kDropReasonNames.begin(), kDropReasonNames.end(), word);
  if (found == kDropReasonNames.end()) throw std::runtime_error("no such drop reason: " + word);
  return static_cast<DropReason>(found - kDropReasonNames.begin());
}

// [* COUNT [every TIME]]: appends `event` as often.
template <typename Event>
void take_repetition(Words& words, Event event, std::vector<Event>& events) {
  const std::uint64_t count = words.take_if("*") ? take_number(words) : 1;
  const Duration every = words.take_if("every") ? take_time(words) : Duration{};
  for (std::uint64_t i = 0; i < count; ++i, event.time += every) events.push_back(event);
}

void take_statement(Words& words, Scenario& scenario) {
  const std::string keyword = words.take();
  if (keyword == "class") {
    scenario.classes.push_back(take_class(words));
  } else if (keyword == "memory") {
    scenario.limits.memory.bytes = 256 * take_number(words);
  } else if (keyword == "flows") {
    scenario.limits.max_flows = static_cast<std::uint32_t>(take_number(words));
  } else if (keyword == "packet") {
    ScenarioPacket packet{.time = take_time(words), .flow = take_flow(words, scenario)};
    packet.bytes = take_number(words);
    take_repetition(words, packet, scenario.packets);
  } else if (keyword == "asleep") {
    const Duration from = take_time(words);
    scenario.asleep = {from, take_time(words)};
  } else if (keyword == "change") {
    ScenarioChange change{.time = take_time(words)};
    change.config = take_class(words);
    change.class_index = find_class(scenario, change.config.name);
    scenario.changes.push_back(std::move(change));
  } else if (keyword == "sent") {
    const ScenarioSent sent{.time = take_time(words), .flow = take_flow(words, scenario)};
    take_repetition(words, sent, scenario.sent);
  } else if (keyword == "dropped") {
    ScenarioDrop drop{.time = take_time(words), .flow = take_flow(words, scenario)};
    drop.reason = take_reason(words);
    take_repetition(words, drop, scenario.dropped);
  } else {
    throw std::runtime_error("unknown statement: " + keyword);
  }
  words.expect_end();
}

}  // namespace

Scenario read_scenario(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  Scenario scenario;
  std::size_t line_number = 0;
  for (std::string line; std::getline(file, line);) {
    ++line_number;
    Words words(line);
    if (words.empty()) continue;
    try {
      take_statement(words, scenario);
    } catch (const std::exception& error) {
      throw std::runtime_error(path + ":" + std::to_string(line_number) + ": " + error.what());
    }
  }
  const auto by_time = [](const auto& left, const auto& right) { return left.time < right.time; };
  std::stable_sort(scenario.packets.begin(), scenario.packets.end(), by_time);
  std::stable_sort(scenario.changes.begin(), scenario.changes.end(), by_time);
  std::stable_sort(scenario.sent.begin(), scenario.sent.end(), by_time);
  std::sort(scenario.dropped.begin(), scenario.dropped.end());
  return scenario;
}

}  // namespace headgate
