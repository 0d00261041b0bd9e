#include <array>
#include <string>

#include "config/choices.hpp"
#include "config/keys.hpp"
#include "config/names.hpp"
#include "config/quantity.hpp"
#include "config/quantity_text.hpp"
#include "config/worker_count.hpp"

namespace headgate {
namespace {

constexpr DataSize kMinMemory{1ULL << 20};
constexpr Duration kMinIdle = std::chrono::milliseconds(1);
constexpr std::int64_t kMaxMark = 0xffff'ffff;
constexpr std::int64_t kMaxFlows = 1 << 24;

Reading read_own_mark(std::int64_t number, std::uint32_t& mark) {
  if (number < 1 || number > kMaxMark)
    return refuse(std::to_string(number) + " is no firewall mark, expected 1 to 0xffffffff");
  mark = static_cast<std::uint32_t>(number);
  return {};
}

Reading read_max_flows(std::int64_t number, std::uint32_t& flows) {
  if (number < 1 || number > kMaxFlows) {
    return refuse(std::to_string(number) + " is out of bounds, expected 1 to " + std::to_string(kMaxFlows));
  }
  flows = static_cast<std::uint32_t>(number);
  return {};
}

Reading read_memory(const std::string& text, DataSize& memory) {
  DataSize size;
  Reading reading = read_size(text, size);
  if (!reading.ok()) return reading;
  if (size < kMinMemory)
    return refuse(quoted(text) + " is too little, expected at least " + quoted(to_text(kMinMemory)));
  memory = size;
  return reading;
}

Reading read_idle(const std::string& text, Duration& idle) {
  Duration time{};
  Reading reading = read_time(text, time);
  if (!reading.ok()) return reading;
  if (time < kMinIdle)
    return refuse(quoted(text) + " is too short, expected at least " + quoted(to_text(kMinIdle)));
  idle = time;
  return reading;
}

Reading read_control(const std::string& text, std::string& path) {
  Reading reading = check_control_path(text);
  if (reading.ok()) path = text;
  return reading;
}

// Whether there is such a group is seen at the start.
Reading read_operators(const std::string& text, std::string& group) {
  const bool is_name =
      !text.empty() && text.size() <= 32 && text.find_first_of(" \t\r\n:,/") == std::string::npos;
  if (!is_name) return refuse(quoted(text) + " is no name of a group, expected one as in /etc/group");
  group = text;
  return {};
}

constexpr auto kKeys = std::to_array<DaemonKey>({
    {.name = "divert",
     .example = R"("auto")",
     .read =
         [](const Said& said, DaemonConfig& daemon) {
           said.text([&](const std::string& text) { return read_divert(text, daemon.divert); });
         },
     .fixed = fixed_at_start<&DaemonConfig::divert>,
     .option = {.value = "METHOD",
                .example = "tcx",
                .help = "how packets are taken out of the kernel: auto, tcx, clsact"}},
    {.name = "mark",
     .example = "0x68670000",
     .read =
         [](const Said& said, DaemonConfig& daemon) {
           said.number([&](std::int64_t number) { return read_own_mark(number, daemon.mark); });
         },
     .fixed = fixed_at_start<&DaemonConfig::mark>},
    {.name = "memory",
     .read =
         [](const Said& said, DaemonConfig& daemon) {
           said.quantity(QuantityKind::size,
                         [&](const std::string& text) { return read_memory(text, daemon.memory); });
         },
     .fixed = fixed_at_start<&DaemonConfig::memory>},
    {.name = "max_flows",
     .example = "65536",
     .read =
         [](const Said& said, DaemonConfig& daemon) {
           said.number([&](std::int64_t number) { return read_max_flows(number, daemon.max_flows); });
         },
     .fixed = fixed_at_start<&DaemonConfig::max_flows>},
    {.name = "idle",
     .read =
         [](const Said& said, DaemonConfig& daemon) {
           said.quantity(QuantityKind::time,
                         [&](const std::string& text) { return read_idle(text, daemon.idle); });
         },
     .fixed = fixed_at_start<&DaemonConfig::idle>},
    {.name = "control",
     .example = R"("/run/headgate/control.sock")",
     .read =
         [](const Said& said, DaemonConfig& daemon) {
           said.text([&](const std::string& text) { return read_control(text, daemon.control); });
         },
     .fixed = fixed_at_start<&DaemonConfig::control>,
     .option = {.value = "PATH",
                .example = "/run/headgate/control.sock",
                .help = "the control socket (/run/headgate/control.sock)"}},
    {.name = "workers",
     .example = "2",
     .read =
         [](const Said& said, DaemonConfig& daemon) {
           said.number([&](std::int64_t count) { return read_workers(count, daemon.workers); });
         },
     .fixed = fixed_at_start<&DaemonConfig::workers>},
    {.name = "operators",
     .example = R"("adm")",
     .read =
         [](const Said& said, DaemonConfig& daemon) {
           said.text([&](const std::string& text) { return read_operators(text, daemon.operators); });
         },
     .fixed = fixed_at_start<&DaemonConfig::operators>},
});

}  // namespace

std::span<const DaemonKey> daemon_keys() {
  return kKeys;
}

}  // namespace headgate
