#include "config/daemon_reader.hpp"

#include <string>

#include "config/choices.hpp"
#include "config/known_keys.hpp"
#include "config/names.hpp"
#include "config/quantity.hpp"
#include "config/quantity_text.hpp"
#include "config/table_reader.hpp"
#include "config/worker_count.hpp"

namespace headgate {
namespace {

constexpr DataSize kMinMemory{1ULL << 20};
constexpr Duration kMinIdle = std::chrono::milliseconds(1);
constexpr std::int64_t kMaxMark = 0xffff'ffff;
constexpr std::int64_t kMaxFlows = 1 << 24;

void read_mark(const TableReader& reader, DaemonConfig& config) {
  const auto mark = reader.whole_number("mark", "0x68670000");
  if (!mark) return;
  if (*mark < 1 || *mark > kMaxMark) {
    reader.findings().add_error(reader.place("mark"), "mark: " + std::to_string(*mark) +
                                                          " is no firewall mark, expected 1 to 0xffffffff");
    return;
  }
  config.mark = static_cast<std::uint32_t>(*mark);
}

void read_max_flows(const TableReader& reader, DaemonConfig& config) {
  const auto flows = reader.whole_number("max_flows", "65536");
  if (!flows) return;
  if (*flows < 1 || *flows > kMaxFlows) {
    reader.findings().add_error(reader.place("max_flows"), "max_flows: " + std::to_string(*flows) +
                                                               " is out of bounds, expected 1 to " +
                                                               std::to_string(kMaxFlows));
    return;
  }
  config.max_flows = static_cast<std::uint32_t>(*flows);
}

void read_memory(const TableReader& reader, DaemonConfig& config) {
  const auto element = reader.quantity("memory", QuantityKind::size);
  DataSize memory;
  if (!element || !reader.findings().add(element->place, "memory", read_size(element->text, memory))) return;
  if (memory < kMinMemory) {
    reader.findings().add_error(element->place, "memory: " + quoted(element->text) +
                                                    " is too little, expected at least " +
                                                    quoted(to_text(kMinMemory)));
    return;
  }
  config.memory = memory;
}

void read_idle(const TableReader& reader, DaemonConfig& config) {
  const auto element = reader.quantity("idle", QuantityKind::time);
  Duration idle{};
  if (!element || !reader.findings().add(element->place, "idle", read_time(element->text, idle))) return;
  if (idle < kMinIdle) {
    reader.findings().add_error(
        element->place,
        "idle: " + quoted(element->text) + " is too short, expected at least " + quoted(to_text(kMinIdle)));
    return;
  }
  config.idle = idle;
}

}  // namespace

DaemonConfig read_daemon(const toml::table& table, Findings& findings) {
  report_unknown_keys(table, TableKind::daemon, findings);
  const TableReader reader(table, findings);
  DaemonConfig config;
  if (const auto divert = reader.text("divert", "\"auto\"")) {
    findings.add(reader.place("divert"), "divert", read_divert(*divert, config.divert));
  }
  if (const auto control = reader.text("control", "\"/run/headgate/control.sock\"")) {
    if (findings.add(reader.place("control"), "control", check_control_path(*control)))
      config.control = *control;
  }
  read_mark(reader, config);
  read_max_flows(reader, config);
  read_memory(reader, config);
  read_idle(reader, config);
  if (const auto workers = reader.whole_number("workers", "2"))
    findings.add(reader.place("workers"), "workers", read_workers(*workers, config.workers));
  return config;
}

}  // namespace headgate
