#include "config/decimal.hpp"

#include <algorithm>

#include "config/characters.hpp"

namespace headgate {
namespace {

__extension__ using Wide = unsigned __int128;

// Before and behind the point. 10^18 times the largest multiplier stays far within 128 bits, and no
// multiplier up to 10^13 holds the factor 10 often enough to make a nineteenth decimal whole.
constexpr std::size_t kMaxDigits = 18;

}  // namespace

std::optional<Decimal> Decimal::read(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string_view whole = text.substr(0, point);
  std::string_view fraction = point < text.size() ? text.substr(point + 1) : std::string_view{};
  const bool digits_alone = std::all_of(whole.begin(), whole.end(), is_digit) &&
                            std::all_of(fraction.begin(), fraction.end(), is_digit);
  if (whole.empty() || !digits_alone || (point < text.size() && fraction.empty())) return std::nullopt;
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));
  while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);

  Decimal decimal;
  decimal.too_long_ = whole.size() > kMaxDigits;
  decimal.too_fine_ = fraction.size() > kMaxDigits;
  if (decimal.too_long_ || decimal.too_fine_) return decimal;
  for (const char digit : whole) decimal.whole_ = decimal.whole_ * 10 + static_cast<unsigned>(digit - '0');
  for (const char digit : fraction) {
    decimal.fraction_ = decimal.fraction_ * 10 + static_cast<unsigned>(digit - '0');
    decimal.scale_ *= 10;
  }
  return decimal;
}

Decimal::Product Decimal::times(std::uint64_t multiplier, std::uint64_t maximum) const {
  if (too_long_) return {Exactness::too_large, 0};
  if (too_fine_) return {Exactness::fractional, 0};
  const Wide fraction = Wide{fraction_} * multiplier;
  const Wide value = Wide{whole_} * multiplier + fraction / scale_;
  if (value > maximum) return {Exactness::too_large, 0};
  if (fraction % scale_ != 0) return {Exactness::fractional, 0};
  return {Exactness::whole, static_cast<std::uint64_t>(value)};
}

}  // namespace headgate
