#include "core/timing_wheel.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>

namespace headgate {
namespace {

// A slot on so low a level (4 us a slot) goes to the front, when its entries are not too many to be sorted there.
constexpr unsigned kNearLevel = 2;
constexpr std::uint32_t kFewToSort = 12;  // so few are sorted by insertion alone
constexpr std::uint32_t kMostToSort = 128;

std::int64_t count(Instant instant) {
  return instant.time_since_epoch().count();
}

}  // namespace

TimingWheel::Front::Front(std::uint32_t capacity, std::pmr::memory_resource* memory)
    : items_(std::bit_ceil(std::size_t{capacity}), memory), mask_(items_.size() - 1) {}

std::size_t TimingWheel::Front::take(Instant now, std::span<Item> out) {
  const std::size_t most = std::min(count_, out.size());
  std::size_t taken = 0;
  for (; taken < most && at(taken).due <= now; ++taken) out[taken] = at(taken);
  start_ += taken;
  count_ -= taken;
  return taken;
}

void TimingWheel::Front::insert(const Item& item) {
  sink(item, count_++);
}

void TimingWheel::Front::sort(std::size_t count) {
  count_ = count;
  for (std::size_t place = 1; place < count; ++place) {
    if (at(place).due < at(place - 1).due) sink(Item(at(place)), place);
  }
}

// Puts the item where it belongs among those before `place`, which is free.
void TimingWheel::Front::sink(const Item& item, std::size_t place) {
  for (; place > 0 && at(place - 1).due > item.due; --place) at(place) = at(place - 1);
  at(place) = item;
}

void TimingWheel::Front::remove_if(const std::function<bool(Entry)>& which) {
  std::size_t kept = 0;
  for (std::size_t place = 0; place < count_; ++place)
    if (!which(at(place).entry)) at(kept++) = at(place);
  count_ = kept;
}

// A slot in use has one block that is not full, and a slot that is being emptied one that is not yet free.
TimingWheel::TimingWheel(std::uint32_t capacity, std::pmr::memory_resource* memory)
    : front_(capacity, memory),
      blocks_(capacity / kBlockItems + kLevels * kSlots + 2, memory),
      next_block_(blocks_.size(), memory),
      free_blocks_(static_cast<std::uint32_t>(blocks_.size()), memory) {}

void TimingWheel::insert(Entry entry, Instant due) {
  assert(count(due) >= 0);
  if (due < position_) {
    front_.insert({due, entry});
  } else {
    insert_in_slot({due, entry});
  }
}

std::optional<TimingWheel::Item> TimingWheel::pop(Instant now) {
  Item item;
  if (pop(now, {&item, 1}) == 0) return std::nullopt;
  return item;
}

std::size_t TimingWheel::pop(Instant now, std::span<Item> out) {
  std::size_t popped = front_.take(now, out);
  while (popped < out.size() && front_.empty() && levels_in_use_ != 0 && first_slot().first_due <= now) {
    refill_front();
    popped += front_.take(now, out.subspan(popped));
  }
  return popped;
}

void TimingWheel::remove_if(const std::function<bool(Entry)>& which) {
  front_.remove_if(which);
  for (unsigned level = 0; level < kLevels; ++level) {
    for (std::uint64_t left = slots_in_use_[level]; left != 0; left &= left - 1) {
      consume(take_out(level, std::countr_zero(left)), [&](const Item& item) {
        if (!which(item.entry)) insert_in_slot(item);
      });
    }
  }
}

std::optional<Instant> TimingWheel::next_due() const {
  if (!front_.empty()) return front_.first().due;
  if (levels_in_use_ == 0) return std::nullopt;
  return first_slot().first_due;
}

void TimingWheel::start_at(Instant position) {
  assert(empty());
  position_ = position;
}

unsigned TimingWheel::digit(Instant time, unsigned level) {
  return static_cast<unsigned>(count(time) >> (level * kDigitBits)) & (kSlots - 1);
}

unsigned TimingWheel::level_of(Instant due) const {
  const auto difference = static_cast<std::uint64_t>(count(due) ^ count(position_));
  return static_cast<unsigned>(63 - std::countl_zero(difference | 1)) / kDigitBits;
}

const TimingWheel::Slot& TimingWheel::first_slot() const {
  const unsigned level = std::countr_zero(levels_in_use_);
  return slots_[level][std::countr_zero(slots_in_use_[level])];
}

void TimingWheel::insert_in_slot(const Item& item) {
  const unsigned level = level_of(item.due);
  assert(level < kLevels);
  const unsigned at = digit(item.due, level);
  Slot& slot = slots_[level][at];
  const std::uint32_t place = slot.count % kBlockItems;
  if (place == 0) add_block(slot, level, at);
  slot.first_due = std::min(slot.first_due, item.due);
  blocks_[slot.last_block].items[place] = item;
  ++slot.count;
}

// Apart, so that the way past it saves no registers.
[[gnu::noinline]] void TimingWheel::add_block(Slot& slot, unsigned level, unsigned digit) {
  const std::uint32_t block = free_blocks_.take();
  if (slot.count == 0) {
    slot.first_block = block;
    slot.first_due = Instant::max();
    slots_in_use_[level] |= std::uint64_t{1} << digit;
    levels_in_use_ |= 1u << level;
  } else {
    next_block_[slot.last_block] = block;
  }
  slot.last_block = block;
}

TimingWheel::Slot TimingWheel::take_out(unsigned level, unsigned digit) {
  const Slot slot = slots_[level][digit];
  slots_[level][digit].count = 0;
  slots_in_use_[level] &= ~(std::uint64_t{1} << digit);
  if (slots_in_use_[level] == 0) levels_in_use_ &= ~(1u << level);
  return slot;
}

// Shows `action` the items of a slot, in order.
template <typename Action>
void TimingWheel::visit(const Slot& slot, Action action) const {
  std::uint32_t block = slot.first_block;
  for (std::uint32_t left = slot.count; left > 0; block = next_block_[block]) {
    const std::uint32_t items = std::min(left, kBlockItems);
    for (std::uint32_t i = 0; i < items; ++i) action(blocks_[block].items[i]);
    left -= items;
  }
}

// The same for a slot that has been taken out; frees its blocks.
template <typename Action>
void TimingWheel::consume(Slot slot, Action action) {
  std::uint32_t block = slot.first_block;
  for (std::uint32_t left = slot.count; left > 0;) {
    const std::uint32_t items = std::min(left, kBlockItems);
    left -= items;
    const std::uint32_t next = next_block_[block];
    if (left > 0) blocks_[next].prefetch();
    for (std::uint32_t i = 0; i < items; ++i) action(blocks_[block].items[i]);
    free_blocks_.give_back(block);
    block = next;
  }
}

// The first slot's entries go to the front, when they are few or all due at once; else to the levels below theirs,
// because the position moves to the first of them.
void TimingWheel::refill_front() {
  const unsigned level = std::countr_zero(levels_in_use_);
  const Slot slot = take_out(level, std::countr_zero(slots_in_use_[level]));
  position_ = slot.first_due;
  if (level == 0 || slot.count == 1 || (level <= kNearLevel && slot.count <= kFewToSort)) {
    consume(slot, [this](const Item& item) { front_.insert(item); });
    position_ = front_.last().due;
  } else if (level <= kNearLevel && slot.count <= kMostToSort) {
    sort_to_front(slot, level);
    position_ = front_.last().due;
  } else {
    consume(slot, [this](const Item& item) { insert_in_slot(item); });
  }
}

// Sorts by the digit that the level below would go by, with room counted out for each; then little is left to do.
void TimingWheel::sort_to_front(const Slot& slot, unsigned level) {
  std::array<std::uint32_t, kSlots> places{};
  visit(slot, [&](const Item& item) { ++places[digit(item.due, level - 1)]; });
  std::exclusive_scan(places.begin(), places.end(), places.begin(), 0u);
  consume(slot, [&](const Item& item) { front_.at(places[digit(item.due, level - 1)]++) = item; });
  front_.sort(slot.count);
}

}  // namespace headgate
