// What the control socket asks of a daemon that is to be changed, and what it answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config_document.hpp"
#include "headgate/clock.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

struct SetRequest {
  TableName table;
  // The keys with their values as in the file; an empty one: as if the file said nothing of the key.
  std::vector<std::pair<std::string, std::string>> values;
  std::optional<Duration> time;  // for so long
};

struct LimitRequest {
  std::string interface;  // or pattern
  Direction direction = Direction::egress;
  std::string rate;
  std::string key;  // empty: none
  std::optional<Duration> time;
};

struct TryRequest {
  std::string file;  // its name, for messages
  std::string text;
  Duration time{};  // it goes back by itself after so long
};

// What plan a member has from now on.
struct MemberChange {
  std::string interface;  // of a pattern: the pattern itself; then of all its instances
  Direction direction = Direction::egress;
  std::string class_name;
  Prefix member;
  PlanNumber plan = kNoPlan;     // none: it is a member no more
  std::optional<Duration> time;  // for so long
};

struct MemberResult {
  bool ok = false;
  PlanNumber before = kNoPlan;  // that it was a member of
  std::string refusal;          // a sentence
};

struct ChangeResult {
  bool ok = false;
  std::vector<std::string> messages;  // errors with their places, or what changed
};

// One key whose value in the files is not the one in force.
struct Difference {
  std::string where;     // "eth0/egress/clients"
  std::string key;       // empty: the whole table is in one of the two only
  std::string in_files;  // as JSON; empty: nothing
  std::string in_force;
  std::string why;  // "set by root, for 42 s more"; empty: the files were changed
};

struct DiffResult {
  std::vector<std::string> errors;  // of files that cannot be read, with their places
  std::vector<Difference> differences;
};

struct SaveResult {
  std::string refusal;  // a sentence; empty: none
  std::string path;     // of the drop-in
  std::string text;     // its whole text; empty: there is nothing to save
  std::vector<std::string> left_out;
};

}  // namespace headgate
