#include "synthetic_traffic.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "headgate/units.hpp"
#include "headgate/wide.hpp"

namespace headgate {
namespace {

UnitRate unit_rate(const Rate& rate) {
  return rate.packets ? UnitRate(*rate.packets) : UnitRate(*rate.bits);
}

// Later than any simulation ends.
constexpr Duration kNever = std::chrono::hours(24 * 366 * 20);

Duration time_for(std::uint64_t units, const Rate& rate) {
  return std::min(unit_rate(rate).time_for(units), kNever);
}

// What a packet is to the rate.
std::uint64_t units_of(const TrafficSource& said, std::uint32_t length) {
  return said.rate.packets ? 1 : length;
}

}  // namespace

std::uint64_t SyntheticTraffic::Drawn::number() {
  std::uint64_t mixed = state += 0x9e37'79b9'7f4a'7c15;
  mixed = (mixed ^ mixed >> 30) * 0xbf58'476d'1ce4'e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d0'49bb'1331'11eb;
  return mixed ^ mixed >> 31;
}

double SyntheticTraffic::Drawn::exponential(double mean) {
  const double share = (static_cast<double>(number() >> 11) + 1) * 0x1p-53;  // above 0, up to 1
  return -std::log(share) * mean;
}

SyntheticTraffic::SyntheticTraffic(const std::vector<TrafficSource>& sources, Instant start, Duration end,
                                   std::uint64_t seed)
    : start_(start) {
  Drawn seeds{seed};
  for (const TrafficSource& said : sources) {
    sources_.push_back({said, SyntheticFrame(said), said.to.value_or(end)});
    const auto number = static_cast<std::uint32_t>(sources_.size() - 1);
    for (std::uint32_t i = 0; i < said.flows; ++i)
      flows_.push_back({.source = number, .number = i, .drawn = {seeds.number()}});
  }
  places_.grow_to(flows_.size());
  turns_.reserve(flows_.size());
  for (std::uint32_t i = 0; i < flows_.size(); ++i) {
    begin(flows_[i]);
    if (const auto first = next_time(flows_[i])) turns_.push(places_, i, first->count());
  }
}

void SyntheticTraffic::begin(Flow& flow) {
  const TrafficSource& said = sources_[flow.source].said;
  flow.length = draw_length(flow, said);
  const Duration interval = time_for(units_of(said, flow.length) * said.burst, said.rate);
  flow.phase = whole_duration(Int128{interval.count()} * flow.number / said.flows);
  if (said.pattern == ArrivalPattern::poisson)
    flow.clock = Duration(std::llround(flow.drawn.exponential(static_cast<double>(interval.count()))));
  if (said.pattern == ArrivalPattern::on_off)
    flow.sends_until = Duration(std::llround(flow.drawn.exponential(static_cast<double>(said.on.count()))));
}

std::uint32_t SyntheticTraffic::draw_length(Flow& flow, const TrafficSource& said) {
  const std::uint32_t choices = said.most_bytes - said.least_bytes + 1;
  return choices == 1 ? said.least_bytes
                      : said.least_bytes + static_cast<std::uint32_t>(flow.drawn.number() % choices);
}

// To the time of the packet behind the one that was given.
void SyntheticTraffic::advance(Flow& flow) {
  const TrafficSource& said = sources_[flow.source].said;
  const std::uint64_t before = flow.units;
  flow.units += units_of(said, flow.length);
  ++flow.sent;
  flow.length = draw_length(flow, said);
  if (flow.sent % said.burst != 0) return;
  if (said.pattern == ArrivalPattern::poisson) {
    const auto mean = static_cast<double>(time_for((flow.units - before) * said.burst, said.rate).count());
    flow.clock = std::min(flow.clock + Duration(std::llround(flow.drawn.exponential(mean))), kNever);
    return;
  }
  flow.clock = time_for(flow.units, said.rate);
  while (said.pattern == ArrivalPattern::on_off && flow.clock >= flow.sends_until) {
    flow.silent += Duration(std::llround(flow.drawn.exponential(static_cast<double>(said.off.count()))));
    // At least a nanosecond, so that it comes to an end.
    flow.sends_until +=
        Duration(1 + std::llround(flow.drawn.exponential(static_cast<double>(said.on.count()))));
  }
}

// None: it has come to its end.
std::optional<Duration> SyntheticTraffic::next_time(const Flow& flow) const {
  const Source& source = sources_[flow.source];
  if (source.said.count && flow.sent >= *source.said.count) return std::nullopt;
  const Duration at = source.said.from + flow.phase + flow.clock + flow.silent;
  return at < source.end ? std::optional(at) : std::nullopt;
}

const OfferedPacket* SyntheticTraffic::next() {
  if (turns_.empty()) return nullptr;
  const IndexedHeap::Entry turn = turns_.first();
  Flow& flow = flows_[turn.number];
  Source& source = sources_[flow.source];
  packet_.at = start_ + Duration(turn.key);
  packet_.frame = source.frame.headers(flow.number, flow.length);
  packet_.length = flow.length;
  packet_.mark = source.said.mark;
  advance(flow);
  if (const auto next = next_time(flow))
    turns_.set_key(places_, turn.number, next->count());
  else
    turns_.remove(places_, turn.number);
  return &packet_;
}

}  // namespace headgate
