// Numbers in order of a key, of which any can be moved or taken out: a heap of four children each that tells every number
// where it stands.
//
// Memory    as reserve() asks; push() takes none within it.
// Cost      first() O(1), all else O(log size). Among equal keys the order is not told.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headgate {

class IndexedHeap {
 public:
  using Key = std::int64_t;

  // Where each number stands. Heaps that never have a number in common may share one.
  class Places {
   public:
    explicit Places(std::size_t numbers = 0) : places_(numbers, kNone) {}
    void grow_to(std::size_t numbers) { places_.resize(std::max(numbers, places_.size()), kNone); }
    bool none(std::uint32_t number) const { return places_[number] == kNone; }

   private:
    friend class IndexedHeap;
    static constexpr std::uint32_t kNone = 0xffff'ffff;
    std::vector<std::uint32_t> places_;
  };

  struct Entry {
    Key key;
    std::uint32_t number;
  };

  void reserve(std::size_t entries) { entries_.reserve(entries); }
  bool empty() const { return entries_.empty(); }
  const Entry& first() const {
    assert(!empty());
    return entries_.front();
  }

  // The number is in no heap of `places`.
  void push(Places& places, std::uint32_t number, Key key) {
    assert(places.none(number));
    entries_.push_back({});
    rise(places, entries_.size() - 1, {key, number});
  }

  // The number is in this heap.
  void set_key(Places& places, std::uint32_t number, Key key) {
    const std::size_t place = places.places_[number];
    if (key == entries_[place].key) return;
    if (key < entries_[place].key)
      rise(places, place, {key, number});
    else
      sink(places, place, {key, number});
  }

  // The number is in this heap.
  void remove(Places& places, std::uint32_t number) {
    const std::size_t place = places.places_[number];
    assert(place < entries_.size() && entries_[place].number == number);
    places.places_[number] = Places::kNone;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (place == entries_.size()) return;
    if (place > 0 && last.key < entries_[parent(place)].key)
      rise(places, place, last);
    else
      sink(places, place, last);
  }

  // Lowers all keys by as much, those below it to 0. Their order stays.
  void lower_keys(Key by) {
    for (Entry& entry : entries_) entry.key = std::max<Key>(0, entry.key - by);
  }

 private:
  static constexpr std::size_t kChildren = 4;
  static std::size_t parent(std::size_t place) { return (place - 1) / kChildren; }

  void put(Places& places, std::size_t place, const Entry& entry) {
    entries_[place] = entry;
    places.places_[entry.number] = static_cast<std::uint32_t>(place);
  }

  void rise(Places& places, std::size_t place, const Entry& entry) {
    for (; place > 0 && entry.key < entries_[parent(place)].key; place = parent(place))
      put(places, place, entries_[parent(place)]);
    put(places, place, entry);
  }

  void sink(Places& places, std::size_t place, const Entry& entry) {
    while (true) {
      const std::size_t first_child = place * kChildren + 1;
      if (first_child >= entries_.size()) break;
      const std::size_t end = std::min(first_child + kChildren, entries_.size());
      std::size_t least = first_child;
      for (std::size_t child = first_child + 1; child < end; ++child)
        if (entries_[child].key < entries_[least].key) least = child;
      if (entry.key <= entries_[least].key) break;
      put(places, place, entries_[least]);
      place = least;
    }
    put(places, place, entry);
  }

  std::vector<Entry> entries_;
};

}  // namespace headgate
