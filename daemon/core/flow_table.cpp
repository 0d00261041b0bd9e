#include "core/flow_table.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>

namespace headgate {
namespace {

// A number and a free bit must fit 32 bits.
constexpr std::uint32_t kMaxFlows = (std::uint32_t{1} << 30) - 1;

}  // namespace

FlowTable::FlowTable(std::uint32_t max_flows, MemorySource& memory)
    : records_(std::clamp<std::uint32_t>(max_flows, 1, kMaxFlows), memory),
      rest_(records_.capacity(), memory),
      cells_(2 * records_.capacity(), memory),
      number_bits_(static_cast<unsigned>(std::bit_width(records_.capacity()))),
      number_mask_((std::uint32_t{1} << number_bits_) - 1) {
  if (!cells_.grow_to(cells_.capacity())) throw std::bad_alloc();
}

FlowNumber FlowTable::find(std::uint32_t hash, std::uint16_t class_number, const FlowKey& key) const {
  for (std::uint32_t at = home(hash); cells_[at] != 0; at = behind(at)) {
    if ((cells_[at] & ~number_mask_) != tag(hash)) continue;
    if (holds(number(cells_[at]), class_number, key)) return number(cells_[at]);
  }
  return kNoFlow;
}

FlowNumber FlowTable::insert(std::uint32_t hash, std::uint16_t class_number, const FlowKey& key) {
  const FlowNumber flow = take_record();
  if (flow == kNoFlow) return flow;
  ++size_;
  records_[flow] = FlowRecord{.hash = hash, .class_number = class_number};
  rest_[flow] = Rest{.key = key};
  std::uint32_t at = home(hash);
  while (cells_[at] != 0) at = behind(at);
  cells_[at] = tag(hash) | (flow + 1);
  return flow;
}

// The record that was freed last; else one never used, when there is memory for it.
FlowNumber FlowTable::take_record() {
  const FlowNumber freed = free_head_;
  if (freed != kNoFlow) {
    free_head_ = records_[freed].hash;
    return freed;
  }
  if (!records_.grow_to(never_used_ + 1) || !rest_.grow_to(never_used_ + 1)) return kNoFlow;
  return never_used_++;
}

void FlowTable::erase(FlowNumber flow) {
  std::uint32_t gap = cell_of(flow);
  for (std::uint32_t at = behind(gap); cells_[at] != 0; at = behind(at)) {
    const std::uint32_t at_home = home(records_[number(cells_[at])].hash);
    // It may fill the gap unless its home lies behind the gap.
    if (steps(at_home, at) < steps(gap, at)) continue;
    cells_[gap] = cells_[at];
    gap = at;
  }
  cells_[gap] = 0;
  records_[flow].class_number = kFree;
  records_[flow].hash = free_head_;
  free_head_ = flow;
  --size_;
}

FlowNumber FlowTable::likely(std::uint32_t hash) const {
  for (std::uint32_t at = home(hash); cells_[at] != 0; at = behind(at)) {
    if ((cells_[at] & ~number_mask_) != tag(hash)) continue;
    const FlowNumber flow = number(cells_[at]);
    prefetch(flow);
    const auto* key = reinterpret_cast<const char*>(&rest_[flow].key);
    prefetch_line(key);
    prefetch_line(key + sizeof(FlowKey) - 1);
    return flow;
  }
  return kNoFlow;
}

std::uint32_t FlowTable::cell_of(FlowNumber flow) const {
  std::uint32_t at = home(records_[flow].hash);
  while (number(cells_[at]) != flow) at = behind(at);
  return at;
}

}  // namespace headgate
