// The daemon's worker threads, and which shapes each of them serves.
//
// There are as many threads as shapes, but at most one a processor, or as many as [daemon] workers says. A shape that
// wants several workers gets as many all the same. Threads with real-time priority and ordinary ones are of two kinds, and
// a shape is served by one kind alone: where departures are to be exact no ordinary work is in the way.
//
// Main thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/memory_area.hpp"
#include "linux/processor_share.hpp"
#include "linux/shared_divert.hpp"
#include "linux/timer_waiter.hpp"
#include "pipeline/worker.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// A worker with its thread, from construction to destruction.
class WorkerThread {
 public:
  using Log = std::function<void(const std::string& line)>;  // called by any thread
  using Meanwhile = std::function<void()>;                   // called by who waits for a worker

  WorkerThread(std::size_t number, bool real_time, MemorySource& memory, Log log, Meanwhile meanwhile);
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  Worker& worker() { return worker_; }
  bool real_time() const { return real_time_; }

  // Waits for what its thread was asked for. `meanwhile` is called about every kSlice, but not for longer than
  // kLongestAnswer: whoever takes so long hangs.
  void wait_for(const std::future<void>& answer);
  // Asks and waits. Throws what the request throws.
  void call(Worker::Request request);
  static constexpr Duration kSlice = std::chrono::milliseconds(100);
  static constexpr Duration kLongestAnswer = std::chrono::seconds(10);

  // Where the divert programs copy packets to for its shapes. Made when it is asked for the first time; throws
  // std::system_error. `common`: always the same, which outlives this.
  WorkerRing& ring(SharedDivert& common);

  // A shape with this precision is served from here on, or no more. High precision holds for all that it serves.
  void serve(Precision precision);
  void leave(Precision precision);
  std::size_t shapes() const { return normal_ + high_; }

  // Why it has come too late lately; empty: it has not. As of the last look_for_starvation(), which is to be called about
  // once a second.
  const std::string& starvation() const { return starvation_; }
  void look_for_starvation();

 private:
  void run();
  void end();
  void choose_precision();

  const std::size_t number_;
  const bool real_time_;  // wanted
  const Log log_;
  const Meanwhile meanwhile_;
  MonotonicClock clock_;
  TimerWaiter waiter_;
  std::unique_ptr<WorkerRing> ring_;
  Worker worker_;
  std::size_t normal_ = 0;  // shapes of this precision
  std::size_t high_ = 0;
  std::atomic<bool> has_priority_{false};  // real time, not only wanted
  std::optional<ProcessorShare> share_;
  std::uint64_t late_times_ = 0;  // at the last look
  int looks_in_time_ = 0;         // since it was last late
  std::string starvation_;
  std::thread thread_;  // last: it uses all the rest
};

class WorkerSet {
 public:
  // `workers`: 0: one a processor at most. `memory` outlives it. `meanwhile`: see WorkerThread::wait_for().
  WorkerSet(std::size_t workers, MemorySource& memory, WorkerThread::Log log,
            WorkerThread::Meanwhile meanwhile);

  // How many there are at most, but for shapes that want more.
  static std::size_t most(std::size_t workers);

  // The `count` workers that a new shape gets: different ones of one kind, those that serve the fewest shapes. Makes
  // threads where there may be more.
  std::vector<WorkerThread*> choose(std::size_t count, bool real_time);
  // Ends the threads that serve no shape.
  void end_unused();
  void look_for_starvation();

 private:
  WorkerThread& add(bool real_time);

  const std::size_t most_;
  MemorySource& memory_;
  const WorkerThread::Log log_;
  const WorkerThread::Meanwhile meanwhile_;
  std::size_t next_number_ = 0;
  std::vector<std::unique_ptr<WorkerThread>> threads_;
};

}  // namespace headgate
