// One thread for any number of shapes: it reads what has arrived, admits it, sends what is due, and sleeps until the next
// packet is due or arrives, or until somebody asks for something.
//
// It alone owns its schedule, with the shapers in it, and its ports, so nothing on a packet's way takes a lock. It reads
// before each batch that it sends: a second thread for that would have to be woken for every packet, too.
//
// run() on the worker's thread, everything else from any thread, unless it says otherwise.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/schedule.hpp"
#include "headgate/clock.hpp"
#include "pipeline/outgoing_batch.hpp"
#include "pipeline/port.hpp"
#include "pipeline/update_queue.hpp"
#include "pipeline/waiter.hpp"
#include "pipeline/worker_health.hpp"

namespace headgate {

struct MemberUpdateOf {
  Shaper* shaper = nullptr;
  ClassIndex class_index = 0;
  Shaper::MemberUpdate update;
};

struct LeasedRateOf {
  Shaper* shaper = nullptr;
  LeasedRate lease;
};

class Worker {
 public:
  Worker(const ScheduleLimits& limits, MemorySource& memory, Waiter& waiter, Clock& clock);

  // Before run(): the thread has real-time priority, and rests for the sake of others.
  void set_real_time() { real_time_ = true; }

  // Before the thread that will run() is made: from here on requests wait for it.
  void expect_run() { runs_ = true; }
  // Until stop(). What is queued then stays in the shapers.
  void run();
  void stop();

  // Runs `request` in the worker's thread between two batches, when no capture slot is out. `ask` does not wait for it;
  // the future holds what it throws. `call` waits at most `patience`. False: it did not run in that time, and may still run
  // later, so it must own what it touches. Before expect_run() and after run() it runs in the calling thread.
  using Request = std::function<void(Instant now)>;
  std::future<void> ask(Request request);
  bool call(Request request, Duration patience);

  // From one thread alone. What all requests after it find done. It does not wait: a few are put in force before each look for
  // packets, so that a flood of them delays none by much, and a slice of them at most waits for the next packet while the
  // worker sleeps.
  void change_member(MemberUpdateOf update);

  // From that same thread. In force before the next packet is read, unless very many come at once.
  void lease(LeasedRateOf rate);

  // Within a request.
  Schedule& schedule() { return schedule_; }
  void add_shared(SharedSource& source);  // for good
  void add_port(Port& port);
  void remove_port(Port& port);  // what is queued must not become due: suspend the shaper first
  // Sends some batches of what the port's shaper has queued, regardless of rates; after `give_up` they are dropped (stop).
  // True: more is left. The shaper is suspended from the first call on.
  bool send_some(Port& port, Instant give_up);

  const WorkerHealth& health() const { return health_; }
  Waiter& waiter() { return waiter_; }

 private:
  // A real-time thread that has the processor for more than 95 % of a second is stopped by the kernel for the rest of it,
  // for the ordinary threads' sake. This one gives them the same share in small pieces: it rests after each stretch of
  // which it took more than so much.
  static constexpr Duration kStretch = std::chrono::milliseconds(10);
  static constexpr int kMostPercent = 94;
  static constexpr Duration kRest = std::chrono::microseconds(650);
  // Large frames stay in their capture slots for so long.
  static constexpr Duration kLoan = std::chrono::microseconds(100);
  // Of send_some(): some milliseconds, for which the other ports wait.
  static constexpr int kSomeBatches = 16;
  // Changes of members in one round, some microseconds; and so many wake the worker.
  static constexpr std::size_t kMembersAtOnce = 16;
  static constexpr std::size_t kLeasesAtOnce = 64;  // in one round
  // While a port must look again by itself, it does so this often.
  static constexpr Duration kLookAgain = std::chrono::milliseconds(100);

  struct PendingRequest {
    Request request;
    std::promise<void> done;
  };

  void go_round();
  std::size_t read();
  void note_lateness(Instant now);
  void look_after_pause(Instant now);
  void send_due(Instant began);
  void send_all_due();
  void give_back_slots(std::optional<Instant> next);
  void give_back_slots();
  void change_members(std::size_t limit);
  void put_leases_in_force(std::size_t limit);
  void run_requests();
  void attend_to_ports();
  void watch_sources();
  void sleep_until(std::optional<Instant> next);
  bool has_work() const;
  void rest_at_times(Instant now);
  void publish(Instant now, std::optional<Instant> next);

  Waiter& waiter_;
  Clock& clock_;
  Schedule schedule_;
  OutgoingBatch outgoing_;
  struct PortEntry {
    Port* port;
    bool watched;  // its source ends a wait
  };
  std::vector<PortEntry> ports_;
  std::vector<SharedSource*> shared_;
  std::size_t first_port_ = 0;  // that the next round begins with
  WorkerHealth health_;
  bool real_time_ = false;
  bool busy_ = false;  // the last round that read something read much
  Instant stretch_since_{};
  Duration processor_time_{};  // at its start

  UpdateQueue<LeasedRateOf> leases_;
  UpdateQueue<MemberUpdateOf> members_;
  std::size_t members_unwoken_ =
      0;  // of members_, since they last woke the worker; of the thread that fills it

  std::atomic<bool> stopping_{false};
  std::atomic<bool> has_requests_{false};
  std::mutex requests_mutex_;  // what follows
  std::vector<PendingRequest> requests_;
  bool runs_ = false;
};

}  // namespace headgate
