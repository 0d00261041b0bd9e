// All flows of a shape: at most a fixed number of records, and an index over them.
//
// Index     open addressing with linear probing, at most half full; a cell is 32 bits: the record's number, and as many
//           bits of the flow's hash as are left, so that a probe that fails seldom costs a look at a record. Removal
//           shifts back what follows, so nothing degrades. One made whole is never rehashed. One that grows becomes four
//           times as large when it is short: records move to the new cells a few with each that is inserted.
// Records   lie in two tables: what every step of a packet needs, one cache line a flow, and what only its arrival or a
//           drop needs.
// Memory    2 cells = 8 bytes a flow are taken by the constructor, of an index that grows 64 KiB; the 120 bytes of its
//           records when there are so many flows.
// Expiry    a flow is forgotten after being idle, once forgetting it gives it no advantage: no packet waits and its
//           limiter is as good as new. A hand goes round the records, a few at a time.
// Full      insert() makes no room of its own and returns kNoFlow; the flows that exist are unharmed.
#pragma once

#include <cstdint>
#include <optional>

#include "core/flow_queue.hpp"
#include "core/growing_table.hpp"
#include "core/memory_area.hpp"
#include "headgate/clock.hpp"
#include "limiters/flow_bucket.hpp"
#include "limiters/prefetch.hpp"
#include "vocabulary/flow_key.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

using FlowNumber = std::uint32_t;
inline constexpr std::size_t kBytesPerFlow = 128;
inline constexpr FlowNumber kNoFlow = 0xffff'ffff;

struct alignas(64) FlowRecord {
  std::uint32_t hash = 0;  // free records: the next free one
  std::uint16_t class_number = 0;
  // Of the class's parameters that the bucket's state was made by; in a class with plans instead the flow's plan.
  std::uint16_t generation = 0;
  Instant last_used{};
  // In a class that is policed by a window, the window's state (core/flow_window.hpp). A class with private members: what
  // follows may use its last four bytes.
  [[no_unique_address]] FlowBucket bucket;
  FlowQueue queue;
  Count sent;
};
static_assert(sizeof(FlowRecord) == 64);

// Growing is for tables of which many share a bound that none is meant to use alone.
enum class FlowIndex : std::uint8_t { whole, grows };

class FlowTable {
 public:
  // `memory` outlives it. Throws std::bad_alloc.
  FlowTable(std::uint32_t max_flows, MemorySource& memory, FlowIndex index = FlowIndex::whole);

  FlowNumber find(std::uint32_t hash, std::uint16_t class_number, const FlowKey& key) const;

  // The flow must not be in the table.
  FlowNumber insert(std::uint32_t hash, std::uint16_t class_number, const FlowKey& key);
  void erase(FlowNumber flow);

  FlowRecord& operator[](FlowNumber flow) { return records_[flow]; }
  const FlowRecord& operator[](FlowNumber flow) const { return records_[flow]; }

  const FlowKey& key(FlowNumber flow) const { return rest_[flow].key; }
  Count& dropped(FlowNumber flow) { return rest_[flow].dropped; }
  const Count& dropped(FlowNumber flow) const { return rest_[flow].dropped; }

