// New classes on their way through all threads of a shape.
//
// A capture loop classifies by them from the next frame on and says so in each of its hand-off rings. A drain thread
// that meets the entry in one ring reads no further from it until it has met it in all. Then, in three steps that no drain
// thread begins before all have ended the one before:
//   1. it stands: every packet that was classified by the old classes is in some shaper or sent;
//   2. it puts the new classes in force. What waits and now belongs to another drain thread is laid out for that one,
//      what is not shaped any more is sent;
//   3. it takes in what the others laid out for it, and reads on.
// So a flow stays in order and in one bucket, whichever thread it belongs to by the new classes. Packets that are due are
// sent meanwhile. With one drain thread all of it is one step.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

#include "core/classifier.hpp"
#include "core/shaper.hpp"
#include "headgate/clock.hpp"
#include "headgate/packet.hpp"
#include "pipeline/waiter.hpp"

namespace headgate {

class Reconfiguration {
 public:
  // `drain_waiters`: of every drain thread. They, and this, must live until the promise is kept.
  explicit Reconfiguration(std::shared_ptr<const Classifier> classifier,
                           std::vector<Waiter*> drain_waiters = {nullptr});

  const std::shared_ptr<const Classifier>& classifier() const { return classifier_; }

  // Kept when all drain threads have ended; holds the exception when memory ran out.
  std::future<void> done() { return done_.get_future(); }

  // The steps; each is ended once by each drain thread, which is woken when all have. After the last one the drain
  // thread must not touch this any more.
  enum class Step : std::uint8_t { stand, put_in_force, take_in };
  void end(Step step);
  bool all_ended(Step step) const;

  // Drain thread `drain`, in the steps of these names. False: it could not, and goes on with the old classes.
  bool put_in_force(std::size_t drain, Shaper& shaper, Instant now);
  void take_in(std::size_t drain, Shaper& shaper, Instant now);

  // All of it in this thread, while no drain thread runs. Throws when memory runs out.
  void run(const std::vector<Shaper*>& shapers, Instant now);

 private:
  struct MovingPacket {
    ArrivingPacket packet;
    std::vector<std::byte> frame;  // with what stands in front of it
  };
  using MovingPackets = std::vector<MovingPacket>;

  std::size_t drains() const { return drain_waiters_.size(); }
  void wake_all();

  const std::shared_ptr<const Classifier> classifier_;
  const std::vector<Waiter*> drain_waiters_;
  std::promise<void> done_;
  std::array<std::atomic<std::size_t>, 3> ended_{};  // by step: drain threads
  std::mutex mutex_;                                 // what follows
  std::vector<MovingPackets> moving_;                // by the drain thread that they go to
  std::exception_ptr error_;
};

}  // namespace headgate
