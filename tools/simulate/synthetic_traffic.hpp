// The packets of synthetic sources, in order of time.
//
// Steady times are exact: the n-th packet comes at `from` and what n packets take at the rate, however many there are. The
// flows of a source begin one after the other, spread evenly over the time that one packet (or burst) takes. What is drawn
// hangs on the seed and on nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "limiters/indexed_heap.hpp"
#include "synthetic_frame.hpp"
#include "traffic.hpp"
#include "traffic_source.hpp"

namespace headgate {

class SyntheticTraffic : public Traffic {
 public:
  // Times of sources count from `start`. `end`: when those end that do not say it themselves.
  SyntheticTraffic(const std::vector<TrafficSource>& sources, Instant start, Duration end,
                   std::uint64_t seed);

  const OfferedPacket* next() override;

 private:
  // Numbers that look random: SplitMix64 (Steele, Lea, Flood 2014).
  struct Drawn {
    std::uint64_t state = 0;
    std::uint64_t number();
    double exponential(double mean);
  };
  struct Flow {
    std::uint32_t source = 0;
    std::uint32_t number = 0;  // in its source
    std::uint64_t sent = 0;    // packets that have been given
    std::uint64_t units = 0;   // packets or bytes of these, as the rate counts them
    Duration clock{};          // when the next comes, of the time that it sends
    Duration silent{};         // how long it has been silent
    Duration sends_until{};    // by `clock`; of on_off
    Duration phase{};
    std::uint32_t length = 0;  // of the next
    Drawn drawn;
  };
  struct Source {
    TrafficSource said;
    SyntheticFrame frame;
    Duration end;
  };

  void begin(Flow& flow);
  void advance(Flow& flow);
  std::optional<Duration> next_time(const Flow& flow) const;
  std::uint32_t draw_length(Flow& flow, const TrafficSource& said);

  const Instant start_;
  std::vector<Source> sources_;
  std::vector<Flow> flows_;
  IndexedHeap turns_;  // flows that have a packet to come, by its time since the start
  IndexedHeap::Places places_;
  OfferedPacket packet_;
};

}  // namespace headgate
