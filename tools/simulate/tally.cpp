#include "tally.hpp"

#include <utility>

namespace headgate {

Count FlowTally::queued() const {
  Count queued = offered;
  queued -= sent;
  queued -= dropped;
  return queued;
}

Tally::Tally(Instant start, std::size_t classes)
    : index_(1024), others_(classes, kNoFlow), series_(start, classes), gaps_(classes), last_event_(start) {}

std::uint32_t Tally::offered(std::uint32_t class_number, const FlowKey& key, std::uint32_t hash,
                             std::uint32_t bytes, Instant at) {
  const std::uint32_t number = find_or_add(class_number, key, hash);
  const Cost cost{1, bytes};
  flows_[number].offered += cost;
  series_.bin(class_number, at).offered += cost;
  last_event_ = std::max(last_event_, at);
  return number;
}

void Tally::sent(const TalliedPacket& packet, Instant at) {
  FlowTally& flow = flows_[packet.flow];
  const Cost cost{1, packet.bytes};
  const Duration delay = at - packet.arrival;
  if (flow.sent.packets > 0 && !flow.others) gaps_[flow.class_number].record(at - flow.last_departure);
  flow.last_departure = at;
  flow.sent += cost;
  flow.delays.record(delay);
  SeriesBin& bin = series_.bin(flow.class_number, at);
  bin.sent += cost;
  bin.delay += delay;
  bin.longest_delay = std::max(bin.longest_delay, delay);
  last_event_ = std::max(last_event_, at);
}

void Tally::dropped(const TalliedPacket& packet, DropReason reason, Instant at) {
  FlowTally& flow = flows_[packet.flow];
  flow.dropped += Cost{1, packet.bytes};
  ++flow.reasons[static_cast<std::size_t>(reason)];
  ++series_.bin(flow.class_number, at).dropped;
  last_event_ = std::max(last_event_, at);
}

std::uint32_t Tally::find_or_add(std::uint32_t class_number, const FlowKey& key, std::uint32_t hash) {
  hash += class_number * 0x9e37'79b9U;
  const std::size_t mask = index_.size() - 1;
  std::size_t place = hash & mask;
  for (; index_[place].flow != kNoFlow; place = (place + 1) & mask) {
    if (index_[place].hash != hash) continue;
    const FlowTally& flow = flows_[index_[place].flow];
    if (flow.class_number == class_number && flow.key == key) return index_[place].flow;
  }
  if (flows_.size() >= kMostFlows) return others_of(class_number);
  const auto number = static_cast<std::uint32_t>(flows_.size());
  index_[place] = {number, hash};
  flows_.push_back({.key = key, .class_number = class_number});
  if (2 * flows_.size() > index_.size()) grow_index();
  return number;
}

std::uint32_t Tally::others_of(std::uint32_t class_number) {
  if (others_[class_number] == kNoFlow) {
    others_[class_number] = static_cast<std::uint32_t>(flows_.size());
    flows_.push_back({.class_number = class_number, .others = true});
  }
  return others_[class_number];
}

void Tally::grow_index() {
  const std::vector<Place> before = std::exchange(index_, std::vector<Place>(2 * index_.size()));
  const std::size_t mask = index_.size() - 1;
  for (const Place& one : before) {
    if (one.flow == kNoFlow) continue;
    std::size_t place = one.hash & mask;
    while (index_[place].flow != kNoFlow) place = (place + 1) & mask;
    index_[place] = one;
  }
}

double fairness(const std::vector<double>& shares) {
  double sum = 0, squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(shares.size()) * squares) : 0;
}

}  // namespace headgate
