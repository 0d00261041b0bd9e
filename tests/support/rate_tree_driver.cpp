#include "support/rate_tree_driver.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace headgate {
namespace {

using Wide = unsigned __int128;
constexpr Wide kByte = 8'000'000'000;  // takes this / rate nanoseconds

// Rounded up.
Duration time_of(Wide bytes, std::uint64_t rate) {
  return Duration{static_cast<std::int64_t>((bytes * kByte + rate - 1) / rate)};
}

}  // namespace

RateTreeDriver::RateTreeDriver(const std::vector<TreeNodeConfig>& configs, const RateTreeDrive& drive)
    : configs_(configs),
      drive_(drive),
      random_(drive.seed),
      tree_(configs),
      laws_(configs, drive.late > Duration{0} ? RateTreeLaws::Driver::late : RateTreeLaws::Driver::exact),
      classes_(configs.size()),
      sent_bytes_(configs.size()) {}

void RateTreeDriver::set_source(TreeNode node, const PacketSource& source) {
  Class& each = classes_[node];
  if (!each.queue.empty()) {
    tree_.end(node);
    laws_.end(node);
  }
  for (const Packet& packet : each.queue) each.dropped_bytes += packet.bytes;
  each.queue.clear();
  each.source = source;
  each.source_bytes = 0;
  ++each.generation;
  if (source.saturating) {
    arrive(node, now_);
  } else if (source.rate != 0) {
    const auto packet = static_cast<std::uint64_t>(time_of(source.most, source.rate).count());
    each.since = now_ + Duration{up_to(packet)};
    arrivals_.push({each.since, node, each.generation});
  }
}

void RateTreeDriver::run_for(Duration duration) {
  const Instant end = now_ + duration;
  while (true) {
    arrive_until_now();
    while (send_one()) arrive_until_now();
    const std::optional<Instant> event = tree_.next_event();
    if (drive_.check_turns) laws_.expect_in_time(event);
    if (event && *event <= now_) {
      ADD_FAILURE() << "would not sleep, though nothing may go";
      break;
    }
    Instant next = end;
    if (event) next = std::min(next, *event);
    if (!arrivals_.empty()) next = std::min(next, arrivals_.top().at);
    if (next >= end) break;
    now_ =
        next + Duration{drive_.late.count() > 0 ? up_to(static_cast<std::uint64_t>(drive_.late.count())) : 0};
  }
  now_ = std::max(now_, end);
}

void RateTreeDriver::arrive_until_now() {
  while (!arrivals_.empty() && arrivals_.top().at <= now_) {
    const auto [at, node, generation] = arrivals_.top();
    arrivals_.pop();
    Class& each = classes_[node];
    if (generation != each.generation) continue;
    arrive(node, at);
    arrivals_.push({each.since + time_of(each.source_bytes, each.source.rate), node, generation});
  }
}

void RateTreeDriver::arrive(TreeNode node, Instant at) {
  Class& each = classes_[node];
  const std::uint64_t bytes = each.source.least + up_to(each.source.most - each.source.least);
  each.source_bytes += bytes;
  each.arrived_bytes += bytes;
  if (each.queue.size() == kQueuePackets) {
    each.dropped_bytes += bytes;
    return;
  }
  each.queue.push_back({bytes, at});
  if (each.queue.size() > 1) return;
  tree_.begin(node, bytes, now_);
  laws_.begin(node, bytes, now_);
  if (drive_.check_turns) laws_.expect_in_time(tree_.next_event());
}

bool RateTreeDriver::send_one() {
  const RateTree::Turn turn = tree_.next(now_);
  if (drive_.check_turns) laws_.expect_right(turn, now_);
  if (!turn) return false;
  Class& sender = classes_[turn.node];
  if (sender.queue.empty()) {
    ADD_FAILURE() << "class " << turn.node << " has nothing to send";
    return false;
  }
  const Packet packet = sender.queue.front();
  if (sender.source.saturating) arrive(turn.node, now_);
  sender.queue.pop_front();
  const Instant departure = std::max(tree_.departure(turn, packet.arrival, now_), now_ - kCatchUp);
  if (drive_.late == Duration{0}) {
    EXPECT_GE(departure, packet.arrival);
  }
  const std::uint64_t behind = sender.queue.empty() ? 0 : sender.queue.front().bytes;
  tree_.sent(turn, packet.bytes, behind, departure, now_);
  laws_.sent(turn, packet.bytes, behind, departure, now_);
  for (TreeNode each = turn.node;; each = configs_[each].parent) {
    sent_bytes_[each] += packet.bytes;
    if (each == kLink) break;
  }
  ++sent_packets_;
  return true;
}

void RateTreeDriver::expect_conservation() const {
  std::uint64_t sent = 0;
  for (TreeNode node = 0; node < classes_.size(); ++node) {
    const Class& each = classes_[node];
    std::uint64_t accounted = each.dropped_bytes;
    for (const Packet& packet : each.queue) accounted += packet.bytes;
    if (each.arrived_bytes == 0) continue;
    EXPECT_EQ(each.arrived_bytes, accounted + sent_bytes_[node]) << "class " << node;
    sent += sent_bytes_[node];
  }
  EXPECT_EQ(sent, sent_bytes_[kLink]);
}

}  // namespace headgate
