// Recording fakes of the pipeline's two ends and of the drain thread's sleep.
//
// FakePacketSource and FakeWaiter call a script when the loop under test would sleep, so a whole scenario
// runs on one thread in virtual time.
#pragma once

#include <atomic>
#include <condition_variable>
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

  void add(Frame frame, std::uint32_t cut_off_bytes = 0, std::uint16_t vlan_tpid = 0,
           std::uint16_t vlan_tci = 0) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(frame), cut_off_bytes, vlan_tpid, vlan_tci});
    changed_.notify_all();
  }

  std::size_t receive(std::span<CapturedFrame> out) override {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    while (count < out.size() && !waiting_.empty() && out_.size() < slots_) {
      const auto slot = static_cast<std::uint32_t>(next_slot_++);
      const Waiting& taken = out_.emplace(slot, std::move(waiting_.front())).first->second;
      waiting_.pop_front();
      out[count++] = {.frame = taken.frame,
                      .wire_length = static_cast<std::uint32_t>(taken.frame.size()) + taken.cut_off_bytes,
                      .slot = slot,
                      .vlan_tpid = taken.vlan_tpid,
                      .vlan_tci = taken.vlan_tci};
    }
    changed_.notify_all();
    return count;
  }

  void wait(std::optional<Duration> timeout) override {
    if (on_wait) return on_wait(timeout);
    std::unique_lock lock(mutex_);
    const auto ready = [this] { return interrupted_ || (!waiting_.empty() && out_.size() < slots_); };
    if (timeout) {
      changed_.wait_for(lock, *timeout, ready);
    } else {
      changed_.wait(lock, ready);
    }
    interrupted_ = false;
  }

  void interrupt() override {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    changed_.notify_all();
  }

  void give_back(std::span<const std::uint32_t> slots) override {
    const std::lock_guard lock(mutex_);
    for (const std::uint32_t slot : slots) {
      const auto found = out_.find(slot);
      if (found == out_.end()) throw std::logic_error("slot given back that is not out");
      if (slots_return_ == SlotsReturn::in_order && found != out_.begin())
        throw std::logic_error("slot given back out of order");
      out_.erase(found);
    }
    changed_.notify_all();
  }

  bool waiting() const override {
    const std::lock_guard lock(mutex_);
    return !waiting_.empty();
  }

  std::size_t slots() const override { return slots_; }

  // Blocks until receive() has given out everything.
  void wait_until_read() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.empty(); });
  }

  std::size_t slots_out() {
    const std::lock_guard lock(mutex_);
    return out_.size();
  }

  // When set, called instead of blocking.
  std::function<void(std::optional<Duration> timeout)> on_wait;

 private:
  struct Waiting {
    Frame frame;
    std::uint32_t cut_off_bytes;
    std::uint16_t vlan_tpid;
    std::uint16_t vlan_tci;
  };

  const std::size_t slots_;
  const SlotsReturn slots_return_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool interrupted_ = false;
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

  void prepare() override {}
  void wait(std::optional<Instant> deadline) override {
    ++sleeps;
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
  int sleeps = 0;
  int wakes = 0;

 private:
  ManualClock& clock_;
};

class FakeDeadManSwitch : public DeadManSwitch {
 public:
  void reset(Instant) override { ++resets; }
  std::atomic<int> resets{0};
};

}  // namespace headgate
