#include "core/arrival_merge.hpp"

namespace headgate {

void ArrivalMerge::add(PacketHandle chain) {
  if (chain == kNoPacket) return;
  std::size_t power = 0;
  for (; merged_[power] != kNoPacket; ++power) {
    chain = merge(merged_[power], chain);
    merged_[power] = kNoPacket;
  }
  merged_[power] = chain;
}

PacketHandle ArrivalMerge::result() {
  PacketHandle all = kNoPacket;
  for (const PacketHandle chain : merged_) all = merge(chain, all);
  return all;
}

PacketHandle ArrivalMerge::merge(PacketHandle earlier, PacketHandle later) {
  PacketHandle first = kNoPacket;
  PacketHandle* end = &first;
  while (earlier != kNoPacket && later != kNoPacket) {
    PacketHandle& next = pool_[later].arrival < pool_[earlier].arrival ? later : earlier;
    *end = next;
    end = &pool_[next].next;
    next = *end;
  }
  *end = earlier != kNoPacket ? earlier : later;
  return first;
}

}  // namespace headgate
