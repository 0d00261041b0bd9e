#include "bounded_pool.hpp"

#include <utility>

namespace headgate {
namespace {

thread_local bool refuses = false;

}  // namespace

BoundedPool::BoundedPool(std::size_t threads, std::size_t waiting) : waiting_(waiting) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

void BoundedPool::enqueue(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() < waiting_) {
      tasks_.push_back(std::move(task));
      task = nullptr;
    }
  }
  if (!task) {
    has_work_.notify_one();
    return;
  }
  refuses = true;
  task();
  refuses = false;
}

void BoundedPool::shutdown() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool BoundedPool::being_refused() {
  return refuses;
}

void BoundedPool::run() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      has_work_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace headgate
