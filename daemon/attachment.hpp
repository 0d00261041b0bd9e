// What ties the shapers of a shape to its interface: the divert, and workers, each with a capture ring, a transmitter and
// a thread that reads the one, drains its buckets and sends by the other. Of several each hands over to any, by the flow.
// The shapers outlive it, with their queues and counters, so an attachment can be replaced when the interface changes.
//
// Main thread, except what says otherwise. Construction makes everything but diverts no packet.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/classifier.hpp"
#include "core/shaper.hpp"
#include "headgate/config.hpp"
#include "linux/capture_source.hpp"
#include "linux/packet_transmitter.hpp"
#include "linux/timer_waiter.hpp"
#include "linux/traffic_divert.hpp"
#include "pipeline/capture_loop.hpp"
#include "pipeline/drain_loop.hpp"
#include "pipeline/pipeline_watch.hpp"

namespace headgate {

// What the drain thread of one worker owns while it runs, and what outlives it.
struct WorkerState {
  WorkerState(const ShaperLimits& limits, std::vector<ClassConfig> classes, Instant now)
      : shaper(limits, std::move(classes), now) {}

  PacketTaps taps;
  Shaper shaper;
};
using WorkerStates = std::vector<std::unique_ptr<WorkerState>>;

class Attachment {
 public:
  using Log = std::function<void(const std::string& line)>;  // called by any thread

  // Throws a sentence for the administrator. There are as many workers as `states`, which belong to the drain threads
  // from start() to stop().
  Attachment(const DaemonConfig& daemon, const ShapeConfig& shape,
             std::shared_ptr<const Classifier> classifier, const WorkerStates& states, Log log);
  ~Attachment();  // as stop(Queued::keep)
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  void start();

  // Opens the host; nothing is diverted from here on. The threads go on with what they have.
  void detach() { divert_.detach(); }
  void resume() { divert_.attach(); }  // after detach()

  // Inline: stop() leaves the wire between the two interfaces, for another attachment will follow.
  void keep_wire() { divert_.keep_wire(); }

  enum class Queued { send, keep };
  // Detaches, takes over what was diverted already, ends all threads. `send`: what is queued is sent first, unpaced.
  void stop(Queued queued);

  // Returns when all threads classify and shape by the new classes. Throws when they do not take them.
  void reconfigure(const ShapeConfig& shape, std::shared_ptr<const Classifier> classifier);

  // To be called about once a second. False: a thread has work and does not get on with it.
  bool check_progress();

  // Why a thread ended by itself, for it could not read any more; empty while all run.
  std::string capture_error() const;

  // Runs `request` in the drain thread of a worker; see DrainLoop::call().
  bool call(std::size_t worker, DrainLoop::Request request);

  // Runs `change` in the drain thread of a worker, which shows the packets to whatever taps there are then. As call().
  bool change_taps(std::size_t worker, std::function<void(PacketTaps& taps)> change);

  bool diverting() const { return divert_.attached(); }
  const TrafficDivert& divert() const { return divert_; }

  // Packets, since construction, that were diverted and not received.
  struct Lost {
    std::uint64_t ring = 0;    // for want of room in the capture ring
    std::uint64_t device = 0;  // before they came to it
  };
  Lost lost();

 private:
  struct Worker {
    Worker(std::size_t own_number, WorkerState& own_state, std::unique_ptr<CaptureSource> own_source,
           const PacketTransmitterOptions& options)
        : number(own_number), state(own_state), source(std::move(own_source)), transmitter(options) {}

    const std::size_t number;
    WorkerState& state;
    std::unique_ptr<CaptureSource> source;
    PacketTransmitter transmitter;
    TimerWaiter waiter;
    std::vector<std::unique_ptr<HandOff>> hand_offs;  // to each worker, by its number
    std::optional<DrainLoop> drain_loop;
    std::optional<CaptureLoop> capture_loop;
    std::thread thread;
    std::vector<std::size_t> last_consumed;  // of the hand-offs, at the last check
    std::atomic<bool> capture_failed{false};
    std::string capture_error;  // written before capture_failed is set
  };

  void make_workers(const DaemonConfig& daemon, const ShapeConfig& shape, const WorkerStates& states);
  void join_workers(const std::shared_ptr<const Classifier>& classifier);
  static void observe_taps(Worker& worker);
  void run(Worker& worker);
  bool ask_for_real_time(const Worker& worker);
  static void note_failure(Worker& worker, const std::exception_ptr& failure);
  std::string thread_name(const std::string& name, const Worker& worker) const;
  static bool hand_overs_move(Worker& worker);

  const std::string title_;
  const Log log_;
  const bool real_time_;  // the threads ask for it
  TrafficDivert divert_;
  MonotonicClock clock_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::uint64_t lost_device_ = 0;  // as last reported
  std::optional<PipelineWatch> watch_;
  std::unique_ptr<Reconfiguration> reconfiguration_;  // kept: a thread that is late may still read it
  std::future<void> reconfigured_;                    // of the last one, until it is over
};

std::string title_of(const ShapeConfig& shape);  // "eth0 egress"

}  // namespace headgate
