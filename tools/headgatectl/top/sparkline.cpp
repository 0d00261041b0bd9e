#include "top/sparkline.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace headgate::top {
namespace {

constexpr std::size_t kHeights = 8;
constexpr std::array<const char*, kHeights> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, kHeights> kAscii = {"_", ".", ":", "-", "=", "+", "*", "#"};

std::size_t height_of(double value, double largest) {
  if (value <= 0) return 0;
  const double share = value / largest;
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(share * (kHeights - 1))), 1,
                                 kHeights - 1);
}

}  // namespace

std::string sparkline(const std::vector<std::optional<double>>& values, std::size_t columns, bool utf8) {
  const std::size_t shown = std::min(columns, values.size());
  const auto first = values.end() - static_cast<std::ptrdiff_t>(shown);
  double largest = 0;
  for (auto value = first; value != values.end(); ++value) largest = std::max(largest, value->value_or(0));
  std::string text(columns - shown, ' ');
  for (auto value = first; value != values.end(); ++value)
    text += *value ? (utf8 ? kBlocks : kAscii)[height_of(**value, largest)] : " ";
  return text;
}

}  // namespace headgate::top
