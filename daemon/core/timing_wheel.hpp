// Entries with due times, of which the earliest is always known to the nanosecond.
//
// Role      a hierarchical timing wheel: 11 levels of 64 slots cover all of time, a bitmap a level finds the
// first slot
//           in use. A level's slot is 64 slots of the level below. An entry stands at the level of the
//           highest base-64 digit in which its due time differs from the wheel's position, in the slot of
//           that digit; so whatever is on a lower level is due earlier, and entries due at the same instant
//           always share a slot.
// Position  the due time of the last entry popped. Nothing before it is in the slots; an entry that is
// inserted with a
//           due time before it (its packet was captured before the last one left) waits in a list in due
//           order, ahead of all slots.
// Cost      insert, remove and next_due are O(1); an entry moves down at most once a level, when the first
// entry of its
//           slot falls due. Exceptions: inserting before the position walks past the later ones of that list,
//           and removing the first due entry of a crowded slot looks through that slot.
// Order     by due time, first in first out where equal.
// Limits    entries are numbers below the capacity given at construction, each in the wheel at most once.
// Instants must
//           not be negative. All memory is allocated by the constructor: 16 bytes an entry and 12 KB.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "headgate/clock.hpp"

namespace headgate {

class TimingWheel {
 public:
  using Entry = std::uint32_t;

  explicit TimingWheel(std::uint32_t capacity);

  void insert(Entry entry, Instant due);
  void remove(Entry entry);

  // The first entry, when it is due by `now`; taken out.
  std::optional<Entry> pop(Instant now);

  // As pop() again and again, until `out` is full or nothing more is due. Returns how many.
  std::size_t pop(Instant now, std::span<Entry> out);

  std::optional<Instant> next_due() const;
  Instant due(Entry entry) const { return Instant{Duration{nodes_[entry].due}}; }
  bool empty() const { return levels_in_use_ == 0 && late_.head == kNone; }

  // Moves the position of an empty wheel, best to shortly before the due times to come.
  void start_at(Instant position);

 private:
  static constexpr unsigned kDigitBits = 6;
  static constexpr unsigned kSlots = 1u << kDigitBits;
  static constexpr unsigned kLevels = 11;  // 66 bits: all of Instant
  static constexpr Entry kNone = 0xffff'ffff;

  struct Node {
    std::int64_t due;
    Entry next;
    Entry previous;
  };
  struct List {
    Entry head = kNone;
    Entry tail = kNone;
  };
  struct Slot {
    List entries;
    std::int64_t first_due = 0;  // the least of its entries'
  };

  static unsigned digit(std::int64_t time, unsigned level);
  unsigned level_of(std::int64_t due) const;
  const Slot& first_slot() const;
  void append(List& list, Entry entry);
  void unlink(List& list, Entry entry);
  void insert_late(Entry entry);
  void insert_in_slot(Entry entry);
  void slot_emptied(unsigned level, unsigned digit);
  Entry pop_from_slots();

  std::vector<Node> nodes_;
  std::array<std::array<Slot, kSlots>, kLevels> slots_;
  std::array<std::uint64_t, kLevels> slots_in_use_{};  // a bit a slot
  std::uint32_t levels_in_use_ = 0;                    // a bit a level
  List late_;                                          // due before position_, in due order
  std::int64_t position_ = 0;
};

}  // namespace headgate
