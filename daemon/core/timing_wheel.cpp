#include "core/timing_wheel.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace headgate {
namespace {

std::int64_t count(Instant instant) {
  return instant.time_since_epoch().count();
}

}  // namespace

TimingWheel::TimingWheel(std::uint32_t capacity) : nodes_(capacity) {}

void TimingWheel::insert(Entry entry, Instant due) {
  assert(count(due) >= 0);
  nodes_[entry].due = count(due);
  if (nodes_[entry].due < position_) {
    insert_late(entry);
  } else {
    insert_in_slot(entry);
  }
}

void TimingWheel::remove(Entry entry) {
  const std::int64_t due = nodes_[entry].due;
  if (due < position_) {
    unlink(late_, entry);
    return;
  }
  const unsigned level = level_of(due);
  Slot& slot = slots_[level][digit(due, level)];
  unlink(slot.entries, entry);
  if (slot.entries.head == kNone) {
    slot_emptied(level, digit(due, level));
  } else if (due == slot.first_due) {
    slot.first_due = nodes_[slot.entries.head].due;
    for (Entry each = slot.entries.head; each != kNone; each = nodes_[each].next) {
      slot.first_due = std::min(slot.first_due, nodes_[each].due);
    }
  }
}

std::optional<TimingWheel::Entry> TimingWheel::pop(Instant now) {
  if (late_.head != kNone) {
    const Entry entry = late_.head;
    if (nodes_[entry].due > count(now)) return std::nullopt;
    unlink(late_, entry);
    return entry;
  }
  if (levels_in_use_ == 0 || first_slot().first_due > count(now)) return std::nullopt;
  return pop_from_slots();
}

std::size_t TimingWheel::pop(Instant now, std::span<Entry> out) {
  std::size_t count = 0;
  while (count < out.size()) {
    const std::optional<Entry> entry = pop(now);
    if (!entry) break;
    out[count++] = *entry;
  }
  return count;
}

std::optional<Instant> TimingWheel::next_due() const {
  if (late_.head != kNone) return due(late_.head);
  if (levels_in_use_ == 0) return std::nullopt;
  return Instant{Duration{first_slot().first_due}};
}

void TimingWheel::start_at(Instant position) {
  assert(empty());
  position_ = count(position);
}

unsigned TimingWheel::digit(std::int64_t time, unsigned level) {
  return static_cast<unsigned>(time >> (level * kDigitBits)) & (kSlots - 1);
}

unsigned TimingWheel::level_of(std::int64_t due) const {
  const auto difference = static_cast<std::uint64_t>(due ^ position_);
  return static_cast<unsigned>(63 - std::countl_zero(difference | 1)) / kDigitBits;
}

const TimingWheel::Slot& TimingWheel::first_slot() const {
  const unsigned level = std::countr_zero(levels_in_use_);
  return slots_[level][std::countr_zero(slots_in_use_[level])];
}

void TimingWheel::append(List& list, Entry entry) {
  nodes_[entry].next = kNone;
  nodes_[entry].previous = list.tail;
  (list.tail == kNone ? list.head : nodes_[list.tail].next) = entry;
  list.tail = entry;
}

void TimingWheel::unlink(List& list, Entry entry) {
  const Node& node = nodes_[entry];
  (node.previous == kNone ? list.head : nodes_[node.previous].next) = node.next;
  (node.next == kNone ? list.tail : nodes_[node.next].previous) = node.previous;
}

void TimingWheel::insert_late(Entry entry) {
  Entry before = late_.tail;
  while (before != kNone && nodes_[before].due > nodes_[entry].due) before = nodes_[before].previous;
  const Entry behind = before == kNone ? late_.head : nodes_[before].next;
  nodes_[entry].previous = before;
  nodes_[entry].next = behind;
  (before == kNone ? late_.head : nodes_[before].next) = entry;
  (behind == kNone ? late_.tail : nodes_[behind].previous) = entry;
}

void TimingWheel::insert_in_slot(Entry entry) {
  const std::int64_t due = nodes_[entry].due;
  const unsigned level = level_of(due);
  assert(level < kLevels);
  Slot& slot = slots_[level][digit(due, level)];
  slot.first_due = slot.entries.head == kNone ? due : std::min(slot.first_due, due);
  append(slot.entries, entry);
  slots_in_use_[level] |= std::uint64_t{1} << digit(due, level);
  levels_in_use_ |= 1u << level;
}

void TimingWheel::slot_emptied(unsigned level, unsigned digit) {
  slots_in_use_[level] &= ~(std::uint64_t{1} << digit);
  if (slots_in_use_[level] == 0) levels_in_use_ &= ~(1u << level);
}

// Moves the position to the first due time. That puts the first entry on level 0, alone with those due at the
// same instant, and the others of its slot on levels below theirs.
TimingWheel::Entry TimingWheel::pop_from_slots() {
  const unsigned level = std::countr_zero(levels_in_use_);
  const unsigned digit = std::countr_zero(slots_in_use_[level]);
  Slot& slot = slots_[level][digit];
  const Entry first = slot.entries.head;
  position_ = slot.first_due;
  if (level == 0 || first == slot.entries.tail) {
    unlink(slot.entries, first);
    if (slot.entries.head == kNone) slot_emptied(level, digit);
    return first;
  }
  slot.entries = {};
  slot_emptied(level, digit);
  Entry popped = kNone;
  for (Entry entry = first; entry != kNone;) {
    const Entry next = nodes_[entry].next;
    if (popped == kNone && nodes_[entry].due == position_) {
      popped = entry;
    } else {
      insert_in_slot(entry);
    }
    entry = next;
  }
  return popped;
}

}  // namespace headgate
