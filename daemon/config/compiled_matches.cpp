#include "config/compiled_matches.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace headgate {
namespace {

std::size_t thread_count(std::size_t expressions) {
  return std::min<std::size_t>(std::max(std::thread::hardware_concurrency(), 2U), expressions);
}

// libpcap recurses as deep as a program is long, beyond the stack that the process gives its threads. The memory is gone
// with the thread, also where all memory is locked.
class DeepThread {
 public:
  using Work = std::function<void()>;

  // Null: the system has no thread, or no memory for it.
  static std::unique_ptr<DeepThread> start(Work work) {
    std::unique_ptr<DeepThread> thread(new DeepThread(std::move(work)));
    return thread->started_ ? std::move(thread) : nullptr;
  }

  ~DeepThread() {
    if (started_) pthread_join(thread_, nullptr);
    if (stack_ != MAP_FAILED) munmap(stack_, kStackBytes);
  }

  DeepThread(const DeepThread&) = delete;
  DeepThread& operator=(const DeepThread&) = delete;

 private:
  static constexpr std::size_t kStackBytes = 8 * 1024 * 1024;

  explicit DeepThread(Work work) : work_(std::move(work)) {
    if (stack_ == MAP_FAILED) return;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack_, kStackBytes);
    started_ = pthread_create(&thread_, &attributes, &DeepThread::run, this) == 0;
    pthread_attr_destroy(&attributes);
  }

  static void* run(void* self) {
    static_cast<DeepThread*>(self)->work_();
    return nullptr;
  }

  const Work work_;
  void* const stack_ = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  pthread_t thread_{};
  bool started_ = false;
};

}  // namespace

// The expressions of one call of compile_all(), taken by its threads one after the other.
class CompiledMatches::Batch {
 public:
  Batch(CompiledMatches& matches, std::vector<std::string> expressions)
      : matches_(matches), expressions_(std::move(expressions)) {
    while (threads_.size() < thread_count(expressions_.size())) {
      auto thread = DeepThread::start([this] { work(); });
      if (thread == nullptr) break;
      threads_.push_back(std::move(thread));
    }
    if (threads_.empty()) work();
  }

  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  bool wait(Duration patience) {
    std::unique_lock lock(mutex_);
    return done_.wait_for(lock, patience, [this] { return left_ == 0; });
  }

 private:
  void work() {
    for (const std::string* expression = take(); expression != nullptr; expression = take()) {
      matches_.keep(*expression, compile_match(*expression));
      const std::lock_guard lock(mutex_);
      if (--left_ == 0) done_.notify_one();
    }
  }

  const std::string* take() {
    const std::lock_guard lock(mutex_);
    return next_ < expressions_.size() ? &expressions_[next_++] : nullptr;
  }

  CompiledMatches& matches_;
  const std::vector<std::string> expressions_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::size_t next_ = 0;
  std::size_t left_ = expressions_.size();
  std::vector<std::unique_ptr<DeepThread>> threads_;  // last: joined before the rest goes
};

void CompiledMatches::compile_all(const std::set<std::string>& expressions, const Meanwhile& meanwhile) {
  std::vector<std::string> missing;
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& expression : expressions) {
      if (!compiled_.contains(expression)) missing.push_back(expression);
    }
  }
  if (missing.empty()) return;
  Batch batch(*this, std::move(missing));
  while (!batch.wait(kMeanwhile)) {
    if (meanwhile) meanwhile();
  }
}

void CompiledMatches::keep(const std::string& expression, CompiledMatch compiled) {
  const std::lock_guard lock(mutex_);
  ++compilations_;
  compiled_.insert_or_assign(expression, std::move(compiled));
}

CompiledMatch CompiledMatches::get(const std::string& expression) {
  compile_all({expression});  // a deep thread of its own, where it must be compiled
  const std::lock_guard lock(mutex_);
  return compiled_.at(expression);
}

void CompiledMatches::drop_unused() {
  const std::lock_guard lock(mutex_);
  std::erase_if(compiled_, [](const auto& entry) { return entry.second.matcher.use_count() <= 1; });
}

std::size_t CompiledMatches::size() const {
  const std::lock_guard lock(mutex_);
  return compiled_.size();
}

std::uint64_t CompiledMatches::compilations() const {
  const std::lock_guard lock(mutex_);
  return compilations_;
}

}  // namespace headgate
