#include "core/flow_table.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace headgate {
namespace {

// A number and a free bit must fit 32 bits.
constexpr std::uint32_t kMaxFlows = (std::uint32_t{1} << 30) - 1;

}  // namespace

FlowTable::FlowTable(std::uint32_t max_flows, std::pmr::memory_resource* memory)
    : records_(std::clamp<std::uint32_t>(max_flows, 1, kMaxFlows), memory),
      rest_(records_.size(), memory),
      slots_(2 * records_.size(), memory),
      number_bits_(static_cast<unsigned>(std::bit_width(records_.size()))),
      number_mask_((std::uint32_t{1} << number_bits_) - 1) {
  for (FlowRecord& record : records_) record.class_slot = kFree;
}

FlowNumber FlowTable::find(std::uint32_t hash, std::uint16_t class_slot, const FlowKey& key) const {
  for (std::uint32_t at = home(hash); slots_[at] != 0; at = behind(at)) {
    if ((slots_[at] & ~number_mask_) != tag(hash)) continue;
    if (holds(number(slots_[at]), class_slot, key)) return number(slots_[at]);
  }
  return kNoFlow;
}

FlowNumber FlowTable::insert(std::uint32_t hash, std::uint16_t class_slot, const FlowKey& key) {
  if (full()) return kNoFlow;
  FlowNumber flow = free_head_;
  if (flow != kNoFlow) {
    free_head_ = records_[flow].hash;
  } else {
    flow = never_used_++;
  }
  ++size_;
  records_[flow] = FlowRecord{.hash = hash, .class_slot = class_slot};
  rest_[flow] = Rest{.key = key};
  std::uint32_t at = home(hash);
  while (slots_[at] != 0) at = behind(at);
  slots_[at] = tag(hash) | (flow + 1);
  return flow;
}

void FlowTable::erase(FlowNumber flow) {
  std::uint32_t gap = slot_of(flow);
  for (std::uint32_t at = behind(gap); slots_[at] != 0; at = behind(at)) {
    const std::uint32_t at_home = home(records_[number(slots_[at])].hash);
    // It may fill the gap unless its home lies behind the gap.
    if (steps(at_home, at) < steps(gap, at)) continue;
    slots_[gap] = slots_[at];
    gap = at;
  }
  slots_[gap] = 0;
  records_[flow].class_slot = kFree;
  records_[flow].hash = free_head_;
  free_head_ = flow;
  --size_;
}

FlowNumber FlowTable::likely(std::uint32_t hash) const {
  for (std::uint32_t at = home(hash); slots_[at] != 0; at = behind(at)) {
    if ((slots_[at] & ~number_mask_) != tag(hash)) continue;
    const FlowNumber flow = number(slots_[at]);
    prefetch(flow);
    const auto* key = reinterpret_cast<const char*>(&rest_[flow].key);
    prefetch_line(key);
    prefetch_line(key + sizeof(FlowKey) - 1);
    return flow;
  }
  return kNoFlow;
}

std::uint32_t FlowTable::slot_of(FlowNumber flow) const {
  std::uint32_t at = home(records_[flow].hash);
  while (number(slots_[at]) != flow) at = behind(at);
  return at;
}

}  // namespace headgate