  std::uint32_t size() const { return size_; }
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(records_.capacity()); }
  bool full() const { return size_ == records_.capacity(); }

  // New flows will soon use up what is memory.
  bool is_short() const {
    return records_.is_short(never_used_) || rest_.is_short(never_used_) || index_is_short() || index_moved();
  }
  void grow_ahead() {
    records_.grow_ahead(never_used_);
    rest_.grow_ahead(never_used_);
    if (index_moved()) old_cells_.reset();
    if (index_is_short()) widen_index();
  }

  // Every flow's number is below this.
  std::uint32_t numbers() const { return never_used_; }
  bool in_use(FlowNumber flow) const { return records_[flow].class_number != kFree; }

  // Moves the hand over `looks` records and erases, after `forgotten(record)`, those that were last used by `idle_since`,
  // have no packet waiting and are `as_new(record)`: a new flow would be treated no better.
  template <typename AsNew, typename Forgotten>
  void expire(std::uint32_t looks, Instant idle_since, AsNew as_new, Forgotten forgotten) {
    for (looks = looks < never_used_ ? looks : never_used_; looks > 0; --looks) {
      hand_ = hand_ + 1 < never_used_ ? hand_ + 1 : 0;
      if (hand_ + kLooksAhead < never_used_) prefetch_line(&records_[hand_ + kLooksAhead].last_used);
      if (!is_idle(records_[hand_], idle_since) || !as_new(records_[hand_])) continue;
      forgotten(records_[hand_]);
      erase(hand_);
    }
  }

  // Whether expire() would erase any of them.
  template <typename AsNew>
  bool would_expire(std::uint32_t looks, Instant idle_since, AsNew as_new) const {
    FlowNumber hand = hand_;
    for (looks = looks < never_used_ ? looks : never_used_; looks > 0; --looks) {
      hand = hand + 1 < never_used_ ? hand + 1 : 0;
      if (is_idle(records_[hand], idle_since) && as_new(records_[hand])) return true;
    }
    return false;
  }

  // For batches, find() in three steps that each take all packets: fetch the index cells; see to which flow each hash
  // seems to lead, if to any, and fetch that; make sure that it is the flow.
  void prefetch_cell(std::uint32_t hash) const { prefetch_line(&cells_[home(cells_, hash)]); }
  FlowNumber likely(std::uint32_t hash) const;
  bool holds(FlowNumber flow, std::uint16_t class_number, const FlowKey& key) const {
    return records_[flow].class_number == class_number && rest_[flow].key == key;
  }
  void prefetch(FlowNumber flow) const { prefetch_line(&records_[flow]); }

 private:
  using Cell = std::uint32_t;  // 0: empty; else record number + 1 in the low bits, hash in the high bits
  using Cells = GrowingTable<Cell>;
  struct Rest {
    FlowKey key;
    Count dropped;
  };
  static_assert(sizeof(FlowRecord) + sizeof(Rest) + 2 * sizeof(Cell) <= kBytesPerFlow);
  static constexpr std::uint16_t kFree = 0xffff;  // as class_number
  static constexpr std::uint32_t kLooksAhead = 16;

  static bool is_idle(const FlowRecord& record, Instant idle_since) {
    return record.class_number != kFree && record.queue.empty() && record.last_used <= idle_since;
  }
  static std::uint32_t home(const Cells& cells, std::uint32_t hash) {
    return static_cast<std::uint32_t>(std::uint64_t{hash} * cells.capacity() >> 32);
  }
  static std::uint32_t behind(const Cells& cells, std::uint32_t cell) {
    return cell + 1 < cells.capacity() ? cell + 1 : 0;
  }
  static std::uint32_t steps(const Cells& cells, std::uint32_t from, std::uint32_t to) {
    return static_cast<std::uint32_t>(to >= from ? to - from : to + cells.capacity() - from);
  }
  Cell tag(std::uint32_t hash) const { return hash << number_bits_; }
  FlowNumber number(Cell cell) const { return (cell & number_mask_) - 1; }
  FlowNumber find_in(const Cells& cells, std::uint32_t hash, std::uint16_t class_number,
                     const FlowKey& key) const;
  FlowNumber likely_in(const Cells& cells, std::uint32_t hash) const;
  void put_into(Cells& cells, FlowNumber flow);
  void take_out_of(Cells& cells, FlowNumber flow);
  std::uint32_t cell_of(const Cells& cells, FlowNumber flow) const;
  FlowNumber take_record();

  // While the index grows, records from `moved_` on are found by the old cells.
  Cells& cells_of(FlowNumber flow) { return old_cells_ && flow >= moved_ ? *old_cells_ : cells_; }
  bool index_moved() const { return old_cells_ && moved_ >= never_used_; }
  bool index_is_short() const {
    return !old_cells_ && cells_.capacity() < whole_index_ && size_ > cells_.capacity() / 8 * 3;
  }
  void widen_index();
  void move_some();

  GrowingTable<FlowRecord> records_;
  GrowingTable<Rest> rest_;
  MemorySource& memory_;
  std::size_t whole_index_;  // cells
  Cells cells_;
  std::optional<Cells> old_cells_;
  FlowNumber moved_ = 0;
  unsigned number_bits_;
  std::uint32_t number_mask_;
  std::uint32_t size_ = 0;
  std::uint32_t never_used_ = 0;  // records from here on are free and in no list
  FlowNumber free_head_ = kNoFlow;
  FlowNumber hand_ = 0;
};

}  // namespace headgate
