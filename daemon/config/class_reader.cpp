#include "config/class_reader.hpp"

#include <string>
#include <utility>

#include "config/key_reader.hpp"
#include "config/known_keys.hpp"
#include "config/plan_reader.hpp"
#include "config/quantity.hpp"
#include "config/quantity_text.hpp"
#include "config/table_reader.hpp"

namespace headgate {
namespace {

constexpr KeySpec kFlowsOfFairClasses{.source_address = true, .destination_address = true, .ports = true};
constexpr int kIntervalsTarget = 20;  // RFC 8289, section 3.2: the target is a twentieth of the interval

void refuse_key(const TableReader& reader, std::string_view key, const std::string& message) {
  if (reader.has(key)) reader.findings().add_error(reader.place(key), std::string(key) + message);
}

void refuse_with_bypass(const ClassKey& key, const TableReader& reader) {
  refuse_key(reader, key.name,
             " does not go with bypass = true: packets of this class are never shaped, expected one of the "
             "two");
}

void refuse_with_police(const ClassKey& key, const TableReader& reader) {
  refuse_key(
      reader, key.name,
      " does not go with action = \"police\": packets of this class never wait, and it stands outside of "
      "any tree of rates, expected one of the two");
}

// Its flows have no rate; the class may have one: a ceiling.
void settle_fair(const TableReader& reader, ClassDraft& draft) {
  refuse_key(reader, "rate",
             " does not go with fair = true: flows of a fair class have no rate of their own and take turns, "
             "expected ceiling = \"20mbit\" or the like for all of them together, or leave fair out");
  refuse_key(reader, "burst", " does not go with fair = true: it goes with a rate, expected one of the two");
  refuse_key(reader, "plan",
             " does not go with fair = true: flows of a fair class have no rate of their own, which a plan "
             "would give them, expected one of the two");
  if (!reader.has("key")) draft.key = kFlowsOfFairClasses;
  if (!reader.has("queue")) draft.queue = {.packets = kDefaultFairQueuePackets};
  if (!reader.has("aqm")) draft.aqm = QueueManagement::codel;
}

void require_rate(const TableReader& reader, bool in_tree, std::string_view instead) {
  if (reader.has("rate") || reader.has("budget")) return;
  if (in_tree) {
    refuse_key(reader, "burst",
               ": the class has no rate that it could go with, expected rate = \"1000pps\" or the like, or "
               "leave burst out");
    return;
  }
  reader.findings().add_error(
      reader.place(),
      std::string("the class has no rate, expected rate = \"1000pps\" or the like, or ").append(instead));
}

void require_key(const TableReader& reader, std::string_view key, std::string_view example,
                 const std::string& limiter) {
  if (reader.has(key)) return;
  const std::string name(key);
  reader.findings().add_error(reader.place("limiter"), "limiter: " + limiter + " needs a " + name +
                                                           ", expected " + name + " = \"" +
                                                           std::string(example) + "\" or the like");
}

void settle_police(const TableReader& reader, ClassDraft& draft) {
  draft.queue = {};
  if (reader.has("limiter") && !draft.said_limiter) return;  // it could not be read
  if (draft.police.limiter == Limiter::token_bucket) {
    for (const std::string_view key : {"limit", "window"}) {
      refuse_key(
          reader, key,
          " goes with limiter = \"fixed-window\" or \"sliding-window\" only, expected that beside it, or "
          "leave " +
              std::string(key) + " out");
    }
    if (!reader.has("limit") && !reader.has("window"))
      require_rate(reader, false,
                   "limiter = \"fixed-window\" or the like with a limit for each window of time");
    return;
  }
  const std::string limiter = quoted(to_text(draft.police.limiter));
  refuse_key(
      reader, "rate",
      " does not go with limiter = " + limiter +
          ": what may pass is said by limit and window, expected these, or limiter = \"token-bucket\"");
  refuse_key(reader, "burst",
             " does not go with limiter = " + limiter + ": it goes with a rate, expected one of the two");
  require_key(reader, "limit", "5000p", limiter);
  require_key(reader, "window", "1h", limiter);
}

void refuse_police_keys(const TableReader& reader, const ClassDraft& draft) {
  if (reader.has("action") && !draft.said_action) return;  // it could not be read
  for (const std::string_view key : {"exceed", "limiter", "limit", "window"}) {
    refuse_key(reader, key,
               " goes with action = \"police\" only, expected that beside it, or leave " + std::string(key) +
                   " out");
  }
}

void check_target(const TableReader& reader, const CodelConfig& codel) {
  if (codel.target < codel.interval) return;
  Findings& findings = reader.findings();
  if (reader.has("target")) {
    findings.add(reader.place("target"), "target",
                 refuse(quoted(to_text(codel.target)) + " is not below the interval of " +
                        quoted(to_text(codel.interval)) + ", expected a twentieth of it, " +
                        quoted(to_text(codel.interval / kIntervalsTarget)) + ", or the like"));
  } else {
    findings.add(reader.place("interval"), "interval",
                 refuse(quoted(to_text(codel.interval)) + " is not above the target of " +
                        quoted(to_text(codel.target)) + ", expected twenty times that, " +
                        quoted(to_text(codel.target * kIntervalsTarget)) + ", or a target below it"));
  }
}

void check_codel(const TableReader& reader, const ClassDraft& draft) {
  if (draft.aqm == QueueManagement::codel) {
    check_target(reader, draft.codel);
    return;
  }
  if (reader.has("aqm") && !draft.said_aqm) return;  // it could not be read
  for (const std::string_view key : {"target", "interval", "ecn"}) {
    refuse_key(
        reader, key,
        " goes with aqm = \"codel\" only, expected that beside it, or leave " + std::string(key) + " out");
  }
}

void check_own_ceiling(const TableReader& reader, const ClassConfig& config) {
  if (!config.guarantee || !config.place.ceiling || *config.guarantee <= *config.place.ceiling) return;
  reader.findings().add(
      reader.place("guarantee"), "guarantee",
      refuse(quoted(to_text(*config.guarantee)) + " is above the ceiling of the class, " +
             quoted(to_text(*config.place.ceiling)) + ", expected at most that, or a larger ceiling"));
}

// In place of its rate; of the ceiling, where its flows take turns.
void settle_budget(const TableReader& reader, BudgetReader& budgets, ClassDraft& draft) {
  if (draft.budget.empty()) return;
  if (draft.fair) {
    draft.place.budget = std::exchange(draft.budget, {});
    if (const auto floor = budgets.floor_of(reader, draft.place.budget, "ceiling"))
      draft.place.ceiling = floor;
    return;
  }
  if (reader.has("plan") || draft.key != KeySpec{}) {
    budgets.refuse(reader,
                   "is one rate for all, and by key = " + said_text(draft.key) +
                       " each has a rate of its own: expected no key, or fair = true, by which they take "
                       "turns");
    return;
  }
  draft.rate.bits = budgets.floor_of(reader, draft.budget, "rate");
  if (draft.rate.bits && reader.has("burst"))
    reader.findings().add(reader.place("burst"), "burst", settle_burst(draft.burst, draft.rate));
}

void settle(const TableReader& reader, bool link, BudgetReader& budgets, ClassDraft& draft) {
  if (draft.action == ClassAction::police) return settle_police(reader, draft);
  refuse_police_keys(reader, draft);
  settle_budget(reader, budgets, draft);
  if (draft.fair) {
    settle_fair(reader, draft);
  } else {
    const bool in_tree = link || reader.has("group") || reader.has("ceiling") || reader.has("guarantee");
    require_rate(reader, in_tree, "bypass = true for packets that are not to be shaped");
    read_plans(reader, budgets, draft);
  }
  check_codel(reader, draft);
  check_own_ceiling(reader, draft);
}

}  // namespace

ClassConfig read_class(const toml::table& table, bool link, NetworkLists& lists, BudgetReader& budgets,
                       Findings& findings) {
  report_unknown_keys(table, TableKind::shape_class, findings);
  const TableReader reader(table, findings);
  ClassDraft draft(lists);
  for (const ClassKey& key : class_keys())
    if (!key.shaping) read_key(key, "class", reader, draft);
  for (const ClassKey& key : class_keys()) {
    if (!key.shaping) continue;
    if (draft.bypass) {
      refuse_with_bypass(key, reader);
    } else if (draft.action == ClassAction::police && key.waiting) {
      refuse_with_police(key, reader);
    } else {
      read_key(key, "class", reader, draft);
    }
  }
  if (!draft.bypass) settle(reader, link, budgets, draft);
  return draft;
}

ClassConfig default_class() {
  ClassConfig config;
  config.name = kDefaultClassName;
  config.key = kFlowsOfFairClasses;
  config.queue.packets = kDefaultFairQueuePackets;
  config.fair = true;
  config.aqm = QueueManagement::codel;
  return config;
}

}  // namespace headgate
