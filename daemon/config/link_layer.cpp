#include "config/link_layer.hpp"

#include <charconv>
#include <optional>
#include <string>

namespace headgate {
namespace {

Reading check_bounds(std::int64_t bytes, std::int64_t least, std::int64_t most) {
  if (bytes >= least && bytes <= most) return {};
  return refuse(std::to_string(bytes) + " is out of bounds, expected " + std::to_string(least) + " to " +
                std::to_string(most) + " bytes");
}

// None: not a number, or beyond 64 bits.
std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Reading refuse_text(std::string_view text, std::string_view example) {
  return refuse(quoted(text) + " is not a whole number of bytes, expected one such as " +
                std::string(example));
}

}  // namespace

Reading read_overhead(std::int64_t bytes, ShapeConfig& shape) {
  Reading reading = check_bounds(bytes, kMinOverhead, kMaxOverhead);
  if (reading.ok()) shape.overhead = static_cast<std::int32_t>(bytes);
  return reading;
}

Reading read_mpu(std::int64_t bytes, ShapeConfig& shape) {
  Reading reading = check_bounds(bytes, 0, kMaxMpu);
  if (reading.ok()) shape.mpu = static_cast<std::uint32_t>(bytes);
  return reading;
}

Reading read_overhead(std::string_view text, ShapeConfig& shape) {
  const auto bytes = integer(text);
  return bytes ? read_overhead(*bytes, shape) : refuse_text(text, "24");
}

Reading read_mpu(std::string_view text, ShapeConfig& shape) {
  const auto bytes = integer(text);
  return bytes ? read_mpu(*bytes, shape) : refuse_text(text, "84");
}

}  // namespace headgate
