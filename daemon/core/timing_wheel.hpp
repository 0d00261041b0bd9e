// The flows of many shapes with due times, of which the earliest is always known to the nanosecond.
//
// Role      a hierarchical timing wheel: 11 levels of 64 slots cover all of time, a bitmap a level finds the first slot
//           in use. A level's slot is 64 slots of the level below. An entry stands at the level of the highest base-64
//           digit in which its due time differs from the wheel's position, in the slot of that digit; so whatever is on
//           a lower level is due earlier, and entries due at the same instant always share a slot.
// Front     the entries that are next: a short run in due order, taken whole from the first slots once these have few,
//           and whatever is inserted with a due time before the position (its packet was captured before the last one
//           left). The front lies in one piece, so whoever takes from it can look ahead.
// Position  nothing before it is in the slots, nothing after it in the front.
// Layout    a slot is a list of blocks of due times and entries side by side: an entry that moves from one level to the
//           next is read and written in passing, and never looked up by its number.
// Cost      insert, take_first and first_due are O(1); an entry moves down at most once a level, when its slot comes first.
//           Exceptions: inserting before the position moves the later ones of the front by one place; remove_if() looks
//           at everything.
// Order     by due time, first in first out where equal.
// Limits    as many entries as the capacity given at construction. Instants must not be negative.
// Memory    200 KB by the constructor; then as reserve() asks, 33 bytes an entry.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "core/growing_table.hpp"
#include "core/memory_area.hpp"
#include "core/record_table.hpp"
#include "headgate/clock.hpp"
#include "limiters/prefetch.hpp"

namespace headgate {

class TimingWheel {
 public:
  struct Item {
    Instant due{};
    std::uint32_t flow = 0;
    std::uint32_t shape = 0;
    bool operator==(const Item&) const = default;
  };
  static_assert(sizeof(Item) == 16);

  // Throws std::bad_alloc.
  TimingWheel(std::uint32_t capacity, MemorySource& memory);

  // Room for so many entries in all. False: there is no memory for them, or they are more than the capacity.
  bool reserve(std::uint32_t entries) { return entries <= room_ || make_room(entries); }
  // Reserves ahead, with so many entries in it.
  void grow_ahead(std::uint32_t entries);

  // There must be room.
  void insert(const Item& item);

  // What comes first and is due by `now`, in order, at most so much. Valid until the wheel is changed.
  std::span<const Item> peek(Instant now, std::size_t most);

  // Takes out the first of what peek() has shown. As long as entries of that are left, what has been inserted since comes
  // in its place among them.
  Item take_first() { return front_.take_first(); }

  // The first entry, when it is due by `now`; taken out.
  std::optional<Item> pop(Instant now);

  // Takes out every entry that `which` says yes to.
  void remove_if(const std::function<bool(const Item&)>& which);

  // The end of time when empty.
  Instant first_due() const {
    if (!front_.empty()) return front_.first().due;
    return levels_in_use_ == 0 ? Instant::max() : first_slot().first_due;
  }
  bool empty() const { return levels_in_use_ == 0 && front_.empty(); }

  // Moves the position of an empty wheel, best to shortly before the due times to come.
  void start_at(Instant position);

 private:
  static constexpr unsigned kDigitBits = 6;
  static constexpr unsigned kSlots = 1u << kDigitBits;
  static constexpr unsigned kLevels = 11;  // 66 bits: all of Instant
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  static constexpr std::uint32_t kBlockItems = 16;
  struct alignas(64) Block {
    std::array<Item, kBlockItems> items;

    void prefetch() const {
      for (std::size_t line = 0; line < sizeof(Block); line += 64)
        prefetch_line(reinterpret_cast<const char*>(this) + line);
    }
  };
  struct Slot {
    Instant first_due{};  // the least of its entries'
    std::uint32_t first_block = kNone;
    std::uint32_t last_block = kNone;
    std::uint32_t count = 0;
  };

  // Items in due order. They move towards the end of the table as the first are taken, and back to its start when none is
  // left or the end is near; so little of it is ever touched.
  class Front {
   public:
    // Twice the capacity, so that what moves back to the start is never more than what has been taken.
    Front(std::uint32_t capacity, MemorySource& memory) : items_(2 * std::size_t{capacity}, memory) {}
    bool grow_to(std::size_t items) { return items_.grow_to(items); }
    std::size_t usable() const { return items_.usable(); }

    bool empty() const { return count_ == 0; }
    std::size_t size() const { return count_; }
    const Item& first() const { return at(0); }
    const Item& last() const { return at(count_ - 1); }
    std::span<const Item> due_by(Instant now, std::size_t most) const;
    Item take_first();
    void insert(const Item& item);
    void remove_if(const std::function<bool(const Item&)>& which);

    // To append: room(), then the places behind the last, then their number, which brings them into order.
    void make_room(std::size_t more);
    Item& behind_last(std::size_t place) { return items_[start_ + count_ + place]; }
    void append_sorted(std::size_t more);

   private:
    Item& at(std::size_t place) { return items_[start_ + place]; }
    const Item& at(std::size_t place) const { return items_[start_ + place]; }
    void sink(const Item& item, std::size_t place);
    void move_to_start();

    GrowingTable<Item> items_;
    std::size_t start_ = 0;
    std::size_t count_ = 0;
  };

  static constexpr std::uint32_t blocks_for(std::uint32_t entries) {
    // A slot in use has one block that is not full, and a slot that is being emptied one that is not yet free.
    return entries / kBlockItems + kLevels * kSlots + 2;
  }
  bool make_room(std::uint32_t entries);

  static unsigned digit(Instant time, unsigned level);
  unsigned level_of(Instant due) const;
  const Slot& first_slot() const;
  void insert_in_slot(const Item& item);
  void add_block(Slot& slot, unsigned level, unsigned digit);
  template <typename Action>
  void visit(const Slot& slot, Action action) const;
  template <typename Action>
  void consume(Slot slot, Action action);
  Slot take_out(unsigned level, unsigned digit);
  void refill_front();
  void sort_to_front(const Slot& slot, unsigned level);

  const std::uint32_t capacity_;
  std::uint32_t room_ = 0;  // entries that there is memory for
  Front front_;
  std::array<std::array<Slot, kSlots>, kLevels> slots_;
  std::array<std::uint64_t, kLevels> slots_in_use_{};  // a bit a slot
  std::uint32_t levels_in_use_ = 0;                    // a bit a level
  Instant position_{};
  RecordTable<Block> blocks_;
  GrowingTable<std::uint32_t> next_block_;  // in its slot
};

}  // namespace headgate
