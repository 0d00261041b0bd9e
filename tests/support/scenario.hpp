// A scenario file, read. See tests/scenarios/README.md for the grammar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/shaper.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/drop_reason.hpp"

namespace headgate {

struct ScenarioFlow {
  ClassIndex class_index = 0;
  std::string name;
  auto operator<=>(const ScenarioFlow&) const = default;
};

struct ScenarioPacket {
  Duration time{};
  ScenarioFlow flow;
  std::size_t bytes = 0;
};

struct ScenarioSent {
  Duration time{};
  ScenarioFlow flow;
  bool operator==(const ScenarioSent&) const = default;
};

struct ScenarioDrop {
  Duration time{};
  ScenarioFlow flow;
  DropReason reason = DropReason::queue_full;
  auto operator<=>(const ScenarioDrop&) const = default;
};

struct ScenarioChange {
  Duration time{};
  ClassIndex class_index = 0;
  ClassConfig config;
};

struct Scenario {
  std::vector<ClassConfig> classes;
  ShaperLimits limits{.max_flows = 1000};
  std::vector<ScenarioPacket> packets;  // in order of time
  std::vector<ScenarioChange> changes;  // in order of time
  std::optional<std::pair<Duration, Duration>> asleep;
  std::vector<ScenarioSent> sent;     // expected, in order of time
  std::vector<ScenarioDrop> dropped;  // expected, sorted
};

// Throws std::runtime_error, with the line, for what is no scenario.
Scenario read_scenario(const std::string& path);

}  // namespace headgate
