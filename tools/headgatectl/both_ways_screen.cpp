#include "both_ways_screen.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "flows_screen.hpp"
#include "human_text.hpp"
#include "show_screen.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kWays[] = {"down", "up"};

std::string identity(const Json& pair) {
  return pair["interface"].dump() + pair["key"].dump();
}

bool any_pair(const Json& reply, bool (*which)(const Json& pair)) {
  return std::any_of(reply["pairs"].begin(), reply["pairs"].end(), which);
}

bool has_plans(const Json& reply) {
  return std::any_of(reply["classes"].begin(), reply["classes"].end(),
                     [](const Json& one) { return one["has_plans"].get<bool>(); });
}

std::string plan_of(const Json& way) {
  return way.is_null() || way["plan"].is_null() ? "" : way["plan"].get<std::string>();
}

// "gold"; "gold/silver" where that of the way up is another.
std::string plan_text(const Json& pair) {
  const Json &down = pair["down"], &up = pair["up"];
  if (down.is_null() || up.is_null() || plan_of(down) == plan_of(up)) {
    const std::string plan = plan_of(down.is_null() ? up : down);
    return plan.empty() ? "-" : plan;
  }
  const auto or_none = [](const std::string& plan) { return plan.empty() ? "-" : plan; };
  return or_none(plan_of(down)) + "/" + or_none(plan_of(up));
}

void add_way(std::vector<Cell>& row, const Json& way) {
  if (way.is_null()) {
    row.insert(row.end(), 4, {"-"});
    return;
  }
  const Json& rate = way["rate"];
  const std::uint64_t dropped = way["dropped"]["packets"];
  row.push_back({rate.is_null() ? "-" : bit_rate_text(rate["bits_per_second"])});
  row.push_back({bytes_text(way["sent"]["bytes"])});
  row.push_back({packets_text(dropped), dropped ? Tone::attention : Tone::plain});
  row.push_back({packets_text(way["queued"]["packets"])});
}

// "down: eth0/egress/clients, 20 flows"
std::string class_lines(const Json& reply, const ScreenStyle& style) {
  std::string lines;
  for (const Json& one : reply["classes"]) {
    const std::uint64_t flows = one["flows"];
    lines += one["way"].get<std::string>() + ": " +
             styled(one["name"].get<std::string>(), Tone::heading, style) + ", " + std::to_string(flows) +
             (flows == 1 ? " flow\n" : " flows\n");
  }
  return lines;
}

}  // namespace

Json with_rates_of_both(const Json& earlier, Json later, std::size_t limit) {
  const double seconds = seconds_between(earlier, later);
  std::map<std::string, const Json*> before;
  if (seconds > 0)
    for (const Json& pair : earlier["pairs"]) before[identity(pair)] = &pair;
  Json& pairs = later["pairs"];
  while (pairs.size() > limit) pairs.erase(pairs.size() - 1);
  for (Json& pair : pairs) {
    const auto found = before.find(identity(pair));
    for (const char* const way : kWays) {
      if (pair[way].is_null()) continue;
      const bool known = found != before.end() && !(*found->second)[way].is_null();
      pair[way]["rate"] =
          known ? sending_rate((*found->second)[way]["sent"], pair[way]["sent"], seconds) : Json();
    }
  }
  later["interval_s"] = seconds;
  return later;
}

std::string both_ways_screen(const Json& reply, const ScreenStyle& style) {
  const std::string screen = class_lines(reply, style);
  if (reply["pairs"].empty()) return screen;
  const bool interfaces = any_pair(reply, [](const Json& pair) { return !pair["interface"].is_null(); });
  const bool plans = has_plans(reply);
  std::vector<Column> columns;
  if (interfaces) columns.push_back({"INTERFACE", false});
  columns.push_back({"ADDRESS", false});
  if (plans) columns.push_back({"PLAN", false});
  for (const char* const way : {"DOWN", "UP"})
    columns.insert(columns.end(), {{way}, {"SENT"}, {"DROPPED"}, {"QUEUED"}});
  TextTable table(columns);
  for (const Json& pair : reply["pairs"]) {
    std::vector<Cell> row;
    if (interfaces) row.push_back({pair["interface"].is_null() ? "-" : pair["interface"].get<std::string>()});
    row.push_back({pair["text"].get<std::string>()});
    if (plans) row.push_back({plan_text(pair)});
    for (const char* const way : kWays) add_way(row, pair[way]);
    table.add_row(row);
  }
  return screen + measured_line(reply["pairs"].size(), reply) + "\n" + table.text(style);
}

}  // namespace headgate
