// The bytes of a table that is memory only as far as it is used, and grows in place, in steps.
#pragma once

#include <cstddef>
#include <memory>

#include "core/memory_area.hpp"

namespace headgate {

class GrowingMemory {
 public:
  // The first part is usable at once. Throws std::bad_alloc.
  GrowingMemory(std::size_t bytes, MemorySource& source);

  std::byte* start() const { return area_->start(); }
  std::size_t usable() const { return area_->usable(); }

  // Makes at least so many bytes usable, and at least a step more than there were. False: the source has no more; it is
  // not asked again at each of the next attempts.
  bool grow_to(std::size_t bytes);

  // Bytes of one step, and what is worth keeping ready beyond what is in use: an eighth of all, 64 KiB to 2 MiB.
  static std::size_t step(std::size_t usable);

 private:
  static constexpr unsigned kSkippedAfterRefusal = 63;

  std::size_t bytes_;
  std::unique_ptr<MemoryArea> area_;
  unsigned skip_ = 0;  // so many attempts are refused without asking
};

}  // namespace headgate
