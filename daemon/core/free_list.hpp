// The numbers of what is free in a table: the last given back is the first taken, for its memory is warm; those never
// used come after, the lowest first.
//
// Apart from the table, so that what will be taken next is known without looking at it, and can be fetched ahead.
#pragma once

#include <cassert>
#include <cstdint>

#include "core/growing_table.hpp"
#include "core/memory_area.hpp"

namespace headgate {

class FreeList {
 public:
  // Numbers below `count`, of which none is ready yet.
  FreeList(std::uint32_t count, MemorySource& memory) : returned_(count, memory) {}

  // Makes all numbers below `end` ready. False: there is no memory to note them in.
  bool make_ready(std::uint32_t end) {
    if (!returned_.grow_to(end)) return false;
    if (end > ready_end_) {
      ready_ += end - ready_end_;
      ready_end_ = end;
    }
    return true;
  }

  std::uint32_t ready() const { return ready_; }
  std::uint32_t ready_end() const { return ready_end_; }
  std::uint32_t in_use() const { return never_used_ - returned_count_; }

  // One must be ready.
  std::uint32_t take() {
    assert(ready_ > 0);
    --ready_;
    return returned_count_ > 0 ? returned_[--returned_count_] : never_used_++;
  }
  void give_back(std::uint32_t number) {
    assert(number < never_used_ && returned_count_ < never_used_);
    ++ready_;
    returned_[returned_count_++] = number;
  }
  // What the next take() gives but `later`; that many must be ready.
  std::uint32_t next(std::uint32_t later = 0) const {
    return later < returned_count_ ? returned_[returned_count_ - 1 - later]
                                   : never_used_ + (later - returned_count_);
  }

 private:
  GrowingTable<std::uint32_t> returned_;
  std::uint32_t returned_count_ = 0;
  std::uint32_t never_used_ = 0;  // this number and those above have never been taken
  std::uint32_t ready_end_ = 0;
  std::uint32_t ready_ = 0;  // those returned, and those never used below ready_end_
};

}  // namespace headgate
