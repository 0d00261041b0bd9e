#include "traffic_words.hpp"

#include <charconv>

#include "config/quantity.hpp"
#include "traffic.hpp"
#include "traffic_grammar.hpp"

namespace headgate {

namespace {

constexpr std::string_view kBlanks = " \t\n";

}  // namespace

void TrafficWords::skip_blanks() {
  const std::size_t blanks = std::min(rest_.find_first_not_of(kBlanks), rest_.size());
  rest_.remove_prefix(blanks);
  column_ += blanks;
}

bool TrafficWords::at_end() {
  skip_blanks();
  return rest_.empty();
}

std::size_t TrafficWords::column() {
  skip_blanks();
  return column_;
}

TrafficWord TrafficWords::peek() {
  skip_blanks();
  return {rest_.substr(0, std::min(rest_.find_first_of(kBlanks), rest_.size())), column_};
}

TrafficWord TrafficWords::next(const std::string& expected) {
  const TrafficWord word = peek();
  if (word.text.empty())
    throw TrafficError(column_, std::string(whole_) + " ends here; expected " + expected);
  rest_.remove_prefix(word.text.size());
  column_ += word.text.size();
  return word;
}

bool TrafficWords::take(std::string_view word) {
  if (peek().text != word) return false;
  next({});
  return true;
}

void check_reading(const Reading& reading, const TrafficWord& word) {
  if (!reading.ok()) throw TrafficError(word.column, reading.error);
}

Duration time_of(const TrafficWord& word) {
  // The configuration has no use for it, and refuses it.
  if (word.text == "0s" || word.text == "0") return Duration::zero();
  Duration time{};
  check_reading(read_time(word.text, time), word);
  return time;
}

std::uint32_t size_of(const TrafficWord& word) {
  DataSize size;
  check_reading(read_size(word.text, size), word);
  if (size.bytes > kLongestOffered)
    throw TrafficError(word.column, quoted(word.text) + " is longer than a frame can be, " +
                                        std::to_string(kLongestOffered) + "b");
  return static_cast<std::uint32_t>(size.bytes);
}

Rate rate_of(const TrafficWord& word) {
  Rate rate;
  check_reading(read_rate(word.text, rate), word);
  return rate;
}

std::uint64_t packets_of(const TrafficWord& word) {
  QueueCapacity capacity;
  const Reading reading = read_queue(word.text, capacity);
  if (!reading.ok() || !capacity.packets)
    throw TrafficError(word.column, quoted(word.text) + " is no number of packets; expected such as \"10p\"");
  return *capacity.packets;
}

std::uint64_t number_of(const TrafficWord& word, std::uint64_t least, std::uint64_t most) {
  std::uint64_t number = 0;
  const char* const end = word.text.data() + word.text.size();
  const auto [stop, error] = std::from_chars(word.text.data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most)
    throw TrafficError(word.column, quoted(word.text) + " is not a whole number from " +
                                        std::to_string(least) + " to " + std::to_string(most));
  return number;
}

}  // namespace headgate
