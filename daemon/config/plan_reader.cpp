#include "config/plan_reader.hpp"

#include <string>
#include <vector>

#include "config/different_names.hpp"
#include "config/key_reader.hpp"
#include "config/known_keys.hpp"
#include "config/plan_members.hpp"
#include "config/quantity.hpp"
#include "config/quantity_text.hpp"

namespace headgate {
namespace {

bool has_one_address(const KeySpec& key) {
  return key.source_address != key.destination_address && !key.source_mac && !key.destination_mac;
}

void check_key(const TableReader& reader, const TableReader& first_plan, const ClassDraft& draft) {
  if (has_one_address(draft.key) || (reader.has("key") && !draft.key_is_readable)) return;
  const std::string found =
      reader.has("key") ? "key = " + said_text(draft.key) + " is not one IP address" : "the class has no key";
  reader.findings().add_error(first_plan.place(),
                              "plan: " + found +
                                  ", expected key = \"src\" or key = \"dst\", by which members are told; "
                                  "prefixes and \"vlan\" may go with it");
}

bool are_too_many(std::size_t plans, const TableReader& first_plan) {
  if (plans <= kMaxPlans) return false;
  first_plan.findings().add_error(
      first_plan.place(),
      "the class has " + std::to_string(plans) + " plans, expected at most " + std::to_string(kMaxPlans));
  return true;
}

bool has_too_many(const PlanMembers& members, const TableReader& plan) {
  if (members.size() <= kMaxMembers) return false;
  plan.findings().add_error(plan.place(), "with this plan the class has " + std::to_string(members.size()) +
                                              " members, expected at most " + std::to_string(kMaxMembers));
  return true;
}

void require_rate(const TableReader& reader) {
  if (reader.has("rate") || reader.has("budget")) return;
  reader.findings().add_error(reader.place(), "the plan has no rate, expected one such as rate = \"20mbit\"");
}

// In place of its rate.
void settle_budget(const TableReader& reader, BudgetReader& budgets, PlanConfig& plan) {
  if (plan.budget.empty()) return;
  if (!plan.together) {
    budgets.refuse(reader,
                   "is one rate for all, and each address has a rate of its own here: expected "
                   "together = true beside it");
    return;
  }
  plan.rate.bits = budgets.floor_of(reader, plan.budget, "rate");
  if (plan.rate.bits && reader.has("burst"))
    reader.findings().add(reader.place("burst"), "burst", settle_burst(plan.burst, plan.rate));
}

void read_plan(const TableReader& reader, BudgetReader& budgets, PlanDraft draft) {
  report_unknown_keys(reader.table(), TableKind::class_plan, reader.findings());
  for (const PlanKey& key : plan_keys()) read_key(key, "plan", reader, draft);
  require_rate(reader);
  settle_budget(reader, budgets, draft.plan);
}

}  // namespace

void read_plans(const TableReader& reader, BudgetReader& budgets, ClassDraft& draft) {
  const std::vector<TableReader> tables = reader.each_table("plan", "shape.class.plan");
  if (tables.empty() || are_too_many(tables.size(), tables.front())) return;
  check_key(reader, tables.front(), draft);
  PlanMembers members(draft.key, draft.plans);
  for (const TableReader& table : tables) {
    PlanConfig& plan = draft.plans.emplace_back();
    plan.queue = draft.queue;
    read_plan(table, budgets, {.plan = plan, .lists = draft.lists, .members = members});
    draft.lists.pause();
    if (has_too_many(members, table)) return;
  }
  check_names_differ("plan", draft.plans, tables);
  draft.members = members.list();
}

}  // namespace headgate
