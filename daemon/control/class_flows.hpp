// The flows of classes, as the workers have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "control/class_lookup.hpp"
#include "control/control_handler.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

struct FlowOfClass {
  FlowStatistics flow;
  const ClassConfig* config;
  const ShapeStatistics* shape;  // of a pattern's class: the instance's

  std::uint64_t size() const { return flow.sent.packets + flow.dropped.packets + flow.queued.packets; }
};

// The classes' flows, largest first, each with the class of its own interface. A bypass class has none. One whose interface
// has gone meanwhile has none either, where it is one of several. Throws RequestError.
std::vector<FlowOfClass> collect_flows(const std::vector<FoundClass>& classes, std::size_t limit,
                                       DaemonControl& daemon);

// How many records there are of the class's flows.
std::uint64_t flow_records(const FoundClass& found);

}  // namespace headgate
