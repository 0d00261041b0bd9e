// The budgets that this host shares with others: asks Redis for a part of each, and hands it to the shape that it limits.
//
// A budget's life: its shape's workers tell what wants to go through it, the meter makes a demand of that, the lease asks for it
// by the talk's thread, and what is granted goes to the workers, who end it by themselves when its time is over. The lease hears
// when all of them have it.
//
// Main thread, which never waits here. Nothing of it is on a packet's way.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "budget/budget_lease.hpp"
#include "budget/demand_meter.hpp"
#include "budget/redis_talk.hpp"
#include "budget_places.hpp"
#include "headgate/clock.hpp"
#include "linux/file_descriptor.hpp"
#include "shape.hpp"
#include "vocabulary/budget.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

class Budgets {
 public:
  using Log = std::function<void(const std::string& line)>;
  using Shapes = std::span<const std::unique_ptr<Shape>>;

  // `warn` is told when a server is not to be had, `log` when it is again.
  Budgets(Log log, Log warn);

  // Readable: work() has something to do.
  int descriptor() const { return events_.get(); }
  void work(Shapes shapes);

  // After each change of what is in force. What goes on keeps its lease.
  void put_in_force(const Config& config);

  std::vector<BudgetStatistics> statistics() const;

 private:
  // One that the configuration does not have any more stays without a place, for its requests are numbered.
  struct Budget {
    BudgetConfig config;
    BudgetLease lease;
    DemandMeter meter{};
    BitRate want{};
    std::optional<BudgetPlace> place{};
    RedisTalk* talk = nullptr;               // null: without a place
    std::optional<RateLease> handed_over{};  // to the workers
    LeaseInForce in_force{};
    bool is_applied = false;  // by all of them
    std::optional<Instant> answered{};
    std::string trouble{};  // of the last round; empty: there was an answer
  };
  // What of one shape is asked about.
  struct ShapeDemands {
    std::string interface;
    Direction direction = Direction::egress;
    std::vector<RatePlace> places{};
    std::vector<Budget*> budgets{};  // of the places
    std::shared_ptr<const PlaceDemands> asked{};
  };

  void set_timer();
  Budget& budget_of(const BudgetConfig& wanted, Instant now);
  ShapeDemands& demands_of(const BudgetPlace& place);
  RedisTalk& talk_with(const BudgetConfig& config);
  void take_answers();
  void take(const LeaseAnswers& answers, const RedisTalk& talk, Instant now);
  void measure_demand(Shapes shapes, Instant now);
  void hand_over(Shapes shapes);
  void hear_of_applied(Instant now);
  void ask(Instant now);

  const Log log_;
  const Log warn_;
  const std::string host_;
  mutable MonotonicClock clock_;
  std::mt19937_64 random_;
  FileDescriptor answered_;  // an eventfd
  FileDescriptor timer_;
  FileDescriptor events_;
  std::map<std::string, std::unique_ptr<RedisTalk>> talks_;  // by server and password file
  std::map<std::string, std::unique_ptr<Budget>> budgets_;   // by name
  std::vector<ShapeDemands> demands_;
  Instant next_demand_{};
};

}  // namespace headgate
