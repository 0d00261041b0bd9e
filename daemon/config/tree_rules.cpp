#include "config/tree_rules.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/quantity_text.hpp"
#include "config/suggestion.hpp"

namespace headgate {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);  // the link
constexpr std::size_t kStepsTold = 20;                       // of a circle

std::string in_line(const TableReader& reader, std::string_view key) {
  return "line " + std::to_string(reader.place(key).line);
}

class TreeCheck {
 public:
  TreeCheck(const ShapeConfig& shape, const TreeReaders& readers)
      : shape_(shape), readers_(readers), findings_(readers.shape.findings()) {}

  void run() {
    const std::size_t errors_before = findings_.errors();
    check_names();
    for (std::size_t i = 0; i < shape_.groups.size(); ++i)
      check_parent(readers_.groups[i], "parent", shape_.groups[i].place);
    for (std::size_t i = 0; i < shape_.classes.size(); ++i)
      check_parent(readers_.classes[i], "group", shape_.classes[i].place);
    check_circles();
    check_sharing();
    check_workers();
    if (findings_.errors() != errors_before) return;  // what follows walks up the tree
    check_guarantees();
    warn_of_idle_groups();
    warn_of_idle_ceilings();
  }

 private:
  void add_error(const TableReader& reader, std::string_view key, const std::string& message) {
    findings_.add_error(reader.place(key), std::string(key) + ": " + message);
  }

  std::size_t group_named(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? kNone : found->second;
  }
  std::size_t parent_of(const TreePlace& place) const { return group_named(place.parent); }

  void check_names() {
    for (std::size_t i = 0; i < shape_.groups.size(); ++i) {
      const std::string& name = shape_.groups[i].name;
      if (name.empty()) continue;
      const auto [first, is_new] = by_name_.emplace(name, i);
      if (is_new) continue;
      add_error(readers_.groups[i], "name",
                quoted(name) + " is the name of the group in " +
                    in_line(readers_.groups[first->second], "name") + " already, expected another");
    }
    for (std::size_t i = 0; i < shape_.classes.size(); ++i) {
      const std::size_t group = group_named(shape_.classes[i].name);
      if (group == kNone) continue;
      add_error(readers_.groups[group], "name",
                quoted(shape_.classes[i].name) + " is the name of the class in " +
                    in_line(readers_.classes[i], "name") + ", too, expected another");
    }
  }

  void check_parent(const TableReader& reader, std::string_view key, const TreePlace& place) {
    if (place.parent.empty() || parent_of(place) != kNone) return;
    if (by_name_.empty()) {
      add_error(reader, key,
                quoted(place.parent) +
                    " is no group of the shape, which has none: expected [[shape.group]] with name = " +
                    quoted(place.parent) + " below its [[shape]], or leave " + std::string(key) + " out");
      return;
    }
    std::vector<std::string_view> names;
    names.reserve(shape_.groups.size());
    for (const GroupConfig& group : shape_.groups)
      if (!group.name.empty()) names.emplace_back(group.name);
    add_error(reader, key,
              quoted(place.parent) + " is no group of the shape: " + suggest(place.parent, names));
  }

  // Of each circle the first group in the file is told.
  void check_circles() {
    std::vector<bool> told(shape_.groups.size());
    for (std::size_t first = 0; first < shape_.groups.size(); ++first) {
      std::string way;
      std::size_t group = first;
      for (std::size_t steps = 0; steps <= shape_.groups.size() && group != kNone && !told[group]; ++steps) {
        group = parent_of(shape_.groups[group].place);
        if (group == first) break;
        if (group != kNone && steps < kStepsTold)
          way += quoted(shape_.groups[group].name) + ", which is below ";
        if (steps == kStepsTold) way += "…, which is below ";
      }
      if (group != first || told[first]) continue;
      tell_of_circle(first, way);
      for (std::size_t one = first; !told[one]; one = parent_of(shape_.groups[one].place)) told[one] = true;
    }
  }

  void tell_of_circle(std::size_t group, const std::string& way) {
    const std::string name = quoted(shape_.groups[group].name);
    add_error(readers_.groups[group], "parent",
              way.empty() ? name + " is the group itself, expected another, or leave parent out"
                          : name + " is below " + way + name + " again, expected one of them without parent");
  }

  // What stands below the link alone has nothing to share where the link has no rate.
  void check_sharing() {
    if (readers_.shape.has("rate") || readers_.shape.has("budget")) return;
    for (std::size_t i = 0; i < shape_.groups.size(); ++i) {
      if (shape_.groups[i].place.parent.empty() && !readers_.groups[i].has("parent"))
        refuse_shares(readers_.groups[i], "group", "parent");
    }
    for (std::size_t i = 0; i < shape_.classes.size(); ++i) {
      if (shape_.classes[i].bypass || shape_.classes[i].action == ClassAction::police) continue;
      if (shape_.classes[i].place.parent.empty() && !readers_.classes[i].has("group"))
        refuse_shares(readers_.classes[i], "class", "group");
      if (!readers_.classes[i].has("guarantee")) continue;
      add_error(readers_.classes[i], "guarantee",
                "the shape has no rate of which it could be a part, expected rate = \"100mbit\" or the like "
                "in [[shape]], or leave guarantee out");
    }
  }

