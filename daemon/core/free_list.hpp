// The numbers of what is free in a table: the last given back is the first taken, for its memory is warm; those never
// used come after, the lowest first.
//
// Apart from the table, so that what will be taken next is known without looking at it, and can be fetched ahead.
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>

#include "core/growing_table.hpp"
#include "core/memory_area.hpp"

namespace headgate {

class FreeList {
 public:
  // Numbers below `count`, of which none is ready yet.
  FreeList(std::uint32_t count, MemorySource& memory) : numbers_(count, memory) {}

  // Makes all numbers below `end` ready. False: there is no memory to note them in. Takes time in proportion to those that
  // are new and those that were ready.
  bool make_ready(std::uint32_t end) {
    if (end <= ready_end_) return true;
    if (!numbers_.grow_to(end)) return false;
    const std::uint32_t more = end - ready_end_;
    if (ready_ > 0) std::memmove(&numbers_[more], &numbers_[0], ready_ * sizeof(std::uint32_t));
    for (std::uint32_t i = 0; i < more; ++i) numbers_[i] = end - 1 - i;
    ready_ += more;
    ready_end_ = end;
    return true;
  }

  std::uint32_t ready() const { return ready_; }
  std::uint32_t ready_end() const { return ready_end_; }
  std::uint32_t in_use() const { return ready_end_ - ready_; }

  // One must be ready.
  std::uint32_t take() {
    assert(ready_ > 0);
    return numbers_[--ready_];
  }
  void give_back(std::uint32_t number) {
    assert(ready_ < ready_end_);
    numbers_[ready_++] = number;
  }
  // What take() will give after `later` other calls of it; there must be enough ready.
  std::uint32_t next(std::uint32_t later = 0) const { return numbers_[ready_ - 1 - later]; }

 private:
  GrowingTable<std::uint32_t> numbers_;  // a stack: those that are ready
  std::uint32_t ready_ = 0;
  std::uint32_t ready_end_ = 0;  // numbers from here on are not ready, and have never been taken
};

}  // namespace headgate
