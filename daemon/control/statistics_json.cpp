#include "control/statistics_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "config/json_values.hpp"
#include "config/keys.hpp"
#include "config/quantity_text.hpp"
#include "control/class_lookup.hpp"
#include "control/flow_key_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

// What the kernel counts in packets alone. Null and not zero: the bytes are unknown.
Json packets_only(std::uint64_t packets) {
  return {{"packets", packets}, {"bytes", nullptr}};
}

Json unshaped_json(const UnshapedStatistics& unshaped) {
  Json json = packets_only(unshaped.packets);
  json["times"] = unshaped.times;
  json["seconds"] = static_cast<double>(unshaped.open.count()) / 1e9;
  return json;
}

Json shifts_json(const ScheduleShifts& shifts) {
  return {{"times", shifts.times}, {"seconds", static_cast<double>(shifts.total.count()) / 1e9}};
}

double microseconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e3;
}

Json to_json(const DelaySummary& delay) {
  return {
      {"p50", microseconds(delay.p50)}, {"p99", microseconds(delay.p99)}, {"max", microseconds(delay.max)}};
}

Json to_json(const DelayTotals& delays) {
  return {{"packets", delays.packets}, {"seconds", static_cast<double>(delays.microseconds) / 1e6}};
}

template <typename Key, typename Config>
void add_member(Json& json, const Key& key, const Config& config) {
  if (key.write != nullptr) json[std::string(key.json_name)] = key.write(config);
}

// What the class takes, then how it is shaped.
void add_config(Json& json, const ClassConfig& config) {
  for (const ClassKey& key : class_keys())
    if (!key.shaping) add_member(json, key, config);
  for (const ClassKey& key : class_keys())
    if (key.shaping) add_member(json, key, config);
}

Json groups_json(const std::vector<GroupConfig>& groups) {
  Json json = Json::array();
  for (const GroupConfig& group : groups) {
    Json& members = json.emplace_back(Json::object());
    for (const GroupKey& key : group_keys()) add_member(members, key, group);
  }
  return json;
}

// Where no worker can say it, as of a pattern without an interface: by the configuration.
std::vector<std::uint32_t> members_of(const ClassConfig& config) {
  std::vector<std::uint32_t> counts(config.plans.size());
  if (!config.members.members) return counts;
  for (const Member& member : *config.members.members) ++counts[member.plan];
  return counts;
}

// To each plan of the class: how many members are in force.
void add_members(Json& json, const std::vector<std::uint32_t>& members) {
  const auto plans = json.find("plans");
  if (plans == json.end() || !plans->is_array()) return;
  const std::size_t known = std::min(plans->size(), members.size());
  for (std::size_t i = 0; i < known; ++i) (*plans)[i]["members"] = members[i];
}

Json class_json(const ClassStatistics& statistics, const ClassConfig* config) {
  Json json = {{"name", statistics.name}};
  add_config(json, config ? *config : ClassConfig{});
  add_members(json, statistics.members.empty() && config ? members_of(*config) : statistics.members);
  json["flows"] = statistics.flows;
  json["received"] = to_json(statistics.received);
  json["sent"] = to_json(statistics.sent);
  json["dropped"] = to_json(statistics.dropped);
  json["queued"] = to_json(statistics.queued);
  json["delay_us"] = to_json(statistics.delay);
  json["delays"] = to_json(statistics.delays);
  json["guaranteed"] = to_json(statistics.guaranteed);
  json["marked"] = to_json(statistics.marked);
  json["remarked"] = to_json(statistics.remarked);
  json["held_by"] = text_or_null(statistics.held_by);
  return json;
}

}  // namespace

Json to_json(const DecodedFlowKey& key) {
  Json json = Json::object();
  auto number_or_null = [](const std::optional<std::uint16_t>& number) {
    return number ? Json(*number) : Json();
  };
  auto tag_or_null = [](std::uint16_t tag) { return tag != 0 ? Json(tag) : Json(); };
  if (key.plan) json["plan"] = *key.plan;
  if (key.has_vlan) {
    json["vlan"] = tag_or_null(key.outer_vlan);
    json["inner_vlan"] = tag_or_null(key.inner_vlan);
  }
  if (key.source_mac) json["source_mac"] = *key.source_mac;
  if (key.destination_mac) json["destination_mac"] = *key.destination_mac;
  if (key.source) json["source"] = *key.source;
  if (key.destination) json["destination"] = *key.destination;
  if (key.protocol) {
    json["protocol"] = key.protocol_number;
    json["source_port"] = number_or_null(key.source_port);
    json["destination_port"] = number_or_null(key.destination_port);
  }
  return json;
}

