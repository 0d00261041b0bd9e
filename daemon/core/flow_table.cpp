#include "core/flow_table.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>
#include <utility>

namespace headgate {
namespace {

// A number and a free bit must fit 32 bits.
constexpr std::uint32_t kMaxFlows = (std::uint32_t{1} << 30) - 1;

constexpr std::size_t kFirstCells = 16'384;  // of an index that grows
constexpr std::size_t kGrowth = 4;
// Records that move to new cells with each that is inserted: all have long before the old cells are full.
constexpr FlowNumber kMovedAtOnce = 8;

}  // namespace

FlowTable::FlowTable(std::uint32_t max_flows, MemorySource& memory, FlowIndex index)
    : records_(std::clamp<std::uint32_t>(max_flows, 1, kMaxFlows), memory),
      rest_(records_.capacity(), memory),
      memory_(memory),
      whole_index_(2 * records_.capacity()),
      cells_(index == FlowIndex::whole ? whole_index_ : std::min(whole_index_, kFirstCells), memory),
      number_bits_(static_cast<unsigned>(std::bit_width(records_.capacity()))),
      number_mask_((std::uint32_t{1} << number_bits_) - 1) {
  if (!cells_.grow_to(cells_.capacity())) throw std::bad_alloc();
}

FlowNumber FlowTable::find(std::uint32_t hash, std::uint16_t class_number, const FlowKey& key) const {
  const FlowNumber flow = find_in(cells_, hash, class_number, key);
  return flow != kNoFlow || !old_cells_ ? flow : find_in(*old_cells_, hash, class_number, key);
}

FlowNumber FlowTable::find_in(const Cells& cells, std::uint32_t hash, std::uint16_t class_number,
                              const FlowKey& key) const {
  for (std::uint32_t at = home(cells, hash); cells[at] != 0; at = behind(cells, at)) {
    if ((cells[at] & ~number_mask_) != tag(hash)) continue;
    if (holds(number(cells[at]), class_number, key)) return number(cells[at]);
  }
  return kNoFlow;
}

FlowNumber FlowTable::insert(std::uint32_t hash, std::uint16_t class_number, const FlowKey& key) {
  // An index for which there was no memory: a probe must find an empty cell.
  if (size_ >= cells_.capacity() - cells_.capacity() / 8) return kNoFlow;
  const FlowNumber flow = take_record();
  if (flow == kNoFlow) return flow;
  ++size_;
  records_[flow] = FlowRecord{.hash = hash, .class_number = class_number};
  rest_[flow] = Rest{.key = key};
  put_into(cells_of(flow), flow);
  if (old_cells_) move_some();
  return flow;
}

void FlowTable::put_into(Cells& cells, FlowNumber flow) {
  const std::uint32_t hash = records_[flow].hash;
  std::uint32_t at = home(cells, hash);
  while (cells[at] != 0) at = behind(cells, at);
  cells[at] = tag(hash) | (flow + 1);
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
  take_out_of(cells_of(flow), flow);
  records_[flow].class_number = kFree;
  records_[flow].hash = free_head_;
  free_head_ = flow;
  --size_;
}

void FlowTable::take_out_of(Cells& cells, FlowNumber flow) {
  std::uint32_t gap = cell_of(cells, flow);
  for (std::uint32_t at = behind(cells, gap); cells[at] != 0; at = behind(cells, at)) {
    const std::uint32_t at_home = home(cells, records_[number(cells[at])].hash);
    // It may fill the gap unless its home lies behind the gap.
    if (steps(cells, at_home, at) < steps(cells, gap, at)) continue;
    cells[gap] = cells[at];
    gap = at;
  }
  cells[gap] = 0;
}

FlowNumber FlowTable::likely(std::uint32_t hash) const {
  const FlowNumber flow = likely_in(cells_, hash);
  return flow != kNoFlow || !old_cells_ ? flow : likely_in(*old_cells_, hash);
}

FlowNumber FlowTable::likely_in(const Cells& cells, std::uint32_t hash) const {
  for (std::uint32_t at = home(cells, hash); cells[at] != 0; at = behind(cells, at)) {
    if ((cells[at] & ~number_mask_) != tag(hash)) continue;
    const FlowNumber flow = number(cells[at]);
    prefetch(flow);
    const auto* key = reinterpret_cast<const char*>(&rest_[flow].key);
    prefetch_line(key);
    prefetch_line(key + sizeof(FlowKey) - 1);
    return flow;
  }
  return kNoFlow;
}

std::uint32_t FlowTable::cell_of(const Cells& cells, FlowNumber flow) const {
  std::uint32_t at = home(cells, records_[flow].hash);
  while (number(cells[at]) != flow) at = behind(cells, at);
  return at;
}

// Where there is no memory for more, it stays as it is.
void FlowTable::widen_index() {
  try {
    Cells wider(std::min(whole_index_, kGrowth * cells_.capacity()), memory_);
    if (!wider.grow_to(wider.capacity())) return;
    old_cells_.emplace(std::move(cells_));
    cells_ = std::move(wider);
    moved_ = 0;
  } catch (const std::bad_alloc&) {
  }
}

void FlowTable::move_some() {
  for (FlowNumber left = kMovedAtOnce; left > 0 && moved_ < never_used_; --left) {
    const FlowNumber flow = moved_;
    if (in_use(flow)) {
      take_out_of(*old_cells_, flow);
      put_into(cells_, flow);
    }
    ++moved_;
  }
}

}  // namespace headgate
