#include "pipeline/reconfiguration.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "pipeline/drain_choice.hpp"

namespace headgate {

Reconfiguration::Reconfiguration(std::shared_ptr<const Classifier> classifier,
                                 std::vector<Waiter*> drain_waiters)
    : classifier_(std::move(classifier)),
      drain_waiters_(std::move(drain_waiters)),
      moving_(drain_waiters_.size()) {}

// Once a thread has ended the last step, nothing here may be left for it to read: the last one keeps the promise, and
// whoever waits for that may destroy this.
void Reconfiguration::end(Step step) {
  const std::size_t all = drains();
  auto& ended = ended_[static_cast<std::size_t>(step)];
  if (ended.fetch_add(1, std::memory_order_acq_rel) + 1 < all) return;
  if (step != Step::take_in) return wake_all();
  if (error_) {
    done_.set_exception(error_);
  } else {
    done_.set_value();
  }
}

bool Reconfiguration::all_ended(Step step) const {
  return ended_[static_cast<std::size_t>(step)].load(std::memory_order_acquire) == drains();
}

void Reconfiguration::wake_all() {
  for (Waiter* waiter : drain_waiters_) {
    if (waiter != nullptr) waiter->wake();
  }
}

bool Reconfiguration::put_in_force(std::size_t drain, Shaper& shaper, Instant now) {
  std::vector<MovingPackets> leaving(drains());
  const auto classify = [this](ArrivingPacket& packet) { classifier_->classify(packet); };
  const auto leaves = [&](const ArrivingPacket& packet) {
    const std::size_t other = drain_of(packet.flow_hash, drains());
    if (other == drain) return false;
    try {
      const std::byte* start = packet.frame.data() - packet.prefix_bytes;
      leaving[other].push_back({packet, {start, packet.frame.data() + packet.frame.size()}});
    } catch (const std::bad_alloc&) {
      return false;  // better in a second bucket than lost
    }
    return true;
  };
  std::exception_ptr error;
  try {
    shaper.reconfigure(classifier_->classes(), classify, now,
                       drains() > 1 ? Shaper::Leaves(leaves) : Shaper::Leaves());
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  if (error) error_ = error;
  for (std::size_t other = 0; other < drains(); ++other) {
    std::move(leaving[other].begin(), leaving[other].end(), std::back_inserter(moving_[other]));
  }
  return !error;
}

void Reconfiguration::run(const std::vector<Shaper*>& shapers, Instant now) {
  for (std::size_t i = 0; i < shapers.size(); ++i) put_in_force(i, *shapers[i], now);
  for (std::size_t i = 0; i < shapers.size(); ++i) take_in(i, *shapers[i], now);
  if (error_) std::rethrow_exception(error_);
}

void Reconfiguration::take_in(std::size_t drain, Shaper& shaper, Instant now) {
  MovingPackets packets;
  {
    const std::lock_guard lock(mutex_);
    packets.swap(moving_[drain]);
  }
  // Those of one flow come from one thread and are in order.
  std::stable_sort(packets.begin(), packets.end(), [](const MovingPacket& left, const MovingPacket& right) {
    return left.packet.arrival < right.packet.arrival;
  });
  for (MovingPacket& moving : packets) {
    moving.packet.frame = std::span<const std::byte>(moving.frame).subspan(moving.packet.prefix_bytes);
    shaper.readmit(moving.packet, now);
  }
}

}  // namespace headgate
