#include "linux/timer_waiter.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "linux/real_time.hpp"

namespace headgate::test {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(MonotonicClock, GoesForwardAndSleepsAtLeastAsLongAsAsked) {
  MonotonicClock clock;
  const Instant before = clock.now();
  clock.sleep(milliseconds(2));
  EXPECT_GE(clock.now() - before, milliseconds(2));
}

TEST(TimerWaiter, SleepsUntilTheDeadlineAndNotLess) {
  MonotonicClock clock;
  TimerWaiter waiter;
  const Instant deadline = clock.now() + milliseconds(3);
  waiter.prepare();
  waiter.wait(deadline, false);
  EXPECT_GE(clock.now(), deadline);
}

TEST(TimerWaiter, ADeadlineInThePastDoesNotSleep) {
  TimerWaiter waiter;
  waiter.prepare();
  waiter.wait(Instant{}, false);
  waiter.prepare();
  waiter.wait(Instant{} - hours(1), false);
}

TEST(TimerWaiter, SpinsForASmallShareOfTheTimeUnlessPrecisionIsHigh) {
  ASSERT_EQ(set_timer_slack(), "");
  MonotonicClock clock;
  TimerWaiter normal;
  TimerWaiter high;
  high.set_precision(Precision::high);
  const Instant start = clock.now();
  for (TimerWaiter* waiter : {&normal, &high}) {
    for (int i = 0; i < 1000; ++i) {
      const Instant deadline = clock.now() + microseconds(100);
      waiter->prepare();
      waiter->wait(deadline, false);
      EXPECT_GE(clock.now(), deadline);
    }
  }
  EXPECT_LE(normal.spun(),
            (clock.now() - start) / 20 + microseconds(200));  // 5 %, and what it may begin and end with
  EXPECT_GT(high.spun(), Duration::zero());
}

TEST(TimerWaiter, AWakeEndsASpin) {
  TimerWaiter waiter;
  waiter.set_precision(Precision::high);
  for (int i = 0; i < 1000; ++i) {
    std::atomic<bool> preparing{false};
    waiter.prepare();
    std::thread other([&] {
      preparing = true;
      waiter.wake();
    });
    while (!preparing) std::this_thread::yield();
    waiter.wait(MonotonicClock().now() + microseconds(i % 60), false);
    other.join();
  }
}

TEST(TimerWaiter, AWakeAfterPrepareIsNotLost) {
  TimerWaiter waiter;
  waiter.prepare();
  waiter.wake();
  waiter.wait(std::nullopt, false);  // would never return
}

TEST(TimerWaiter, AWakeOfAWaiterThatIsAwakeIsForgotten) {
  MonotonicClock clock;
  TimerWaiter waiter;
  waiter.wake();
  waiter.prepare();
  waiter.cancel();
  waiter.wake();
  const Instant deadline = clock.now() + milliseconds(3);
  waiter.prepare();
  waiter.wait(deadline, false);
  EXPECT_GE(clock.now(), deadline);
}

TEST(TimerWaiter, WakesAThreadThatSleeps) {
  TimerWaiter waiter;
  std::atomic<bool> preparing{false};
  std::thread sleeper([&] {
    waiter.prepare();
    preparing = true;
    waiter.wait(std::nullopt, false);
  });
  while (!preparing) std::this_thread::yield();
  std::this_thread::sleep_for(milliseconds(5));
  waiter.wake();
  sleeper.join();
}

// Two threads hand a number to and fro. A wake-up that is lost, or a number that is not seen, leaves them
// hanging.
TEST(TimerWaiter, LosesNoWakeUpBetweenTwoThreads) {
  constexpr int kRounds = 20'000;
  TimerWaiter ping;
  TimerWaiter pong;
  std::atomic<int> number{0};
  const auto wait_for = [&number](TimerWaiter& waiter, int wanted) {
    while (number.load(std::memory_order_relaxed) < wanted) {
      waiter.prepare();
      if (number.load(std::memory_order_relaxed) < wanted) {
        waiter.wait(std::nullopt, false);
      } else {
        waiter.cancel();
      }
    }
  };
  std::thread other([&] {
    for (int i = 1; i < 2 * kRounds; i += 2) {
      wait_for(ping, i);
      number.store(i + 1, std::memory_order_relaxed);
      pong.wake();
    }
  });
  for (int i = 1; i < 2 * kRounds; i += 2) {
    number.store(i, std::memory_order_relaxed);
    ping.wake();
    wait_for(pong, i + 1);
  }
  other.join();
  EXPECT_EQ(number, 2 * kRounds);
}

// One thread sleeps, now with a deadline that comes soon and now with none; the other publishes numbers and wakes it soon.
// A number that is not seen leaves both hanging.
TEST(TimerWaiter, AWakeSoonIsNotLostWhateverTheDeadline) {
  constexpr int kNumbers = 20'000;
  MonotonicClock clock;
  TimerWaiter waiter;
  std::atomic<int> published{0};
  std::atomic<int> seen{0};
  std::thread sleeper([&] {
    for (int round = 0; seen < kNumbers; ++round) {
      waiter.prepare();
      if (published.load(std::memory_order_seq_cst) != seen) {
        waiter.cancel();
        seen = published.load();
      } else if (round % 2 == 0) {
        waiter.wait(clock.now() + microseconds(round % 100), false);
      } else {
        waiter.wait(std::nullopt, false);
      }
    }
  });
  for (int number = 1; number <= kNumbers; ++number) {
    published.store(number, std::memory_order_seq_cst);
    waiter.wake_soon();
    while (seen < number) std::this_thread::yield();
  }
  sleeper.join();
}

}  // namespace
}  // namespace headgate::test
