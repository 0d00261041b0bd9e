#include "flows_screen.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "human_text.hpp"
#include "show_screen.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

std::string identity(const Json& flow) {
  return flow["class"].get<std::string>() + " " + flow["key"].dump();
}

// "20 flows of eth0/egress/clients" for each class, or what is to be said instead.
std::string class_lines(const Json& reply, const ScreenStyle& style) {
  std::string lines;
  for (const Json& item : reply["classes"]) {
    const std::string name = styled(item["name"].get<std::string>(), Tone::heading, style);
    if (item["bypass"]) {
      lines += name + ": a bypass class, its packets are counted but not told apart by flow\n";
    } else {
      const std::uint64_t flows = item["flows"];
      lines += name + ": " + std::to_string(flows) + (flows == 1 ? " flow\n" : " flows\n");
    }
  }
  return lines;
}

// The flows of a pattern's class have the classes of its interfaces.
bool are_of_several_classes(const Json& reply) {
  if (reply["classes"].size() > 1) return true;
  for (const Json& flow : reply["flows"])
    if (flow["class"] != reply["classes"][0]["name"]) return true;
  return false;
}

bool has_plans(const Json& reply) {
  const Json& classes = reply["classes"];
  return std::any_of(classes.begin(), classes.end(),
                     [](const Json& item) { return item.value("has_plans", false); });
}

std::string plan_text(const Json& flow) {
  const auto plan = flow.find("plan");
  return plan == flow.end() || plan->is_null() ? "-" : plan->get<std::string>();
}

}  // namespace

Json sending_rate(const Json& before, const Json& sent, double seconds) {
  const std::uint64_t packets_before = before["packets"], packets = sent["packets"];
  const std::uint64_t bytes_before = before["bytes"], bytes = sent["bytes"];
  if (packets < packets_before || bytes < bytes_before) return nullptr;
  return {{"packets_per_second", static_cast<double>(packets - packets_before) / seconds},
          {"bits_per_second", static_cast<double>(bytes - bytes_before) * 8 / seconds}};
}

std::string measured_line(std::size_t shown, const Json& reply) {
  char text[64];
  std::snprintf(text, sizeof text, "; rates measured over %.1f s", reply["interval_s"].get<double>());
  return "the " + std::to_string(shown) + " largest" + text + "\n";
}

Json with_rates(const Json& earlier, Json later, std::size_t limit) {
  const double seconds = seconds_between(earlier, later);
  std::map<std::string, Json> sent_before;
  if (seconds > 0) {
    for (const Json& flow : earlier["flows"]) sent_before[identity(flow)] = flow["sent"];
  }
  Json& flows = later["flows"];
  while (flows.size() > limit) flows.erase(flows.size() - 1);
  for (Json& flow : flows) {
    const auto before = sent_before.find(identity(flow));
    flow["rate"] = before == sent_before.end() ? Json() : sending_rate(before->second, flow["sent"], seconds);
  }
  later["interval_s"] = seconds;
  return later;
}

std::string flows_screen(const Json& reply, const ScreenStyle& style) {
  std::string screen = class_lines(reply, style);
  if (reply["classes"].empty()) return "no class is configured\n";
  if (reply["flows"].empty()) return screen;
  const bool several = are_of_several_classes(reply), plans = has_plans(reply);
  std::vector<Column> columns = {{"FLOW", false}, {"NOW"}, {""}, {"SENT"}, {""}, {"DROPPED"}, {"QUEUED"}};
  if (plans) columns.insert(columns.begin() + 1, {"PLAN", false});
  if (several) columns.insert(columns.begin(), {"CLASS", false});
  TextTable table(columns);
  for (const Json& flow : reply["flows"]) {
    const Json& now = flow["rate"];
    const std::uint64_t dropped = flow["dropped"]["packets"];
    std::vector<Cell> row = {{flow["text"].get<std::string>()},
                             {now.is_null() ? "-" : packet_rate_text(now["packets_per_second"])},
                             {now.is_null() ? "-" : bit_rate_text(now["bits_per_second"])},
                             {packets_text(flow["sent"]["packets"])},
                             {bytes_text(flow["sent"]["bytes"])},
                             {packets_text(dropped), dropped ? Tone::attention : Tone::plain},
                             {packets_text(flow["queued"]["packets"])}};
    if (plans) row.insert(row.begin() + 1, {plan_text(flow)});
    if (several) row.insert(row.begin(), {flow["class"].get<std::string>()});
    table.add_row(row);
  }
  return screen + measured_line(reply["flows"].size(), reply) + "\n" + table.text(style);
}

}  // namespace headgate
