#include "public_view.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <span>

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kReplyMembers[] = {"schema", "version", "uptime_s", "kernel_lacks", "delay_bounds_us"};

constexpr const char* kShapeMembers[] = {"interface",  "direction",       "pattern",
                                         "diverting",  "state",           "starved",
                                         "limits",     "divert",          "forward_to",
                                         "capture",    "workers",         "rate",
                                         "budget",     "groups",          "received",
                                         "sent",       "dropped",         "queued",
                                         "unmatched",  "unshaped",        "schedule_shifts",
                                         "unshapable", "control_traffic", "foreign",
                                         "lost",       "interfaces",      "diverting_interfaces",
                                         "not_shaped"};

constexpr const char* kClassMembers[] = {
    "name",    "bypass",   "budget", "control",    "key",    "action",   "rate",     "group", "guarantee",
    "ceiling", "priority", "weight", "fair",       "aqm",    "flows",    "received", "sent",  "dropped",
    "queued",  "delay_us", "delays", "guaranteed", "marked", "remarked", "held_by"};

constexpr const char* kMatchMembers[] = {"match", "dscp", "src", "dst", "mark", "cgroup"};

constexpr const char* kPlanMembers[] = {"name", "rate", "budget", "together", "members"};

Json only(const Json& object, std::span<const char* const> members) {
  Json kept = Json::object();
  for (const char* member : members)
    if (const auto found = object.find(member); found != object.end()) kept[member] = *found;
  return kept;
}

// In place of what goes by a budget the daemon says its floor, which is not what holds.
void leave_out_floor(Json& object) {
  const auto budget = object.find("budget");
  if (budget == object.end() || !budget->is_string()) return;
  if (const auto rate = object.find("rate"); rate != object.end() && !rate->empty())
    *rate = rate->is_array() ? Json::array() : Json();
  else
    object["ceiling"] = nullptr;
}

Json public_class(const Json& object, bool with_matches) {
  Json kept = only(object, kClassMembers);
  if (with_matches) kept.update(only(object, kMatchMembers));
  Json& plans = kept["plans"] = Json::array();
  for (const Json& plan : object.value("plans", Json::array())) plans.push_back(only(plan, kPlanMembers));
  for (Json& plan : plans) leave_out_floor(plan);
  leave_out_floor(kept);
  return kept;
}

Json public_shapes(const Json& shapes, bool with_matches) {
  Json kept = Json::array();
  for (const Json& shape : shapes) {
    Json& one = kept.emplace_back(only(shape, kShapeMembers));
    leave_out_floor(one);
    if (one.contains("groups"))
      for (Json& group : one["groups"]) leave_out_floor(group);
    Json& classes = one["classes"] = Json::array();
    for (const Json& object : shape.at("classes")) classes.push_back(public_class(object, with_matches));
  }
  return kept;
}

}  // namespace

Json public_show(const Json& show, bool with_matches) {
  Json kept = only(show, kReplyMembers);
  kept["serves_flows"] = with_matches;
  kept["shapes"] = public_shapes(show.at("shapes"), with_matches);
  kept["patterns"] = public_shapes(show.at("patterns"), with_matches);
  return kept;
}

}  // namespace headgate
