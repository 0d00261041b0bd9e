#include "core/growing_memory.hpp"

#include <algorithm>
#include <new>

namespace headgate {
namespace {

constexpr std::size_t kLeastStep = 64 * 1024;
constexpr std::size_t kMostStep = 2 * 1024 * 1024;

}  // namespace

GrowingMemory::GrowingMemory(std::size_t bytes, MemorySource& source)
    : bytes_(bytes), area_(source.reserve(bytes)) {
  if (!area_->grow(std::min(bytes, kLeastStep))) throw std::bad_alloc();
}

bool GrowingMemory::grow_to(std::size_t bytes) {
  if (skip_ > 0) {
    --skip_;
    return false;
  }
  const std::size_t target = std::min(bytes_, std::max(bytes, usable() + step(usable())));
  if (area_->grow(target)) return true;
  skip_ = kSkippedAfterRefusal;
  return false;
}

std::size_t GrowingMemory::step(std::size_t usable) {
  return std::clamp(usable / 8, kLeastStep, kMostStep);
}

}  // namespace headgate
