// What one shaper may use, or several shapers of one schedule together: packet memory and flow records. Private to the core.
//
// Those that share it are the instances of a shape at one worker. When the memory is used up, the longest queue of any of
// them pays. The worker's thread, but for the constructor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/longest_queues.hpp"
#include "core/packet_pool.hpp"
#include "core/shaper.hpp"

namespace headgate {

struct ShaperBudget {
  explicit ShaperBudget(const ShaperLimits& limits)
      : max_chunks(PacketPool::chunks_in(limits.memory)), max_flows(std::max(limits.max_flows, 1U)) {}

  bool has_chunks(std::uint32_t chunks) const { return chunks_in_use + chunks <= max_chunks; }
  bool has_flow() const { return flows < max_flows; }

  // Those in the schedule. What a shaper holds when it comes and goes is counted here.
  void add(ShaperState& shaper);
  void remove(ShaperState& shaper);

  // Forgets some flows of the others that may go for want of room: each call looks at one of them.
  void expire_flows_of_another(const ShaperState& than, std::uint32_t looks, Instant now);

  const std::uint32_t max_chunks;
  const std::uint32_t max_flows;
  std::uint32_t chunks_in_use = 0;
  std::uint32_t flows = 0;
  LongestQueues longest_queues;

 private:
  std::vector<ShaperState*> shapers_;
  std::size_t hand_ = 0;
};

}  // namespace headgate
