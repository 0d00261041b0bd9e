#include "config/worker_count.hpp"

#include <string>

#include "config/decimal.hpp"

namespace headgate {
namespace {

Reading out_of_bounds(std::string_view count) {
  return refuse(std::string(count) + " is out of bounds, expected 1 to " + std::to_string(kMaxWorkers));
}

}  // namespace

Reading read_workers(std::int64_t count, std::uint32_t& workers) {
  if (count < 1 || count > kMaxWorkers) return out_of_bounds(std::to_string(count));
  workers = static_cast<std::uint32_t>(count);
  return {};
}

Reading read_workers(std::string_view text, std::uint32_t& workers) {
  const auto number = Decimal::read(text);
  const auto whole =
      number ? number->times(1, kMaxWorkers) : Decimal::Product{Decimal::Exactness::fractional};
  if (whole.exactness == Decimal::Exactness::fractional)
    return refuse(quoted(text) + " is not a whole number, expected one such as 2");
  if (whole.exactness == Decimal::Exactness::too_large) return out_of_bounds(text);
  return read_workers(static_cast<std::int64_t>(whole.value), workers);
}

}  // namespace headgate
