#include "pipeline/capture_loop.hpp"

#include <array>
#include <utility>

#include "pipeline/wire_charge.hpp"

namespace headgate {

namespace {
// While the drain thread is unhealthy the switch may be open and no frame may come: look again this often.
constexpr Duration kUnhealthyRecheck = std::chrono::milliseconds(100);
}  // namespace

CaptureLoop::CaptureLoop(PacketSource& source, HandOff& hand_off, Waiter& drain_waiter,
                         DeadManSwitch& dead_man_switch, const DrainHealth& drain_health, Clock& clock,
                         std::shared_ptr<const Classifier> classifier)
    : source_(source),
      hand_off_(hand_off),
      drain_waiter_(drain_waiter),
      dead_man_switch_(dead_man_switch),
      drain_health_(drain_health),
      clock_(clock),
      classifier_(std::move(classifier)),
      progress_time_(clock.now()) {}

void CaptureLoop::run() {
  try {
    read_until_stopped();
  } catch (...) {
    adopt_reconfiguration();
    hand_over(HandOffEntry::Kind::end, nullptr);
    throw;
  }
  while (read_batch() > 0) {
  }
  adopt_reconfiguration();
  hand_over(HandOffEntry::Kind::end, nullptr);
}

void CaptureLoop::read_until_stopped() {
  bool busy = false;
  while (!stopping_.load(std::memory_order_acquire)) {
    adopt_reconfiguration();
    const std::size_t count = read_batch();
    if (count > 0) {
      busy = count >= kBusyBatch;
      continue;
    }
    if (std::exchange(busy, false)) {
      clock_.sleep(kNap);
      continue;
    }
    source_.wait(reset_withheld_ ? std::optional(kUnhealthyRecheck) : std::nullopt);
  }
}

std::size_t CaptureLoop::read_batch() {
  std::array<CapturedFrame, kBatch> frames;
  const std::size_t count = source_.receive(frames);
  const Instant now = clock_.now();
  note_drain_progress(now);
  if (count > 0) {
    for (std::size_t i = 0; i < count; ++i) hand_over(frames[i], now);
    hand_off_.publish();
    drain_waiter_.wake();
  }
  reset_withheld_ = !drain_healthy(now);
  // Not `now`: this process may have been stopped since, which the switch is to notice.
  if (!reset_withheld_) dead_man_switch_.reset(clock_.now());
  return count;
}

void CaptureLoop::hand_over(const CapturedFrame& captured, Instant now) {
  HandOffEntry* entry = hand_off_.stage();
  if (entry == nullptr) std::terminate();  // more frames out than the source has slots
  const Count charge = wire_charge(captured);
  entry->kind = HandOffEntry::Kind::packet;
  entry->slot = captured.slot;
  entry->clipped = captured.frame.size() < captured.wire_length;
  entry->packet = ArrivingPacket{.frame = captured.frame,
                                 .arrival = now,
                                 .charged_bytes = static_cast<std::uint32_t>(charge.bytes),
                                 .charged_packets = static_cast<std::uint16_t>(charge.packets),
                                 .vlan_tpid = captured.vlan_tpid,
                                 .vlan_tci = captured.vlan_tci,
                                 .prefix_bytes = captured.prefix_bytes};
  classifier_->classify(entry->packet);
}

void CaptureLoop::hand_over(HandOffEntry::Kind kind, Reconfiguration* reconfiguration) {
  HandOffEntry* entry = hand_off_.stage();
  if (entry == nullptr) std::terminate();
  *entry = HandOffEntry{.kind = kind, .reconfiguration = reconfiguration};
  hand_off_.publish();
  drain_waiter_.wake();
}

void CaptureLoop::adopt_reconfiguration() {
  if (pending_.load(std::memory_order_relaxed) == nullptr) return;
  Reconfiguration* reconfiguration = pending_.exchange(nullptr, std::memory_order_acq_rel);
  classifier_ = reconfiguration->classifier;
  hand_over(HandOffEntry::Kind::reconfiguration, reconfiguration);
}

void CaptureLoop::note_drain_progress(Instant now) {
  const std::size_t consumed = hand_off_.consumed();
  if (consumed == progress_consumed_ && consumed != hand_off_.published()) return;
  progress_consumed_ = consumed;
  progress_time_ = now;
}

// Unhealthy: a due packet has been unsent, or handed-over entries have lain untouched, for
// DrainHealth::kPatience.
bool CaptureLoop::drain_healthy(Instant now) const {
  return now - progress_time_ <= DrainHealth::kPatience && !drain_health_.overdue(now);
}

void CaptureLoop::stop() {
  stopping_.store(true, std::memory_order_release);
  source_.interrupt();
}

void CaptureLoop::reconfigure(Reconfiguration& reconfiguration) {
  pending_.store(&reconfiguration, std::memory_order_release);
  source_.interrupt();
}

}  // namespace headgate
