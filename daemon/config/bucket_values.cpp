#include "config/bucket_values.hpp"

#include <string>

#include "config/quantity.hpp"

namespace headgate {

bool read_rate(const Said& said, Rate& rate) {
  const bool read =
      said.quantities(QuantityKind::rate, [&](const std::string& text) { return read_rate(text, rate); });
  return read && said.given();
}

void read_burst(const Said& said, const Rate* rate, Burst& burst) {
  const bool read =
      said.quantities(QuantityKind::burst, [&](const std::string& text) { return read_burst(text, burst); });
  if (read && rate != nullptr) said.add(settle_burst(burst, *rate));
}

void read_queue(const Said& said, QueueCapacity& queue) {
  if (!said.given()) return;
  queue = {};
  said.quantities(QuantityKind::queue, [&](const std::string& text) { return read_queue(text, queue); });
}

}  // namespace headgate
