// Classes whose action is to police.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "support/numbered_packets.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

inline PoliceConfig window_of(Limiter limiter, std::uint64_t packets, Duration length) {
  return {
      .limiter = limiter, .window = {.packets = packets, .bytes = {}, .length = length}, .exceed_dscp = {}};
}
inline PoliceConfig fixed_window(std::uint64_t packets, Duration length) {
  return window_of(Limiter::fixed_window, packets, length);
}
inline PoliceConfig fixed_window(DataSize size, Duration length) {
  return {.limiter = Limiter::fixed_window,
          .window = {.packets = {}, .bytes = size, .length = length},
          .exceed_dscp = {}};
}
inline PoliceConfig sliding_window(std::uint64_t packets, Duration length) {
  return window_of(Limiter::sliding_window, packets, length);
}

inline ClassConfig policed_class(std::string name, PoliceConfig police,
                                 std::optional<std::uint8_t> exceed_dscp = {}) {
  ClassConfig config = shaped_class(std::move(name), {}, {});
  config.action = ClassAction::police;
  config.police = police;
  config.police.exceed_dscp = exceed_dscp;
  return config;
}
inline ClassConfig policed_class(std::string name, Rate rate, Burst burst,
                                 std::optional<std::uint8_t> exceed_dscp = {}) {
  ClassConfig config = policed_class(std::move(name), PoliceConfig{}, exceed_dscp);
  config.rate = rate;
  config.burst = burst;
  return config;
}

}  // namespace headgate
