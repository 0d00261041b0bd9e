#include "drop_line.hpp"

#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "control/statistics_json.hpp"
#include "human_text.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

constexpr std::uint64_t kNanoseconds = 1'000'000'000;

std::string time_of_day(std::uint64_t time) {
  const auto seconds = static_cast<std::time_t>(time / kNanoseconds);
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[48];
  std::snprintf(text, sizeof text, "%02d:%02d:%02d.%06u", local.tm_hour, local.tm_min, local.tm_sec,
                static_cast<unsigned>(time % kNanoseconds / 1000));
  return text;
}

}  // namespace

std::string drop_line(const DroppedPacket& packet, const ScreenStyle& style) {
  return time_of_day(packet.time) + "  " + styled(packet.class_name, Tone::heading, style) + "  " +
         styled(packet.reason, Tone::attention, style) + "  " +
         styled(to_text(packet.headers), Tone::plain, style) + "  " + bytes_text(packet.length);
}

nlohmann::ordered_json drop_json(const DroppedPacket& packet) {
  return {{"schema", kSchema},       {"time_ns", packet.time},          {"class", packet.class_name},
          {"reason", packet.reason}, {"text", to_text(packet.headers)}, {"key", to_json(packet.headers)},
          {"length", packet.length}};
}

}  // namespace headgate
