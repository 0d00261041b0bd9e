// Rates of a shape that are leased to it, at all of its workers.
#include <algorithm>

#include "shape.hpp"

namespace headgate {

bool Shape::lease(LeasedRate rate, LeaseInForce& in_force) {
  if (!is_in_force()) return false;
  in_force.resize(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!in_force[i]) in_force[i] = std::make_shared<std::atomic<std::uint64_t>>(0);
    rate.in_force = in_force[i];
    parts_[i]->worker().lease({&parts_[i]->shaper, rate});
  }
  return true;
}

std::shared_ptr<const PlaceDemands> Shape::ask_for_demands(const std::vector<RatePlace>& places) {
  if (!is_in_force()) return nullptr;
  const auto demands = std::make_shared<PlaceDemands>();
  demands->of_parts.assign(parts_.size(),
                           {.read_at = {}, .of_places = std::vector<RateDemand>(places.size())});
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto read = [demands, places, i, &shaper = parts_[i]->shaper](Instant now) {
      PlaceDemands::OfPart& part = demands->of_parts[i];
      part.read_at = now;
      for (std::size_t place = 0; place < places.size(); ++place)
        part.of_places[place] = shaper.demand(places[place]);
    };
    demands->answers.push_back(parts_[i]->worker().ask(read));
  }
  return demands;
}

bool PlaceDemands::are_there() const {
  return std::all_of(answers.begin(), answers.end(), [](const std::future<void>& answer) {
    return answer.wait_for(Duration::zero()) == std::future_status::ready;
  });
}

RateDemand PlaceDemands::sum(std::size_t place) const {
  RateDemand sum;
  for (const OfPart& part : of_parts) {
    sum.received += part.of_places[place].received;
    sum.queued += part.of_places[place].queued;
  }
  return sum;
}

Instant PlaceDemands::read_at() const {
  const Instant first = of_parts.front().read_at;
  Duration later{};
  for (const OfPart& part : of_parts) later += part.read_at - first;
  return first + later / static_cast<Duration::rep>(of_parts.size());
}

}  // namespace headgate
