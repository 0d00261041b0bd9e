// Brings chains of packets together into one, in order of arrival; of each chain, in the order that it has.
//
// Takes no memory: packets are linked by `next`, and chains are merged in pairs of about the same size.
#pragma once

#include <array>

#include "core/packet_pool.hpp"

namespace headgate {

class ArrivalMerge {
 public:
  explicit ArrivalMerge(PacketPool& pool) : pool_(pool) { merged_.fill(kNoPacket); }

  // A chain; may be empty. Packets that arrived at the same instant come in the order in which their chains were added.
  void add(PacketHandle chain);

  // All of it; to be called once.
  PacketHandle result();

 private:
  PacketHandle merge(PacketHandle earlier, PacketHandle later);

  PacketPool& pool_;
  std::array<PacketHandle, 33> merged_;  // by power of two of the chains in each; kNoPacket: none
};

}  // namespace headgate
