// A table of fixed capacity that is memory only as far as it is used, and grows in place.
//
// Grown ahead of its use, it costs no page fault on a packet's way; grown when it is short, it costs them at once.
#pragma once

#include <cassert>
#include <cstddef>
#include <type_traits>

#include "core/growing_memory.hpp"
#include "core/memory_area.hpp"

namespace headgate {

template <typename Record>
class GrowingTable {
  static_assert(std::is_trivially_copyable_v<Record>);

 public:
  GrowingTable(std::size_t capacity, MemorySource& source)
      : memory_(capacity * sizeof(Record), source),
        records_(reinterpret_cast<Record*>(memory_.start())),
        capacity_(capacity) {
    note_usable();
  }

  // Only what is usable may be touched; what has never been written is zero.
  Record& operator[](std::size_t place) {
    assert(place < usable_);
    return records_[place];
  }
  const Record& operator[](std::size_t place) const {
    assert(place < usable_);
    return records_[place];
  }

  std::size_t capacity() const { return capacity_; }
  std::size_t usable() const { return usable_; }

  bool grow_to(std::size_t records) { return records <= usable_ || grow(records); }

  // When, with so many in use, it is time to grow ahead.
  bool is_short(std::size_t in_use, std::size_t least_ahead = 0) const {
    return usable_ < capacity_ && usable_ - in_use < (ahead_ > least_ahead ? ahead_ : least_ahead);
  }
  void grow_ahead(std::size_t in_use, std::size_t least_ahead = 0) {
    if (!is_short(in_use, least_ahead)) return;
    const std::size_t wanted = in_use + (ahead_ > least_ahead ? ahead_ : least_ahead);
    grow_to(wanted < capacity_ ? wanted : capacity_);
  }

 private:
  [[gnu::cold]] bool grow(std::size_t records) {
    if (records > capacity_ || !memory_.grow_to(records * sizeof(Record))) return false;
    note_usable();
    return true;
  }
  void note_usable() {
    const std::size_t whole = memory_.usable() / sizeof(Record);
    usable_ = whole < capacity_ ? whole : capacity_;
    ahead_ = GrowingMemory::step(memory_.usable()) / sizeof(Record);
  }

  GrowingMemory memory_;
  Record* records_;
  std::size_t capacity_;
  std::size_t usable_ = 0;
  std::size_t ahead_ = 0;
};

}  // namespace headgate
