#include "patterns.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "config/interface_pattern.hpp"
#include "fixed_settings.hpp"
#include "linux/shape_lock.hpp"
#include "troubles.hpp"

namespace headgate {

namespace {

// An interface that could not be shaped is tried again after so long; soon if another shape has it still, as while names are
// swapped.
constexpr Duration kRetry = std::chrono::seconds(30);
constexpr Duration kRetrySoon = std::chrono::milliseconds(500);
// For the last figures of an instance, whose worker has just stopped it.
constexpr Duration kLastFigures = std::chrono::seconds(2);

bool is_instance(const Shape& shape) {
  return !shape.config().pattern.empty();
}

// The instance's, if it is there.
const Shape* find_instance(const Patterns::Shapes& shapes, const PatternShape& pattern,
                           const std::string& interface) {
  const auto found = std::find_if(shapes.begin(), shapes.end(), [&](const auto& shape) {
    return pattern.has(*shape) && shape->config().interface == interface;
  });
  return found == shapes.end() ? nullptr : found->get();
}

bool has_instances(const PatternShape& pattern, const Patterns::Shapes& shapes) {
  return std::any_of(shapes.begin(), shapes.end(),
                     [&pattern](const auto& shape) { return pattern.has(*shape); });
}

std::string instance_title(const Shape& shape) {
  return shape.title() + ", by " + shape.config().pattern;
}

Patterns::Shapes take_out_if(Patterns::Shapes& shapes, const std::function<bool(const Shape&)>& goes) {
  const auto gone = std::stable_partition(shapes.begin(), shapes.end(),
                                          [&goes](const auto& shape) { return !goes(*shape); });
  Patterns::Shapes taken(std::make_move_iterator(gone), std::make_move_iterator(shapes.end()));
  shapes.erase(gone, shapes.end());
  return taken;
}

}  // namespace

void Patterns::configure(const std::vector<ShapeConfig>& configured, Messages& messages) {
  configured_ = configured;
  std::vector<std::unique_ptr<PatternShape>> next;
  for (const ShapeConfig& shape : configured) {
    if (!is_template(shape)) continue;
    const auto known = std::find_if(patterns_.begin(), patterns_.end(), [&shape](const auto& pattern) {
      return pattern && pattern->is_same(shape);
    });
    if (known == patterns_.end()) {
      next.push_back(std::make_unique<PatternShape>(shape));
      messages.push_back("now shaped: " + next.back()->title());
      continue;
    }
    PatternShape& pattern = **known;
    for (const std::string& name : fixed_settings_changed(pattern.config(), shape))
      messages.push_back(pattern.title() + ": " + name + " takes effect at the next start");
    if (pattern.reconfigured(shape) != pattern.config()) messages.push_back("changed: " + pattern.title());
    pattern.reconfigure(shape);
    next.push_back(std::move(*known));
  }
  for (const auto& pattern : patterns_)
    if (pattern) messages.push_back("no longer shaped: " + pattern->title());
  patterns_ = std::move(next);
  known_.clear();
  hold_matches();
}

void Patterns::refuse_impossible(const std::vector<ShapeConfig>& configured) const {
  for (const ShapeConfig& shape : configured) {
    if (const PatternShape* pattern = is_template(shape) ? find(shape) : nullptr)
      refuse_several_workers(pattern->title(), pattern->config(), shape);
  }
}

// Those that nobody uses are forgotten, and compiling takes its time.
void Patterns::hold_matches() {
  std::vector<CompiledMatch> matches;
  for (const auto& pattern : patterns_) {
    for (const ClassConfig& one : pattern->config().classes)
      if (!one.match.empty()) matches.push_back(parts_.matches.get(one.match));
  }
  held_matches_ = std::move(matches);
}

PatternShape* Patterns::find(const ShapeConfig& pattern) const {
  const auto found = std::find_if(patterns_.begin(), patterns_.end(),
                                  [&pattern](const auto& known) { return known->is_same(pattern); });
  return found == patterns_.end() ? nullptr : found->get();
}

std::vector<ShapeConfig> Patterns::staying(const std::vector<ShapeConfig>& configured, const Shapes& shapes,
                                           Netlink& netlink) const {
  std::vector<ShapeConfig> staying;
  if (patterns_.empty()) return staying;
  for (const WantedInstance& wanted : wanted_instances(configured, netlink.links())) {
    const ShapeConfig& next = configured[wanted.shape];
    const PatternShape* pattern = find(next);
    if (pattern != nullptr && find_instance(shapes, *pattern, wanted.interface) != nullptr)
      staying.push_back(instance_of(pattern->reconfigured(next), wanted.interface));
  }
  return staying;
}

bool Patterns::may_matter(const Link& changed) const {
  if (patterns_.empty() || changed.name.starts_with("hg")) return false;
  const auto known = known_.find(changed.index);
  return known == known_.end() || known->second != changed.all_names();
}

bool Patterns::may_end(const Link& deleted) const {
  return !patterns_.empty() && !deleted.name.starts_with("hg");
}

std::vector<WantedInstance> Patterns::wanted(const Shapes& shapes, const std::vector<Link>& links,
                                             Netlink& netlink) const {
  std::vector<TakenPlace> taken;
  for (const auto& shape : shapes) {
    if (is_instance(*shape)) continue;
    if (const int index = shape->interface_index(netlink); index != 0)
      taken.emplace_back(index, shape->config().direction);
  }
  return wanted_instances(configured_, links, taken);
}

Patterns::Shapes Patterns::take_unwanted(Shapes& shapes, Netlink& netlink) {
  if (patterns_.empty()) return {};
  const std::vector<Link> links = netlink.links();
  known_.clear();
  for (const Link& link : links) known_.emplace(link.index, link.all_names());
  const std::vector<WantedInstance> all = wanted(shapes, links, netlink);
  return take_out_if(shapes, [&](const Shape& shape) {
    return is_instance(shape) && std::none_of(all.begin(), all.end(), [&](const WantedInstance& one) {
             const ShapeConfig& pattern = configured_[one.shape];
             return one.interface == shape.config().interface &&
                    pattern.interface == shape.config().pattern &&
                    pattern.direction == shape.config().direction;
           });
  });
}

Patterns::Shapes Patterns::take_in_the_way(const ShapeConfig& named, Shapes& shapes, Netlink& netlink) const {
  if (patterns_.empty()) return {};
  const auto link = netlink.find_link(named.interface);
  if (!link) return {};
  return take_out_if(shapes, [&](const Shape& shape) {
    return is_instance(shape) && shape.config().direction == named.direction &&
           shape.interface_index(netlink) == link->index;
  });
}

void Patterns::note_end(Shape& stopped) {
  if (!is_instance(stopped)) return;
  parts_.log("no longer shaped: " + instance_title(stopped));
  stopped.ask_for_statistics();
  const ShapeStatistics last = stopped.statistics(MonotonicClock().now() + kLastFigures);
  for (const auto& pattern : patterns_)
    if (pattern->has(stopped)) pattern->take_in({last, stopped.readings()});
}

void Patterns::start_missing(Shapes& shapes, Netlink& netlink) {
  if (patterns_.empty()) return;
  const std::vector<WantedInstance> all = wanted(shapes, netlink.links(), netlink);
  forget_refusals_of_others(all);
  for (const WantedInstance& instance : all) {
    PatternShape* pattern = find(configured_[instance.shape]);
    if (pattern == nullptr || find_instance(shapes, *pattern, instance.interface) != nullptr) continue;
    const auto refusal = pattern->refusals().find(instance.index);
    const bool refused =
        refusal != pattern->refusals().end() && refusal->second.interface == instance.interface;
    if (refused && MonotonicClock().now() - refusal->second.tried < kRetry) continue;
    start(*pattern, instance, shapes);
    parts_.meanwhile();
  }
}

void Patterns::start(PatternShape& pattern, const WantedInstance& instance, Shapes& shapes) {
  PatternShape::Refusal& refusal = pattern.refusals()[instance.index];  // if it is one
  try {
    const SharedSeats& seats = pattern.seats(parts_.workers, parts_.daemon, has_instances(pattern, shapes));
    auto shape = std::make_unique<Shape>(
        parts_.divert, parts_.daemon, instance_of(pattern.config(), instance.interface), parts_.matches,
        parts_.workers, parts_.memory, CaptureShare::of_one_in(shapes.size() + 1), parts_.warn, &seats);
    shape->start(true);
    parts_.log("now shaped: " + instance_title(*shape));
    shapes.push_back(std::move(shape));
    pattern.refusals().erase(instance.index);
  } catch (const ShapedHere& error) {
    refusal = {instance.interface, error.what(), MonotonicClock().now() - kRetry + kRetrySoon};
  } catch (const std::exception& error) {
    if (refusal.interface != instance.interface || refusal.reason != error.what())
      parts_.warn(pattern.title() + ": " + instance.interface + " cannot be shaped: " + error.what());
    refusal = {instance.interface, error.what(), MonotonicClock().now()};
  }
}

void Patterns::forget_refusals_of_others(const std::vector<WantedInstance>& wanted) {
  for (const auto& pattern : patterns_) {
    std::erase_if(pattern->refusals(), [&](const auto& refusal) {
      return std::none_of(wanted.begin(), wanted.end(), [&](const WantedInstance& one) {
        return one.index == refusal.first && pattern->is_same(configured_[one.shape]);
      });
    });
  }
}

void Patterns::look_for_starvation(const Shapes& shapes) {
  for (const auto& pattern : patterns_) {
    const std::string starvation = pattern->new_starvation(has_instances(*pattern, shapes));
    if (!starvation.empty()) parts_.warn(pattern->title() + ": " + starvation);
  }
}

bool Patterns::retry_is_due() const {
  const Instant due = MonotonicClock().now() - kRetry;
  return std::any_of(patterns_.begin(), patterns_.end(), [due](const auto& pattern) {
    const auto& refusals = pattern->refusals();
    return std::any_of(refusals.begin(), refusals.end(),
                       [due](const auto& refusal) { return refusal.second.tried <= due; });
  });
}

void Patterns::retry_all() {
  const Instant long_ago = MonotonicClock().now() - kRetry;
  for (const auto& pattern : patterns_)
    for (auto& [index, refusal] : pattern->refusals()) refusal.tried = long_ago;
}

std::vector<PatternStatistics> Patterns::statistics(const Shapes& shapes,
                                                    const std::vector<ShapeStatistics>& all) const {
  std::vector<PatternStatistics> result;
  for (const auto& pattern : patterns_) {
    std::vector<PatternShape::Counted> instances;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      if (pattern->has(*shapes[i])) instances.push_back({all[i], shapes[i]->readings()});
    result.push_back(pattern->statistics(instances, parts_.daemon.divert));
  }
  return result;
}

std::vector<std::string> Patterns::status_lines(const Shapes& shapes) const {
  std::vector<std::string> lines;
  for (const auto& pattern : patterns_) {
    std::size_t count = 0;
    Troubles troubles;
    for (const auto& shape : shapes) {
      if (!pattern->has(*shape)) continue;
      ++count;
      if (!shape->state().empty()) troubles.add(shape->config().interface, shape->state());
    }
    for (const auto& [index, refusal] : pattern->refusals())
      troubles.add(refusal.interface, "cannot be shaped: " + refusal.reason);
    std::string line = count == 0 ? pattern->title() + ": " + interfaces_text(0)
                                  : "shaping " + pattern->title() + " on " + interfaces_text(count);
    if (!troubles.empty()) line += ": " + troubles.text();
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace headgate
