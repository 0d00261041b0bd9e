// A configuration as its files say it, all of them merged, before it is read; and what run time says over it.
//
// Main thread. Not copied: a value would lose the place where it was read.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "config/config_file.hpp"
#include "config/config_texts.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Which table of the configuration: that of a shape, or of one group or class of it, or of one plan of that class.
struct TableName {
  std::string interface;  // or pattern
  Direction direction = Direction::egress;
  std::string group;
  std::string class_name;
  std::string plan;
  auto operator<=>(const TableName&) const = default;
};

// "eth0/egress", "eth0/egress/clients", "eth0/egress/clients plan gold".
std::string to_text(const TableName& name);

// What messages name as the file of values that were said at run time.
inline constexpr char kRunTime[] = "run time";

// A text as a value of TOML, whatever characters it has.
std::string toml_text(const std::string& text);

// A value as ConfigDocument::said() writes it; as it is where it is no TOML.
std::string normal_value(const std::string& value);

// A drop-in with another one on top of it (config_merge.hpp), as a file. Neither may be other than TOML.
std::string merged_drop_ins(const std::string& before, const std::string& on_top);

class ConfigDocument {
 public:
  // What is no TOML is found by read().
  explicit ConfigDocument(const ConfigTexts& texts);
  ~ConfigDocument();
  ConfigDocument(ConfigDocument&&) noexcept;

  bool has(const TableName& table) const;
  std::string file_of(const TableName& table) const;  // where it begins; empty: it is not there
  // As TOML; empty: nothing.
  std::string said(const TableName& table, std::string_view key) const;

  // The table must be there; a plan is made where its class is there. `value`, as TOML: empty: the key is left out. A value
  // that is no TOML is found by read().
  void say(const TableName& table, const std::string& key, const std::string& value);
  // The text of a shape's table, without its header.
  void add_shape(const std::string& text);

  ConfigResult read(const Surroundings& surroundings) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headgate
