#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "config/choices.hpp"
#include "config/keys.hpp"
#include "config/network_lists.hpp"
#include "config/quantity.hpp"
#include "config/quantity_text.hpp"
#include "config/redis_address.hpp"
#include "config/tree_values.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostHosts = 10'000;
constexpr Duration kShortestLease = std::chrono::milliseconds(200);
constexpr Duration kLongestLease = std::chrono::minutes(10);
constexpr Duration kDefaultLease = std::chrono::seconds(2);

Reading read_hosts(std::int64_t number, std::uint32_t& hosts) {
  if (number < 1 || number > kMostHosts)
    return refuse(std::to_string(number) + " is out of bounds, expected 1 to " + std::to_string(kMostHosts));
  hosts = static_cast<std::uint32_t>(number);
  return {};
}

Reading read_lease(std::string_view text, Duration& lease) {
  Duration time{};
  Reading reading = read_time(text, time);
  if (!reading.ok()) return reading;
  if (time < kShortestLease || time > kLongestLease)
    return refuse(quoted(text) + R"( is out of bounds, expected "200ms" to "600s")");
  lease = time;
  return reading;
}

void read_rate_of_budget(const Said& said, BitRate& rate) {
  std::optional<BitRate> bits;
  read_bit_rate(said, bits);
  if (bits) rate = *bits;
}

constexpr auto kKeys = std::to_array<BudgetKey>({
    {.name = "rate",
     .example = R"("100mbit")",
     .read = [](const Said& said, BudgetConfig& budget) { read_rate_of_budget(said, budget.terms.rate); },
     .write = [](const BudgetConfig& budget) { return Json(to_text(budget.terms.rate)); },
     .required = true},
    {.name = "floor",
     .example = R"("1mbit")",
     .read = [](const Said& said, BudgetConfig& budget) { read_rate_of_budget(said, budget.terms.floor); },
     .write = [](const BudgetConfig& budget) { return Json(to_text(budget.terms.floor)); },
     .required = true},
    {.name = "hosts",
     .example = "8",
     .read =
         [](const Said& said, BudgetConfig& budget) {
           said.number([&](std::int64_t number) { return read_hosts(number, budget.terms.hosts); });
         },
     .write = [](const BudgetConfig& budget) { return Json(budget.terms.hosts); },
     .required = true},
    {.name = "redis",
     .example = R"("unix:/run/redis/redis.sock" or "10.0.0.1:6379")",
     .read =
         [](const Said& said, BudgetConfig& budget) {
           said.text([&](const std::string& text) { return read_redis_address(text, budget.redis); });
         },
     .write = [](const BudgetConfig& budget) { return Json(budget.redis); },
     .required = true},
    {.name = "password_file",
     .example = R"("/etc/headgate/redis-password")",
     .read =
         [](const Said& said, BudgetConfig& budget) {
           said.text([&](const std::string& text) {
             Reading reading = check_list_path(text);
             if (reading.ok()) budget.password_file = text;
             return reading;
           });
         }},
    {.name = "lease",
     .read =
         [](const Said& said, BudgetConfig& budget) {
           budget.terms.lease = kDefaultLease;
           said.quantity(QuantityKind::time,
                         [&](const std::string& text) { return read_lease(text, budget.terms.lease); });
         },
     .write = [](const BudgetConfig& budget) { return Json(to_text(budget.terms.lease)); }},
    {.name = "on_loss",
     .example = R"("floor")",
     .read =
         [](const Said& said, BudgetConfig& budget) {
           said.text([&](const std::string& text) { return read_on_loss(text, budget.on_loss); });
         },
     .write = [](const BudgetConfig& budget) { return Json(to_text(budget.on_loss)); }},
});

}  // namespace

std::span<const BudgetKey> budget_keys() {
  return kKeys;
}

}  // namespace headgate
