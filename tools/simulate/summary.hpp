// What came out of a simulation, ready to be told: as a table, JSON, CSV or a page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulation.hpp"

namespace headgate {

// What was simulated, as the user said it.
struct SimulationSubject {
  std::string config;                // file
  std::vector<std::string> traffic;  // each trace and each text of --traffic
  std::uint64_t seed = 0;
  std::vector<std::string> notes;  // what a reader should know, a sentence each
};

struct ClassSummary {
  std::string name;
  const ClassConfig* config = nullptr;  // null: what no class takes
  ClassStatistics counted;              // the shaper's
  std::uint64_t flows = 0;
  ValueSpread delays;              // of the whole time
  std::optional<double> fairness;  // none: it has but one flow, or none was sent anything
};

struct SimulationSummary {
  SimulationSubject subject;
  ShapeConfig shape;
  Instant start{};
  Duration duration{};
  ShaperStatistics counted;  // received = sent + dropped + queued
  Count control_traffic;
  ValueSpread delays;
  std::vector<ClassSummary> classes;  // by class number; what no class takes is the last
  std::vector<FlowTally> flows;       // largest first, by bytes offered
  Duration bin{};
  std::vector<std::vector<SeriesBin>> series;  // by class number
  std::vector<ValueSpread> gaps;               // likewise

  // "eth0/egress"
  std::string title() const;
  const ClassSummary& class_of(const FlowTally& flow) const { return classes[flow.class_number]; }
  std::string name_of(const FlowTally& flow) const;  // "10.0.0.1 → 10.0.0.2"
};

// After Simulation::run(). The summary refers to its own `shape`: it must not be copied.
std::unique_ptr<const SimulationSummary> summarize(Simulation& simulation, SimulationSubject subject);

// Whether the law holds in total and in each class; false is a fault of headgate.
bool adds_up(const SimulationSummary& summary);

}  // namespace headgate
