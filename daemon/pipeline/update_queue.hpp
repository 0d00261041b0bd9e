// Changes on their way from the main thread to a worker, in order: of who has which plan, and of rates that are leased.
//
// One producer and one consumer, no lock: a worker that had to wait for one would wait until the main thread has the processor
// again. It never waits, and neither allocates nor frees: what a change held is left in it and freed by the producer. Without
// bound: the consumer is to be woken before many wait.
#pragma once

#include <atomic>
#include <utility>

namespace headgate {

template <typename Update>
class UpdateQueue {
 public:
  UpdateQueue() = default;
  ~UpdateQueue() {
    while (oldest_ != nullptr) free_oldest();
  }
  UpdateQueue(const UpdateQueue&) = delete;
  UpdateQueue& operator=(const UpdateQueue&) = delete;

  // Producer.
  void push(Update update) {
    while (oldest_ != taken_.load(std::memory_order_acquire)) free_oldest();
    Node* const node = new Node{std::move(update), nullptr};
    newest_->next.store(node, std::memory_order_seq_cst);
    newest_ = node;
  }

  // Consumer. The first, or null. It stays until pop().
  Update* first() {
    Node* const next = taken_.load(std::memory_order_relaxed)->next.load(std::memory_order_acquire);
    return next == nullptr ? nullptr : &next->update;
  }
  void pop() {
    taken_.store(taken_.load(std::memory_order_relaxed)->next.load(std::memory_order_relaxed),
                 std::memory_order_release);
  }
  // Consumer. Sequentially consistent, for the last look before sleeping (see Waiter::prepare).
  bool empty() const {
    return taken_.load(std::memory_order_relaxed)->next.load(std::memory_order_seq_cst) == nullptr;
  }

 private:
  struct Node {
    Update update;
    std::atomic<Node*> next;
  };
  void free_oldest() { delete std::exchange(oldest_, oldest_->next.load(std::memory_order_relaxed)); }

  Node* oldest_ = new Node{{}, nullptr};  // producer; up to taken_ they may be freed
  Node* newest_ = oldest_;                // producer
  std::atomic<Node*> taken_{
      oldest_};  // the last that the consumer has done with, or the one that was never a change
};

}  // namespace headgate
