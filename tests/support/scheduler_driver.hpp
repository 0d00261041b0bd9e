// Drives a scheduler in virtual time with a source for each flow, and watches its laws from outside at every step: each item
// comes back once and in its flow's order, none is lost, no flow, ceiling or link sends above its rate, and it sleeps until
// something may happen. Failures are GoogleTest's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <random>
#include <vector>

#include "headgate/scheduler.hpp"
#include "support/manual_clock.hpp"
#include "support/naive_bucket.hpp"

namespace headgate {

// What a flow's items come from.
struct ItemSource {
  std::uint64_t rate = 0;   // constant, in bit/s; 0: nothing comes
  bool saturating = false;  // so many wait always
  std::uint64_t waiting = 2;
  std::uint64_t flows =
      1;  // an item of a constant rate is of one of so many, this and those that were set behind it
  std::uint64_t least = 64;  // bytes of an item, evenly up to the most
  std::uint64_t most = 1500;
};

struct SchedulerDrive {
  std::uint64_t seed = 1;
  Duration late{0};  // the clock goes up to so much further than it should
  Instant start = kTestStart;
};

class SchedulerDriver {
 public:
  explicit SchedulerDriver(const Scheduler::Config& config, const SchedulerDrive& drive = {});

  void set_source(const Scheduler::Flow& flow, const ItemSource& source);
  void run_for(Duration duration);
  // Takes one item out of a random flow, or any.
  void drain_some();
  void drain_all();

  Scheduler& scheduler() { return scheduler_; }
  Instant now() const { return now_; }
  std::uint64_t sent_bytes(Scheduler::ClassNumber number) const { return classes_[number].sent_bytes; }
  std::uint64_t sent_bytes_of_flow(std::size_t flow) const { return flows_[flow].sent_bytes; }
  std::uint64_t taken() const { return taken_; }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t too_old() const { return too_old_; }
  std::uint64_t congested() const { return congested_; }
  std::uint64_t drained() const { return drained_; }
  std::uint64_t refused() const { return refused_; }
  // Of all ceilings and windows so far: what was sent above rate × time, as a part of the slack.
  double worst_excess() const { return worst_excess_; }

 private:
  struct Item {
    std::uint64_t number;
    std::size_t flow;
    std::uint64_t bytes;
    Instant arrival;
  };
  struct Flow {
    Scheduler::Flow name;
    ItemSource source;
    std::uint32_t generation = 0;  // of the source
    Instant since;
    unsigned __int128 source_bytes = 0;
    std::deque<Item> queue;
    std::optional<NaiveLimit> packets;
    std::optional<NaiveLimit> bits;
    std::uint64_t sent_bytes = 0;
    Instant left = Instant::min();  // the last one
  };
  struct Class {
    std::uint64_t sent_bytes = 0;
  };
  // The link, the groups and the classes.
  struct Node {
    std::optional<std::size_t> parent;
    std::optional<BitRate> ceiling;
    std::uint64_t guarantees = 0;
    double level = 0;  // most that was sent above rate × time in a window that ends now, in bytes
    Instant level_at;
  };
  struct Arrival {
    Instant at;
    std::size_t flow;
    std::uint32_t generation;
    bool operator>(const Arrival& other) const { return at > other.at; }
  };

  std::uint64_t up_to(std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(0, most)(random_);
  }
  void add_node(const std::optional<Scheduler::GroupNumber>& parent, const std::optional<BitRate>& ceiling);
  std::uint64_t arrive(std::size_t flow, const ItemSource& source);
  void arrive_until_now();
  bool dequeue_one();
  Item take_back(Scheduler::Handle handle);
  void refill(std::size_t flow);
  void expect_flow_rate(Flow& flow, const Item& item, Instant at);
  void expect_rates(std::size_t node, std::uint64_t bytes, Instant at);
  void expect_conservation() const;

  Scheduler::Config config_;
  SchedulerDrive drive_;
  std::mt19937_64 random_;
  Scheduler scheduler_;
  Instant now_;
  std::vector<Node> nodes_;
  std::vector<Class> classes_;
  std::vector<Flow> flows_;
  std::vector<std::size_t> flow_of_;  // by handle
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  std::uint64_t largest_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t too_old_ = 0;
  std::uint64_t congested_ = 0;
  std::uint64_t drained_ = 0;
  std::uint64_t refused_ = 0;
  double worst_excess_ = 0;
};

}  // namespace headgate
