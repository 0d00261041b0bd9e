// A source of memory for tests: the heap. What is not usable is poisoned under AddressSanitizer, so a table that touches
// more than it grew to is caught. It may be told to run out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>

#include "core/memory_area.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, bytes) (void(start), void(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(start, bytes) (void(start), void(bytes))
#endif

namespace headgate {

class HeapMemory : public MemorySource {
 public:
  std::unique_ptr<MemoryArea> reserve(std::size_t bytes) override {
    return std::make_unique<Area>(*this, rounded_up(bytes));
  }

  // Of all areas together. Set it to used() and nothing grows any more.
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  std::size_t used() const { return used_; }
  std::size_t refusals() const { return refusals_; }  // how often an area asked for more than there was

 private:
  static constexpr std::size_t kPage = 4096;
  static std::size_t rounded_up(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<void, Free>;

  // calloc() does not touch large memory until it is used.
  static Memory zeroed(std::size_t bytes) {
    Memory memory(std::calloc(bytes + kPage, 1));
    if (!memory) throw std::bad_alloc();
    return memory;
  }

  class Area : public MemoryArea {
   public:
    Area(HeapMemory& source, std::size_t bytes) : Area(source, zeroed(bytes), bytes) {}
    ~Area() override {
      ASAN_UNPOISON_MEMORY_REGION(start(), size());
      source_.used_ -= usable();
    }
    bool grow(std::size_t bytes) override {
      const std::size_t target = std::min(rounded_up(bytes), size());
      if (target <= usable()) return true;
      if (target - usable() > source_.limit - std::min(source_.limit, source_.used_)) {
        ++source_.refusals_;
        return false;
      }
      source_.used_ += target - usable();
      ASAN_UNPOISON_MEMORY_REGION(start(), target);
      set_usable(target);
      return true;
    }

   private:
    Area(HeapMemory& source, Memory memory, std::size_t bytes)
        : MemoryArea(aligned(memory.get()), bytes), source_(source), memory_(std::move(memory)) {
      ASAN_POISON_MEMORY_REGION(start(), size());
    }
    static std::byte* aligned(void* memory) {
      return static_cast<std::byte*>(memory) +
             (kPage - reinterpret_cast<std::uintptr_t>(memory) % kPage) % kPage;
    }

    HeapMemory& source_;
    Memory memory_;
  };

  std::size_t used_ = 0;
  std::size_t refusals_ = 0;
};

}  // namespace headgate
