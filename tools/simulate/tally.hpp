// What a simulation counts, per flow and class, beside the shaper's own counters: what was offered, what was sent when and
// how late, what was dropped and why.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "time_series.hpp"
#include "value_spread.hpp"
#include "vocabulary/drop_reason.hpp"
#include "vocabulary/flow_key.hpp"
#include "vocabulary/packet.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

struct FlowTally {
  FlowKey key;
  std::uint32_t class_number = 0;  // the class's position; behind the last: what no class takes
  bool others = false;             // all flows of the class that came when there were kMostFlows
  Count offered;
  Count sent;
  Count dropped;
  std::array<std::uint64_t, kDropReasonCount> reasons{};  // packets
  ValueSpread delays;
  Instant last_departure{};

  Count queued() const;
};

// A packet that waits, as the shaper keeps it for the tally.
struct TalliedPacket {
  Instant arrival{};
  std::uint32_t flow = 0;
  std::uint32_t bytes = 0;     // as they are counted
  std::uint32_t captured = 0;  // of the frame, that the traffic had
};

class Tally {
 public:
  static constexpr std::size_t kMostFlows = 262'144;

  Tally(Instant start, std::size_t classes);

  // Counts it as offered. Returns its flow.
  std::uint32_t offered(std::uint32_t class_number, const FlowKey& key, std::uint32_t hash,
                        std::uint32_t bytes, Instant at);
  void sent(const TalliedPacket& packet, Instant at);
  void dropped(const TalliedPacket& packet, DropReason reason, Instant at);

  const std::vector<FlowTally>& flows() const { return flows_; }  // in order of their first packets
  const TimeSeries& series() const { return series_; }
  // Between departures of one flow, by class.
  const std::vector<ValueSpread>& gaps() const { return gaps_; }
  Instant last_event() const { return last_event_; }

 private:
  std::uint32_t find_or_add(std::uint32_t class_number, const FlowKey& key, std::uint32_t hash);
  std::uint32_t others_of(std::uint32_t class_number);
  void grow_index();

  static constexpr std::uint32_t kNoFlow = ~std::uint32_t{0};

  std::vector<FlowTally> flows_;
  struct Place {
    std::uint32_t flow = kNoFlow;
    std::uint32_t hash = 0;
  };
  std::vector<Place> index_;           // open addressing; a power of two, at most half full
  std::vector<std::uint32_t> others_;  // by class; kNoFlow: none
  TimeSeries series_;
  std::vector<ValueSpread> gaps_;
  Instant last_event_;
};

// Jain's index of what the flows were sent: 1 when all got the same, 1/n when one got all. Of none: 0.
double fairness(const std::vector<double>& shares);

}  // namespace headgate
