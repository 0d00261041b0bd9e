// New classes on their way through all workers of a shape.
//
// A worker that learns of them stops reading for the shape, and says so to each of the others through a hand-off ring.
// It goes on taking what they hand it until each of them has said the same. Then there are three steps; no worker
// begins one before all have ended the one before:
//   1. it stands: every packet that was classified by the old classes is in some shaper or sent;
//   2. it puts the new classes in force. What waits and now belongs to another worker is laid out for that one, what is
//      not shaped any more is sent;
//   3. it takes in what the others laid out for it, and reads on.
// So a flow stays in order and in one bucket, whichever worker it belongs to by the new classes. Packets that are due are
// sent meanwhile. With one worker all of it is one step.
//
// Everything that may fail has happened when it is made: once handed to the workers it is in force, however late.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

#include "core/classifier.hpp"
#include "core/shaper.hpp"
#include "headgate/clock.hpp"
#include "pipeline/waiter.hpp"
#include "vocabulary/packet.hpp"

namespace headgate {

class Reconfiguration {
 public:
  // A worker's part in it. `waiter`: to wake it; null: nobody waits.
  struct Part {
    std::unique_ptr<Shaper::Change> change;
    Waiter* waiter = nullptr;
  };
  // Waiters, and this, must live until the promise is kept.
  Reconfiguration(std::shared_ptr<const Classifier> classifier, std::vector<Part> parts);

  const std::shared_ptr<const Classifier>& classifier() const { return classifier_; }

  // Kept when all workers have ended.
  std::future<void> done() { return done_.get_future(); }

  // The steps; each is ended once by each worker, which is woken when all have. True: it was the last to do so. After the
  // last step the worker must not touch this any more.
  enum class Step : std::uint8_t { stand, put_in_force, take_in };
  bool end(Step step);
  bool all_ended(Step step) const;

  // Worker `part`, in the steps of these names.
  void put_in_force(std::size_t part, Shaper& shaper, Instant now);
  void take_in(std::size_t part, Shaper& shaper, Instant now);

 private:
  struct MovingPacket {
    ArrivingPacket packet;
    std::vector<std::byte> frame;  // with what stands in front of it
  };
  using MovingPackets = std::vector<MovingPacket>;

  std::size_t parts() const { return parts_.size(); }
  void wake_all();

  const std::shared_ptr<const Classifier> classifier_;
  const std::vector<Part> parts_;
  std::promise<void> done_;
  std::array<std::atomic<std::size_t>, 3> ended_{};  // by step: workers
  std::mutex mutex_;                                 // what follows
  std::vector<MovingPackets> moving_;                // by the worker that they go to
};

}  // namespace headgate
