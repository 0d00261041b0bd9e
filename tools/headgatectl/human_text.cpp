#include "human_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

namespace headgate {
namespace {

std::string three_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 9.995 ? "%.2f" : value < 99.95 ? "%.1f" : "%.0f", value);
  return text;
}

struct Scaled {
  std::string digits;
  std::string prefix;  // "", "k", "M", ...
};

Scaled scale(double value) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t step = 0;
  while (value >= 999.5 && step + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++step;
  }
  return {three_digits(value), kPrefixes[step]};
}

constexpr std::uint64_t kLargestExact = 9999;

std::string rate_text(double rate, const char* unit) {
  if (rate <= kLargestExact) return std::to_string(std::llround(rate)) + " " + unit;
  const Scaled scaled = scale(rate);
  return scaled.digits + " " + scaled.prefix + unit;
}

}  // namespace

std::string packets_text(std::uint64_t packets) {
  if (packets <= kLargestExact) return std::to_string(packets);
  const Scaled scaled = scale(static_cast<double>(packets));
  return scaled.digits + scaled.prefix;
}

std::string whole_text(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, 1, ' ');
  return text;
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes <= kLargestExact) return std::to_string(bytes) + " B";
  const Scaled scaled = scale(static_cast<double>(bytes));
  return scaled.digits + " " + scaled.prefix + "B";
}

std::string delay_text(double microseconds) {
  if (microseconds < 999.5) return three_digits(microseconds) + " us";
  if (microseconds < 999.5e3) return three_digits(microseconds / 1e3) + " ms";
  return three_digits(microseconds / 1e6) + " s";
}

std::string packet_rate_text(double packets_per_second) {
  return rate_text(packets_per_second, "pps");
}

std::string bit_rate_text(double bits_per_second) {
  return rate_text(bits_per_second, "bit/s");
}

std::string uptime_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(0.0, seconds));
  auto pair = [](std::uint64_t major, const char* major_unit, std::uint64_t minor, const char* minor_unit) {
    return std::to_string(major) + " " + major_unit + " " + std::to_string(minor) + " " + minor_unit;
  };
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return pair(whole / 60, "min", whole % 60, "s");
  if (whole < 86'400) return pair(whole / 3600, "h", whole % 3600 / 60, "min");
  return pair(whole / 86'400, "d", whole % 86'400 / 3600, "h");
}

}  // namespace headgate
