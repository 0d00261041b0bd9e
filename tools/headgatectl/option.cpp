#include "option.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "invocation.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

template <typename Number>
std::optional<Number> number(const std::string& text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

[[noreturn]] void refuse(std::string_view option, const std::string& value, const std::string& expected) {
  throw UsageError("--" + std::string(option) + " \"" + value + "\" is not " + expected);
}

void read_limit(const std::string& value, Invocation& invocation) {
  const auto limit = number<std::size_t>(value);
  if (!limit || *limit < 1 || *limit > kMaxFlowLimit)
    refuse("limit", value, "a whole number from 1 to " + std::to_string(kMaxFlowLimit));
  invocation.limit = *limit;
}

void read_watch(const std::string& value, Invocation& invocation) {
  const auto seconds = value.empty() ? 1.0 : number<double>(value);
  if (!seconds || !std::isfinite(*seconds) || *seconds < 0.1 || *seconds > 86'400)
    refuse("watch", value, "a number of seconds from 0.1 to 86400");
  invocation.watch = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*seconds));
}

void read_count(const std::string& value, Invocation& invocation) {
  const auto count = number<std::uint64_t>(value);
  if (!count || *count < 1) refuse("count", value, "a whole number from 1 on");
  invocation.count = *count;
}

template <PacketEvent event>
void read_event(const std::string&, Invocation& invocation) {
  invocation.events[static_cast<std::size_t>(event)] = true;
}

constexpr Option kOptions[] = {
    {"json", 'j', Takes::nothing, "", true, "print JSON with a \"schema\" member",
     [](const std::string&, Invocation& invocation) { invocation.json = true; }},
    {"bytes", 'b', Takes::nothing, "", false, "count bytes instead of packets",
     [](const std::string&, Invocation& invocation) { invocation.bytes = true; }},
    {"all", 'a', Takes::nothing, "", false, "show each interface of a pattern, too",
     [](const std::string&, Invocation& invocation) { invocation.all = true; }},
    {"limit", 'n', Takes::value, "N", false, "show N flows, 20 unless given", read_limit},
    {"watch", 'w', Takes::number_or_nothing, "SECONDS", false,
     "again and again, each second unless given, until interrupted", read_watch},
    // That capture needs it is said by capture, with what to write.
    {"write", 'w', Takes::value_or_nothing, "FILE", false,
     "the trace of capture, in pcapng; - is standard output",
     [](const std::string& value, Invocation& invocation) { invocation.file = value; }},
    {"received", '\0', Takes::nothing, "", false, "capture what the class receives",
     read_event<PacketEvent::received>},
    {"sent", '\0', Takes::nothing, "", false, "capture what it sends", read_event<PacketEvent::sent>},
    {"dropped", '\0', Takes::nothing, "", false,
     "capture what it drops; without any of the three, all of them", read_event<PacketEvent::dropped>},
    {"count", 'c', Takes::value, "N", false, "end after N packets", read_count},
    {"control", '\0', Takes::value, "PATH", true, "control socket, /run/headgate/control.sock unless given",
     [](const std::string& value, Invocation& invocation) { invocation.control = value; }},
    {"version", '\0', Takes::nothing, "", true, "print the version of headgatectl",
     [](const std::string&, Invocation& invocation) { invocation.version = true; }},
    {"help", 'h', Takes::nothing, "", true, "print help, of a command where one is given",
     [](const std::string&, Invocation& invocation) { invocation.help = true; }},
};

}  // namespace

std::span<const Option> options() {
  return kOptions;
}

const Option& option_named(std::string_view name) {
  const auto* found = std::find_if(std::begin(kOptions), std::end(kOptions),
                                   [&](const Option& option) { return option.name == name; });
  if (found == std::end(kOptions)) throw std::logic_error("no option " + std::string(name));
  return *found;
}

}  // namespace headgate
