// What must hold of a RateTree, watched from outside: the clocks of the tree once more in wide plain arithmetic, and all that
// may be asked of each packet that leaves. Failures are GoogleTest's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limiters/rate_tree.hpp"

namespace headgate {

// A rate's clock. Its time is a numerator over the rate, in nanoseconds.
class WideClock {
 public:
  WideClock() = default;  // allows all
  explicit WideClock(std::uint64_t rate) : rate_(rate) {}

  bool set() const { return rate_ != 0; }
  std::int64_t opens() const;
  std::int64_t time_of(std::uint64_t bytes) const;  // rounded down
  void begin(std::int64_t now);
  void charge(std::uint64_t bytes, std::int64_t departure, std::int64_t credit);

 private:
  using Wide = __int128;
  static constexpr Wide kBit = 1'000'000'000;  // takes this / rate nanoseconds

  Wide rate_ = 0;
  Wide time_ = 0;
};

class RateTreeLaws {
 public:
  enum class Driver { exact, late };  // whether each packet's turn is asked for at the first instant

  RateTreeLaws(const std::vector<TreeNodeConfig>& configs, Driver driver);

  void begin(TreeNode node, std::uint64_t bytes, Instant now);
  void end(TreeNode node);
  void sent(const RateTree::Turn& turn, std::uint64_t bytes, std::uint64_t behind, Instant departure,
            Instant now);

  // Costs O(classes x depth).
  void expect_right(const RateTree::Turn& turn, Instant now) const;
  void expect_in_time(std::optional<Instant> next_event) const;

  // Of all guaranteed packets so far: how long after its deadline the latest left, in packets of the link.
  double worst_lateness() const { return worst_lateness_; }
  // Of all ceilings and windows so far: what was sent above rate x time, as a part of the slack.
  double worst_excess() const { return worst_excess_; }
  std::uint64_t guaranteed_packets() const { return guaranteed_packets_; }

 private:
  struct Node {
    TreeNodeConfig config;
    bool is_class = true;
    std::uint64_t guarantees = 0;  // classes below it that have one, or itself
    std::uint64_t bytes = 0;       // of a class: its first packet
    std::uint64_t backlogged = 0;  // classes below it, or itself
    WideClock ceiling;
    WideClock guarantee;
    std::int64_t early = 0;
    std::uint64_t largest = 0;  // packet so far
    double level = 0;           // most that was sent above rate x time in a window that ends now, in bytes
    std::int64_t level_at = 0;
  };

  std::int64_t credit(const Node& node, const WideClock& clock) const;
  double slack_bytes(TreeNode number) const;
  bool in_time(const Node& node, std::int64_t now) const;
  std::int64_t guarantee_opens(const Node& node) const { return node.guarantee.opens() - node.early; }
  std::int64_t deadline(const Node& node) const;
  std::int64_t path_opens(TreeNode number) const;  // the link aside
  bool first_in_priority(TreeNode number, std::int64_t now) const;
  void expect_by_deadline(TreeNode number, std::int64_t departure);
  void expect_within_rate(TreeNode number, std::uint64_t bytes, std::int64_t departure);

  std::vector<Node> nodes_;
  Driver driver_;
  double worst_lateness_ = 0;
  double worst_excess_ = 0;
  std::uint64_t guaranteed_packets_ = 0;
};

}  // namespace headgate
