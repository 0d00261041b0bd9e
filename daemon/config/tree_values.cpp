#include "config/tree_values.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "config/names.hpp"
#include "config/quantity.hpp"
#include "config/quantity_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

template <typename Target>
Reading read_bounded(std::int64_t number, std::int64_t least, std::int64_t most, const char* bounds,
                     Target& target) {
  if (number < least || number > most)
    return refuse(std::to_string(number) + " is out of bounds, expected " + bounds);
  target = static_cast<Target>(number);
  return {};
}

}  // namespace

void read_bit_rate(const Said& said, std::optional<BitRate>& rate) {
  said.quantity(QuantityKind::bit_rate, [&](const std::string& text) { return read_bit_rate(text, rate); });
}

Reading read_budget_name(const std::string& text, std::string& budget) {
  Reading reading = check_budget_name(text);
  if (reading.ok()) budget = text;
  return reading;
}

void read_priority(const Said& said, TreePlace& place) {
  static_assert(kMaxPriority == 7);
  said.number([&](std::int64_t number) {
    return read_bounded(number, 0, kMaxPriority, "0, which is served first, to 7", place.priority);
  });
}

void read_weight(const Said& said, TreePlace& place) {
  static_assert(kMaxWeight == 10'000);
  said.number(
      [&](std::int64_t number) { return read_bounded(number, 1, kMaxWeight, "1 to 10000", place.weight); });
}

Json rate_or_null(const std::optional<BitRate>& rate) {
  return rate ? Json(to_text(*rate)) : Json();
}

}  // namespace headgate
