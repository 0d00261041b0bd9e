#include "config/said.hpp"

#include "config/table_reader.hpp"

namespace headgate {

Said::Said(std::string_view key, std::string_view example, const TableReader& table)
    : name_(key), example_(example), table_(&table), findings_(table.findings()) {}

Said::Said(std::string_view option, const std::vector<std::string>& values, Findings& findings)
    : name_("--" + std::string(option)), values_(&values), findings_(findings) {}

bool Said::given() const {
  return table_ != nullptr ? table_->has(name_) : !values_->empty();
}

bool Said::add(Reading reading) const {
  return findings_.add(table_ != nullptr ? table_->place(name_) : Place{}, name_, std::move(reading));
}

bool Said::each_value(const ReadText& read) const {
  const std::size_t errors_before = findings_.errors();
  for (const std::string& value : *values_) add(read(value));
  return findings_.errors() == errors_before;
}

bool Said::text(const ReadText& read) const {
  if (table_ == nullptr) return values_->empty() || add(read(values_->front()));
  const std::size_t errors_before = findings_.errors();
  if (const auto text = table_->text(name_, example_)) add(read(*text));
  return findings_.errors() == errors_before;
}

bool Said::each(const ReadText& read) const {
  if (table_ == nullptr) return each_value(read);
  const std::size_t errors_before = findings_.errors();
  for (const auto& [text, place] : table_->elements(name_, example_)) findings_.add(place, name_, read(text));
  return findings_.errors() == errors_before;
}

bool Said::quantity(QuantityKind kind, const ReadText& read) const {
  if (table_ == nullptr) return each_value(read);
  const std::size_t errors_before = findings_.errors();
  if (const auto element = table_->quantity(name_, kind))
    findings_.add(element->place, name_, read(element->text));
  return findings_.errors() == errors_before;
}

bool Said::quantities(QuantityKind kind, const ReadText& read) const {
  if (table_ == nullptr) return each_value(read);
  const std::size_t errors_before = findings_.errors();
  for (const auto& [text, place] : table_->quantities(name_, kind)) findings_.add(place, name_, read(text));
  return findings_.errors() == errors_before;
}

bool Said::flag(bool& value) const {
  const std::size_t errors_before = findings_.errors();
  if (table_ != nullptr) value = table_->flag(name_).value_or(value);
  return findings_.errors() == errors_before;
}

bool Said::number(const ReadNumber& read, const ReadText& from_text) const {
  if (table_ == nullptr) return from_text == nullptr || each_value(from_text);
  const std::size_t errors_before = findings_.errors();
  if (const auto number = table_->whole_number(name_, example_)) add(read(*number));
  return findings_.errors() == errors_before;
}

}  // namespace headgate
