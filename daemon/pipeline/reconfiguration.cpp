#include "pipeline/reconfiguration.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "pipeline/part_of_flow.hpp"

namespace headgate {

Reconfiguration::Reconfiguration(std::shared_ptr<const Classifier> classifier, std::vector<Part> parts)
    : classifier_(std::move(classifier)), parts_(std::move(parts)), moving_(parts_.size()) {}

// Once a worker has ended the last step, nothing here may be left for it to read: the last one keeps the promise, and
// whoever waits for that may destroy this.
bool Reconfiguration::end(Step step) {
  const std::size_t all = parts();
  auto& ended = ended_[static_cast<std::size_t>(step)];
  if (ended.fetch_add(1, std::memory_order_acq_rel) + 1 < all) return false;
  if (step == Step::take_in) {
    done_.set_value();
  } else {
    wake_all();
  }
  return true;
}

bool Reconfiguration::all_ended(Step step) const {
  return ended_[static_cast<std::size_t>(step)].load(std::memory_order_acquire) == parts();
}

void Reconfiguration::wake_all() {
  for (const Part& part : parts_)
    if (part.waiter != nullptr) part.waiter->wake();
}

void Reconfiguration::put_in_force(std::size_t part, Shaper& shaper, Instant now) {
  std::vector<MovingPackets> leaving(parts());
  const auto classify = [this](ArrivingPacket& packet) { classifier_->classify(packet); };
  const auto goes_elsewhere = [&](const ArrivingPacket& packet) {
    const std::size_t other = part_of_flow(packet.flow_hash, parts());
    if (other == part) return false;
    try {
      const std::byte* start = packet.frame.data() - packet.prefix_bytes;
      leaving[other].push_back({packet, {start, packet.frame.data() + packet.frame.size()}});
    } catch (const std::bad_alloc&) {
      return false;  // better in a second bucket than lost
    }
    return true;
  };
  if (parts() > 1) {
    shaper.reconfigure(*parts_[part].change, classify, now, goes_elsewhere);
  } else {
    shaper.reconfigure(*parts_[part].change, classify, now);
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t other = 0; other < parts(); ++other) {
    std::move(leaving[other].begin(), leaving[other].end(), std::back_inserter(moving_[other]));
  }
}

void Reconfiguration::take_in(std::size_t part, Shaper& shaper, Instant now) {
  MovingPackets packets;
  {
    const std::lock_guard lock(mutex_);
    packets.swap(moving_[part]);
  }
  // Those of one flow come from one worker and are in order.
  std::stable_sort(packets.begin(), packets.end(), [](const MovingPacket& left, const MovingPacket& right) {
    return left.packet.arrival < right.packet.arrival;
  });
  for (MovingPacket& moving : packets) {
    moving.packet.frame = std::span<const std::byte>(moving.frame).subspan(moving.packet.prefix_bytes);
    shaper.readmit(moving.packet, now);
  }
}

}  // namespace headgate