  void refuse_shares(const TableReader& reader, const std::string& noun, const std::string& parent) {
    for (const std::string_view key : {"priority", "weight"}) {
      if (!reader.has(key)) continue;
      add_error(reader, key,
                "the " + noun +
                    " shares no rate with others, expected rate = \"100mbit\" or the like in "
                    "[[shape]], or a " +
                    parent + " beside it, or leave " + std::string(key) + " out");
    }
  }

  void check_workers() {
    if (shape_.workers == 1) return;
    if (has_tree(shape_)) {
      refuse_workers(what_makes_a_tree() + ", where one worker decides whose turn it is");
    } else if (const ClassConfig* const config = class_with_plans_together()) {
      refuse_workers("together = true in a plan of the class " + quoted(config->name) +
                     ", whose addresses one worker must have");
    }
  }

  void refuse_workers(const std::string& what) {
    add_error(
        readers_.shape, "workers",
        std::to_string(shape_.workers) + " do not go with " + what + ": expected 1, or leave workers out");
  }

  const ClassConfig* class_with_plans_together() const {
    const auto found = std::find_if(shape_.classes.begin(), shape_.classes.end(),
                                    [](const ClassConfig& one) { return has_plans_together(one); });
    return found == shape_.classes.end() ? nullptr : &*found;
  }

  std::string what_makes_a_tree() const {
    if (shape_.rate) return "the rate of the shape";
    if (!shape_.groups.empty()) return "[[shape.group]]";
    for (std::size_t i = 0; i < shape_.classes.size(); ++i) {
      for (const std::string_view key : {"fair", "aqm", "ceiling", "guarantee", "group"}) {
        if (readers_.classes[i].has(key))
          return std::string(key) + " of the class " + quoted(shape_.classes[i].name);
      }
    }
    return "a tree of rates";
  }

  // The sum below the link and below each group, class by class: the first that is too much is told, with what is left.
  void check_guarantees() {
    std::uint64_t of_link = 0;
    std::vector<std::uint64_t> of_groups(shape_.groups.size());
    for (std::size_t i = 0; i < shape_.classes.size(); ++i) {
      const ClassConfig& config = shape_.classes[i];
      if (!config.guarantee) continue;
      const std::uint64_t own = config.guarantee->bits_per_second;
      if (shape_.rate) add_guarantee(i, own, *shape_.rate, "rate of the shape", of_link);
      for (std::size_t group = parent_of(config.place); group != kNone;
           group = parent_of(shape_.groups[group].place)) {
        const GroupConfig& above = shape_.groups[group];
        if (above.place.ceiling)
          add_guarantee(i, own, *above.place.ceiling, "ceiling of the group " + quoted(above.name),
                        of_groups[group]);
      }
    }
  }

  void add_guarantee(std::size_t class_index, std::uint64_t own, BitRate most, const std::string& bound,
                     std::uint64_t& sum) {
    const std::uint64_t before = sum;
    sum += own;
    if (sum <= most.bits_per_second || before > most.bits_per_second) return;
    const std::uint64_t left = most.bits_per_second - before;
    const std::string guarantee = quoted(to_text(BitRate{own}));
    add_error(readers_.classes[class_index], "guarantee",
              (before == 0 ? guarantee + " is above the " + bound + ", "
                           : "with " + guarantee + " the guarantees come to " +
                                 quoted(to_text(BitRate{sum})) + ", above the " + bound + ", ") +
                  quoted(to_text(most)) + ", expected " +
                  (left == 0 ? "smaller ones" : "at most " + quoted(to_text(BitRate{left})) + " here"));
  }

  void warn_of_idle_groups() {
    std::vector<bool> has_class(shape_.groups.size());
    for (const ClassConfig& config : shape_.classes) {
      for (std::size_t group = parent_of(config.place); group != kNone && !has_class[group];
           group = parent_of(shape_.groups[group].place))
        has_class[group] = true;
    }
    for (std::size_t i = 0; i < shape_.groups.size(); ++i) {
      if (has_class[i] || shape_.groups[i].name.empty()) continue;
      const std::string name = quoted(shape_.groups[i].name);
      findings_.add_warning(
          readers_.groups[i].place(),
          "group " + name + " has no class below it and does nothing; a class joins it by group = " + name);
    }
  }

  void warn_of_idle_ceilings() {
    if (!shape_.rate) return;
    const auto look_at = [this](const TreePlace& place, const TableReader& reader) {
      if (!place.ceiling || *place.ceiling <= *shape_.rate) return;
      findings_.add_warning(reader.place("ceiling"), "ceiling: " + quoted(to_text(*place.ceiling)) +
                                                         " is above the rate of the shape, " +
                                                         quoted(to_text(*shape_.rate)) +
                                                         ", and changes nothing");
    };
    for (std::size_t i = 0; i < shape_.groups.size(); ++i)
      look_at(shape_.groups[i].place, readers_.groups[i]);
    for (std::size_t i = 0; i < shape_.classes.size(); ++i)
      look_at(shape_.classes[i].place, readers_.classes[i]);
  }

  const ShapeConfig& shape_;
  const TreeReaders& readers_;
  Findings& findings_;
  std::map<std::string_view, std::size_t> by_name_;  // of the groups, the first of each name
};

}  // namespace

void check_tree(const ShapeConfig& shape, const TreeReaders& readers) {
  TreeCheck(shape, readers).run();
}

}  // namespace headgate
