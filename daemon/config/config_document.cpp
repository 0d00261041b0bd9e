#include "config/config_document.hpp"

#include <toml++/toml.h>

#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "config/config_merge.hpp"
#include "config/config_reader.hpp"
#include "config/quantity_text.hpp"
#include "config/syntax_error.hpp"

namespace headgate {
namespace {

ConfigError to_config_error(const std::string& file, const SyntaxError& error) {
  return {file, error.place.line, error.place.column, error.message};
}

std::string text_of(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (toml::is_table<Value>) {
      text << toml::toml_formatter(value);
    } else {
      text << value;
    }
  });
  return text.str();
}

}  // namespace

std::string to_text(const TableName& name) {
  std::string text = name.interface + "/" + std::string(to_text(name.direction));
  if (!name.group.empty()) text += " group " + name.group;
  if (!name.class_name.empty()) text += "/" + name.class_name;
  if (!name.plan.empty()) text += " plan " + name.plan;
  return text;
}

std::string toml_text(const std::string& text) {
  return text_of(toml::value<std::string>(text));
}

std::string normal_value(const std::string& value) {
  try {
    const toml::table table = toml::parse("value = " + value);
    return text_of(*table.get("value"));
  } catch (const toml::parse_error&) {
    return value;
  }
}

std::string merged_drop_ins(const std::string& before, const std::string& on_top) {
  toml::table root = toml::parse(before);
  merge_into(root, toml::parse(on_top));
  return text_of(root) + "\n";
}

struct ConfigDocument::State {
  toml::table root;
  std::vector<std::string> files;
  std::vector<ConfigError> errors;

  std::optional<toml::table> parse(const std::string& text, const std::string& file);
  toml::table* find_shape(const TableName& name);
  toml::table* find(const TableName& name);
};

// None, and the error is noted: it is no TOML.
std::optional<toml::table> ConfigDocument::State::parse(const std::string& text, const std::string& file) {
  if (const auto error = check_characters(text)) {
    errors.push_back(to_config_error(file, *error));
    return std::nullopt;
  }
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    errors.push_back(to_config_error(file, describe(error, text)));
    return std::nullopt;
  }
}

toml::table* ConfigDocument::State::find_shape(const TableName& name) {
  toml::array* const shapes = tables_of(root, "shape");
  if (shapes == nullptr) return nullptr;
  for (toml::node& node : *shapes) {
    toml::table* const shape = node.as_table();
    if (shape != nullptr && shape_name_of(*shape) == ShapeName{name.interface, name.direction}) return shape;
  }
  return nullptr;
}

toml::table* ConfigDocument::State::find(const TableName& name) {
  toml::table* const shape = find_shape(name);
  if (shape == nullptr || (name.group.empty() && name.class_name.empty())) return shape;
  if (!name.group.empty()) return named_table(tables_of(*shape, "group"), name.group);
  toml::table* const one = named_table(tables_of(*shape, "class"), name.class_name);
  if (one == nullptr || name.plan.empty()) return one;
  return named_table(tables_of(*one, "plan"), name.plan);
}

ConfigDocument::ConfigDocument(const ConfigTexts& texts) : state_(std::make_unique<State>()) {
  for (const ConfigText& text : texts) {
    state_->files.push_back(text.name);
    auto table = state_->parse(text.text, text.name);
    if (!table) continue;
    if (state_->files.size() == 1) {
      state_->root = std::move(*table);
    } else {
      merge_into(state_->root, std::move(*table));
    }
  }
  state_->files.emplace_back(kRunTime);
}

ConfigDocument::~ConfigDocument() = default;
ConfigDocument::ConfigDocument(ConfigDocument&&) noexcept = default;

bool ConfigDocument::has(const TableName& table) const {
  return state_->find(table) != nullptr;
}

std::string ConfigDocument::file_of(const TableName& table) const {
  const toml::table* const found = state_->find(table);
  if (found == nullptr) return {};
  return found->source().path ? *found->source().path : state_->files.front();
}

std::string ConfigDocument::said(const TableName& table, std::string_view key) const {
  const toml::table* const found = state_->find(table);
  const toml::node* const value = found == nullptr ? nullptr : found->get(key);
  return value == nullptr ? "" : text_of(*value);
}

void ConfigDocument::say(const TableName& name, const std::string& key, const std::string& value) {
  toml::table* table = state_->find(name);
  if (table == nullptr && !name.plan.empty()) {
    TableName class_name = name;
    class_name.plan.clear();
    toml::table* const of = state_->find(class_name);
    if (of == nullptr) return;
    if (!of->contains("plan")) of->insert("plan", toml::array());
    toml::array* const plans = tables_of(*of, "plan");
    if (plans == nullptr) return;
    auto plan = state_->parse("name = " + toml_text(name.plan), kRunTime);
    if (!plan) return;
    plans->push_back(std::move(*plan));
    table = plans->back().as_table();
  }
  if (table == nullptr) return;
  if (value.empty()) {
    table->erase(key);
    return;
  }
  auto said = state_->parse(key + " = " + value, kRunTime);
  if (!said) return;
  for (auto&& [said_key, node] : *said) put(*table, said_key, node);
}

void ConfigDocument::add_shape(const std::string& text) {
  auto shape = state_->parse(text, kRunTime);
  if (!shape) return;
  if (!state_->root.contains("shape")) state_->root.insert("shape", toml::array());
  if (toml::array* const shapes = tables_of(state_->root, "shape")) shapes->push_back(std::move(*shape));
}

ConfigResult ConfigDocument::read(const Surroundings& surroundings) const {
  ConfigResult result;
  Findings findings(state_->files);
  if (state_->errors.empty()) {
    result.config = read_config(state_->root, surroundings, findings);
    findings.hand_over(result);
  } else {
    result.errors = state_->errors;
  }
  // Nobody wrote a line of that.
  for (ConfigError& error : result.errors)
    if (error.file == kRunTime) error.line = error.column = 0;
  for (ConfigWarning& warning : result.warnings)
    if (warning.file == kRunTime) warning.line = warning.column = 0;
  return result;
}

}  // namespace headgate
