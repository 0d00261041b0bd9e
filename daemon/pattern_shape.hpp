// A shape whose interface is a pattern: what its instances have in common, and what those that are gone have counted.
//
// Main thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shape.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/statistics.hpp"
#include "worker_set.hpp"

namespace headgate {

// "no interface matches", "1 interface", "12 interfaces"
std::string interfaces_text(std::size_t count);

class PatternShape {
 public:
  explicit PatternShape(const ShapeConfig& config);

  const ShapeConfig& config() const { return config_; }  // in force
  std::string title() const { return title_of(config_); }
  bool is_same(const ShapeConfig& other) const;  // the same pattern and direction
  bool has(const Shape& shape) const;            // an instance of it

  // Other classes, and what else a reload changes. Pattern and direction must be the same.
  ShapeConfig reconfigured(const ShapeConfig& next) const;  // what would be in force
  void reconfigure(const ShapeConfig& next);

  // Where its instances are served: by workers that are chosen for the first of them.
  const SharedSeats& seats(WorkerSet& workers, const DaemonConfig& daemon, bool has_instances);

  // Why its instances' departures have come too late lately, where that is new since the last call; else empty.
  std::string new_starvation(bool has_instances);

  // What an instance has counted, as Shape::statistics() and readings() say it.
  struct Counted {
    const ShapeStatistics& statistics;
    const std::vector<ShaperReading>& readings;
  };
  // Of an instance that is stopped and goes: its counts stay in the sums. What it still has queued is dropped (stop).
  void take_in(const Counted& ended);
  // The sums, with those of the instances there are. `divert`: where there are none.
  PatternStatistics statistics(const std::vector<Counted>& instances, DivertMethod divert) const;

  // Interfaces that cannot be shaped, each with the reason that was said for it.
  struct Refusal {
    std::string interface;
    std::string reason;
    Instant tried{};
  };
  std::map<int, Refusal>& refusals() { return refusals_; }  // by index
  const std::map<int, Refusal>& refusals() const { return refusals_; }

 private:
  void add_ended_classes();

  ShapeConfig config_;
  SharedSeats seats_;
  bool starves_ = false;
  ShapeStatistics ended_;  // sums of the instances that are gone
  std::map<int, Refusal> refusals_;
};

}  // namespace headgate
