#include "pipeline/capture_loop.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "pipeline/drain_choice.hpp"
#include "pipeline/wire_charge.hpp"

namespace headgate {

namespace {
// While some thread does not get on the switch may be open and no frame may come: look again this often.
constexpr Duration kUnhealthyRecheck = std::chrono::milliseconds(100);
}  // namespace

CaptureLoop::CaptureLoop(PacketSource& source, const std::vector<CaptureOutput>& outputs,
                         PipelineWatch& watch, Clock& clock, std::shared_ptr<const Classifier> classifier,
                         std::size_t worker)
    : source_(source), watch_(watch), clock_(clock), classifier_(std::move(classifier)), worker_(worker) {
  for (const CaptureOutput& output : outputs) {
    outputs_.push_back(
        {.hand_off = &output.hand_off, .drain_waiter = output.drain_waiter, .moved_at = clock.now()});
  }
}

void CaptureLoop::run() {
  while (!ended_) {
    if (!look() && !ended_) wait_until(std::nullopt);
  }
}

bool CaptureLoop::look() {
  if (ended_) return false;
  try {
    adopt_reconfiguration();
    const bool last = stopping_.load(std::memory_order_acquire);
    if (read_batch() > 0) return true;
    if (last && !blocked_) end();
  } catch (...) {
    end(std::current_exception());
  }
  return false;
}

void CaptureLoop::wait_until(std::optional<Instant> deadline) {
  std::optional<Duration> limit;
  if (deadline) limit = std::max(*deadline - clock_.now(), Duration::zero());
  if (std::exchange(busy_, false) || blocked_) {
    clock_.sleep(std::min(limit.value_or(kNap), kNap));
    return;
  }
  if (reset_withheld_) limit = std::min(limit.value_or(kUnhealthyRecheck), kUnhealthyRecheck);
  try {
    source_.wait(limit);
  } catch (...) {
    end(std::current_exception());
  }
}

void CaptureLoop::end(std::exception_ptr failure) {
  failure_ = std::move(failure);
  ended_ = true;
  adopt_reconfiguration();
  hand_over(HandOffEntry::Kind::end, nullptr);
}

std::size_t CaptureLoop::read_batch() {
  std::array<CapturedFrame, kBatch> frames;
  const std::size_t limit = room();
  blocked_ = limit == 0;
  const std::size_t count = source_.receive(std::span(frames).first(limit));
  const Instant now = clock_.now();
  watch_.note_look(worker_, now, drains_take(now));
  for (std::size_t i = 0; i < count; ++i) hand_over(frames[i], now);
  if (count > 0) publish();
  if (count > 0) busy_ = count >= kBusyFrames;
  if (count >= kBusyFrames && watch_.may_look_later(worker_, now)) return count;
  reset_withheld_ = !watch_.reset(worker_, now, clock_);
  return count;
}

// Frames of one batch may all go to the same drain thread.
std::size_t CaptureLoop::room() const {
  std::size_t least = kBatch + kReservedEntries;
  for (const Output& output : outputs_) least = std::min(least, output.hand_off->room(least));
  return least - std::min(least, kReservedEntries);
}

void CaptureLoop::hand_over(const CapturedFrame& captured, Instant now) {
  if (outputs_.size() == 1) return fill(stage(outputs_.front()), captured, now);
  HandOffEntry entry;
  fill(entry, captured, now);
  stage(output_of(entry.packet)) = entry;
}

HandOffEntry& CaptureLoop::stage(Output& output) {
  HandOffEntry* entry = output.hand_off->stage();
  if (entry == nullptr) std::terminate();  // room() said otherwise
  output.staged = true;
  return *entry;
}

void CaptureLoop::fill(HandOffEntry& entry, const CapturedFrame& captured, Instant now) const {
  const Count charge = wire_charge(captured);
  entry.kind = HandOffEntry::Kind::packet;
  entry.slot = captured.slot;
  entry.clipped = captured.frame.size() < captured.wire_length;
  entry.packet = ArrivingPacket{.frame = captured.frame,
                                .arrival = now,
                                .charged_bytes = static_cast<std::uint32_t>(charge.bytes),
                                .charged_packets = static_cast<std::uint16_t>(charge.packets),
                                .vlan_tpid = captured.vlan_tpid,
                                .vlan_tci = captured.vlan_tci,
                                .prefix_bytes = captured.prefix_bytes};
  classifier_->classify(entry.packet);
}

CaptureLoop::Output& CaptureLoop::output_of(const ArrivingPacket& packet) {
  if (classifier_->unshaped(packet.class_index)) return outputs_[worker_];
  return outputs_[drain_of(packet.flow_hash, outputs_.size())];
}

void CaptureLoop::publish() {
  for (Output& output : outputs_) {
    if (!std::exchange(output.staged, false)) continue;
    output.hand_off->publish();
    if (output.drain_waiter != nullptr) output.drain_waiter->wake_soon();
  }
}

void CaptureLoop::hand_over(HandOffEntry::Kind kind, Reconfiguration* reconfiguration) {
  for (Output& output : outputs_) {
    stage(output) = HandOffEntry{.kind = kind, .reconfiguration = reconfiguration};
  }
  publish();
}

void CaptureLoop::adopt_reconfiguration() {
  if (pending_.load(std::memory_order_relaxed) == nullptr) return;
  Reconfiguration* reconfiguration = pending_.exchange(nullptr, std::memory_order_acq_rel);
  classifier_ = reconfiguration->classifier();
  hand_over(HandOffEntry::Kind::reconfiguration, reconfiguration);
}

// No drain thread has left what it got from here untouched for DrainHealth::kPatience.
bool CaptureLoop::drains_take(Instant now) {
  bool all = true;
  for (Output& output : outputs_) {
    const std::size_t consumed = output.hand_off->consumed();
    if (consumed != output.consumed || consumed == output.hand_off->published()) {
      output.consumed = consumed;
      output.moved_at = now;
    }
    all = all && now - output.moved_at <= DrainHealth::kPatience;
  }
  return all;
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
