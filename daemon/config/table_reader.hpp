// One table of a TOML file: its keys by type, each found fault with its place.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/findings.hpp"
#include "config/quantity_grammar.hpp"

namespace headgate {

Place place_of(const toml::node& node);

class TableReader {
 public:
  TableReader(const toml::table& table, Findings& findings) : table_(table), findings_(findings) {}

  const toml::table& table() const { return table_; }
  Findings& findings() const { return findings_; }
  bool has(std::string_view key) const { return table_.contains(key); }
  Place place() const { return place_of(table_); }
  Place place(std::string_view key) const;  // of its value; of the table where the key is missing

  // The rest reports what it finds to be of a wrong type.

  // None: the key is missing, or its value is of another type, which is reported.
  std::optional<std::string> text(std::string_view key, std::string_view example) const;
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::int64_t> whole_number(std::string_view key, std::string_view example) const;
  const toml::array* tables(std::string_view key, std::string_view title) const;            // [[title]]
  std::vector<TableReader> each_table(std::string_view key, std::string_view title) const;  // of [[title]]
  const toml::table* table(std::string_view key, std::string_view title) const;             // [title]

  struct Element {
    std::string text;
    Place place;
  };
  // A text, or a list of texts. Empty: the key is missing, or its value is of another type, which is
  // reported.
  std::vector<Element> elements(std::string_view key, std::string_view examples) const;
  // The same, where a bare number is a quantity without its unit.
  std::vector<Element> quantities(std::string_view key, QuantityKind kind) const;
  // One quantity, where a list makes no sense.
  std::optional<Element> quantity(std::string_view key, QuantityKind kind) const;

 private:
  void report_type(const toml::node& node, std::string_view key, std::string_view expected) const;
  void add_element(const toml::node& node, std::string_view key, std::string_view examples,
                   const QuantityKind* kind, std::vector<Element>& elements) const;
  std::vector<Element> read_elements(std::string_view key, std::string_view examples,
                                     const QuantityKind* kind) const;

  const toml::table& table_;
  Findings& findings_;
};

}  // namespace headgate
