// The patterns of the configuration in force, and their instances: which there are to be, which are to go, and what all of
// one pattern have counted. An instance is a Shape as any other, in the daemon's list; it is known by its pattern, its
// direction and the name of its interface.
//
// Main thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/compiled_matches.hpp"
#include "linux/netlink.hpp"
#include "pattern_shape.hpp"
#include "shape.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/statistics.hpp"
#include "wanted_instances.hpp"
#include "worker_set.hpp"

namespace headgate {

class Patterns {
 public:
  using Shapes = std::vector<std::unique_ptr<Shape>>;
  using Messages = std::vector<std::string>;

  // What instances are made of. All of it outlives this.
  struct Parts {
    SharedDivert& divert;
    const DaemonConfig& daemon;
    CompiledMatches& matches;
    WorkerSet& workers;
    MemorySource& memory;
    std::function<void(const std::string&)> log;  // a line for each instance that comes or goes
    Attachment::Log warn;                         // what is wrong; called by any thread
    std::function<void()> meanwhile;              // called by what may take longer
  };
  explicit Patterns(Parts parts) : parts_(std::move(parts)) {}

  // All shapes of the configuration, of which the patterns are of interest here. Says what is new in `messages`. Their
  // match expressions stay compiled for instances to come.
  void configure(const std::vector<ShapeConfig>& configured, Messages& messages);
  bool empty() const { return patterns_.empty(); }
  // Throws where configure() would lead to what cannot be.
  void refuse_impossible(const std::vector<ShapeConfig>& configured) const;

  // The instances in `shapes` that would stay if `configured` were in force, as they would be then.
  std::vector<ShapeConfig> staying(const std::vector<ShapeConfig>& configured, const Shapes& shapes,
                                   Netlink& netlink) const;
  // Takes out of `shapes` the instances that should not be there. They are to be stopped and given to note_end().
  Shapes take_unwanted(Shapes& shapes, Netlink& netlink);
  // Likewise those that stand in the way of a shape that names its interface.
  Shapes take_in_the_way(const ShapeConfig& named, Shapes& shapes, Netlink& netlink) const;
  void note_end(Shape& stopped);
  // Adds to `shapes` the instances that should be there and are not. One that cannot be shaped is no error: it is said
  // once, and tried again when retry_is_due().
  void start_missing(Shapes& shapes, Netlink& netlink);
  bool retry_is_due() const;
  // To be called about once a second.
  void look_for_starvation(const Shapes& shapes);
  void retry_all();  // with the next start_missing()

  // Whether a link is one by whose change, or end, instances may come or go.
  bool may_matter(const Link& changed) const;
  bool may_end(const Link& deleted) const;

  // `all`: what the statistics() of `shapes` have just said, in the same order.
  std::vector<PatternStatistics> statistics(const Shapes& shapes,
                                            const std::vector<ShapeStatistics>& all) const;
  // "shaping veth* egress on 12 interfaces" for each.
  std::vector<std::string> status_lines(const Shapes& shapes) const;

 private:
  void hold_matches();
  std::vector<WantedInstance> wanted(const Shapes& shapes, const std::vector<Link>& links,
                                     Netlink& netlink) const;
  PatternShape* find(const ShapeConfig& pattern) const;
  void start(PatternShape& pattern, const WantedInstance& instance, Shapes& shapes);
  void forget_refusals_of_others(const std::vector<WantedInstance>& wanted);

  const Parts parts_;
  std::vector<ShapeConfig> configured_;
  std::vector<CompiledMatch> held_matches_;
  std::vector<std::unique_ptr<PatternShape>> patterns_;  // in order of the configuration
  // Names of the links, by index, when take_unwanted() last looked: whatever has changed since is told by an event that
  // differs from it.
  std::map<int, std::string> known_;
};

}  // namespace headgate
