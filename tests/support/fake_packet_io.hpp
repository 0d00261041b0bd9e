// Recording fakes of the pipeline's two ends, of the dead-man switch and of a worker's sleep.
//
// FakeWaiter calls a script when the worker under test would sleep, so a whole scenario runs on one thread in virtual time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "pipeline/packet_io.hpp"
#include "pipeline/waiter.hpp"
#include "support/manual_clock.hpp"

namespace headgate {

using Frame = std::vector<std::byte>;

enum class SlotsReturn { in_order, in_any_order };

// A source of `slots` capture slots. Checks that slots come back once each, and in order where that is asked.
class FakePacketSource : public PacketSource {
 public:
  explicit FakePacketSource(std::size_t slots = 1024, SlotsReturn slots_return = SlotsReturn::in_order)
      : slots_(slots), slots_return_(slots_return) {}

  // With real waiters: the waiter to be woken, for a fake has no descriptor.
  void wake_when_frames_come(Waiter& waiter) { waiter_ = &waiter; }

  void add(Frame frame, std::uint32_t cut_off_bytes = 0, std::uint16_t vlan_tpid = 0,
           std::uint16_t vlan_tci = 0) {
    add({.memory = std::move(frame),
         .cut_off_bytes = cut_off_bytes,
         .vlan_tpid = vlan_tpid,
         .vlan_tci = vlan_tci});
  }

  // The frame and `prefix_bytes` in front of it.
  void add_with_prefix(Frame memory, std::uint8_t prefix_bytes, std::uint16_t vlan_tpid = 0,
                       std::uint16_t vlan_tci = 0) {
    add({.memory = std::move(memory),
         .vlan_tpid = vlan_tpid,
         .vlan_tci = vlan_tci,
         .prefix_bytes = prefix_bytes});
  }

  std::size_t receive(std::span<CapturedFrame> out) override {
    if (fail) throw std::runtime_error("the device is gone");
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    while (count < out.size() && !waiting_.empty() && out_.size() < slots_) {
      const auto slot = static_cast<std::uint32_t>(next_slot_++);
      const Waiting& taken = out_.emplace(slot, std::move(waiting_.front())).first->second;
      waiting_.pop_front();
      const auto frame = std::span(taken.memory).subspan(taken.prefix_bytes);
      out[count++] = {.frame = frame,
                      .wire_length = static_cast<std::uint32_t>(frame.size()) + taken.cut_off_bytes,
                      .prefix_bytes = taken.prefix_bytes,
                      .slot = slot,
                      .vlan_tpid = taken.vlan_tpid,
                      .vlan_tci = taken.vlan_tci};
    }
    return count;
  }

  Duration waited() const override { return frames_waited; }

  void give_back(std::span<const std::uint32_t> slots) override {
    const std::lock_guard lock(mutex_);
    for (const std::uint32_t slot : slots) {
      const auto found = out_.find(slot);
      if (found == out_.end()) throw std::logic_error("slot given back that is not out");
      if (slots_return_ == SlotsReturn::in_order && found != out_.begin())
        throw std::logic_error("slot given back out of order");
      out_.erase(found);
    }
  }

  bool waiting() const override {
    const std::lock_guard lock(mutex_);
    return !waiting_.empty();
  }

  std::size_t slots() const override { return slots_; }

  std::atomic<bool> fail{false};  // receive() throws
  Duration frames_waited = Duration::max();

  std::size_t slots_out() {
    const std::lock_guard lock(mutex_);
    return out_.size();
  }

 private:
  struct Waiting {
    Frame memory;
    std::uint32_t cut_off_bytes = 0;
    std::uint16_t vlan_tpid = 0;
    std::uint16_t vlan_tci = 0;
    std::uint8_t prefix_bytes = 0;
  };

  void add(Waiting frame) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(frame));
    }
    if (waiter_ != nullptr) waiter_->wake();
  }

  const std::size_t slots_;
  const SlotsReturn slots_return_;
  Waiter* waiter_ = nullptr;
  mutable std::mutex mutex_;
  std::deque<Waiting> waiting_;
  std::map<std::uint32_t, Waiting> out_;
  std::uint64_t next_slot_ = 0;
};

// Keeps what was sent and when; refuses what `refuse` says.
class RecordingSink : public PacketSink {
 public:
  explicit RecordingSink(Clock& clock) : clock_(clock) {}

  void send(std::span<const OutgoingFrame> frames, std::span<bool> sent) override {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      Frame whole;
      for (const auto& part : frames[i].parts) whole.insert(whole.end(), part.begin(), part.end());
      sent[i] = !refuse || !refuse(whole);
      if (sent[i]) departures.push_back({clock_.now(), std::move(whole)});
    }
    if (after_send) after_send();
  }

  struct Departure {
    Instant at;
    Frame frame;
  };
  std::vector<Departure> departures;
  std::function<bool(const Frame&)> refuse;
  std::function<void()> after_send;

 private:
  Clock& clock_;
};

// Sleeping moves the clock to the deadline; sleeping without one calls `on_idle`.
class FakeWaiter : public Waiter {
 public:
  explicit FakeWaiter(ManualClock& clock) : clock_(clock) {}

  void add(Arrivals& source) override { sources.push_back(&source); }
  void remove(Arrivals& source) override { std::erase(sources, &source); }
  void prepare() override {}
  void wait(std::optional<Instant> deadline, bool busy) override {
    ++sleeps;
    was_busy = busy;
    if (before_sleep) before_sleep(deadline);
    if (deadline) {
      if (*deadline > clock_.now()) clock_.set(*deadline);
    } else {
      on_idle();
    }
  }
  void cancel() override {}
  void wake() override { ++wakes; }
  Duration processor_time() const override { return time_taken ? time_taken() : Duration::zero(); }

  std::function<void(std::optional<Instant> deadline)> before_sleep;
  std::function<void()> on_idle;
  std::function<Duration()> time_taken;  // of the processor
  std::vector<Arrivals*> sources;
  bool was_busy = false;
  int sleeps = 0;
  std::atomic<int> wakes{0};

 private:
  ManualClock& clock_;
};

class FakeDeadManSwitch : public DeadManSwitch {
 public:
  void reset(Instant) override {
    ++resets;
    unread = Duration::zero();
    let_pass = false;
  }
  Duration unread_for(Instant) const override { return unread; }
  bool has_let_pass() const override { return let_pass; }

  std::atomic<int> resets{0};
  std::atomic<Duration> unread{Duration::zero()};
  std::atomic<bool> let_pass{false};
};

}  // namespace headgate
