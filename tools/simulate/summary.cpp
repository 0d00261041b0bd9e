#include "summary.hpp"

#include <algorithm>
#include <numeric>

#include "config/quantity_text.hpp"
#include "control/flow_key_text.hpp"
#include "core/class_plans.hpp"

namespace headgate {
namespace {

constexpr char kUnmatchedName[] = "(unmatched)";

void add_flows(SimulationSummary& summary) {
  std::vector<std::vector<double>> shares(summary.classes.size());
  for (const FlowTally& flow : summary.flows) {
    ClassSummary& of = summary.classes[flow.class_number];
    of.delays += flow.delays;
    summary.delays += flow.delays;
    if (flow.others) continue;
    ++of.flows;
    shares[flow.class_number].push_back(static_cast<double>(flow.sent.bytes));
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double index = fairness(shares[i]);
    if (shares[i].size() > 1 && index > 0) summary.classes[i].fairness = index;
  }
}

// Of what no class takes the shaper knows how much came: all of it was sent.
ClassStatistics unmatched_of(const ShaperStatistics& counted) {
  return {.name = kUnmatchedName, .received = counted.unmatched, .sent = counted.unmatched};
}

// Of a plan whose members are together.
std::string together_name(const ClassConfig& config, const FlowKey& key) {
  const auto found = std::find_if(config.plans.begin(), config.plans.end(),
                                  [&](const PlanConfig& plan) { return plan_key(plan.name) == key; });
  return found == config.plans.end() ? std::string() : found->name;
}

bool holds(const Count& received, const Count& sent, const DropCounts& dropped, const Count& queued) {
  Count sum = sent;
  sum += total(dropped);
  sum += queued;
  return received == sum;
}

}  // namespace

std::string SimulationSummary::title() const {
  if (!shape.forward_to.empty()) return shape.interface + " to " + shape.forward_to;
  return shape.interface + "/" + std::string(to_text(shape.direction));
}

std::string SimulationSummary::name_of(const FlowTally& flow) const {
  if (flow.others) return "(others)";
  const ClassConfig* const config = class_of(flow).config;
  if (config != nullptr && is_plan_key(flow.key)) return together_name(*config, flow.key);
  return to_text(decode(flow.key, config != nullptr && !config->bypass ? config->key : KeySpec{}));
}

std::unique_ptr<const SimulationSummary> summarize(Simulation& simulation, SimulationSubject subject) {
  auto summary = std::make_unique<SimulationSummary>();
  summary->subject = std::move(subject);
  summary->shape = simulation.shape();
  summary->start = simulation.start();
  summary->duration = simulation.end() - simulation.start();
  summary->counted = simulation.statistics();
  summary->control_traffic = simulation.control_traffic();
  const std::vector<ClassConfig>& classes = summary->shape.classes;
  for (std::size_t i = 0; i < classes.size(); ++i)
    summary->classes.push_back(
        {.name = classes[i].name, .config = &classes[i], .counted = summary->counted.classes[i]});
  summary->classes.push_back({.name = kUnmatchedName, .counted = unmatched_of(summary->counted)});
  const Tally& tally = simulation.tally();
  summary->flows = tally.flows();
  add_flows(*summary);
  std::stable_sort(
      summary->flows.begin(), summary->flows.end(),
      [](const FlowTally& one, const FlowTally& other) { return one.offered.bytes > other.offered.bytes; });
  summary->bin = tally.series().width();
  for (std::size_t i = 0; i <= classes.size(); ++i)
    summary->series.push_back(tally.series().bins(i, simulation.end()));
  summary->gaps = tally.gaps();
  return summary;
}

bool adds_up(const SimulationSummary& summary) {
  const ShaperStatistics& all = summary.counted;
  return holds(all.received, all.sent, all.dropped, all.queued) &&
         std::all_of(summary.classes.begin(), summary.classes.end(), [](const ClassSummary& one) {
           return holds(one.counted.received, one.counted.sent, one.counted.dropped, one.counted.queued);
         });
}

}  // namespace headgate
