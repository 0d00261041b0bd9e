// A limiter for several threads, and threads that wait for it. The only part of the library that locks or reads a clock.
//
// wait() takes a place in the order and sleeps until its turn. Turns come from the limiter's schedule, not from when a thread
// happens to wake up, so the spacing is exact over any time and lateness does not add up. Callers are served in the order in
// which they came. When one gives up, those behind it move up. At most `most_waiters` wait, more are refused as no_room at
// once; so is at once as not_now who could not be served by its deadline, and as too_many who asks for more than the burst.
//
// Limiter: TokenBucket or LeakyBucket; with LeakyBucket each is served a unit's time after the other. Of others allow() alone
// can be called. Any thread may call. allow() takes a mutex for the time of the limiter's call; giving up takes time linear in
// the number of waiters. All waiters must be back before it is destroyed. Errors: std::bad_alloc of wait(), and nothing was
// charged.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <stop_token>
#include <utility>

#include "headgate/answer.hpp"
#include "headgate/token_bucket.hpp"
#include "headgate/wide.hpp"

namespace headgate {

template <typename Limiter = TokenBucket, typename TimeSource = std::chrono::steady_clock>
class Shared {
 public:
  using TimePoint = typename TimeSource::time_point;

  Shared(Limiter limiter, std::size_t most_waiters)
      : most_waiters_(most_waiters), limiter_(std::move(limiter)) {}

  // May n units pass now? Never before those who wait.
  Answer allow(std::uint64_t n) {
    const std::lock_guard lock(mutex_);
    return limiter_.allow(n, now());
  }

  // Returns when n units may pass, or with the reason why they may not. With a stop requested: cancelled, unless its turn has
  // come already.
  Answer wait(std::uint64_t n, std::stop_token stop = {}, TimePoint deadline = TimePoint::max()) {
    std::unique_lock lock(mutex_);
    if (stop.stop_requested()) return Refusal::cancelled;
    const Instant arrival = now();
    Waiter waiter{n, instant_of(deadline), {}, false};
    reserve(waiter, arrival);
    if (!waiter.reservation) return waiter.reservation.refusal;
    if (waiters_.empty() && waiter.reservation.at <= arrival) return {};
    if (waiters_.size() >= most_waiters_) {
      limiter_.cancel(waiter.reservation, arrival);
      return Refusal::no_room;
    }
    return await_turn(lock, enlist(waiter, arrival), stop);
  }

  // Changes the limiter: change(limiter, now). Who waits gets a new instant; whose deadline is before that is refused.
  template <typename Change>
  void change(Change change) {
    const std::lock_guard lock(mutex_);
    const Instant present = now();
    const Place first = withdraw(waiters_.begin(), present);
    change(limiter_, present);
    reserve_from(first, present);
  }

  std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return waiters_.size();
  }

 private:
  struct Waiter {
    std::uint64_t units;
    Instant deadline;
    Reservation reservation;
    bool changed;  // what wakes it up
  };
  using Place = typename std::list<Waiter>::iterator;

  static Instant now() { return instant_of(TimeSource::now()); }

  void reserve(Waiter& waiter, Instant present) {
    const Int128 patience = nanoseconds_of(waiter.deadline) - nanoseconds_of(present);
    waiter.reservation =
        limiter_.reserve(waiter.units, present, whole_duration(std::max<Int128>(0, patience)));
  }

  Place enlist(Waiter& waiter, Instant present) {
    try {
      return waiters_.insert(waiters_.end(), waiter);
    } catch (...) {
      limiter_.cancel(waiter.reservation, present);
      throw;
    }
  }

  Answer await_turn(std::unique_lock<std::mutex>& lock, Place place, const std::stop_token& stop) {
    const auto changed = [place] { return std::exchange(place->changed, false); };
    for (;;) {
      const Instant present = now();
      if (!place->reservation) {
        const Refusal refusal = place->reservation.refusal;
        leave(place);
        return refusal;
      }
      if (place->reservation.at <= present) {
        if (place == waiters_.begin()) {
          leave(place);
          return {};
        }
        changed_.wait(lock, changed);  // those before it are due, too
      } else if (stop.stop_requested()) {
        const Place next = withdraw(std::next(place), present);
        limiter_.cancel(place->reservation, present);
        leave(place);
        reserve_from(next, present);
        return Refusal::cancelled;
      } else {
        changed_.wait_until(lock, stop, time_point_of(place->reservation.at), changed);
      }
    }
  }

  // Takes back the reservations that are not yet due, from the last one to `place`. Each is the last that was taken, so all
  // of it comes back. Returns the first that was taken back.
  Place withdraw(Place place, Instant present) {
    Place each = waiters_.end();
    while (each != place && (!std::prev(each)->reservation || std::prev(each)->reservation.at > present)) {
      --each;
      limiter_.cancel(each->reservation, present);
    }
    return each;
  }

  void reserve_from(Place place, Instant present) {
    for (; place != waiters_.end(); ++place) {
      reserve(*place, present);
      place->changed = true;
    }
    changed_.notify_all();
  }

  void leave(Place place) {
    waiters_.erase(place);
    if (!waiters_.empty()) waiters_.front().changed = true;
    changed_.notify_all();
  }

  static TimePoint time_point_of(Instant instant) {
    return TimePoint{std::chrono::ceil<typename TimePoint::duration>(instant.time_since_epoch())};
  }

  const std::size_t most_waiters_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  Limiter limiter_;
  std::list<Waiter> waiters_;  // in the order in which they came
};

}  // namespace headgate
