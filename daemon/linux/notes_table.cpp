#include "linux/notes_table.hpp"

#include <bit>
#include <cstddef>

namespace headgate {

namespace {

std::size_t hash_of(const PacketNotes& notes, std::uint32_t shape) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // the golden ratio's fraction
  const std::uint64_t both = std::uint64_t{notes.mark} << 32 | notes.priority;
  return static_cast<std::size_t>(((both * kOdd) ^ (std::uint64_t{notes.tunnel} << 32 | shape)) * kOdd >> 32);
}

}  // namespace

NotesTable::NotesTable(std::span<divert_restored> memory, std::uint32_t first, std::uint32_t count)
    : memory_(memory),
      first_(first),
      count_(count),
      known_(std::bit_ceil(count), static_cast<std::uint16_t>(first)) {}

std::uint32_t NotesTable::find_or_write(const PacketNotes& notes, std::uint32_t shape) {
  std::uint16_t& known = known_[hash_of(notes, shape) & (known_.size() - 1)];
  const divert_restored& there = memory_[known];
  const PacketNotes its_notes{.mark = there.mark, .priority = there.priority, .tunnel = there.tunnel};
  if (its_notes == notes && there.shape == shape) return known;
  known = static_cast<std::uint16_t>(first_ + next_);
  next_ = next_ + 1 == count_ ? 0 : next_ + 1;
  memory_[known] = {.mark = notes.mark, .priority = notes.priority, .tunnel = notes.tunnel, .shape = shape};
  return known;
}

}  // namespace headgate
