#include "support/rate_tree_laws.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace headgate {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::int64_t nanoseconds(Instant instant) {
  return instant.time_since_epoch().count();
}

}  // namespace

std::int64_t WideClock::opens() const {
  return set() ? static_cast<std::int64_t>((time_ + rate_ - 1) / rate_) : 0;
}

std::int64_t WideClock::time_of(std::uint64_t bytes) const {
  return static_cast<std::int64_t>(bytes * 8 * kBit / rate_);
}

void WideClock::begin(std::int64_t now) {
  if (opens() < now) time_ = now * rate_;
}

void WideClock::charge(std::uint64_t bytes, std::int64_t departure, std::int64_t credit) {
  if (!set()) return;
  if (departure > opens()) {
    const std::int64_t from = departure - credit;
    if (from > opens()) time_ = from * rate_;
  }
  time_ += bytes * 8 * kBit;
}

RateTreeLaws::RateTreeLaws(const std::vector<TreeNodeConfig>& configs, Driver driver)
    : nodes_(configs.size()), driver_(driver) {
  for (TreeNode number = 0; number < nodes_.size(); ++number) {
    Node& node = nodes_[number];
    node.config = configs[number];
    if (node.config.ceiling) node.ceiling = WideClock(node.config.ceiling->bits_per_second);
    if (node.config.guarantee) node.guarantee = WideClock(node.config.guarantee->bits_per_second);
    if (number != kLink) nodes_[node.config.parent].is_class = false;
    if (!node.config.guarantee) continue;
    for (TreeNode each = number;; each = nodes_[each].config.parent) {
      ++nodes_[each].guarantees;
      if (each == kLink) break;
    }
  }
}

void RateTreeLaws::begin(TreeNode number, std::uint64_t bytes, Instant instant) {
  const std::int64_t now = nanoseconds(instant);
  Node& sender = nodes_[number];
  sender.bytes = bytes;
  for (TreeNode each = number;; each = nodes_[each].config.parent) {
    Node& node = nodes_[each];
    node.largest = std::max(node.largest, bytes);
    if (node.backlogged++ == 0 && node.ceiling.set()) node.ceiling.begin(now);
    if (each == kLink) break;
  }
  if (sender.guarantee.set() && sender.guarantee.opens() < now) {
    const std::int64_t missed = now - sender.guarantee.opens();
    const std::int64_t packet = sender.guarantee.time_of(sender.largest);
    sender.early = missed > packet ? 0 : std::min(sender.early + missed, packet);
    sender.guarantee.begin(now);
  }
}

void RateTreeLaws::end(TreeNode number) {
  nodes_[number].bytes = 0;
  for (TreeNode each = number;; each = nodes_[each].config.parent) {
    --nodes_[each].backlogged;
    if (each == kLink) break;
  }
}

void RateTreeLaws::sent(const RateTree::Turn& turn, std::uint64_t bytes, std::uint64_t behind, Instant left,
                        Instant now) {
  const std::int64_t departure = nanoseconds(left);
  Node& sender = nodes_[turn.node];
  EXPECT_EQ(sender.bytes, bytes);
  EXPECT_LE(left, now);
  if (driver_ == Driver::exact) {
    EXPECT_EQ(left, now) << "could have left before";
    if (sender.guarantee.set()) expect_by_deadline(turn.node, departure);
  }
  if (turn.guaranteed) {
    sender.guarantee.charge(bytes, departure, credit(sender, sender.guarantee));
    ++guaranteed_packets_;
  }
  for (TreeNode each = turn.node;; each = nodes_[each].config.parent) {
    expect_within_rate(each, bytes, departure);
    Node& node = nodes_[each];
    node.largest = std::max(node.largest, behind);
    if (each == kLink) break;
    const Node& link = nodes_[kLink];
    node.ceiling.charge(bytes, departure, std::max(credit(node, node.ceiling), credit(link, link.ceiling)));
  }
  nodes_[kLink].ceiling.charge(bytes, departure, 0);
  if (behind == 0) end(turn.node);
  sender.bytes = behind;
}

std::int64_t RateTreeLaws::credit(const Node& node, const WideClock& clock) const {
  return clock.set() ? clock.time_of(RateTree::kCreditPackets * node.largest) : 0;
}

// One packet of the link and a nanosecond for each of two roundings.
void RateTreeLaws::expect_by_deadline(TreeNode number, std::int64_t departure) {
  const std::int64_t lateness = departure - deadline(nodes_[number]);
  const std::int64_t packet = nodes_[kLink].ceiling.time_of(nodes_[kLink].largest) + 2;
  worst_lateness_ = std::max(worst_lateness_, static_cast<double>(lateness) / static_cast<double>(packet));
  EXPECT_LE(lateness, packet) << "class " << number;
}

