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
  Key key(const Places& places, std::uint32_t number) const { return entries_[places.places_[number]].key; }

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

  // Where entries and places lie does not change while one moves: said to the compiler, which cannot know.
  struct Moving {
    Entry* entries;
    std::uint32_t* places;

    void put(std::size_t place, const Entry& entry) const {
      entries[place] = entry;
      places[entry.number] = static_cast<std::uint32_t>(place);
    }
  };
  Moving moving(Places& places) { return {entries_.data(), places.places_.data()}; }

  void rise(Places& places, std::size_t place, const Entry& entry) {
    const Moving heap = moving(places);
    for (; place > 0 && entry.key < heap.entries[parent(place)].key; place = parent(place))
      heap.put(place, heap.entries[parent(place)]);
    heap.put(place, entry);
  }

  void sink(Places& places, std::size_t place, const Entry& entry) {
    const Moving heap = moving(places);
    const std::size_t size = entries_.size();
    for (std::size_t child = place * kChildren + 1; child < size; child = place * kChildren + 1) {
      const std::size_t least = child + kChildren <= size ? least_of_four(heap.entries, child)
                                                          : least_of(heap.entries, child, size);
      if (entry.key <= heap.entries[least].key) break;
      heap.put(place, heap.entries[least]);
      place = least;
    }
    heap.put(place, entry);
  }

  // Without branches, which could not be foretold.
  static std::size_t least_of_four(const Entry* entries, std::size_t first) {
    const std::size_t one = first + (entries[first + 1].key < entries[first].key ? 1 : 0);
    const std::size_t other = first + 2 + (entries[first + 3].key < entries[first + 2].key ? 1 : 0);
    return entries[other].key < entries[one].key ? other : one;
  }
  static std::size_t least_of(const Entry* entries, std::size_t first, std::size_t end) {
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child)
      least = entries[child].key < entries[least].key ? child : least;
    return least;
  }

  std::vector<Entry> entries_;
};

}  // namespace headgate
