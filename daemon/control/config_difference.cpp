#include "control/config_difference.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "config/keys.hpp"
#include "config/quantity_text.hpp"

namespace headgate {
namespace {

std::string text_of(const nlohmann::ordered_json& value) {
  const bool is_nothing = value.is_null() || (value.is_array() && value.empty());
  if (is_nothing) return {};
  if (value.is_array() && value.size() == 1) return value.front().dump();
  return value.dump();
}

std::string name_of(const ShapeConfig& shape) {
  return shape.interface + "/" + std::string(to_text(shape.direction));
}

template <typename Keys, typename Config>
void add_keys(const Keys& keys, const std::string& where, const Config& in_files, const Config& in_force,
              std::vector<Difference>& differences) {
  for (const auto& key : keys) {
    if (key.write == nullptr) continue;
    std::string before = text_of(key.write(in_files)), now = text_of(key.write(in_force));
    if (before == now) continue;
    differences.push_back({.where = where,
                           .key = std::string(key.name),
                           .in_files = std::move(before),
                           .in_force = std::move(now),
                           .why = {}});
  }
}

void add_whole(const std::string& where, bool in_files, std::vector<Difference>& differences) {
  constexpr char kThere[] = "true";
  differences.push_back({.where = where,
                         .key = {},
                         .in_files = in_files ? kThere : "",
                         .in_force = in_files ? "" : kThere,
                         .why = {}});
}

// `compare` is given those of one name.
template <typename Items, typename Compare>
void add_named(const std::string& prefix, const Items& in_files, const Items& in_force,
               std::vector<Difference>& differences, const Compare& compare) {
  const auto find = [](const Items& items, const std::string& name) {
    return std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.name == name; });
  };
  for (const auto& item : in_force) {
    const auto before = find(in_files, item.name);
    if (before == in_files.end()) {
      add_whole(prefix + item.name, false, differences);
    } else {
      compare(*before, item);
    }
  }
  for (const auto& item : in_files)
    if (find(in_force, item.name) == in_force.end()) add_whole(prefix + item.name, true, differences);
}

void add_class(const std::string& where, const ClassConfig& in_files, const ClassConfig& in_force,
               std::vector<Difference>& differences) {
  add_keys(class_keys(), where, in_files, in_force, differences);
  std::erase_if(differences, [&](const Difference& one) { return one.where == where && one.key == "plan"; });
  add_named(where + " plan ", in_files.plans, in_force.plans, differences,
            [&](const PlanConfig& before, const PlanConfig& now) {
              add_keys(plan_keys(), where + " plan " + now.name, before, now, differences);
            });
}

void add_shape(const ShapeConfig& in_files, const ShapeConfig& in_force,
               std::vector<Difference>& differences) {
  const std::string where = name_of(in_force);
  add_keys(shape_keys(), where, in_files, in_force, differences);
  add_named(where + " group ", in_files.groups, in_force.groups, differences,
            [&](const GroupConfig& before, const GroupConfig& now) {
              add_keys(group_keys(), where + " group " + now.name, before, now, differences);
            });
  add_named(where + "/", in_files.classes, in_force.classes, differences,
            [&](const ClassConfig& before, const ClassConfig& now) {
              add_class(where + "/" + now.name, before, now, differences);
            });
}

const ShapeConfig* find_shape(const Config& config, const ShapeConfig& like) {
  const auto found = std::find_if(config.shapes.begin(), config.shapes.end(), [&](const ShapeConfig& one) {
    return one.interface == like.interface && one.direction == like.direction;
  });
  return found == config.shapes.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Difference> differences(const Config& in_files, const Config& in_force) {
  std::vector<Difference> found;
  for (const ShapeConfig& shape : in_force.shapes) {
    if (const ShapeConfig* before = find_shape(in_files, shape)) {
      add_shape(*before, shape, found);
    } else {
      add_whole(name_of(shape), false, found);
    }
  }
  for (const ShapeConfig& shape : in_files.shapes)
    if (find_shape(in_force, shape) == nullptr) add_whole(name_of(shape), true, found);
  return found;
}

}  // namespace headgate
