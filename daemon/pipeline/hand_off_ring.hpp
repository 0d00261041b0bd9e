// One producer and one consumer (two workers of a shape), a fixed number of entries, no locks.
//
// Entries are written and read in place. The producer may stage several and publish them at once; the
// consumer looks at a run of them and consumes the run at once: two shared cache lines change hands per
// batch, not per packet. A producer that may find it full asks for room first.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <span>
#include <vector>

namespace headgate {

template <typename Entry>
class HandOffRing {
 public:
  explicit HandOffRing(std::size_t capacity)
      : entries_(std::bit_ceil(capacity)), mask_(entries_.size() - 1) {}

  // Producer. Room for another entry, or null when the ring is full.
  Entry* stage() {
    if (staged_ - known_consumed_ == entries_.size()) {
      known_consumed_ = consumed_.load(std::memory_order_acquire);
      if (staged_ - known_consumed_ == entries_.size()) return nullptr;
    }
    return &entries_[staged_++ & mask_];
  }
  // Producer. For how many more entries there is room, judged exactly only when it is less than `wanted`.
  std::size_t room(std::size_t wanted) {
    if (entries_.size() - (staged_ - known_consumed_) < wanted)
      known_consumed_ = consumed_.load(std::memory_order_acquire);
    return entries_.size() - (staged_ - known_consumed_);
  }
  // Producer. Everything staged so far becomes visible to the consumer.
  void publish() { published_.store(staged_, std::memory_order_seq_cst); }

  // Producer. How many entries the consumer has finished since the start; for judging its progress.
  std::size_t consumed() const { return consumed_.load(std::memory_order_acquire); }
  // Producer. How many it has published since the start.
  std::size_t published() const { return published_.load(std::memory_order_relaxed); }

  // Consumer. The oldest published entries that lie in one piece, at most `limit`.
  std::span<Entry> peek(std::size_t limit) {
    const std::size_t at = consumed_.load(std::memory_order_relaxed);
    const std::size_t available = published_.load(std::memory_order_acquire) - at;
    const std::size_t until_wrap = entries_.size() - (at & mask_);
    return {&entries_[at & mask_], std::min({available, until_wrap, limit})};
  }
  // Consumer. The first `count` entries of peek() may be overwritten.
  void consume(std::size_t count) {
    consumed_.store(consumed_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }
  // Consumer. Sequentially consistent, for the last look before sleeping (see Waiter::prepare).
  bool empty() const {
    return published_.load(std::memory_order_seq_cst) == consumed_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kCacheLine = 64;

  std::vector<Entry> entries_;
  const std::size_t mask_;
  alignas(kCacheLine) std::size_t staged_ = 0;  // producer's
  std::size_t known_consumed_ = 0;              // producer's
  alignas(kCacheLine) std::atomic<std::size_t> published_{0};
  alignas(kCacheLine) std::atomic<std::size_t> consumed_{0};
};

}  // namespace headgate
