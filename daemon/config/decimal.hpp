// A decimal number as written, "1.5", multiplied exactly: no floating point.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headgate {

class Decimal {
 public:
  // digits, or digits.digits; nothing else, and no sign. Of any length.
  static std::optional<Decimal> read(std::string_view text);

  enum class Exactness : std::uint8_t { whole, fractional, too_large };
  struct Product {
    Exactness exactness = Exactness::whole;
    std::uint64_t value = 0;  // where whole
  };
  // This number × multiplier (at most 10^13), which must be a whole number of at most `maximum`.
  Product times(std::uint64_t multiplier, std::uint64_t maximum) const;

 private:
  std::uint64_t whole_ = 0;
  std::uint64_t fraction_ = 0;
  std::uint64_t scale_ = 1;  // the number is whole_ + fraction_ / scale_
  bool too_long_ = false;    // more digits before the point than any maximum has
  bool too_fine_ = false;    // more digits behind the point than any multiplier makes whole
};

}  // namespace headgate
