#include "control/live_answers.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "config/keys.hpp"
#include "config/quantity.hpp"
#include "config/quantity_text.hpp"
#include "config/suggestion.hpp"
#include "control/class_lookup.hpp"
#include "control/request_members.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLongestTime = 31 * 86'400;  // seconds
constexpr double kLongestTrial = 86'400;
constexpr std::size_t kMaxFileBytes = 1024 * 1024;  // config/file_text.hpp

Duration seconds(const Json& value, const char* name, double longest) {
  const double number = value.is_number() ? value.get<double>() : 0;
  if (!std::isfinite(number) || number < 0.001 || number > longest) {
    throw bad_request("member " + in_quotes(name) + " is not a number of seconds from 0.001 to " +
                      std::to_string(static_cast<long>(longest)));
  }
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(number));
}

// What is said of what was done.
Json done(const ChangeResult& result, const std::string& refusal) {
  if (!result.ok) throw RequestError{kErrorRefused, refusal, result.messages};
  return {{"schema", kSchema}, {"messages", result.messages}};
}

TableName table_of(const ShapeConfig& shape) {
  return {
      .interface = shape.interface, .direction = shape.direction, .group = {}, .class_name = {}, .plan = {}};
}

// All tables that can be changed, each under its names: the full one first.
struct NamedTable {
  TableName table;
  std::string full_name;
  std::string_view short_name;
};

std::vector<NamedTable> tables(const DaemonControl& daemon) {
  std::vector<NamedTable> all;
  for (const ShapeConfig* shape : daemon.shapes()) {
    const TableName of = table_of(*shape);
    all.push_back({of, to_text(of), {}});
    for (const ClassConfig& one : shape->classes) {
      if (one.name == kDefaultClassName) continue;
      TableName table = of;
      table.class_name = one.name;
      all.push_back({table, to_text(of) + "/" + one.name, one.name});
    }
    for (const GroupConfig& one : shape->groups) {
      TableName table = of;
      table.group = one.name;
      all.push_back({table, to_text(of) + "/" + one.name, one.name});
    }
  }
  return all;
}

TableName find_table(const std::string& name, const DaemonControl& daemon) {
  const std::vector<NamedTable> all = tables(daemon);
  std::vector<std::string> names, found;
  const TableName* table = nullptr;
  for (const NamedTable& one : all) {
    names.push_back(one.full_name);
    if (one.full_name == name) return one.table;
    if (one.short_name.empty() || one.short_name != name) continue;
    found.push_back(one.full_name);
    table = &one.table;
  }
  if (found.empty()) throw unknown_class(name, std::move(names));
  if (found.size() > 1) throw ambiguous_class(name, std::move(found));
  return *table;
}

template <typename Keys>
bool is_fixed(const Keys& keys, const std::string& name) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](const auto& key) { return key.name == name && key.fixed; });
}

void refuse_keys_of_the_file(const TableName& table, const std::string& key) {
  const bool of_shape = table.group.empty() && table.class_name.empty();
  const bool names_it = key == "name" || (of_shape && (key == "interface" || key == "direction"));
  const bool holds_tables = key == "class" || key == "group" || key == "plan";
  // A group's name is its key "name" and a class's key "group" says where it stands.
  const bool is_place = key == "group" && !table.class_name.empty();
  if (names_it) throw bad_request(key + " says which table it is, and cannot be set; change it in the file");
  if (holds_tables && !is_place)
    throw bad_request(key + " holds tables, and cannot be set; of a plan write plan.NAME.KEY=VALUE");
  if (of_shape && is_fixed(shape_keys(), key))
    throw bad_request(key + " takes effect at a start of headgated only: say it in the file");
}

// A JSON value of these kinds is the same in TOML.
std::string toml_of(const std::string& key, const Json& value) {
  const auto plain = [](const Json& one) {
    return one.is_string() || one.is_boolean() || one.is_number_integer();
  };
  if (value.is_null()) return {};
  if (plain(value) || (value.is_array() && std::all_of(value.begin(), value.end(), plain)))
    return value.dump(-1, ' ', true, Json::error_handler_t::replace);
  throw bad_request("the value of " + in_quotes(key) +
                    " is not a text, a whole number, true, false, a list of these, or null");
}

bool is_bare_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '_' || letter == '-';
  });
}

// "plan.gold.rate" is the key "rate" of the plan "gold".
std::pair<TableName, std::string> split_key(const TableName& table, const std::string& name) {
  constexpr std::string_view kPlan = "plan.";
  const std::size_t dot = name.rfind('.');
  if (!name.starts_with(kPlan) || table.class_name.empty() || dot <= kPlan.size()) return {table, name};
  TableName plan = table;
  plan.plan = name.substr(kPlan.size(), dot - kPlan.size());
  return {plan, name.substr(dot + 1)};
}

