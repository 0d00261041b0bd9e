#include "linux/mapped_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <new>

namespace headgate {

namespace {

constexpr std::size_t kHugePage = 2 * 1024 * 1024;
constexpr std::size_t kSmallStep = 64 * 1024;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Aligned to a huge page, with nothing mapped before or behind it.
std::byte* reserve_addresses(std::size_t bytes) {
  const std::size_t mapped_bytes = bytes + kHugePage;
  void* mapped = mmap(nullptr, mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const start = static_cast<std::byte*>(mapped);
  const std::size_t before =
      round_up(reinterpret_cast<std::uintptr_t>(start), kHugePage) - reinterpret_cast<std::uintptr_t>(start);
  std::byte* const area = start + before;
  if (before > 0) munmap(start, before);
  munmap(area + bytes, mapped_bytes - before - bytes);
  // Where all of the process is locked: what grows is locked step by step.
  munlock(area, bytes);
  return area;
}

class MappedArea : public MemoryArea {
 public:
  MappedArea(std::size_t bytes, bool locked) : MemoryArea(reserve_addresses(bytes), bytes), locked_(locked) {}
  ~MappedArea() override { munmap(start(), size()); }

  bool grow(std::size_t bytes) override {
    while (usable() < bytes) {
      const std::size_t step = usable() < kHugePage ? kSmallStep : kHugePage;
      if (!take(std::min(usable() + step, size()))) return false;
    }
    return true;
  }

 private:
  // A step lies within the small pages or within the huge ones.
  bool take(std::size_t up_to) {
    std::byte* const from = start() + usable();
    const std::size_t bytes = up_to - usable();
    if (mprotect(from, bytes, PROT_READ | PROT_WRITE) < 0) return false;
    madvise(from, bytes, usable() < kHugePage ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    if (locked_) mlock(from, bytes);
    touch(from, bytes);  // what is locked is there already, but where mlock() was refused
    set_usable(up_to);
    return true;
  }

  static void touch(std::byte* from, std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    for (std::size_t at = 0; at < bytes; at += page)
      *const_cast<volatile std::byte*>(from + at) = std::byte{0};
  }

  const bool locked_;
};

}  // namespace

std::unique_ptr<MemoryArea> MappedMemory::reserve(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return std::make_unique<MappedArea>(round_up(std::max<std::size_t>(bytes, 1), page), locked_);
}

}  // namespace headgate
