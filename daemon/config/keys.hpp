// The keys of the configuration, a row for each: a key is said here and nowhere else, but for its field in the vocabulary and
// its paragraph in headgate.toml(5). The rows of a table stand in the order in which messages name them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "config/network_lists.hpp"
#include "config/said.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// How a value is told apart and kept when another configuration takes the place of one.
template <typename Config>
struct Kept {
  bool (*differs)(const Config& now, const Config& next) = nullptr;
  void (*keep)(const Config& now, Config& next) = nullptr;
  explicit operator bool() const { return differs != nullptr; }
};

template <auto member>
struct KeptMember;
template <typename Config, typename Value, Value Config::*member>
struct KeptMember<member> {
  static constexpr Kept<Config> kept = {
      [](const Config& now, const Config& next) { return now.*member != next.*member; },
      [](const Config& now, Config& next) { next.*member = now.*member; }};
};
template <auto member>
inline constexpr auto fixed_at_start = KeptMember<member>::kept;

// The key as an option of headgated, with "-" for "_".
struct KeyOption {
  std::string_view value;    // a word for it: "RATE"; empty: the key is no option
  std::string_view example;  // as on a command line
  std::string_view help;
  bool repeats = false;  // several values make a list, as in the file
  explicit operator bool() const { return !value.empty(); }
};

// `Draft` is what reading a table leads to.
template <typename Draft, typename Config>
struct Key {
  std::string_view name;
  std::string_view example;  // a value as in the file, for messages; of quantities their grammar has some
  void (*read)(const Said& said, Draft& draft) = nullptr;  // also where nothing is said; null: holds tables
  nlohmann::ordered_json (*write)(const Config& config) = nullptr;  // in `show --json`; null: not there
  Kept<Config> fixed;                                               // unset: a reload changes it
  KeyOption option;
  std::string_view json_name = name;  // where it stands in JSON
  bool required = false;
  bool shaping = false;  // of a class: does not go with bypass
  bool waiting = false;  // of a class: does not go with policing, which lets no packet wait
};

class PlanMembers;

struct ShapeDraft : ShapeConfig {
  // What was said and could be read.
  std::optional<Direction> said_direction;
  std::optional<Segmentation> said_segmentation;
};

struct ClassDraft : ClassConfig {
  explicit ClassDraft(NetworkLists& shared_lists) : lists(shared_lists) {}
  NetworkLists& lists;
  bool key_is_readable = false;
  bool rate_is_readable = false;  // and there is one
  std::optional<QueueManagement> said_aqm;
  std::optional<ClassAction> said_action;
  std::optional<Limiter> said_limiter;
};

struct PlanDraft {
  PlanConfig& plan;
  NetworkLists& lists;
  PlanMembers& members;           // of the class
  bool rate_is_readable = false;  // and there is one
};

using BudgetKey = Key<BudgetConfig, BudgetConfig>;
using DaemonKey = Key<DaemonConfig, DaemonConfig>;
using ShapeKey = Key<ShapeDraft, ShapeConfig>;
using GroupKey = Key<GroupConfig, GroupConfig>;
using ClassKey = Key<ClassDraft, ClassConfig>;
using PlanKey = Key<PlanDraft, PlanConfig>;

std::span<const DaemonKey> daemon_keys();  // [daemon]
std::span<const BudgetKey> budget_keys();  // [budget.NAME]
std::span<const ShapeKey> shape_keys();    // [[shape]]
std::span<const GroupKey> group_keys();    // [[shape.group]]
std::span<const ClassKey> class_keys();    // [[shape.class]]
std::span<const PlanKey> plan_keys();      // [[shape.class.plan]]

}  // namespace headgate
