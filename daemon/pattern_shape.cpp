#include "pattern_shape.hpp"

#include <algorithm>
#include <utility>

#include "config/interface_pattern.hpp"
#include "fixed_settings.hpp"
#include "troubles.hpp"

namespace headgate {

namespace {

// What cannot be sent any more, of a class or of the shape.
template <typename Statistics>
void drop_queued(Statistics& statistics) {
  statistics.dropped[static_cast<std::size_t>(DropReason::stop)] += statistics.queued;
  statistics.queued = {};
}

// All but the shaper's.
void add_losses(ShapeStatistics& sum, const ShapeStatistics& one) {
  sum.lost_ring += one.lost_ring;
  sum.lost_device += one.lost_device;
  sum.unshaped.packets += one.unshaped.packets;
  sum.unshaped.times += one.unshaped.times;
  sum.unshaped.open += one.unshaped.open;
  sum.hooks += one.hooks;
  for (const std::string& limit : one.limits)
    if (std::find(sum.limits.begin(), sum.limits.end(), limit) == sum.limits.end())
      sum.limits.push_back(limit);
}

ShaperReading without_delays(const ShaperStatistics& statistics) {
  return {.statistics = statistics, .delays = std::vector<DelayCounts>(statistics.classes.size())};
}

}  // namespace

std::string interfaces_text(std::size_t count) {
  if (count == 0) return "no interface matches";
  return std::to_string(count) + (count == 1 ? " interface" : " interfaces");
}

PatternShape::PatternShape(const ShapeConfig& config) : config_(config) {
  add_ended_classes();
}

bool PatternShape::is_same(const ShapeConfig& other) const {
  return is_template(other) && other.interface == config_.interface && other.direction == config_.direction;
}

bool PatternShape::has(const Shape& shape) const {
  return shape.config().pattern == config_.interface && shape.config().direction == config_.direction;
}

ShapeConfig PatternShape::reconfigured(const ShapeConfig& next) const {
  return with_fixed_settings_of(config_, next);
}

void PatternShape::reconfigure(const ShapeConfig& next) {
  config_ = reconfigured(next);
  add_ended_classes();
}

// Those in force, in their order. Counts of classes that are gone stay in the shape's.
void PatternShape::add_ended_classes() {
  std::vector<ClassStatistics> classes;
  for (const ClassConfig& config : config_.classes) {
    const auto known =
        std::find_if(ended_.shaper.classes.begin(), ended_.shaper.classes.end(),
                     [&config](const ClassStatistics& one) { return one.name == config.name; });
    if (known != ended_.shaper.classes.end()) {
      classes.push_back(*known);
    } else {
      classes.emplace_back().name = config.name;
    }
  }
  ended_.shaper.classes = std::move(classes);
}

const SharedSeats& PatternShape::seats(WorkerSet& workers, const DaemonConfig& daemon, bool has_instances) {
  if (has_instances) return seats_;
  seats_ = {};
  seats_.threads = workers.choose(config_.workers, wants_real_time(config_));
  for (std::size_t i = 0; i < seats_.threads.size(); ++i)
    seats_.budgets.push_back(make_shaper_budget(limits_of(daemon, config_)));
  return seats_;
}

std::string PatternShape::new_starvation(bool has_instances) {
  std::string now;
  if (has_instances) {
    for (const WorkerThread* thread : seats_.threads)
      if (now.empty()) now = thread->starvation();
  }
  const bool starved = std::exchange(starves_, !now.empty());
  return starved ? std::string() : now;
}

void PatternShape::take_in(const Counted& ended) {
  ShaperReading sum = without_delays(ended_.shaper);
  for (ShaperReading reading : ended.readings) {
    drop_queued(reading.statistics);
    for (ClassStatistics& one : reading.statistics.classes) {
      drop_queued(one);
      one.flows = 0;
      one.members.clear();
    }
    add(sum, reading);
  }
  ended_.shaper = std::move(sum.statistics);
  add_losses(ended_, ended.statistics);
  ended_.limits.clear();
}

PatternStatistics PatternShape::statistics(const std::vector<Counted>& instances, DivertMethod divert) const {
  PatternStatistics result;
  ShapeStatistics& sum = result.sum;
  sum = ended_;
  sum.interface = config_.interface;
  sum.direction = config_.direction;
  sum.config = config_;
  sum.config.pattern = config_.interface;
  sum.divert = instances.empty() ? divert : instances.front().statistics.divert;
  ShaperReading reading = without_delays(ended_.shaper);
  Troubles troubles;
  for (const auto& [statistics, readings] : instances) {
    for (const ShaperReading& one : readings) add(reading, one);
    add_losses(sum, statistics);
    result.diverting += statistics.diverting ? 1 : 0;
    sum.starved |= statistics.starved;
    if (!statistics.state.empty()) troubles.add(statistics.interface, statistics.state);
    result.interfaces.push_back(statistics.interface);
  }
  sum.diverting = !instances.empty() && result.diverting == instances.size();
  summarize(reading);
  sum.shaper = std::move(reading.statistics);
  std::sort(result.interfaces.begin(), result.interfaces.end());
  for (const auto& [index, refusal] : refusals_) {
    result.not_shaped.push_back({refusal.interface, refusal.reason});
    troubles.add(refusal.interface, "cannot be shaped: " + refusal.reason);
  }
  sum.state = troubles.text();
  return result;
}

}  // namespace headgate
