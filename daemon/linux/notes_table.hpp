// What the kernel notes beside packets, by a place that the mark of a packet names when headgated sends it: the program on
// the hook looks there, and gives the packet its own mark and priority back. Of what is sent on a divert device's peer that
// serves many shapes, the place also tells the shape.
//
// A place is used again after all others, so packets that are still on their way find what they were sent with: there are
// more places than packets between two network devices (netdev_max_backlog), but for very many workers.
//
// One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "linux/divert_memory.h"
#include "pipeline/frame_prefix.hpp"

namespace headgate {

class NotesTable {
 public:
  // The bits of a mark that name a place.
  static constexpr std::uint32_t kPlaceBits = 0xffff;

  // `memory` is shared with the program; this table fills `count` places from `first` on, at least one. Place 0 is that of
  // packets without any notes, of no shape.
  NotesTable(std::span<divert_restored> memory, std::uint32_t first, std::uint32_t count);

  // `shape`: its place (linux/divert_place.hpp), or 0 where nobody asks for it.
  std::uint32_t place_of(const PacketNotes& notes, std::uint32_t shape = 0) {
    return notes == PacketNotes{} && shape == 0 ? 0 : find_or_write(notes, shape);
  }
  // The same notes, of a shape.
  std::uint32_t place_of_shape(std::uint32_t place, std::uint32_t shape) {
    const divert_restored& known = memory_[place];
    return place_of({.mark = known.mark, .priority = known.priority, .tunnel = known.tunnel}, shape);
  }

 private:
  std::uint32_t find_or_write(const PacketNotes& notes, std::uint32_t shape);

  std::span<divert_restored> memory_;
  const std::uint32_t first_;
  const std::uint32_t count_;
  std::uint32_t next_ = 0;
  std::vector<std::uint16_t> known_;  // by a hash: the place where these notes were written last
};

}  // namespace headgate
