#include "worker_set.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <future>
#include <utility>

#include "linux/real_time.hpp"

namespace headgate {

namespace {

// Address space: more than the host has memory is in nobody's configuration.
ScheduleLimits address_space() {
  const auto memory =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  constexpr std::uint64_t kLeastChunk = 256;
  constexpr std::uint64_t kMostFlows = std::uint64_t{1} << 26;
  return {.memory = DataSize{memory},
          .max_flows = static_cast<std::uint32_t>(std::min(memory / kLeastChunk, kMostFlows))};
}

}  // namespace

WorkerThread::WorkerThread(std::size_t number, bool real_time, MemorySource& memory, Log log,
                           Meanwhile meanwhile)
    : number_(number),
      real_time_(real_time),
      log_(std::move(log)),
      meanwhile_(std::move(meanwhile)),
      worker_(address_space(), memory, waiter_, clock_) {
  worker_.expect_run();
  std::promise<pid_t> id;
  std::future<pid_t> known = id.get_future();
  thread_ = std::thread([this, &id] {
    id.set_value(gettid());
    run();
  });
  try {
    share_.emplace(known.get());
  } catch (...) {
    end();
    throw;
  }
}

WorkerThread::~WorkerThread() {
  end();
}

void WorkerThread::end() {
  worker_.stop();
  thread_.join();
}

void WorkerThread::run() {
  // At most 15 characters.
  pthread_setname_np(pthread_self(), ("hg-worker-" + std::to_string(number_)).c_str());
  set_timer_slack();
  if (real_time_) {
    const std::string refusal = set_real_time_priority();
    has_priority_ = refusal.empty();
    if (refusal.empty()) worker_.set_real_time();
    if (!refusal.empty() && number_ == 0)
      log_("departures are timed by ordinary threads, less exact under load: " + refusal);
  }
  worker_.run();
}

void WorkerThread::wait_for(const std::future<void>& answer) {
  const Instant hangs = clock_.now() + kLongestAnswer;
  do {
    meanwhile_();
    if (answer.wait_for(kSlice) == std::future_status::ready) return;
  } while (clock_.now() < hangs);
  answer.wait();
}

void WorkerThread::call(Worker::Request request) {
  std::future<void> answer = worker_.ask(std::move(request));
  wait_for(answer);
  answer.get();
}

WorkerRing& WorkerThread::ring(SharedDivert& common) {
  if (!ring_) {
    ring_ = common.make_ring();
    call([this](Instant) { worker_.add_shared(ring_->buffer()); });
  }
  return *ring_;
}

void WorkerThread::serve(Precision precision) {
  ++(precision == Precision::high ? high_ : normal_);
  choose_precision();
}

void WorkerThread::leave(Precision precision) {
  --(precision == Precision::high ? high_ : normal_);
  choose_precision();
}

// It is said for some seconds longer than it lasts, so that who looks now and then sees it.
void WorkerThread::look_for_starvation() {
  constexpr int kLooksToForget = 5;
  const std::uint64_t late_times = worker_.health().late_times.load(std::memory_order_relaxed);
  const ProcessorWait wait = share_->since_last();
  if (late_times == std::exchange(late_times_, late_times)) {
    if (++looks_in_time_ >= kLooksToForget) starvation_.clear();
    return;
  }
  looks_in_time_ = 0;
  const auto milliseconds = [](Duration time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) +
           " ms of the last second";
  };
  if (wait.throttled > kMaxCatchUp) {
    starvation_ = "too little processor time: the quota of " + wait.throttled_by +
                  " (cpu.max, CPUQuota=) withheld " + milliseconds(wait.throttled);
  } else if (wait.waited > kMaxCatchUp) {
    const std::string others = has_priority_ ? "other threads of real-time priority" : "other threads";
    starvation_ = "too little processor time: " + others + ", or the host, kept the processor for " +
                  milliseconds(wait.waited);
  } else {
    starvation_ = "too little processor time: the worker came more than 10 ms late, " +
                  std::string("as after a pause of the machine or of this process");
  }
}

void WorkerThread::choose_precision() {
  waiter_.set_precision(high_ > 0 ? Precision::high : Precision::normal);
}

WorkerSet::WorkerSet(std::size_t workers, MemorySource& memory, WorkerThread::Log log,
                     WorkerThread::Meanwhile meanwhile)
    : most_(most(workers)), memory_(memory), log_(std::move(log)), meanwhile_(std::move(meanwhile)) {}

std::size_t WorkerSet::most(std::size_t workers) {
  return workers != 0 ? workers : std::max(1U, std::thread::hardware_concurrency());
}

std::vector<WorkerThread*> WorkerSet::choose(std::size_t count, bool real_time) {
  std::vector<WorkerThread*> kind;
  std::size_t idle = 0;
  for (const auto& thread : threads_) {
    if (thread->real_time() != real_time) continue;
    kind.push_back(thread.get());
    idle += thread->shapes() == 0 ? 1 : 0;
  }
  while (kind.size() < count || (idle < count && threads_.size() < most_)) {
    kind.push_back(&add(real_time));
    ++idle;
  }
  std::stable_sort(kind.begin(), kind.end(), [](const WorkerThread* left, const WorkerThread* right) {
    return left->shapes() < right->shapes();
  });
  kind.resize(count);
  return kind;
}

WorkerThread& WorkerSet::add(bool real_time) {
  threads_.push_back(std::make_unique<WorkerThread>(next_number_++, real_time, memory_, log_, meanwhile_));
  return *threads_.back();
}

void WorkerSet::look_for_starvation() {
  for (const auto& thread : threads_) thread->look_for_starvation();
}

void WorkerSet::end_unused() {
  std::erase_if(threads_, [](const auto& thread) { return thread->shapes() == 0; });
}

}  // namespace headgate
