#include "config/quantity_grammar.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "config/characters.hpp"
#include "config/decimal.hpp"
#include "config/quantity.hpp"
#include "config/suggestion.hpp"

namespace headgate {
namespace {

struct Limit {
  Dimension dimension;
  std::uint64_t maximum;
};

struct Grammar {
  std::string_view noun;  // with its article
  std::string_view examples;
  std::array<std::string_view, 2> likely_units;  // of a bare number
  std::vector<Limit> limits;                     // of the dimensions it takes
};

constexpr auto kMaxNanoseconds = static_cast<std::uint64_t>(kMaxTime.count());
constexpr auto kMaxWindowNanoseconds = static_cast<std::uint64_t>(kMaxWindow.count());

// By QuantityKind.
const std::array<Grammar, 8> kGrammars = {{
    {"a rate",
     R"("1000pps" or "20mbit")",
     {"pps", "bit"},
     {{Dimension::packet_rate, kMaxPacketRate.packets},
      {Dimension::bit_rate, kMaxBitRate.bits_per_second},
      {Dimension::byte_rate, kMaxBitRate.bits_per_second}}},
    {"a burst",
     R"("10p" or "15kb")",
     {"p", "kb"},
     {{Dimension::packets, kMaxBurstPackets}, {Dimension::size, kMaxSize.bytes}}},
    {"a queue capacity",
     R"("100p", "64kb" or "50ms")",
     {"p", "ms"},
     {{Dimension::packets, kMaxQueuePackets},
      {Dimension::size, kMaxSize.bytes},
      {Dimension::time, kMaxNanoseconds}}},
    {"a size", R"("64kb" or "64mb")", {"kb", "mb"}, {{Dimension::size, kMaxSize.bytes}}},
    {"a time", R"("60s" or "50ms")", {"s", "ms"}, {{Dimension::time, kMaxNanoseconds}}},
    {"a bit rate",
     R"("20mbit" or "1.5gbit")",
     {"kbit", "mbit"},
     {{Dimension::bit_rate, kMaxBitRate.bits_per_second},
      {Dimension::byte_rate, kMaxBitRate.bits_per_second}}},
    {"a limit",
     R"("5000p" or "10mb")",
     {"p", "mb"},
     {{Dimension::packets, kMaxQueuePackets}, {Dimension::size, kMaxSize.bytes}}},
    {"a window",
     R"("1h" or "10s")",
     {"s", "h"},
     {{Dimension::time, kMaxWindowNanoseconds}, {Dimension::period, kMaxWindowNanoseconds}}},
}};

const Grammar& grammar_of(QuantityKind kind) {
  return kGrammars[static_cast<std::size_t>(kind)];
}

const Limit* find_limit(const Grammar& grammar, const Unit* unit) {
  if (unit == nullptr) return nullptr;
  for (const Limit& limit : grammar.limits) {
    if (limit.dimension == unit->dimension) return &limit;
  }
  return nullptr;
}

// Where a period is not taken, its units are not known.
const Unit* find_known_unit(std::string_view name) {
  const Unit* unit = find_unit(name);
  return unit != nullptr && unit->dimension == Dimension::period ? nullptr : unit;
}

bool takes(const Grammar& grammar, std::string_view unit_name) {
  return find_limit(grammar, find_unit(unit_name)) != nullptr;
}

// What people write for a unit of ours, times a factor. The first whose unit the grammar takes counts.
struct Alias {
  std::string_view name;
  std::string_view unit;
  std::uint64_t factor = 1;
};

constexpr std::array kAliases = {
    Alias{"k", "kbit"},      Alias{"kb", "kbit"},         Alias{"m", "mbit"},
    Alias{"mb", "mbit"},     Alias{"g", "gbit"},          Alias{"gb", "gbit"},
    Alias{"b", "bit"},       Alias{"bit/s", "bit"},       Alias{"kbit/s", "kbit"},
    Alias{"mbit/s", "mbit"}, Alias{"gbit/s", "gbit"},     Alias{"kb/s", "kbit"},
    Alias{"mb/s", "mbit"},   Alias{"gb/s", "gbit"},       Alias{"p", "pps"},
    Alias{"p/s", "pps"},     Alias{"packets/s", "pps"},   Alias{"ppm", "p/min"},
    Alias{"p/m", "p/min"},   Alias{"p/minute", "p/min"},  Alias{"packets/min", "p/min"},
    Alias{"pph", "p/h"},     Alias{"p/hour", "p/h"},      Alias{"packets/h", "p/h"},
    Alias{"ppd", "p/d"},     Alias{"p/day", "p/d"},       Alias{"packets/d", "p/d"},
    Alias{"packets", "pps"}, Alias{"kpps", "pps", 1'000}, Alias{"mpps", "pps", 1'000'000},
    Alias{"packets", "p"},   Alias{"packet", "p"},        Alias{"pkts", "p"},
    Alias{"pkt", "p"},       Alias{"pps", "p"},           Alias{"byte", "b"},
    Alias{"bytes", "b"},     Alias{"kib", "kb"},          Alias{"mib", "mb"},
    Alias{"gib", "gb"},      Alias{"sec", "s"},           Alias{"secs", "s"},
    Alias{"seconds", "s"},   Alias{"msec", "ms"},         Alias{"msecs", "ms"},
    Alias{"usec", "us"},     Alias{"usecs", "us"},        Alias{"µs", "us"},
    Alias{"m", "min"},       Alias{"m", "s", 60},         Alias{"min", "s", 60},
    Alias{"h", "s", 3'600},  Alias{"d", "s", 86'400},
};

// None: what was probably meant would be refused too.
std::optional<std::string> resolve(const Alias& alias, std::string_view number, const Grammar& grammar) {
  if (alias.factor == 1) return std::string(number).append(alias.unit);
  const auto decimal = Decimal::read(number);
  if (!decimal) return std::nullopt;
  const Unit* unit = find_unit(alias.unit);
  const auto product = decimal->times(alias.factor, find_limit(grammar, unit)->maximum / unit->multiplier);
  if (product.exactness != Decimal::Exactness::whole) return std::nullopt;
  return std::to_string(product.value).append(alias.unit);
}

// The same quantity with the unit that was probably meant.
std::optional<std::string> probable_meaning(std::string_view number, std::string_view unit,
                                            const Grammar& grammar) {
  const std::string name = lower(trim(unit));
  if (takes(grammar, name)) return std::string(number) + name;  // a space stood before the unit
  for (const Alias& alias : kAliases) {
    if (alias.name == name && takes(grammar, alias.unit)) return resolve(alias, number, grammar);
  }
  if (find_known_unit(name) != nullptr) return std::nullopt;  // meant, but in another place
  std::vector<std::string_view> names;
  for (const Unit& candidate : all_units()) {
    if (candidate.dimension != Dimension::byte_rate && takes(grammar, candidate.name))
      names.push_back(candidate.name);
  }
  if (const auto nearest = nearest_word(name, names)) return std::string(number).append(*nearest);
  return std::nullopt;
}

Reading refuse_unit(std::string_view text, std::string_view number, std::string_view unit,
                    const Grammar& grammar) {
  if (unit.find_first_of(",_'") == 0) {
    return refuse(quoted(text) + " has " + quoted(unit.substr(0, 1)) +
                  " in its number, expected digits and at most one point");
  }
  const auto meaning = probable_meaning(number, unit, grammar);
  const std::string expected = meaning ? ": did you mean " + quoted(*meaning) + "?"
                                       : std::string(", expected ").append(grammar.examples);
  if (const Unit* known = find_known_unit(unit)) {
    return refuse(
        quoted(text).append(" is ").append(noun_of(known->dimension)).append(", not ").append(grammar.noun) +
        expected);
  }
  return refuse(quoted(text) + " has the unknown unit " + quoted(trim(unit)) + expected);
}

// The same packet rate by the first longer period in which it is whole: ": did you mean "30p/min"?"
std::string in_longer_period(const Decimal& number, const Unit& unit) {
  if (unit.dimension != Dimension::packet_rate) return {};
  for (const Unit& longer : all_units()) {
    if (longer.dimension != unit.dimension || longer.seconds <= unit.seconds) continue;
    const auto product = number.times(longer.seconds / unit.seconds, kMaxPacketRate.packets);
    if (product.exactness == Decimal::Exactness::whole)
      return ": did you mean " + quoted(text_of(product.value, longer)) + "?";
  }
  return {};
}

}  // namespace

std::string_view examples_of(QuantityKind kind) {
  return grammar_of(kind).examples;
}

Reading measure_quantity(std::string_view text, QuantityKind kind, Measure& measure) {
  const Grammar& grammar = grammar_of(kind);
  const std::string expected = std::string(", expected ").append(grammar.examples);
  const std::string above_zero = std::string(", expected ").append(grammar.noun).append(" above zero");
  if (trim(text).empty()) return refuse(std::string("an empty text is not ").append(grammar.noun) + expected);
  if (text.front() == '-') return refuse(quoted(text) + " is negative" + above_zero);

  const std::string_view number = text.substr(0, text.find_first_not_of("0123456789."));
  const std::string_view unit_name = text.substr(number.size());
  const std::optional<Decimal> decimal = Decimal::read(number);
  if (!decimal) return refuse(quoted(text).append(" is not ").append(grammar.noun) + expected);
  if (unit_name.empty()) return refuse_bare_number(quoted(text), kind);
  const Unit* unit = find_unit(unit_name);
  const Limit* limit = find_limit(grammar, unit);
  if (limit == nullptr) return refuse_unit(text, number, unit_name, grammar);

  const auto [exactness, value] = decimal->times(unit->multiplier, limit->maximum);
  if (exactness == Decimal::Exactness::too_large) {
    return refuse(quoted(text) + " is too much, expected at most " + quoted(text_of(limit->maximum, *unit)));
  }
  if (exactness == Decimal::Exactness::fractional) {
    return refuse(quoted(text).append(" is not a whole number of ").append(base_unit_of(*unit)) +
                  in_longer_period(*decimal, *unit));
  }
  if (value == 0) return refuse(quoted(text) + " is zero" + above_zero);
  measure = {unit->dimension, value, unit->seconds};
  return {};
}

Reading refuse_bare_number(std::string_view number, QuantityKind kind) {
  const Grammar& grammar = grammar_of(kind);
  std::string digits(number);
  std::erase(digits, '"');
  if (digits.find_first_not_of("0.") == std::string::npos) {
    return refuse(std::string(number)
                      .append(" is zero, expected ")
                      .append(grammar.noun)
                      .append(" such as ")
                      .append(grammar.examples));
  }
  if (!is_digit(digits.front())) {
    return refuse(std::string(number)
                      .append(" is not ")
                      .append(grammar.noun)
                      .append(", expected ")
                      .append(grammar.examples));
  }
  const auto& [first, second] = grammar.likely_units;
  return refuse(std::string(number) + " has no unit: did you mean " + quoted(digits + std::string(first)) +
                " or " + quoted(digits + std::string(second)) + "?");
}

}  // namespace headgate