SetRequest set_request(const Json& request, const DaemonControl& daemon) {
  SetRequest set{.table = find_table(text(member(request, "class"), "class"), daemon),
                 .values = {},
                 .time = time_of(request)};
  const Json& values = member(request, "values");
  if (!values.is_object() || values.empty())
    throw bad_request("member \"values\" is not an object of one or more keys");
  const TableName whole = set.table;
  for (const auto& [name, value] : values.items()) {
    const auto [table, key] = split_key(whole, name);
    if (!is_bare_key(key)) throw bad_request(in_quotes(name) + " is no key");
    refuse_keys_of_the_file(table, key);
    if (!set.values.empty() && set.table != table)
      throw bad_request("one request sets the keys of one table: " + in_quotes(name) + " is of another");
    set.table = table;
    set.values.emplace_back(key, toml_of(key, value));
  }
  return set;
}

LimitRequest limit_request(const Json& request) {
  LimitRequest limit{.interface = text(member(request, "interface"), "interface"),
                     .rate = {},
                     .key = {},
                     .time = time_of(request)};
  limit.direction = direction_of(request).value_or(Direction::egress);
  return limit;
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json::parse(text);
}

}  // namespace

std::optional<Duration> time_of(const Json& request) {
  const auto found = request.find("for_s");
  if (found == request.end()) return std::nullopt;
  return seconds(*found, "for_s", kLongestTime);
}

Json answer_set(const Json& request, DaemonControl& daemon, const std::string& who) {
  const SetRequest set = set_request(request, daemon);
  Json reply = done(daemon.set(set, who), "not set, what is in force stays as it was");
  reply["set"] = to_text(set.table);
  return reply;
}

Json answer_limit(const Json& request, DaemonControl& daemon, const std::string& who) {
  LimitRequest limit = limit_request(request);
  limit.rate = text(member(request, "rate"), "rate");
  limit.key = text_or_nothing(request, "key");
  Rate rate;
  const Reading reading = read_rate(limit.rate, rate);
  if (!reading.ok()) throw bad_request("rate: " + reading.error);
  return done(daemon.limit(limit, who), "not limited, what is in force stays as it was");
}

Json answer_unlimit(const Json& request, DaemonControl& daemon, const std::string& who) {
  return done(daemon.unlimit(limit_request(request), who), "not changed, what is in force stays as it was");
}

Json answer_reload(DaemonControl& daemon, const std::string& who) {
  Json reply = done(daemon.reload(who), "not reloaded, the configuration in force stays as it was");
  return {{"schema", kSchema}, {"reloaded", true}, {"messages", reply["messages"]}};
}

Json answer_confirm(DaemonControl& daemon, const std::string& who) {
  return done(daemon.confirm(who), "nothing confirmed");
}

Json answer_undo(DaemonControl& daemon, const std::string& who) {
  return done(daemon.undo(who), "nothing undone, what is in force stays as it was");
}

Json answer_diff(DaemonControl& daemon) {
  const DiffResult result = daemon.diff();
  if (!result.errors.empty())
    throw RequestError{kErrorRefused, "the files cannot be compared", result.errors};
  Json reply = {{"schema", kSchema}, {"differences", Json::array()}};
  for (const Difference& one : result.differences) {
    reply["differences"].push_back({{"where", one.where},
                                    {"key", one.key.empty() ? Json() : Json(one.key)},
                                    {"in_files", text_or_null(one.in_files)},
                                    {"in_force", text_or_null(one.in_force)},
                                    {"why", one.why.empty() ? Json() : Json(one.why)}});
  }
  return reply;
}

Json answer_save(DaemonControl& daemon) {
  const SaveResult result = daemon.save();
  if (!result.refusal.empty()) throw RequestError{kErrorRefused, "nothing saved: " + result.refusal, {}};
  return {{"schema", kSchema}, {"path", result.path}, {"text", result.text}, {"left_out", result.left_out}};
}

std::size_t try_bytes(const Json& request) {
  seconds(member(request, "confirm_s"), "confirm_s", kLongestTrial);
  text(member(request, "file"), "file");
  const Json& bytes = member(request, "bytes");
  const std::size_t size = bytes.is_number_unsigned() ? bytes.get<std::size_t>() : 0;
  if (size < 1 || size > kMaxFileBytes)
    throw bad_request("member \"bytes\" is not a whole number from 1 to " + std::to_string(kMaxFileBytes));
  return size;
}

Json answer_try(const Json& request, std::string file, DaemonControl& daemon, const std::string& who) {
  const TryRequest trial{.file = text(request["file"], "file"),
                         .text = std::move(file),
                         .time = seconds(request["confirm_s"], "confirm_s", kLongestTrial)};
  Json reply = done(daemon.try_text(trial, who), "not tried, what is in force stays as it was");
  reply["confirm_s"] = request["confirm_s"];
  return reply;
}

}  // namespace headgate
