// What was said of one key, be it in the file or on the command line. Reads it by its type, and reports what is wrong with
// it under the name and at the place that it has there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/findings.hpp"
#include "config/quantity_grammar.hpp"
#include "config/reading.hpp"

namespace headgate {

class TableReader;

class Said {
 public:
  using ReadText = std::function<Reading(const std::string&)>;
  using ReadNumber = std::function<Reading(std::int64_t)>;

  // In a table of the file; `example` is a value as it stands there.
  Said(std::string_view key, std::string_view example, const TableReader& table);
  // On the command line: the values of the option; none: it was not given.
  Said(std::string_view option, const std::vector<std::string>& values, Findings& findings);

  bool given() const;
  const std::string& name() const { return name_; }  // "match", or "--match"

  // The rest hands what was said to `read`, if anything was, and reports what that says. False: there was an error.

  bool text(const ReadText& read) const;
  bool each(const ReadText& read) const;  // a text, or a list of texts
  bool quantity(QuantityKind kind, const ReadText& read) const;
  bool quantities(QuantityKind kind, const ReadText& read) const;  // one, or a list
  bool flag(bool& value) const;                                    // in the file only
  // `read` takes a std::int64_t and, for what may stand on the command line, a std::string_view.
  template <typename Read>
  bool number(Read read) const {
    ReadText from_text;
    if constexpr (std::is_invocable_v<Read&, std::string_view>)
      from_text = [&read](const std::string& text) { return read(std::string_view(text)); };
    return number(ReadNumber([&read](std::int64_t number) { return read(number); }), from_text);
  }

  // What there is to say of the value as a whole.
  bool add(Reading reading) const;

 private:
  bool number(const ReadNumber& read, const ReadText& from_text) const;
  bool each_value(const ReadText& read) const;

  std::string name_;
  std::string_view example_;
  const TableReader* table_ = nullptr;                // null: on the command line
  const std::vector<std::string>* values_ = nullptr;  // null: in the file
  Findings& findings_;
};

}  // namespace headgate
