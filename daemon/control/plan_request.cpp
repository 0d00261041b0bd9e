#include "control/plan_request.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "config/prefix.hpp"
#include "config/quantity.hpp"
#include "config/suggestion.hpp"
#include "control/class_lookup.hpp"
#include "control/request_error.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> full_names(const std::vector<ConfiguredClass>& classes) {
  std::vector<std::string> names;
  names.reserve(classes.size());
  for (const ConfiguredClass& one : classes) names.push_back(one.name());
  return names;
}

ConfiguredClass the_class(const std::string& name, const DaemonControl& daemon) {
  const std::vector<const ShapeConfig*> shapes = daemon.shapes();
  const std::vector<ConfiguredClass> found = find_classes(shapes, name);
  if (found.empty()) throw unknown_class(name, full_names(find_classes(shapes, "")));
  if (found.size() > 1) throw ambiguous_class(name, full_names(found));
  return found.front();
}

// A plan of that rate, which is made where the class has none yet.
std::string plan_of_rate(const ConfiguredClass& of, const std::string& rate, DaemonControl& daemon,
                         const std::string& who) {
  Rate read;
  const Reading reading = read_rate(rate, read);
  if (!reading.ok()) throw RequestError{kErrorBadRequest, "rate: " + reading.error, {}};
  std::string name = rate;
  std::replace_if(
      name.begin(), name.end(), [](char letter) { return letter == '/' || letter == ' '; }, '-');
  const auto& plans = of.config->plans;
  const auto same_name =
      std::find_if(plans.begin(), plans.end(), [&](const PlanConfig& plan) { return plan.name == name; });
  if (same_name != plans.end() && same_name->rate == read) return name;
  const TableName table{.interface = of.shape->interface,
                        .direction = of.shape->direction,
                        .group = {},
                        .class_name = of.config->name,
                        .plan = name};
  const ChangeResult result =
      daemon.set({.table = table, .values = {{"rate", Json(rate).dump()}}, .time = {}}, who);
  if (!result.ok)
    throw RequestError{kErrorRefused, "the plan " + in_quotes(name) + " cannot be made", result.messages};
  return name;
}

RequestError no_such_plan(const ConfiguredClass& of, const std::string& name) {
  std::vector<std::string_view> names;
  for (const PlanConfig& plan : of.config->plans) names.push_back(plan.name);
  std::string message = "class " + in_quotes(of.name()) + " has no plan " + in_quotes(name);
  if (const auto nearest = nearest_word(name, names))
    message += ", did you mean " + in_quotes(*nearest) + "? It";
  else
    message += ", it";
  return {kErrorUnknownPlan, message + " has " + list_of_words(names), {}};
}

PlanNumber plan_number(const ConfiguredClass& of, const std::optional<std::string>& name) {
  if (!name) return kNoPlan;
  const auto& plans = of.config->plans;
  const auto found =
      std::find_if(plans.begin(), plans.end(), [&](const PlanConfig& plan) { return plan.name == *name; });
  if (found == plans.end()) throw no_such_plan(of, *name);
  return static_cast<PlanNumber>(found - plans.begin());
}

Prefix member_prefix(const ConfiguredClass& of, const std::string& text) {
  Prefix prefix;
  const Reading reading = read_prefix(text, prefix);
  if (!reading.ok()) throw RequestError{kErrorBadRequest, "member " + reading.error, {}};
  const std::uint8_t kept = length_kept(of.config->key, is_ipv4(prefix));
  if (prefix.length <= kept) return prefix;
  throw RequestError{kErrorBadRequest,
                     "member " + in_quotes(text) + " is smaller than what the key of class " +
                         in_quotes(of.name()) + " keeps of an address, expected " +
                         in_quotes(to_text(cut_to(prefix.address, kept))),
                     {}};
}

Json plan_name(const ConfiguredClass& of, PlanNumber plan) {
  return plan < of.config->plans.size() ? Json(of.config->plans[plan].name) : Json();
}

}  // namespace

Json answer(const PlanRequest& request, DaemonControl& daemon, const std::string& who) {
  ConfiguredClass of = the_class(request.class_name, daemon);
  std::optional<std::string> plan = request.plan;
  if (!request.rate.empty()) {
    plan = plan_of_rate(of, request.rate, daemon, who);
    of = the_class(request.class_name, daemon);  // with that plan
  }
  if (of.config->plans.empty())
    throw RequestError{kErrorUnknownPlan, "class " + in_quotes(of.name()) + " has no plans", {}};
  const MemberChange change{.interface = of.shape->interface,
                            .direction = of.shape->direction,
                            .class_name = of.config->name,
                            .member = member_prefix(of, request.member),
                            .plan = plan_number(of, plan),
                            .time = request.time};
  const MemberResult result = daemon.change_member(change, who);
  if (!result.ok) throw RequestError{kErrorRefused, result.refusal, {}};
  return {{"schema", kSchema},
          {"class", of.name()},
          {"member", request.member},
          {"plan", plan_name(of, change.plan)},
          {"before", plan_name(of, result.before)}};
}

}  // namespace headgate
