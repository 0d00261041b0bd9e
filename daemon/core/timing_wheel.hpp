// Entries with due times, of which the earliest is always known to the nanosecond.
//
// Role      a hierarchical timing wheel: 11 levels of 64 slots cover all of time, a bitmap a level finds the first slot
//           in use. A level's slot is 64 slots of the level below. An entry stands at the level of the highest base-64
//           digit in which its due time differs from the wheel's position, in the slot of that digit; so whatever is on
//           a lower level is due earlier, and entries due at the same instant always share a slot.
// Front     the entries that are next: a short run in due order, taken whole from the first slot once that has few, and
//           whatever is inserted with a due time before the position (its packet was captured before the last one
//           left).
// Position  nothing before it is in the slots, nothing after it in the front.
// Layout    a slot is a list of blocks of due times and entries side by side: an entry that moves from one level to the
//           next is read and written in passing, and never looked up by its number.
// Cost      insert, pop and next_due are O(1); an entry moves down at most once a level, when its slot comes first.
//           Exceptions: inserting before the position moves the later ones of the front by one place; remove_if() looks
//           at everything.
// Order     by due time, first in first out where equal.
// Limits    as many entries as the capacity given at construction. Instants must not be negative. All memory is
//           allocated by the constructor: 33 bytes an entry and 200 KB.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "core/number_stack.hpp"
#include "core/prefetch.hpp"
#include "headgate/clock.hpp"

namespace headgate {

class TimingWheel {
 public:
  using Entry = std::uint32_t;
  struct Item {
    Instant due{};
    Entry entry = 0;
    bool operator==(const Item&) const = default;
  };

  explicit TimingWheel(std::uint32_t capacity,
                       std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  void insert(Entry entry, Instant due);

  // The first entry, when it is due by `now`; taken out.
  std::optional<Item> pop(Instant now);

  // As pop() again and again, until `out` is full or nothing more is due. Returns how many.
  std::size_t pop(Instant now, std::span<Item> out);

  // Takes out every entry that `which` says yes to.
  void remove_if(const std::function<bool(Entry)>& which);

  std::optional<Instant> next_due() const;
  // The same for comparing: the end of time when empty.
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

  // A ring of items in due order.
  class Front {
   public:
    Front(std::uint32_t capacity, std::pmr::memory_resource* memory);
    bool empty() const { return count_ == 0; }
    const Item& first() const { return at(0); }
    const Item& last() const { return at(count_ - 1); }
    // Takes out those due by `now`, as many as `out` has room for. Returns how many.
    std::size_t take(Instant now, std::span<Item> out);
    void insert(const Item& item);
    void remove_if(const std::function<bool(Entry)>& which);

    // For filling an empty one: the places from 0 on, then their number, which brings them into order.
    Item& at(std::size_t place) { return items_[(start_ + place) & mask_]; }
    const Item& at(std::size_t place) const { return items_[(start_ + place) & mask_]; }
    void sort(std::size_t count);

   private:
    void sink(const Item& item, std::size_t place);

    std::pmr::vector<Item> items_;
    std::size_t mask_;
    std::size_t start_ = 0;
    std::size_t count_ = 0;
  };

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

  Front front_;
  std::array<std::array<Slot, kSlots>, kLevels> slots_;
  std::array<std::uint64_t, kLevels> slots_in_use_{};  // a bit a slot
  std::uint32_t levels_in_use_ = 0;                    // a bit a level
  Instant position_{};
  std::pmr::vector<Block> blocks_;
  std::pmr::vector<std::uint32_t> next_block_;  // in its slot
  NumberStack free_blocks_;
};

}  // namespace headgate
