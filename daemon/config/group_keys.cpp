#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "config/json_values.hpp"
#include "config/keys.hpp"
#include "config/names.hpp"
#include "config/tree_values.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

Reading read_name(const std::string& text, std::string& name) {
  Reading reading = check_group_name(text);
  if (reading.ok()) name = text;
  return reading;
}

constexpr auto kKeys = std::to_array<GroupKey>({
    {.name = "name",
     .example = R"("office")",
     .read =
         [](const Said& said, GroupConfig& group) {
           said.text([&](const std::string& text) { return read_name(text, group.name); });
         },
     .write = [](const GroupConfig& group) { return Json(group.name); },
     .required = true},
    {.name = "parent",
     .example = R"("office")",
     .read =
         [](const Said& said, GroupConfig& group) {
           said.text([&](const std::string& text) { return read_name(text, group.place.parent); });
         },
     .write = [](const GroupConfig& group) { return text_or_null(group.place.parent); }},
    {.name = "ceiling",
     .read = [](const Said& said, GroupConfig& group) { read_bit_rate(said, group.place.ceiling); },
     .write = [](const GroupConfig& group) { return rate_or_null(group.place.ceiling); }},
    {.name = "budget",
     .example = R"("uplink")",
     .read =
         [](const Said& said, GroupConfig& group) {
           said.text([&](const std::string& text) { return read_budget_name(text, group.place.budget); });
         },
     .write = [](const GroupConfig& group) { return text_or_null(group.place.budget); }},
    {.name = "priority",
     .example = "0",
     .read = [](const Said& said, GroupConfig& group) { read_priority(said, group.place); },
     .write = [](const GroupConfig& group) { return Json(group.place.priority); }},
    {.name = "weight",
     .example = "2",
     .read = [](const Said& said, GroupConfig& group) { read_weight(said, group.place); },
     .write = [](const GroupConfig& group) { return Json(group.place.weight); }},
});

}  // namespace

std::span<const GroupKey> group_keys() {
  return kKeys;
}

}  // namespace headgate
