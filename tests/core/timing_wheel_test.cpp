#include "core/timing_wheel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "support/manual_clock.hpp"

namespace headgate {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr Instant kEnd = Instant::max();

std::vector<TimingWheel::Entry> pop_all(TimingWheel& wheel, Instant now) {
  std::vector<TimingWheel::Entry> popped;
  while (const auto entry = wheel.pop(now)) popped.push_back(entry->entry);
  return popped;
}

TEST(TimingWheel, HasNothingDueWhenEmpty) {
  TimingWheel wheel(4);
  EXPECT_TRUE(wheel.empty());
  EXPECT_FALSE(wheel.next_due());
  EXPECT_FALSE(wheel.pop(kEnd));
}

TEST(TimingWheel, GivesAnEntryAtItsVeryNanosecond) {
  TimingWheel wheel(4);
  wheel.start_at(kTestStart);
  const Instant due = kTestStart + nanoseconds(123'456'789);
  wheel.insert(3, due);
  EXPECT_EQ(wheel.next_due(), due);
  EXPECT_FALSE(wheel.pop(due - nanoseconds(1)));
  EXPECT_EQ(wheel.pop(due), (TimingWheel::Item{due, 3}));
  EXPECT_TRUE(wheel.empty());
}

TEST(TimingWheel, KnowsTheNextDueTimeAmongEntriesOfOneDistantSlot) {
  TimingWheel wheel(3);
  wheel.start_at(kTestStart);
  wheel.insert(0, kTestStart + hours(1) + nanoseconds(30));
  wheel.insert(1, kTestStart + hours(1) + nanoseconds(10));
  wheel.insert(2, kTestStart + hours(1) + nanoseconds(20));
  EXPECT_EQ(wheel.next_due(), kTestStart + hours(1) + nanoseconds(10));
  EXPECT_EQ(pop_all(wheel, kEnd), (std::vector<TimingWheel::Entry>{1, 2, 0}));
}

TEST(TimingWheel, GivesEntriesOfTheSameInstantInTheOrderInWhichTheyCame) {
  TimingWheel wheel(100);
  wheel.start_at(kTestStart);
  std::vector<TimingWheel::Entry> order;
  for (TimingWheel::Entry entry = 0; entry < 100; ++entry) {
    order.push_back((entry * 37) % 100);
    wheel.insert(order.back(), kTestStart + seconds(5));
  }
  EXPECT_EQ(pop_all(wheel, kEnd), order);
}

TEST(TimingWheel, OrdersEntriesThatAreDueBeforeTheLastOnePopped) {
  TimingWheel wheel(4);
  wheel.start_at(kTestStart);
  wheel.insert(0, kTestStart + nanoseconds(100));
  EXPECT_EQ(wheel.pop(kEnd)->entry, 0u);
  wheel.insert(1, kTestStart + nanoseconds(90));
  wheel.insert(2, kTestStart + nanoseconds(40));
  wheel.insert(3, kTestStart + nanoseconds(90));
  wheel.insert(0, kTestStart + nanoseconds(110));
  EXPECT_EQ(wheel.next_due(), kTestStart + nanoseconds(40));
  EXPECT_EQ(pop_all(wheel, kEnd), (std::vector<TimingWheel::Entry>{2, 1, 3, 0}));
}

TEST(TimingWheel, ReachesToTheEndOfTime) {
  TimingWheel wheel(3);
  wheel.start_at(kTestStart);
  wheel.insert(0, kEnd);
  wheel.insert(1, kTestStart + nanoseconds(std::int64_t{1} << 48));
  wheel.insert(2, kTestStart);
  EXPECT_EQ(pop_all(wheel, kEnd - nanoseconds(1)), (std::vector<TimingWheel::Entry>{2, 1}));
  EXPECT_EQ(wheel.next_due(), kEnd);
  EXPECT_EQ(wheel.pop(kEnd)->entry, 0u);
}

TEST(TimingWheel, ForgetsRemovedEntriesAndKnowsTheNextOne) {
  TimingWheel wheel(3);
  wheel.start_at(kTestStart);
  wheel.insert(0, kTestStart + seconds(1));
  wheel.insert(1, kTestStart + seconds(1) + nanoseconds(1));
  wheel.insert(2, kTestStart + seconds(1) + nanoseconds(2));
  wheel.remove_if([](TimingWheel::Entry entry) { return entry == 0; });
  EXPECT_EQ(wheel.next_due(), kTestStart + seconds(1) + nanoseconds(1));
  wheel.remove_if([](TimingWheel::Entry entry) { return entry != 0; });
  EXPECT_TRUE(wheel.empty());
  EXPECT_FALSE(wheel.next_due());
}

// The plainest thing that can be said about it: a sorted multimap, first in first out among equals.
class SortedReference {
 public:
  void insert(TimingWheel::Entry entry, Instant due) { entries_.emplace(due, entry); }
  void remove(TimingWheel::Entry entry) {
    entries_.erase(
        std::find_if(entries_.begin(), entries_.end(), [&](auto& each) { return each.second == entry; }));
  }
  std::optional<Instant> next_due() const {
    if (entries_.empty()) return std::nullopt;
    return entries_.begin()->first;
  }
  std::optional<TimingWheel::Item> pop(Instant now) {
    if (entries_.empty() || entries_.begin()->first > now) return std::nullopt;
    const TimingWheel::Item item{entries_.begin()->first, entries_.begin()->second};
    entries_.erase(entries_.begin());
    return item;
  }

 private:
  std::multimap<Instant, TimingWheel::Entry> entries_;
};

TEST(TimingWheel, AgreesWithASortedListWhateverIsDone) {
  constexpr TimingWheel::Entry kEntries = 64;
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    TimingWheel wheel(kEntries);
    SortedReference reference;
    std::vector<TimingWheel::Entry> absent(kEntries);
    for (TimingWheel::Entry entry = 0; entry < kEntries; ++entry) absent[entry] = entry;
    std::vector<TimingWheel::Entry> present;
    Instant now = kTestStart;
    wheel.start_at(now);
    const unsigned reach = 1 + random() % 50;  // due times up to 2^reach ns away
    for (int step = 0; step < 2000; ++step) {
      const auto choice = random() % 8;
      if (choice < 4 && !absent.empty()) {
        std::swap(absent[random() % absent.size()], absent.back());
        const auto past = std::min<std::int64_t>(1'000, std::int64_t{1} << (reach - 1));
        const Instant due =
            now + Duration(random() % (std::uint64_t{1} << reach)) - Duration(random() % past);
        wheel.insert(absent.back(), due);
        reference.insert(absent.back(), due);
        present.push_back(absent.back());
        absent.pop_back();
      } else if (choice == 4 && !present.empty()) {
        std::swap(present[random() % present.size()], present.back());
        wheel.remove_if([&](TimingWheel::Entry entry) { return entry == present.back(); });
        reference.remove(present.back());
        absent.push_back(present.back());
        present.pop_back();
      } else {
        now += Duration(random() % (std::uint64_t{1} << (1 + random() % reach)));
        const auto expected = reference.pop(now);
        ASSERT_EQ(wheel.pop(now), expected) << "seed " << seed << ", step " << step;
        if (expected) {
          std::erase(present, expected->entry);
          absent.push_back(expected->entry);
        }
      }
      ASSERT_EQ(wheel.next_due(), reference.next_due()) << "seed " << seed << ", step " << step;
      ASSERT_EQ(wheel.empty(), present.empty());
      if (wheel.empty()) wheel.start_at(now);
    }
  }
}

}  // namespace
}  // namespace headgate
