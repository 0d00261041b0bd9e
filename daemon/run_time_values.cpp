#include "run_time_values.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "config/quantity_text.hpp"

namespace headgate {
namespace {

std::string in_files(const ConfigDocument& files, const TableName& table, const std::string& key) {
  if (key.empty()) return files.has(table) ? "there" : "";
  return files.said(table, key);
}

TableName shape_of(const TableName& table) {
  return {
      .interface = table.interface, .direction = table.direction, .group = {}, .class_name = {}, .plan = {}};
}

std::string header_of(const TableName& table) {
  if (!table.plan.empty()) return "[[shape.class.plan]]\nname = " + toml_text(table.plan) + "\n";
  if (!table.class_name.empty()) return "[[shape.class]]\nname = " + toml_text(table.class_name) + "\n";
  if (!table.group.empty()) return "[[shape.group]]\nname = " + toml_text(table.group) + "\n";
  return "[[shape]]\ninterface = " + toml_text(table.interface) + "\ndirection = \"" +
         std::string(to_text(table.direction)) + "\"\n";
}

enum Level : int { kShape, kPart, kPlan };  // a part is a group or a class

Level level_of(const TableName& table) {
  if (!table.plan.empty()) return kPlan;
  return table.group.empty() && table.class_name.empty() ? kShape : kPart;
}

// Its table, or the one of that level around it.
TableName cut_to(TableName table, Level level) {
  if (level == kShape) return shape_of(table);
  if (level == kPart) table.plan.clear();
  return table;
}

// The tables of a file down to this one.
std::string headers_of(const TableName& table) {
  std::string text;
  for (const Level level : {kShape, kPart, kPlan})
    if (level <= level_of(table)) text += header_of(cut_to(table, level));
  return text;
}

// A shape's text has its tables as they stand in it; in a file they stand below the shape.
std::string shape_in_file(std::string text) {
  constexpr std::string_view kInShape = "[[class]]", kInFile = "[[shape.class]]";
  if (const std::size_t found = text.find(kInShape); found != std::string::npos)
    text.replace(found, kInShape.size(), kInFile);
  return "[[shape]]\n" + text;
}

}  // namespace

void RunTimeValues::say(const ConfigDocument& files, const TableName& table, const std::string& key,
                        const std::string& value, const Saying& saying) {
  const auto [place, is_new] = values_.try_emplace({table, key});
  Key& said = place->second;
  if (is_new) said.in_files = in_files(files, table, key);
  if (values_.size() > kMost)
    throw std::runtime_error("more than " + std::to_string(kMost) +
                             " keys have been set: headgatectl save writes them to a file");
  // What ends no later than this can never hold again.
  std::erase_if(said.values, [&](const Value& earlier) {
    return !saying.until || (earlier.saying.until && *earlier.saying.until <= *saying.until);
  });
  said.values.push_back({value, saying});
  if (said.values.size() > kMost)
    throw std::runtime_error("more than " + std::to_string(kMost) + " values for a time wait for their end");
}

bool RunTimeValues::forget_shape(const TableName& shape) {
  if (!has_shape(shape)) return false;
  std::erase_if(values_, [&](const auto& entry) { return shape_of(entry.first.first) == shape; });
  return true;
}

bool RunTimeValues::forget_past(Instant now) {
  bool forgot = false;
  std::vector<TableName> ended;  // shapes of run time
  for (auto& [name, key] : values_) {
    forgot |= std::erase_if(key.values, [now](const Value& value) {
                return value.saying.until && *value.saying.until <= now;
              }) > 0;
    if (key.values.empty() && name.second.empty()) ended.push_back(name.first);
  }
  for (const TableName& shape : ended) forget_shape(shape);
  std::erase_if(values_, [](const auto& entry) { return entry.second.values.empty(); });
  return forgot;
}

std::optional<Instant> RunTimeValues::next_end() const {
  std::optional<Instant> next;
  for (const auto& [name, key] : values_)
    for (const Value& value : key.values)
      if (value.saying.until && (!next || *value.saying.until < *next)) next = value.saying.until;
  return next;
}

void RunTimeValues::put_over(const ConfigDocument& files, std::vector<std::string>& messages) {
  std::erase_if(values_, [&](const auto& entry) {
    const auto& [name, key] = entry;
    const auto& [table, key_name] = name;
    const bool there =
        files.has(table) || has_shape(shape_of(table)) || (!table.plan.empty() && key.in_files.empty());
    const std::string now = in_files(files, table, key_name);
    if (there && now == key.in_files) return false;
    const bool saved = key_name.empty() ? !now.empty() : now == normal_value(key.values.back().text);
    if (there && saved) return true;
    messages.push_back(to_text(table) + (key_name.empty() ? "" : ": " + key_name) +
                       ": what was set at run time is given up, as the file says something else of it now");
    return true;
  });
}

void RunTimeValues::apply_to(ConfigDocument& document) const {
  for (const auto& [name, key] : values_) {
    const auto& [table, key_name] = name;
    const std::string& value = key.values.back().text;
    if (key_name.empty()) {
      document.add_shape(value);
    } else {
      document.say(table, key_name, value);
    }
  }
}

std::string RunTimeValues::to_file() const {
  std::string text;
  for (const auto& [name, key] : values_) {
    const auto& [table, key_name] = name;
    const Value& value = key.values.front();
    const bool cannot_be_said = value.text.empty();
    if (value.saying.until || cannot_be_said) continue;
    const std::string piece = key_name.empty() ? shape_in_file(value.text)
                                               : headers_of(table) + key_name + " = " + value.text + "\n";
    text = merged_drop_ins(text, piece);
  }
  return text;
}

std::vector<RunTimeValues::Said> RunTimeValues::all() const {
  std::vector<Said> all;
  for (const auto& [name, key] : values_)
    all.push_back({name.first, name.second, key.values.back().text, key.values.back().saying});
  return all;
}

}  // namespace headgate
