#include "line_limit.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace headgate {
namespace {

constexpr Duration kSecond = std::chrono::seconds(1);

}  // namespace

LineLimit::Reasons LineLimit::take_left_out(Instant now) {
  if (!began_ || now < *began_ + kSecond) return {};
  began_.reset();
  shown_ = 0;
  return std::exchange(left_out_, {});
}

bool LineLimit::admits(const std::string& reason, Instant now) {
  if (!began_) began_ = now;
  if (shown_ < most_) {
    ++shown_;
    return true;
  }
  ++left_out_[reason];
  return false;
}

std::optional<Instant> LineLimit::due() const {
  if (left_out_.empty()) return std::nullopt;
  return *began_ + kSecond;
}

std::uint64_t sum_of(const LineLimit::Reasons& left_out) {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : left_out) sum += count;
  return sum;
}

std::string left_out_line(const LineLimit::Reasons& left_out) {
  std::vector<std::pair<std::string, std::uint64_t>> reasons(left_out.begin(), left_out.end());
  std::stable_sort(reasons.begin(), reasons.end(), [](auto& a, auto& b) { return a.second > b.second; });
  std::string line = "... and " + std::to_string(sum_of(left_out)) + " more";
  const char* separator = ": ";
  for (const auto& [reason, count] : reasons) {
    line += separator + reason + " " + std::to_string(count);
    separator = ", ";
  }
  return line;
}

}  // namespace headgate
