// The words of one source of --traffic, or of a packet that is described, each with its place, and the quantities that they
// say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "config/reading.hpp"
#include "headgate/clock.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

struct TrafficWord {
  std::string_view text;
  std::size_t column = 0;  // from 1
};

class TrafficWords {
 public:
  // `text` is a part of the whole that begins at `column`.
  // `whole`: what ends at the end, for messages.
  TrafficWords(std::string_view text, std::size_t column, std::string_view whole = "the source")
      : rest_(text), column_(column), whole_(whole) {}

  bool at_end();
  // Throws TrafficError, "the source ends here; expected …", at the end.
  TrafficWord next(const std::string& expected);
  TrafficWord peek();  // empty at the end
  bool take(std::string_view word);

  std::size_t column();

 private:
  void skip_blanks();

  std::string_view rest_;
  std::size_t column_;
  std::string_view whole_;
};

// Each throws TrafficError.
Duration time_of(const TrafficWord& word);
std::uint32_t size_of(const TrafficWord& word);
Rate rate_of(const TrafficWord& word);
std::uint64_t packets_of(const TrafficWord& word);  // "10p"
std::uint64_t number_of(const TrafficWord& word, std::uint64_t least, std::uint64_t most);

// What a reader of the configuration's grammar said, with its place.
void check_reading(const Reading& reading, const TrafficWord& word);

}  // namespace headgate
