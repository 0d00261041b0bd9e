#include "linux/huge_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace headgate {

namespace {

constexpr std::size_t kHugePage = 2 * 1024 * 1024;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

// What does not fill a huge page at the end lies in small ones.
std::size_t whole_pages(std::size_t bytes) {
  return round_up(bytes, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

// Aligned, with nothing before or behind it: locked memory holds all that is mapped.
void* map_huge_pages(std::size_t bytes) {
  const std::size_t mapped_bytes = bytes + kHugePage;
  void* mapped = mmap(nullptr, mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const start = static_cast<std::byte*>(mapped);
  const std::size_t before =
      round_up(reinterpret_cast<std::uintptr_t>(start), kHugePage) - reinterpret_cast<std::uintptr_t>(start);
  std::byte* const memory = start + before;
  if (before > 0) munmap(start, before);
  munmap(memory + bytes, mapped_bytes - before - bytes);
  madvise(memory, bytes, MADV_HUGEPAGE);  // a kernel without them gives small pages
  if (mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0) return memory;
  munmap(memory, bytes);
  throw std::bad_alloc();
}

class HugePages : public std::pmr::memory_resource {
 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes < kHugePage) return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    return map_huge_pages(whole_pages(bytes));
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    if (bytes < kHugePage) return std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
    munmap(memory, whole_pages(bytes));
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

std::pmr::memory_resource* huge_pages() {
  static HugePages pages;
  return &pages;
}

}  // namespace headgate
