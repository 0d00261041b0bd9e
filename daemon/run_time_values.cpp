#include "run_time_values.hpp"

#include <algorithm>
#include <stdexcept>

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
  if (!table.plan.empty()) return "[[shape.class.plan]]\nname = \"" + table.plan + "\"\n";
  if (!table.class_name.empty()) return "[[shape.class]]\nname = \"" + table.class_name + "\"\n";
  if (!table.group.empty()) return "[[shape.group]]\nname = \"" + table.group + "\"\n";
  return "[[shape]]\ninterface = \"" + table.interface + "\"\ndirection = \"" +
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

// The headers of a file that `table` needs behind that of `last`.
std::string headers_of(const TableName& table, const std::optional<TableName>& last) {
  std::string text;
  for (const Level level : {kShape, kPart, kPlan}) {
    if (level > level_of(table)) break;
    const TableName one = cut_to(table, level);
    const bool stands = last && level_of(*last) >= level && cut_to(*last, level) == one;
    if (!stands) text += (last || !text.empty() ? "\n" : "") + header_of(one);
  }
  return text;
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
  if (!saying.until) said.values.clear();
  said.values.push_back({value, saying});
}

bool RunTimeValues::forget_shape(const TableName& shape) {
  if (!has_shape(shape)) return false;
  std::erase_if(values_, [&](const auto& entry) { return shape_of(entry.first.first) == shape; });
  return true;
}

bool RunTimeValues::forget_past(Instant now) {
  bool forgot = false;
  for (auto& [name, key] : values_)
    forgot |= std::erase_if(key.values, [now](const Value& value) {
                return value.saying.until && *value.saying.until <= now;
              }) > 0;
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
  std::optional<TableName> last;
  for (const auto& [name, key] : values_) {
    const auto& [table, key_name] = name;
    const Value& value = key.values.front();
    const bool cannot_be_said = value.text.empty();
    if (value.saying.until || cannot_be_said) continue;
    if (key_name.empty()) {
      text += std::string(last ? "\n" : "") + "[[shape]]\n" + value.text;
    } else {
      text += headers_of(table, last) + key_name + " = " + value.text + "\n";
    }
    last = table;
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
