// Memory for large tables that is taken as it is used: address space at once, memory in steps.
//
// Of an area the first 2 MB grow in small pages, 64 KB a step, so that small tables cost little. Behind them it grows by
// 2 MB, in huge pages where the kernel has them (transparent huge pages, "madvise" or "always"): with many flows every
// packet touches memory that no translation cache holds. What has grown is there: using it costs no page fault.
//
// Any thread; an area by one at a time.
#pragma once

#include "core/memory_area.hpp"

namespace headgate {

class MappedMemory : public MemorySource {
 public:
  // `locked`: what grows is never paged out (mlock). Refused by the kernel, it is memory all the same.
  explicit MappedMemory(bool locked) : locked_(locked) {}

  std::unique_ptr<MemoryArea> reserve(std::size_t bytes) override;

 private:
  const bool locked_;
};

}  // namespace headgate
