#include "config/quantity_text.hpp"

#include <array>
#include <span>
#include <vector>

#include "config/reading.hpp"

namespace headgate {
namespace {

struct Unit {
  std::uint64_t size;
  std::string_view name;
};

// `units` from the largest to one of size 1.
std::string in_largest_whole_unit(std::uint64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value >= unit.size && value % unit.size == 0)
      return std::to_string(value / unit.size).append(unit.name);
  }
  return std::to_string(value).append(units.back().name);
}

// A list of the file, or its only element bare.
std::string as_list(const std::vector<std::string>& elements) {
  if (elements.empty()) return {};
  if (elements.size() == 1) return elements.front();
  std::string text = "[";
  for (const std::string& element : elements) {
    if (text.size() > 1) text += ", ";
    text += quoted(element);
  }
  return text + "]";
}

// "dst", "dst/24", "dst/24,64"
std::string with_prefix(std::string part, unsigned prefix_v4, unsigned prefix_v6) {
  if (prefix_v4 == 32 && prefix_v6 == 128) return part;
  part.append("/").append(std::to_string(prefix_v4));
  if (prefix_v6 != 128) part.append(",").append(std::to_string(prefix_v6));
  return part;
}

std::string_view unit_of(PacketRate rate) {
  switch (rate.seconds) {
    case 60:
      return "p/min";
    case 3'600:
      return "p/h";
    case 86'400:
      return "p/d";
    default:
      return "pps";
  }
}

void append_addresses(const KeySpec& key, std::vector<std::string>& parts) {
  const bool same_prefixes =
      key.source_prefix_v4 == key.destination_prefix_v4 && key.source_prefix_v6 == key.destination_prefix_v6;
  if (key.ports) {
    parts.emplace_back("5-tuple");
    return;
  }
  if (key.source_address && key.destination_address && same_prefixes) {
    parts.push_back(with_prefix("src-dst", key.source_prefix_v4, key.source_prefix_v6));
    return;
  }
  if (key.source_address) parts.push_back(with_prefix("src", key.source_prefix_v4, key.source_prefix_v6));
  if (key.destination_address) {
    parts.push_back(with_prefix("dst", key.destination_prefix_v4, key.destination_prefix_v6));
  }
}

}  // namespace

std::string to_text(PacketRate rate) {
  return std::to_string(rate.packets) + std::string(unit_of(rate));
}

std::string to_text(BitRate rate) {
  static constexpr std::array<Unit, 4> kUnits = {
      {{1'000'000'000, "gbit"}, {1'000'000, "mbit"}, {1'000, "kbit"}, {1, "bit"}}};
  return in_largest_whole_unit(rate.bits_per_second, kUnits);
}

std::string to_text(DataSize size) {
  static constexpr std::array<Unit, 4> kUnits = {
      {{1ULL << 30, "gb"}, {1ULL << 20, "mb"}, {1ULL << 10, "kb"}, {1, "b"}}};
  return in_largest_whole_unit(size.bytes, kUnits);
}

std::string to_text(Duration time) {
  static constexpr std::array<Unit, 3> kUnits = {{{1'000'000, "s"}, {1'000, "ms"}, {1, "us"}}};
  const auto nanoseconds = static_cast<std::uint64_t>(time.count());
  std::string fraction = std::to_string(nanoseconds % 1000);
  if (fraction == "0") return in_largest_whole_unit(nanoseconds / 1000, kUnits);
  fraction.insert(0, 3 - fraction.size(), '0');
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return std::to_string(nanoseconds / 1000) + "." + fraction + "us";
}

std::string to_text(const Rate& rate) {
  std::vector<std::string> elements;
  if (rate.packets) elements.push_back(to_text(*rate.packets));
  if (rate.bits) elements.push_back(to_text(*rate.bits));
  return as_list(elements);
}

std::string to_text(const Burst& burst) {
  std::vector<std::string> elements;
  if (burst.packets) elements.push_back(std::to_string(*burst.packets) + "p");
  if (burst.bytes) elements.push_back(to_text(*burst.bytes));
  return elements.empty() ? "1p" : as_list(elements);
}

std::string to_text(const QueueCapacity& queue) {
  std::vector<std::string> elements;
  if (queue.packets) elements.push_back(std::to_string(*queue.packets) + "p");
  if (queue.bytes) elements.push_back(to_text(*queue.bytes));
  if (queue.time) elements.push_back(to_text(*queue.time));
  return as_list(elements);
}

std::string to_text(const KeySpec& key) {
  std::vector<std::string> parts;
  if (key.vlan) parts.emplace_back("vlan");
  append_addresses(key, parts);
  if (key.source_mac) parts.emplace_back("src-mac");
  if (key.destination_mac) parts.emplace_back("dst-mac");
  return parts.empty() ? "class" : as_list(parts);
}

std::string said_text(const KeySpec& key) {
  const std::string text = to_text(key);
  return text.starts_with('[') ? text : quoted(text);
}

std::string_view to_text(Direction direction) {
  return direction == Direction::egress ? "egress" : "ingress";
}

std::string_view to_text(DivertMethod method) {
  switch (method) {
    case DivertMethod::automatic:
      return "auto";
    case DivertMethod::tcx:
      return "tcx";
    case DivertMethod::clsact:
      return "clsact";
  }
  return "";
}

std::string_view to_text(Segmentation segmentation) {
  switch (segmentation) {
    case Segmentation::precise:
      return "precise";
    case Segmentation::automatic:
      return "auto";
    case Segmentation::whole:
      return "whole";
  }
  return "";
}

std::string_view to_text(Precision precision) {
  return precision == Precision::normal ? "normal" : "high";
}

std::string_view to_text(QueueManagement management) {
  return management == QueueManagement::none ? "none" : "codel";
}

std::string_view to_text(ClassAction action) {
  return action == ClassAction::shape ? "shape" : "police";
}

std::string_view to_text(OnLoss on_loss) {
  switch (on_loss) {
    case OnLoss::hold:
      return "hold";
    case OnLoss::open:
      return "open";
    default:
      return "floor";
  }
}

std::string_view to_text(Limiter limiter) {
  switch (limiter) {
    case Limiter::token_bucket:
      return "token-bucket";
    case Limiter::fixed_window:
      return "fixed-window";
    case Limiter::sliding_window:
      return "sliding-window";
  }
  return {};
}

std::string limit_text(const WindowConfig& window) {
  if (window.packets) return std::to_string(*window.packets) + "p";
  return window.bytes ? to_text(*window.bytes) : "";
}

std::string_view to_text(CaptureMethod capture) {
  switch (capture) {
    case CaptureMethod::automatic:
      return "auto";
    case CaptureMethod::bpf:
      return "bpf";
    case CaptureMethod::ring:
      return "ring";
    case CaptureMethod::pcap:
      return "pcap";
  }
  return {};
}

}  // namespace headgate
