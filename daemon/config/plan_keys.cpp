#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "config/bucket_values.hpp"
#include "config/json_values.hpp"
#include "config/keys.hpp"
#include "config/names.hpp"
#include "config/plan_members.hpp"
#include "config/prefix.hpp"
#include "config/quantity_text.hpp"
#include "config/tree_values.hpp"
#include "visible_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

Reading read_name(const std::string& text, std::string& name) {
  Reading reading = check_plan_name(text);
  if (reading.ok()) name = text;
  return reading;
}

Reading read_member(std::string_view text, PlanMembers& members) {
  if (text.starts_with('/'))
    return refuse(quoted(text) + " is no network, expected members_file = " + quoted(text) +
                  " where it is a file of networks");
  Prefix prefix;
  Reading reading = read_prefix(text, prefix);
  return reading.ok() ? members.add(prefix) : reading;
}

Reading read_members_file(const std::string& path, PlanDraft& draft) {
  Reading reading = check_list_path(path);
  if (!reading.ok()) return reading;
  const NetworkLists::File& file = draft.lists.file(path);
  if (!file.reading.ok()) return file.reading;
  draft.plan.members_file = path;
  reading = draft.members.add(file.networks);
  return reading.ok() ? reading : refuse(visible(path) + ": " + reading.error);
}

constexpr auto kKeys = std::to_array<PlanKey>({
    {.name = "name",
     .example = R"("gold")",
     .read =
         [](const Said& said, PlanDraft& draft) {
           said.text([&](const std::string& text) { return read_name(text, draft.plan.name); });
         },
     .write = [](const PlanConfig& plan) { return Json(plan.name); },
     .required = true},
    {.name = "rate",
     .example = R"("20mbit")",
     .read = [](const Said& said,
                PlanDraft& draft) { draft.rate_is_readable = read_rate(said, draft.plan.rate); },
     .write = [](const PlanConfig& plan) { return list_json(to_text(plan.rate)); }},
    {.name = "budget",
     .example = R"("uplink")",
     .read =
         [](const Said& said, PlanDraft& draft) {
           said.text([&](const std::string& text) { return read_budget_name(text, draft.plan.budget); });
         },
     .write = [](const PlanConfig& plan) { return text_or_null(plan.budget); }},
    {.name = "burst",
     .read =
         [](const Said& said, PlanDraft& draft) {
           read_burst(said, draft.rate_is_readable ? &draft.plan.rate : nullptr, draft.plan.burst);
         },
     .write = [](const PlanConfig& plan) { return list_json(to_text(plan.burst)); }},
    {.name = "queue",
     .read = [](const Said& said, PlanDraft& draft) { read_queue(said, draft.plan.queue); },
     .write = [](const PlanConfig& plan) { return list_json(to_text(plan.queue)); }},
    {.name = "together",
     .read = [](const Said& said, PlanDraft& draft) { said.flag(draft.plan.together); },
     .write = [](const PlanConfig& plan) { return Json(plan.together); }},
    {.name = "members",
     .example = R"("10.0.0.5" or "2001:db8::/56")",
     .read =
         [](const Said& said, PlanDraft& draft) {
           said.each([&](const std::string& text) { return read_member(text, draft.members); });
         }},
    {.name = "members_file",
     .example = R"("/etc/headgate/gold")",
     .read =
         [](const Said& said, PlanDraft& draft) {
           said.text([&](const std::string& text) { return read_members_file(text, draft); });
         },
     .write = [](const PlanConfig& plan) { return text_or_null(plan.members_file); }},
});

}  // namespace

std::span<const PlanKey> plan_keys() {
  return kKeys;
}

}  // namespace headgate
