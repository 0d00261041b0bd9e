#include "limiters/indexed_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <vector>

namespace headgate {
namespace {

// The same by the standard library.
class SortedNumbers {
 public:
  using Key = IndexedHeap::Key;

  void push(std::uint32_t number, Key key) { numbers_.emplace(key, number); }
  void remove(std::uint32_t number) { numbers_.erase(find(number)); }
  void set_key(std::uint32_t number, Key key) {
    remove(number);
    push(number, key);
  }
  void lower_keys(Key by) {
    std::multimap<Key, std::uint32_t> lowered;
    for (const auto& [key, number] : numbers_) lowered.emplace(std::max<Key>(0, key - by), number);
    numbers_ = std::move(lowered);
  }
  bool empty() const { return numbers_.empty(); }
  Key first_key() const { return numbers_.begin()->first; }
  bool has(std::uint32_t number, Key key) const {
    const auto [begin, end] = numbers_.equal_range(key);
    return std::any_of(begin, end, [number](const auto& entry) { return entry.second == number; });
  }

 private:
  std::multimap<Key, std::uint32_t>::iterator find(std::uint32_t number) {
    return std::ranges::find_if(numbers_, [number](const auto& entry) { return entry.second == number; });
  }
  std::multimap<Key, std::uint32_t> numbers_;
};

void expect_same(const IndexedHeap& heap, const SortedNumbers& sorted) {
  ASSERT_EQ(heap.empty(), sorted.empty());
  if (heap.empty()) return;
  ASSERT_EQ(heap.first().key, sorted.first_key());
  ASSERT_TRUE(sorted.has(heap.first().number, heap.first().key));
}

TEST(IndexedHeap, KeepsTheLeastKeyFirst) {
  IndexedHeap::Places places(4);
  IndexedHeap heap;
  EXPECT_TRUE(heap.empty());
  heap.push(places, 2, 30);
  heap.push(places, 0, -10);
  heap.push(places, 3, 20);
  EXPECT_EQ(heap.first().number, 0U);
  heap.set_key(places, 0, 40);
  EXPECT_EQ(heap.first().number, 3U);
  heap.remove(places, 3);
  EXPECT_TRUE(places.none(3));
  EXPECT_EQ(heap.first().number, 2U);
  EXPECT_EQ(heap.first().key, 30);
}

// Two heaps with one set of places, as a number goes from one to the other.
TEST(IndexedHeap, DoesWhatAMultimapDoes) {
  constexpr std::uint32_t kNumbers = 60;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&random](std::uint64_t end) { return static_cast<std::uint32_t>(random() % end); };
    const auto key = [&] { return static_cast<IndexedHeap::Key>(below(seed % 2 == 0 ? 10 : 1'000'000)); };
    IndexedHeap::Places places(kNumbers);
    std::array<IndexedHeap, 2> heaps;
    std::array<SortedNumbers, 2> sorted;
    std::vector<unsigned> in(kNumbers);
    for (int step = 0; step < 4000; ++step) {
      const std::uint32_t number = below(kNumbers);
      const unsigned heap = places.none(number) ? below(2) : in[number];
      const std::uint32_t deed = below(100);
      if (deed == 0) {
        const IndexedHeap::Key by = key() / 4;
        heaps[heap].lower_keys(by);
        sorted[heap].lower_keys(by);
      } else if (places.none(number)) {
        const IndexedHeap::Key at = key();
        in[number] = heap;
        heaps[heap].push(places, number, at);
        sorted[heap].push(number, at);
      } else if (deed < 40) {
        heaps[heap].remove(places, number);
        sorted[heap].remove(number);
      } else {
        const IndexedHeap::Key at = key();
        heaps[heap].set_key(places, number, at);
        sorted[heap].set_key(number, at);
      }
      expect_same(heaps[0], sorted[0]);
      expect_same(heaps[1], sorted[1]);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(IndexedHeap, GivesAllInOrder) {
  constexpr std::uint32_t kNumbers = 1000;
  std::mt19937_64 random(7);
  IndexedHeap::Places places(kNumbers);
  IndexedHeap heap;
  heap.reserve(kNumbers);
  std::vector<IndexedHeap::Key> keys;
  for (std::uint32_t number = 0; number < kNumbers; ++number) {
    keys.push_back(static_cast<IndexedHeap::Key>(random() % 500));
    heap.push(places, number, keys.back());
  }
  std::ranges::sort(keys);
  for (const IndexedHeap::Key key : keys) {
    ASSERT_EQ(heap.first().key, key);
    heap.remove(places, heap.first().number);
  }
  EXPECT_TRUE(heap.empty());
}

}  // namespace
}  // namespace headgate
