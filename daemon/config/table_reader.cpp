#include "config/table_reader.hpp"

#include <array>
#include <charconv>

namespace headgate {
namespace {

std::string_view type_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::none:
      return "nothing";
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number with a fraction";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::date:
      return "a date";
    case toml::node_type::time:
      return "a time of day";
    case toml::node_type::date_time:
      return "a date with a time of day";
  }
  return "something else";
}

template <typename Number>
std::string number_text(Number number) {
  std::array<char, 64> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return error == std::errc{} ? std::string(buffer.data(), end) : std::string("a number");
}

std::optional<std::string> bare_number(const toml::node& node) {
  if (const auto* integer = node.as_integer()) return number_text(integer->get());
  if (const auto* fraction = node.as_floating_point()) return number_text(fraction->get());
  return std::nullopt;
}

}  // namespace

Place place_of(const toml::node& node) {
  return {node.source().begin.line, node.source().begin.column, node.source().path};
}

Place TableReader::place(std::string_view key) const {
  const toml::node* node = table_.get(key);
  return node == nullptr ? place() : place_of(*node);
}

void TableReader::report_type(const toml::node& node, std::string_view key, std::string_view expected) const {
  findings_.add_error(
      place_of(node),
      std::string(key).append(": found ").append(type_of(node)).append(", expected ").append(expected));
}

std::optional<std::string> TableReader::text(std::string_view key, std::string_view example) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* string = node->as_string()) return string->get();
  report_type(*node, key, std::string("a text such as ").append(example));
  return std::nullopt;
}

std::optional<bool> TableReader::flag(std::string_view key) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* boolean = node->as_boolean()) return boolean->get();
  report_type(*node, key, "true or false, without quotation marks");
  return std::nullopt;
}

std::optional<std::int64_t> TableReader::whole_number(std::string_view key, std::string_view example) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* integer = node->as_integer()) return integer->get();
  report_type(*node, key,
              std::string("a whole number such as ").append(example).append(", without quotation marks"));
  return std::nullopt;
}

const toml::array* TableReader::tables(std::string_view key, std::string_view title) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return nullptr;
  const std::string header = std::string("[[").append(title).append("]]");
  if (const auto* array = node->as_array()) {
    for (const toml::node& element : *array) {
      if (!element.is_table()) report_type(element, key, "tables, each headed " + header);
    }
    return array;
  }
  report_type(*node, key, "a list of tables, each headed " + header + " in double brackets");
  return nullptr;
}

std::vector<TableReader> TableReader::each_table(std::string_view key, std::string_view title) const {
  std::vector<TableReader> readers;
  const toml::array* list = tables(key, title);
  if (list == nullptr) return readers;
  for (const toml::node& node : *list)
    if (const toml::table* table = node.as_table()) readers.emplace_back(*table, findings_);
  return readers;
}

const toml::table* TableReader::table(std::string_view key, std::string_view title) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return nullptr;
  if (const auto* table = node->as_table()) return table;
  report_type(*node, key, std::string("one table, headed [").append(title).append("] in single brackets"));
  return nullptr;
}

void TableReader::add_element(const toml::node& node, std::string_view key, std::string_view examples,
                              const QuantityKind* kind, std::vector<Element>& elements) const {
  if (const auto* string = node.as_string()) {
    elements.push_back({string->get(), place_of(node)});
    return;
  }
  const std::optional<std::string> number = bare_number(node);
  if (number && kind != nullptr) {
    findings_.add(place_of(node), key, refuse_bare_number(*number, *kind));
    return;
  }
  report_type(node, key, std::string("a text such as ").append(examples));
}

std::vector<TableReader::Element> TableReader::read_elements(std::string_view key, std::string_view examples,
                                                             const QuantityKind* kind) const {
  std::vector<Element> elements;
  const toml::node* node = table_.get(key);
  if (node == nullptr) return elements;
  const toml::array* list = node->as_array();
  if (list == nullptr) {
    add_element(*node, key, examples, kind, elements);
    return elements;
  }
  if (list->empty()) {
    findings_.add_error(place_of(*node),
                        std::string(key).append(": the list is empty, expected ").append(examples));
  }
  for (const toml::node& element : *list) add_element(element, key, examples, kind, elements);
  return elements;
}

std::vector<TableReader::Element> TableReader::elements(std::string_view key,
                                                        std::string_view examples) const {
  return read_elements(key, examples, nullptr);
}

std::vector<TableReader::Element> TableReader::quantities(std::string_view key, QuantityKind kind) const {
  return read_elements(key, examples_of(kind), &kind);
}

std::optional<TableReader::Element> TableReader::quantity(std::string_view key, QuantityKind kind) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  std::vector<Element> elements;
  if (node->is_array()) {
    report_type(*node, key, std::string("a text such as ").append(examples_of(kind)));
  } else {
    add_element(*node, key, examples_of(kind), &kind, elements);
  }
  if (elements.empty()) return std::nullopt;
  return elements.front();
}

}  // namespace headgate
