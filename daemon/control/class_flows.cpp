#include "control/class_flows.hpp"

#include <algorithm>
#include <chrono>

#include "control/request_error.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

// Where workers do not answer, further instances of a pattern are not asked after so long.
constexpr std::chrono::seconds kFlowsPatience{1};

}  // namespace

std::vector<FlowOfClass> collect_flows(const std::vector<FoundClass>& classes, std::size_t limit,
                                       DaemonControl& daemon) {
  std::vector<FlowOfClass> collected;
  const auto give_up = std::chrono::steady_clock::now() + kFlowsPatience;
  for (const FoundClass& one : classes) {
    if (one.config->bypass) continue;
    for (const ShapeStatistics* shape : one.shapes) {
      if (one.of_pattern && std::chrono::steady_clock::now() > give_up) break;
      auto flows = daemon.flows({shape->interface, shape->direction, one.config->name, limit});
      if (!flows && !one.of_pattern)
        throw RequestError{kErrorUnknownClass, "no class " + in_quotes(one.name) + " any more", {}};
      if (!flows) continue;
      for (const FlowStatistics& flow : *flows) collected.push_back({flow, one.config, shape});
    }
  }
  std::stable_sort(collected.begin(), collected.end(),
                   [](const FlowOfClass& a, const FlowOfClass& b) { return a.size() > b.size(); });
  if (collected.size() > limit)
    collected.erase(collected.begin() + static_cast<std::ptrdiff_t>(limit), collected.end());
  return collected;
}

std::uint64_t flow_records(const FoundClass& found) {
  for (const ClassStatistics& statistics : found.counted->shaper.classes) {
    if (statistics.name == found.config->name) return statistics.flows;
  }
  return 0;
}

}  // namespace headgate
