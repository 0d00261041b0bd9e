#include "linux/huge_pages.hpp"

#include <sys/mman.h>

#include <new>

namespace headgate {

namespace {

constexpr std::size_t kHugePage = 2 * 1024 * 1024;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

class HugePages : public std::pmr::memory_resource {
 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes < kHugePage) return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    void* memory = std::pmr::new_delete_resource()->allocate(whole_pages(bytes), kHugePage);
    madvise(memory, whole_pages(bytes), MADV_HUGEPAGE);  // a kernel without them gives small pages
    return memory;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    if (bytes < kHugePage) return std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
    std::pmr::new_delete_resource()->deallocate(memory, whole_pages(bytes), kHugePage);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

std::pmr::memory_resource* huge_pages() {
  static HugePages pages;
  return &pages;
}

}  // namespace headgate
