// Sends frames of 1500 bytes at exactly 12 Mbit/s: one each millisecond, whenever the loop wakes up.
#include <headgate/leaky_bucket.hpp>
#include <headgate/units.hpp>

#include <cstdio>
#include <thread>

int main() {
  using Clock = std::chrono::steady_clock;
  constexpr headgate::DataSize kFrame{1'500};
  headgate::LeakyBucket link(headgate::BitRate{12'000'000}, 100'000);

  const headgate::Instant start = headgate::instant_of(Clock::now());
  headgate::Instant due = start;
  for (int frame = 0; frame < 50; ++frame) {
    const headgate::Reservation departure = link.reserve(kFrame.bytes, headgate::instant_of(Clock::now()));
    if (!departure) return 1;  // more than 100 000 bytes wait
    due = departure.at;
    std::this_thread::sleep_until(Clock::time_point(due.time_since_epoch()));
    // send it
  }
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(due - start);
  std::printf("50 frames in %lld us\n", static_cast<long long>(took.count()));
  return took >= std::chrono::milliseconds(49) ? 0 : 1;
}
