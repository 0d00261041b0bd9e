// A RateTree in virtual time: classes with sources of packets, and a clock that goes exactly to the next arrival or to the
// tree's next event.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <vector>

#include "limiters/rate_tree.hpp"
#include "support/manual_clock.hpp"
#include "support/rate_tree_laws.hpp"

namespace headgate {

// What a class's packets come from.
struct PacketSource {
  std::uint64_t rate = 0;    // constant, in bit/s; 0: nothing comes
  bool saturating = false;   // there is always another packet
  std::uint64_t least = 64;  // bytes of a packet, evenly up to the most
  std::uint64_t most = 1500;
};

struct RateTreeDrive {
  std::uint64_t seed = 1;
  bool check_turns = false;  // each turn and event, by brute force
  Duration late{0};          // the clock goes up to so much further than it should
};

class RateTreeDriver {
 public:
  static constexpr std::size_t kQueuePackets = 64;  // of a class; what comes beyond is dropped
  static constexpr Duration kCatchUp{10'000'000};

  explicit RateTreeDriver(const std::vector<TreeNodeConfig>& configs, const RateTreeDrive& drive = {});

  // From now on. What waited is gone.
  void set_source(TreeNode node, const PacketSource& source);
  void run_for(Duration duration);

  Instant now() const { return now_; }
  std::uint64_t sent_bytes(TreeNode node) const { return sent_bytes_[node]; }  // also of a group
  std::uint64_t sent_packets() const { return sent_packets_; }
  const RateTreeLaws& laws() const { return laws_; }
  // Of each class and of all: what came is what was sent, dropped, or waits.
  void expect_conservation() const;

 private:
  struct Packet {
    std::uint64_t bytes;
    Instant arrival;
  };
  struct Class {
    PacketSource source;
    std::uint32_t generation = 0;  // of the source
    Instant since;                 // the source's first packet
    unsigned __int128 source_bytes = 0;
    std::deque<Packet> queue;
    std::uint64_t arrived_bytes = 0;
    std::uint64_t dropped_bytes = 0;
  };
  struct Arrival {
    Instant at;
    TreeNode node;
    std::uint32_t generation;
    bool operator>(const Arrival& other) const { return at > other.at; }
  };

  std::uint64_t up_to(std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(0, most)(random_);
  }
  void arrive(TreeNode node, Instant at);
  void arrive_until_now();
  bool send_one();

  std::vector<TreeNodeConfig> configs_;
  RateTreeDrive drive_;
  std::mt19937_64 random_;
  RateTree tree_;
  RateTreeLaws laws_;
  Instant now_ = kTestStart;
  std::vector<Class> classes_;  // by node; groups have none
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  std::vector<std::uint64_t> sent_bytes_;
  std::uint64_t sent_packets_ = 0;
};

}  // namespace headgate
