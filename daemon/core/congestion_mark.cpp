#include "core/congestion_mark.hpp"

#include "core/traffic_class.hpp"

namespace headgate {

Ecn ecn_of(std::span<const std::byte> frame) {
  return static_cast<Ecn>(traffic_class_of(frame).value_or(0) & 3);
}

void mark_congestion(std::span<std::byte> frame) {
  set_traffic_class(frame, static_cast<std::uint8_t>(traffic_class_of(frame).value_or(0) | 3));
}

}  // namespace headgate
