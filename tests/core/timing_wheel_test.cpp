#include "core/timing_wheel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "support/heap_memory.hpp"
#include "support/manual_clock.hpp"

namespace headgate {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr Instant kEnd = Instant::max();

// With room for all its entries.
class TestWheel : private HeapMemory, public TimingWheel {
 public:
  explicit TestWheel(std::uint32_t capacity) : TimingWheel(capacity, *this) {
    EXPECT_TRUE(TimingWheel::reserve(capacity));
  }
};

std::vector<std::uint32_t> pop_all(TimingWheel& wheel, Instant now) {
  std::vector<std::uint32_t> popped;
  while (const auto entry = wheel.pop(now)) popped.push_back(entry->flow);
  return popped;
}

TEST(TimingWheel, HasNothingDueWhenEmpty) {
  TestWheel wheel(4);
  EXPECT_TRUE(wheel.empty());
  EXPECT_EQ(wheel.first_due(), Instant::max());
  EXPECT_FALSE(wheel.pop(kEnd));
}

TEST(TimingWheel, GivesAnEntryAtItsVeryNanosecond) {
  TestWheel wheel(4);
  wheel.start_at(kTestStart);
  const Instant due = kTestStart + nanoseconds(123'456'789);
  wheel.insert({due, 3});
  EXPECT_EQ(wheel.first_due(), due);
  EXPECT_FALSE(wheel.pop(due - nanoseconds(1)));
  EXPECT_EQ(wheel.pop(due), (TimingWheel::Item{due, 3}));
  EXPECT_TRUE(wheel.empty());
}

TEST(TimingWheel, KnowsTheNextDueTimeAmongEntriesOfOneDistantSlot) {
  TestWheel wheel(3);
  wheel.start_at(kTestStart);
  wheel.insert({kTestStart + hours(1) + nanoseconds(30), 0});
  wheel.insert({kTestStart + hours(1) + nanoseconds(10), 1});
  wheel.insert({kTestStart + hours(1) + nanoseconds(20), 2});
  EXPECT_EQ(wheel.first_due(), kTestStart + hours(1) + nanoseconds(10));
  EXPECT_EQ(pop_all(wheel, kEnd), (std::vector<std::uint32_t>{1, 2, 0}));
}

TEST(TimingWheel, GivesEntriesOfTheSameInstantInTheOrderInWhichTheyCame) {
  TestWheel wheel(100);
  wheel.start_at(kTestStart);
  std::vector<std::uint32_t> order;
  for (std::uint32_t entry = 0; entry < 100; ++entry) {
    order.push_back((entry * 37) % 100);
    wheel.insert({kTestStart + seconds(5), order.back()});
  }
  EXPECT_EQ(pop_all(wheel, kEnd), order);
}

TEST(TimingWheel, OrdersEntriesThatAreDueBeforeTheLastOnePopped) {
  TestWheel wheel(4);
  wheel.start_at(kTestStart);
  wheel.insert({kTestStart + nanoseconds(100), 0});
  EXPECT_EQ(wheel.pop(kEnd)->flow, 0u);
  wheel.insert({kTestStart + nanoseconds(90), 1});
  wheel.insert({kTestStart + nanoseconds(40), 2});
  wheel.insert({kTestStart + nanoseconds(90), 3});
  wheel.insert({kTestStart + nanoseconds(110), 0});
  EXPECT_EQ(wheel.first_due(), kTestStart + nanoseconds(40));
  EXPECT_EQ(pop_all(wheel, kEnd), (std::vector<std::uint32_t>{2, 1, 3, 0}));
}

TEST(TimingWheel, ReachesToTheEndOfTime) {
  TestWheel wheel(3);
  wheel.start_at(kTestStart);
  wheel.insert({kEnd, 0});
  wheel.insert({kTestStart + nanoseconds(std::int64_t{1} << 48), 1});
  wheel.insert({kTestStart, 2});
  EXPECT_EQ(pop_all(wheel, kEnd - nanoseconds(1)), (std::vector<std::uint32_t>{2, 1}));
  EXPECT_EQ(wheel.first_due(), kEnd);
  EXPECT_EQ(wheel.pop(kEnd)->flow, 0u);
}

TEST(TimingWheel, ForgetsRemovedEntriesAndKnowsTheNextOne) {
  TestWheel wheel(3);
  wheel.start_at(kTestStart);
  wheel.insert({kTestStart + seconds(1), 0});
  wheel.insert({kTestStart + seconds(1) + nanoseconds(1), 1});
  wheel.insert({kTestStart + seconds(1) + nanoseconds(2), 2});
  wheel.remove_if([](const TimingWheel::Item& item) { return item.flow == 0; });
  EXPECT_EQ(wheel.first_due(), kTestStart + seconds(1) + nanoseconds(1));
  wheel.remove_if([](const TimingWheel::Item& item) { return item.flow != 0; });
  EXPECT_TRUE(wheel.empty());
  EXPECT_EQ(wheel.first_due(), Instant::max());
}

// The plainest thing that can be said about it: a sorted multimap, first in first out among equals.
class SortedReference {
 public:
  void insert(std::uint32_t entry, Instant due) { entries_.emplace(due, entry); }
  void remove(std::uint32_t entry) {
    entries_.erase(
        std::find_if(entries_.begin(), entries_.end(), [&](auto& each) { return each.second == entry; }));
  }
  Instant first_due() const { return entries_.empty() ? Instant::max() : entries_.begin()->first; }
  std::optional<TimingWheel::Item> pop(Instant now) {
    if (entries_.empty() || entries_.begin()->first > now) return std::nullopt;
    const TimingWheel::Item item{entries_.begin()->first, entries_.begin()->second};
    entries_.erase(entries_.begin());
    return item;
  }

 private:
  std::multimap<Instant, std::uint32_t> entries_;
};

TEST(TimingWheel, AgreesWithASortedListWhateverIsDone) {
  constexpr std::uint32_t kEntries = 64;
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    TestWheel wheel(kEntries);
    SortedReference reference;
    std::vector<std::uint32_t> absent(kEntries);
    for (std::uint32_t entry = 0; entry < kEntries; ++entry) absent[entry] = entry;
    std::vector<std::uint32_t> present;
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
        wheel.insert({due, absent.back()});
        reference.insert(absent.back(), due);
        present.push_back(absent.back());
        absent.pop_back();
      } else if (choice == 4 && !present.empty()) {
        std::swap(present[random() % present.size()], present.back());
        wheel.remove_if([&](const TimingWheel::Item& item) { return item.flow == present.back(); });
        reference.remove(present.back());
        absent.push_back(present.back());
        present.pop_back();
      } else {
        now += Duration(random() % (std::uint64_t{1} << (1 + random() % reach)));
        const auto expected = reference.pop(now);
        ASSERT_EQ(wheel.pop(now), expected) << "seed " << seed << ", step " << step;
        if (expected) {
          std::erase(present, expected->flow);
          absent.push_back(expected->flow);
        }
      }
      ASSERT_EQ(wheel.first_due(), reference.first_due()) << "seed " << seed << ", step " << step;
      ASSERT_EQ(wheel.empty(), present.empty());
      if (wheel.empty()) wheel.start_at(now);
    }
  }
}

}  // namespace
}  // namespace headgate
