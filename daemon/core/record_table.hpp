// A growing table whose records are taken and given back by number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>

#include "core/free_list.hpp"
#include "core/growing_table.hpp"
#include "core/memory_area.hpp"

namespace headgate {

template <typename Record>
class RecordTable {
 public:
  // Throws std::bad_alloc.
  RecordTable(std::uint32_t capacity, MemorySource& memory)
      : records_(capacity, memory), free_(capacity, memory) {
    if (!grow(1)) throw std::bad_alloc();
  }

  Record& operator[](std::uint32_t number) { return records_[number]; }
  const Record& operator[](std::uint32_t number) const { return records_[number]; }

  std::uint32_t capacity() const { return static_cast<std::uint32_t>(records_.capacity()); }
  std::uint32_t in_use() const { return free_.in_use(); }
  std::uint32_t ready() const { return free_.ready(); }
  // Numbers below are in use or ready.
  std::uint32_t ready_end() const { return free_.ready_end(); }

  // So many take() will succeed. False: there is no memory for them, or they are more than the capacity.
  bool make_ready(std::uint32_t count) { return count <= ready() || grow(std::uint64_t{in_use()} + count); }
  // All numbers below `end` are in use or ready.
  bool make_all_ready(std::uint32_t end) { return end <= ready_end() || grow(end); }
  // Keeps memory ready beyond what is in use, in step with how large the table is.
  void grow_ahead(std::uint32_t least_ahead = 0) {
    if (!records_.is_short(in_use(), least_ahead)) return;
    records_.grow_ahead(in_use(), least_ahead);
    grow(records_.usable());
  }

  // One must be ready.
  std::uint32_t take() { return free_.take(); }
  void give_back(std::uint32_t number) { free_.give_back(number); }
  std::uint32_t next(std::uint32_t later = 0) const { return free_.next(later); }

 private:
  // The first `count` records are memory.
  [[gnu::cold]] bool grow(std::uint64_t count) {
    if (count > capacity() || !records_.grow_to(count)) return false;
    return free_.make_ready(static_cast<std::uint32_t>(records_.usable())) ||
           free_.make_ready(static_cast<std::uint32_t>(count));
  }

  GrowingTable<Record> records_;
  FreeList free_;
};

}  // namespace headgate