Json delay_bounds_json() {
  Json bounds = Json::array();
  for (std::size_t i = 0; i < DelayTotals::kBounds; ++i)
    bounds.push_back(DelayTotals::bound(i) / std::chrono::microseconds(1));
  return bounds;
}

Json to_json(const Count& count) {
  return {{"packets", count.packets}, {"bytes", count.bytes}};
}

Json to_json(const DropCounts& dropped) {
  Json json = to_json(total(dropped));
  Json& reasons = json["reasons"] = Json::object();
  for (std::size_t i = 0; i < kDropReasonCount; ++i)
    reasons[std::string(kDropReasonNames[i])] = to_json(dropped[i]);
  return json;
}

Json to_json(const FlowStatistics& flow, const ClassConfig& config, const std::string& class_name) {
  const std::string plan = plan_name(flow.plan, config);
  const DecodedFlowKey key = decode(flow.key, config.key, plan);
  return {{"class", class_name},           {"text", to_text(key)},       {"key", to_json(key)},
          {"plan", text_or_null(plan)},    {"sent", to_json(flow.sent)}, {"dropped", to_json(flow.dropped)},
          {"queued", to_json(flow.queued)}};
}

std::string plan_name(PlanNumber plan, const ClassConfig& config) {
  return plan < config.plans.size() ? config.plans[plan].name : std::string();
}

Json to_json(const ShapeStatistics& shape) {
  const ShaperStatistics& shaper = shape.shaper;
  Json json = {{"interface", shape.interface},
               {"direction", to_text(shape.direction)},
               {"pattern", text_or_null(shape.config.pattern)},
               {"diverting", shape.diverting},
               {"state", shape.state},
               {"starved", shape.starved},
               {"limits", shape.limits},
               {"divert", to_text(shape.divert)}};
  for (const ShapeKey& key : shape_keys()) add_member(json, key, shape.config);
  json["groups"] = groups_json(shape.config.groups);
  json.update(
      {{"received", to_json(shaper.received)},
       {"sent", to_json(shaper.sent)},
       {"dropped", to_json(shaper.dropped)},
       {"queued", to_json(shaper.queued)},
       {"unmatched", to_json(shaper.unmatched)},
       {"unshaped", unshaped_json(shape.unshaped)},
       {"unshapable", to_json(shape.hooks.unshapable)},
       {"control_traffic", to_json(shape.hooks.control_traffic)},
       {"foreign", to_json(shape.hooks.foreign)},
       {"schedule_shifts", shifts_json(shaper.shifts)},
       {"lost", {{"ring", packets_only(shape.lost_ring)}, {"device", packets_only(shape.lost_device)}}},
       {"classes", Json::array()}});
  for (const ClassStatistics& statistics : shaper.classes) {
    const auto& configs = shape.config.classes;
    const auto config = std::find_if(configs.begin(), configs.end(),
                                     [&](const ClassConfig& other) { return other.name == statistics.name; });
    json["classes"].push_back(class_json(statistics, config == configs.end() ? nullptr : &*config));
  }
  return json;
}

Json to_json(const PatternStatistics& pattern) {
  Json json = to_json(pattern.sum);
  json["interfaces"] = pattern.interfaces;
  json["diverting_interfaces"] = pattern.diverting;
  Json& not_shaped = json["not_shaped"] = Json::array();
  for (const UnshapedInterface& one : pattern.not_shaped)
    not_shaped.push_back({{"interface", one.interface}, {"reason", one.reason}});
  return json;
}

Json to_json(const BudgetStatistics& budget) {
  const auto seconds = [](const std::optional<Duration>& time) {
    return time ? Json(std::chrono::duration<double>(*time).count()) : Json();
  };
  Json json = {{"name", budget.config.name},
               {"interface", budget.interface},
               {"direction", to_text(budget.direction)},
               {"want_bps", budget.want.bits_per_second},
               {"rate_bps", budget.rate ? Json(budget.rate->bits_per_second) : Json()},
               {"lease_ends_in_s", seconds(budget.ends_in)},
               {"answered_ago_s", seconds(budget.answered_ago)},
               {"trouble", budget.trouble.empty() ? Json() : Json(budget.trouble)},
               {"told", nullptr}};
  if (const auto& told = budget.told) {
    json["told"] = {{"bound", told->bound},
                    {"share_bps", told->share.bits_per_second},
                    {"used_bps", told->used.bits_per_second},
                    {"hosts", told->hosts},
                    {"agreed", told->agreed}};
  }
  for (const BudgetKey& key : budget_keys())
    if (key.write != nullptr) json["config"][std::string(key.json_name)] = key.write(budget.config);
  return json;
}

}  // namespace headgate
