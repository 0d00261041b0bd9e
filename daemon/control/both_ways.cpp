#include "control/both_ways.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "config/json_values.hpp"
#include "config/quantity_text.hpp"
#include "control/class_flows.hpp"
#include "control/class_lookup.hpp"
#include "control/flow_key_text.hpp"
#include "control/request_error.hpp"
#include "control/statistics_json.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

struct BothWays {
  FoundClass down;  // by destination
  FoundClass up;    // by source
};

bool is_by_one_side(const KeySpec& key) {
  const bool source = key.source_address || key.source_mac;
  const bool destination = key.destination_address || key.destination_mac;
  return source != destination;
}

KeySpec turned_round(KeySpec key) {
  std::swap(key.source_address, key.destination_address);
  std::swap(key.source_mac, key.destination_mac);
  std::swap(key.source_prefix_v4, key.destination_prefix_v4);
  std::swap(key.source_prefix_v6, key.destination_prefix_v6);
  return key;
}

FlowKey turned_round(FlowKey key) {
  if (!is_plan_key(key)) std::swap(key.source, key.destination);
  return key;
}

RequestError refused(std::string message, std::vector<std::string> details = {}) {
  return {kErrorUnknownClass, std::move(message), std::move(details)};
}

std::vector<std::string> names_of(const std::vector<FoundClass>& classes) {
  std::vector<std::string> names;
  names.reserve(classes.size());
  for (const FoundClass& one : classes) names.push_back(one.name);
  return names;
}

void require_flows_of_one_side(const FoundClass& one) {
  if (one.config->bypass)
    throw refused(one.name + " is a bypass class, its packets are not told apart by flow");
  if (is_by_one_side(one.config->key)) return;
  throw refused(
      one.name + " tells its flows apart by key = " + said_text(one.config->key) +
      ", expected the source or the destination: \"src\", \"dst\", \"src-mac\" or \"dst-mac\", with or "
      "without prefixes and \"vlan\"");
}

// The class that has the other way of the same interface; else the only one of the name that has it.
FoundClass partner_of(const FoundClass& one, const DaemonStatus& status) {
  const ShapeStatistics& shape = *one.counted;
  const Direction other = shape.direction == Direction::egress ? Direction::ingress : Direction::egress;
  const std::string expected = shape.interface + "/" + std::string(to_text(other)) + "/" + one.config->name;
  const KeySpec key = turned_round(one.config->key);
  std::vector<FoundClass> found = find_classes(status.shapes, status.patterns, expected);
  if (!found.empty()) return std::move(found.front());
  found = find_classes(status.shapes, status.patterns, one.config->name);
  std::erase_if(found,
                [&](const FoundClass& each) { return each.name == one.name || each.config->key != key; });
  if (found.empty())
    throw refused(one.name + " has no other way: there is no class " + in_quotes(expected) +
                  ", and no other one of that name with key = " + said_text(key));
  if (found.size() > 1) throw ambiguous_class("the other way of " + one.name, names_of(found));
  return std::move(found.front());
}

BothWays find_both(const DaemonStatus& status, const std::string& name) {
  std::vector<FoundClass> found = find_classes(status.shapes, status.patterns, name);
  if (found.empty()) throw unknown_class(name, names_of(find_classes(status.shapes, status.patterns, "")));
  if (found.size() > 2) throw ambiguous_class(name, names_of(found));
  require_flows_of_one_side(found.front());
  if (found.size() == 1) found.push_back(partner_of(found.front(), status));
  require_flows_of_one_side(found.back());
  if (found.front().config->key.source_address || found.front().config->key.source_mac)
    std::swap(found.front(), found.back());
  const KeySpec &down = found.front().config->key, &up = found.back().config->key;
  if (turned_round(up) != down)
    throw refused(found.front().name + " and " + found.back().name +
                  " do not go together: they have key = " + said_text(down) + " and key = " + said_text(up) +
                  ", expected one by destination and one by source, alike in all else");
  return {std::move(found.front()), std::move(found.back())};
}

using Place =
    std::pair<std::string, std::array<std::uint8_t, sizeof(FlowKey)>>;  // interface, and key as it is down

std::array<std::uint8_t, sizeof(FlowKey)> bytes_of(const FlowKey& key) {
  return std::bit_cast<std::array<std::uint8_t, sizeof(FlowKey)>>(key);
}

Json class_json(const FoundClass& one, std::string_view way) {
  return {{"name", one.name},
          {"way", way},
          {"has_plans", !one.config->plans.empty()},
          {"flows", flow_records(one)}};
}

const std::string& pattern_of(const FoundClass& one) {
  const ShapeConfig& shape = one.counted->config;
  return shape.pattern.empty() ? shape.interface : shape.pattern;
}

struct Pair {
  const FlowOfClass* down = nullptr;
  const FlowOfClass* up = nullptr;
  std::uint64_t size() const { return (down ? down->size() : 0) + (up ? up->size() : 0); }
};

Json way_json(const FlowOfClass* flow) {
  if (flow == nullptr) return nullptr;
  const std::string class_name = full_class_name(*flow->shape, flow->config->name);
  Json json = to_json(flow->flow, *flow->config, class_name);
  json.erase("text");
  json.erase("key");
  return json;
}

// Its key is told as that of the way down.
Json pair_json(const Pair& pair, const std::string& interface, const KeySpec& down) {
  const FlowOfClass& either = pair.down != nullptr ? *pair.down : *pair.up;
  const FlowKey key = pair.down != nullptr ? either.flow.key : turned_round(either.flow.key);
  const DecodedFlowKey decoded = decode(key, down, plan_name(either.flow.plan, *either.config));
  return {{"interface", text_or_null(interface)},
          {"text", address_text(decoded)},
          {"key", to_json(decoded)},
          {"down", way_json(pair.down)},
          {"up", way_json(pair.up)}};
}

}  // namespace

Json both_ways_json(const DaemonStatus& status, const std::string& name, std::size_t limit,
                    DaemonControl& daemon) {
  const BothWays both = find_both(status, name);
  const std::vector<FlowOfClass> down = collect_flows({both.down}, kMaxFlowLimit, daemon);
  const std::vector<FlowOfClass> up = collect_flows({both.up}, kMaxFlowLimit, daemon);
  // Addresses on different interfaces of a pattern are different ones.
  const bool by_interface =
      both.down.of_pattern && both.up.of_pattern && pattern_of(both.down) == pattern_of(both.up);
  const auto place_of = [&](const FlowOfClass& one, const FlowKey& key) {
    return Place{by_interface ? one.shape->interface : std::string(), bytes_of(key)};
  };
  std::map<Place, Pair> pairs;
  // Of several the first: the largest.
  const auto put = [](const FlowOfClass*& side, const FlowOfClass& one) {
    side = side == nullptr ? &one : side;
  };
  for (const FlowOfClass& one : down) put(pairs[place_of(one, one.flow.key)].down, one);
  for (const FlowOfClass& one : up) put(pairs[place_of(one, turned_round(one.flow.key))].up, one);
  std::vector<std::pair<std::string, Pair>> largest;
  largest.reserve(pairs.size());
  for (const auto& [place, pair] : pairs) largest.emplace_back(place.first, pair);
  std::stable_sort(largest.begin(), largest.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  if (largest.size() > limit) largest.resize(limit);
  Json json = {{"classes", {class_json(both.down, "down"), class_json(both.up, "up")}},
               {"pairs", Json::array()}};
  for (const auto& [interface, pair] : largest)
    json["pairs"].push_back(pair_json(pair, interface, both.down.config->key));
  return json;
}

}  // namespace headgate
