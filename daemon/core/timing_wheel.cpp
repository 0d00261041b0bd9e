#include "core/timing_wheel.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>
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

std::span<const TimingWheel::Item> TimingWheel::Front::due_by(Instant now, std::size_t most) const {
  most = std::min(most, count_);
  std::size_t due = 0;
  while (due < most && at(due).due <= now) ++due;
  return due == 0 ? std::span<const Item>() : std::span(&first(), due);
}

TimingWheel::Item TimingWheel::Front::take_first() {
  assert(!empty());
  const Item item = first();
  ++start_;
  if (--count_ == 0) start_ = 0;
  return item;
}

void TimingWheel::Front::insert(const Item& item) {
  if (start_ + count_ == items_.usable()) make_room(1);
  sink(item, count_++);
}

// Puts the item where it belongs among those before `place`, which is free.
void TimingWheel::Front::sink(const Item& item, std::size_t place) {
  for (; place > 0 && at(place - 1).due > item.due; --place) at(place) = at(place - 1);
  at(place) = item;
}

void TimingWheel::Front::append_sorted(std::size_t more) {
  const std::size_t end = count_ + more;
  for (std::size_t place = count_ + 1; place < end; ++place) {
    if (at(place).due < at(place - 1).due) sink(Item(at(place)), place);
  }
  count_ = end;
}

// What is reserved has room for all entries, when they begin at the start. Moving them there is worth it when they are
// fewer than what has been taken; else the table grows.
void TimingWheel::Front::make_room(std::size_t more) {
  const std::size_t end = start_ + count_ + more;
  if (end <= items_.usable()) return;
  if (start_ >= count_ || !items_.grow_to(end)) move_to_start();
}

void TimingWheel::Front::move_to_start() {
  for (std::size_t place = 0; place < count_; ++place) items_[place] = at(place);
  start_ = 0;
}

void TimingWheel::Front::remove_if(const std::function<bool(const Item&)>& which) {
  std::size_t kept = 0;
  for (std::size_t place = 0; place < count_; ++place)
    if (!which(at(place))) at(kept++) = at(place);
  count_ = kept;
  if (count_ == 0) start_ = 0;
}

TimingWheel::TimingWheel(std::uint32_t capacity, MemorySource& memory)
    : capacity_(capacity),
      front_(capacity, memory),
      blocks_(blocks_for(capacity), memory),
      next_block_(blocks_for(capacity), memory) {
  if (!make_room(1)) throw std::bad_alloc();
}

bool TimingWheel::make_room(std::uint32_t entries) {
  if (entries > capacity_) return false;
  const std::uint32_t blocks = blocks_for(entries);
  if (!front_.grow_to(entries) || !next_block_.grow_to(blocks) || !blocks_.make_all_ready(blocks))
    return false;
  const std::size_t ready_blocks = std::min<std::size_t>(blocks_.ready_end(), next_block_.usable());
  const std::size_t most =
      (ready_blocks - blocks_for(0)) * kBlockItems + kBlockItems - 1;  // blocks_for() turned round
  room_ = static_cast<std::uint32_t>(std::min({std::size_t{capacity_}, front_.usable(), most}));
  return true;
}

void TimingWheel::grow_ahead(std::uint32_t entries) {
  if (room_ == capacity_) return;
  const auto ahead = static_cast<std::uint32_t>(GrowingMemory::step(room_ * sizeof(Item)) / sizeof(Item));
  if (room_ - entries < ahead) make_room(std::min(capacity_, entries + ahead));
}

void TimingWheel::insert(const Item& item) {
  assert(count(item.due) >= 0);
  if (item.due < position_) {
    front_.insert(item);
  } else {
    insert_in_slot(item);
  }
}

std::span<const TimingWheel::Item> TimingWheel::peek(Instant now, std::size_t most) {
  while (front_.size() < most && levels_in_use_ != 0 && first_slot().first_due <= now) refill_front();
  return front_.due_by(now, most);
}

std::optional<TimingWheel::Item> TimingWheel::pop(Instant now) {
  if (peek(now, 1).empty()) return std::nullopt;
  return take_first();
}

void TimingWheel::remove_if(const std::function<bool(const Item&)>& which) {
  front_.remove_if(which);
  for (unsigned level = 0; level < kLevels; ++level) {
    for (std::uint64_t left = slots_in_use_[level]; left != 0; left &= left - 1) {
      consume(take_out(level, std::countr_zero(left)), [&](const Item& item) {
        if (!which(item)) insert_in_slot(item);
      });
    }
  }
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
  const std::uint32_t block = blocks_.take();
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
    blocks_.give_back(block);
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
  front_.make_room(slot.count);
  consume(slot, [&](const Item& item) { front_.behind_last(places[digit(item.due, level - 1)]++) = item; });
  front_.append_sorted(slot.count);
}

}  // namespace headgate
