// All flows of a shape: a fixed number of records and an index over them.
//
// Index     open addressing with linear probing, at most half full; a slot is 32 bits: the record's number,
// and as many
//           bits of the flow's hash as are left, so that a probe that fails seldom costs a look at a record.
//           Removal shifts back what follows, so nothing degrades and nothing is ever rehashed.
// Records   lie in two tables: what every step of a packet needs, one cache line a flow, and what only its
//           arrival or a drop needs.
// Memory    a flow takes its line, 56 bytes beside it and 2 slots = 128 bytes; all of it is allocated by the
//           constructor.
// Expiry    a flow is forgotten after being idle, once forgetting it gives it no advantage: no packet waits
// and its
//           bucket is as good as new. A hand goes round the records, a few at a time.
// Full      insert() makes no room of its own and returns kNoFlow; the flows that exist are unharmed.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "core/flow_queue.hpp"
#include "core/leaky_bucket.hpp"
#include "core/prefetch.hpp"
#include "headgate/clock.hpp"
#include "headgate/flow_key.hpp"
#include "headgate/statistics.hpp"

namespace headgate {

using FlowNumber = std::uint32_t;
inline constexpr std::size_t kBytesPerFlow = 128;
inline constexpr FlowNumber kNoFlow = 0xffff'ffff;

struct alignas(64) FlowRecord {
  std::uint32_t hash = 0;  // free records: the next free one
  std::uint16_t class_slot = 0;
  std::uint16_t generation = 0;  // of the class's parameters that the bucket's state was made by
  Instant last_used{};
  // A class with private members: what follows may use its last four bytes.
  [[no_unique_address]] LeakyBucket bucket;
  FlowQueue queue;
  Count sent;
};
static_assert(sizeof(FlowRecord) == 64);

class FlowTable {
 public:
  explicit FlowTable(std::uint32_t max_flows,
                     std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  FlowNumber find(std::uint32_t hash, std::uint16_t class_slot, const FlowKey& key) const;

  // The flow must not be in the table.
  FlowNumber insert(std::uint32_t hash, std::uint16_t class_slot, const FlowKey& key);
  void erase(FlowNumber flow);

  FlowRecord& operator[](FlowNumber flow) { return records_[flow]; }
  const FlowRecord& operator[](FlowNumber flow) const { return records_[flow]; }

  const FlowKey& key(FlowNumber flow) const { return rest_[flow].key; }
  Count& dropped(FlowNumber flow) { return rest_[flow].dropped; }
  const Count& dropped(FlowNumber flow) const { return rest_[flow].dropped; }

  std::uint32_t size() const { return size_; }
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(records_.size()); }
  bool full() const { return size_ == records_.size(); }
  // Every flow's number is below this.
  std::uint32_t numbers() const { return never_used_; }
  bool in_use(FlowNumber flow) const { return records_[flow].class_slot != kFree; }

  // Moves the hand over `looks` records and erases, after `forgotten(record)`, those that were last used by `idle_since`,
  // have no packet waiting and a bucket that treats every packet from `new_since` on as a new one would.
  template <typename Forgotten>
  void expire(std::uint32_t looks, Instant idle_since, Instant new_since, Forgotten forgotten) {
    for (looks = looks < never_used_ ? looks : never_used_; looks > 0; --looks) {
      hand_ = hand_ + 1 < never_used_ ? hand_ + 1 : 0;
      if (hand_ + kLooksAhead < never_used_) prefetch_line(&records_[hand_ + kLooksAhead].last_used);
      if (!may_go(records_[hand_], idle_since, new_since)) continue;
      forgotten(records_[hand_]);
      erase(hand_);
    }
  }

  // For batches, find() in three steps that each take all packets: fetch the index slots; see to which flow each hash
  // seems to lead, if to any, and fetch that; make sure that it is the flow.
  void prefetch_slot(std::uint32_t hash) const { prefetch_line(&slots_[home(hash)]); }
  FlowNumber likely(std::uint32_t hash) const;
  bool holds(FlowNumber flow, std::uint16_t class_slot, const FlowKey& key) const {
    return records_[flow].class_slot == class_slot && rest_[flow].key == key;
  }
  void prefetch(FlowNumber flow) const { prefetch_line(&records_[flow]); }

 private:
  using Slot = std::uint32_t;  // 0: empty; else record number + 1 in the low bits, hash in the high bits
  struct Rest {
    FlowKey key;
    Count dropped;
  };
  static_assert(sizeof(FlowRecord) + sizeof(Rest) + 2 * sizeof(Slot) <= kBytesPerFlow);
  static constexpr std::uint16_t kFree = 0xffff;  // as class_slot
  static constexpr std::uint32_t kLooksAhead = 16;

  static bool may_go(const FlowRecord& record, Instant idle_since, Instant new_since) {
    return record.class_slot != kFree && record.queue.empty() && record.last_used <= idle_since &&
           record.bucket.as_new(new_since);
  }
  std::uint32_t home(std::uint32_t hash) const {
    return static_cast<std::uint32_t>(std::uint64_t{hash} * slots_.size() >> 32);
  }
  std::uint32_t behind(std::uint32_t slot) const { return slot + 1 < slots_.size() ? slot + 1 : 0; }
  std::uint32_t steps(std::uint32_t from, std::uint32_t to) const {
    return static_cast<std::uint32_t>(to >= from ? to - from : to + slots_.size() - from);
  }
  Slot tag(std::uint32_t hash) const { return hash << number_bits_; }
  FlowNumber number(Slot slot) const { return (slot & number_mask_) - 1; }
  std::uint32_t slot_of(FlowNumber flow) const;

  std::pmr::vector<FlowRecord> records_;
  std::pmr::vector<Rest> rest_;
  std::pmr::vector<Slot> slots_;
  unsigned number_bits_;
  std::uint32_t number_mask_;
  std::uint32_t size_ = 0;
  std::uint32_t never_used_ = 0;  // records from here on are free and in no list
  FlowNumber free_head_ = kNoFlow;
  FlowNumber hand_ = 0;
};

}  // namespace headgate