double RateTreeLaws::slack_bytes(TreeNode number) const {
  const Node& node = nodes_[number];
  const auto packet = static_cast<double>(node.largest);
  if (number == kLink) return packet;
  const Node& link = nodes_[kLink];
  double credit = packet;
  if (link.ceiling.set())
    credit = std::max(credit, static_cast<double>(link.largest) *
                                  static_cast<double>(node.config.ceiling->bits_per_second) /
                                  static_cast<double>(link.config.ceiling->bits_per_second));
  return RateTree::kCreditPackets * credit + packet * static_cast<double>(1 + node.guarantees);
}

// In any window: what comes in one at its end counts from each beginning, so the most of all windows is the level of a bucket
// that leaks at the rate. Departures are whole nanoseconds.
void RateTreeLaws::expect_within_rate(TreeNode number, std::uint64_t bytes, std::int64_t departure) {
  Node& node = nodes_[number];
  if (!node.ceiling.set()) return;
  const double bytes_per_nanosecond = static_cast<double>(node.config.ceiling->bits_per_second) / 8e9;
  EXPECT_GE(departure, node.level_at);
  node.level =
      std::max(0.0, node.level - static_cast<double>(departure - node.level_at) * bytes_per_nanosecond);
  node.level += static_cast<double>(bytes);
  node.level_at = departure;
  const double slack = slack_bytes(number) + bytes_per_nanosecond + 1e-3;
  if (number != kLink) worst_excess_ = std::max(worst_excess_, node.level / slack);
  EXPECT_LE(node.level, slack) << "node " << number;
}

bool RateTreeLaws::in_time(const Node& node, std::int64_t now) const {
  return node.guarantee.set() && node.bytes != 0 && guarantee_opens(node) <= now;
}

std::int64_t RateTreeLaws::deadline(const Node& node) const {
  return node.guarantee.opens() + node.guarantee.time_of(node.bytes);
}

std::int64_t RateTreeLaws::path_opens(TreeNode number) const {
  std::int64_t opens = 0;
  for (; number != kLink; number = nodes_[number].config.parent)
    opens = std::max(opens, nodes_[number].ceiling.opens());
  return opens;
}

// None that may send has a priority before that of a node on this class's path, below the same parent.
bool RateTreeLaws::first_in_priority(TreeNode number, std::int64_t now) const {
  std::vector<TreeNode> on_path(nodes_.size(), kNoNode);  // by parent
  for (TreeNode each = number; each != kLink; each = nodes_[each].config.parent)
    on_path[nodes_[each].config.parent] = each;
  for (TreeNode other = 1; other < nodes_.size(); ++other) {
    if (nodes_[other].bytes == 0 || path_opens(other) > now) continue;
    for (TreeNode each = other; each != kLink; each = nodes_[each].config.parent) {
      const TreeNode rival = on_path[nodes_[each].config.parent];
      if (rival != kNoNode && nodes_[each].config.priority < nodes_[rival].config.priority) return false;
    }
  }
  return true;
}

void RateTreeLaws::expect_right(const RateTree::Turn& turn, Instant instant) const {
  const std::int64_t now = nanoseconds(instant);
  const bool open = nodes_[kLink].ceiling.opens() <= now;
  std::int64_t earliest_deadline = kNever;
  bool excess = false;
  for (TreeNode number = 1; number < nodes_.size(); ++number) {
    const Node& node = nodes_[number];
    if (!open || node.bytes == 0) continue;
    if (in_time(node, now)) earliest_deadline = std::min(earliest_deadline, deadline(node));
    excess = excess || path_opens(number) <= now;
  }
  if (!turn) {
    EXPECT_TRUE(earliest_deadline == kNever && !excess) << "idle while something may go";
    return;
  }
  const Node& sender = nodes_[turn.node];
  ASSERT_TRUE(open && sender.bytes != 0) << "class " << turn.node << " may not send";
  EXPECT_EQ(turn.guaranteed, earliest_deadline != kNever);
  if (turn.guaranteed) {
    EXPECT_TRUE(in_time(sender, now) && deadline(sender) == earliest_deadline);
  } else {
    EXPECT_LE(path_opens(turn.node), now);
    EXPECT_TRUE(first_in_priority(turn.node, now)) << "class " << turn.node;
  }
}

// Not after the first instant at which anything may leave.
void RateTreeLaws::expect_in_time(std::optional<Instant> next_event) const {
  std::int64_t first = kNever;
  for (TreeNode number = 1; number < nodes_.size(); ++number) {
    const Node& node = nodes_[number];
    if (node.bytes == 0) continue;
    first = std::min(first, path_opens(number));
    if (node.guarantee.set()) first = std::min(first, guarantee_opens(node));
  }
  ASSERT_EQ(next_event.has_value(), first != kNever);
  if (next_event) {
    EXPECT_LE(nanoseconds(*next_event), std::max(first, nodes_[kLink].ceiling.opens()));
  }
}

}  // namespace headgate
