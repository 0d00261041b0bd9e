// The numbers of what is free in a table: the last given back is the first taken, for its memory is warm.
//
// Apart from the table, so that what will be taken next is known without looking at it, and can be fetched ahead.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory_resource>
#include <vector>

namespace headgate {

class NumberStack {
 public:
  // All numbers below `count`, the lowest first.
  NumberStack(std::uint32_t count, std::pmr::memory_resource* memory)
      : numbers_(count, memory), size_(count) {
    for (std::uint32_t i = 0; i < count; ++i) numbers_[i] = count - 1 - i;
  }

  std::uint32_t size() const { return size_; }
  std::uint32_t take() {
    assert(size_ > 0);
    return numbers_[--size_];
  }
  void give_back(std::uint32_t number) {
    assert(size_ < numbers_.size());
    numbers_[size_++] = number;
  }
  // What the next take() gives but `later`; that many must be left.
  std::uint32_t next(std::uint32_t later = 0) const { return numbers_[size_ - 1 - later]; }

 private:
  std::pmr::vector<std::uint32_t> numbers_;
  std::uint32_t size_;
};

}  // namespace headgate
