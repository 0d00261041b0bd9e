#include "core/shaper_budget.hpp"

#include "core/shaper_state.hpp"

namespace headgate {

std::shared_ptr<ShaperBudget> make_shaper_budget(const ShaperLimits& limits) {
  return std::make_shared<ShaperBudget>(limits);
}

void ShaperBudget::add(ShaperState& shaper) {
  shapers_.push_back(&shaper);
  flows += shaper.flows.size();
}

void ShaperBudget::remove(ShaperState& shaper) {
  std::erase(shapers_, &shaper);
  flows -= shaper.flows.size();
}

void ShaperBudget::expire_flows_of_another(const ShaperState& than, std::uint32_t looks, Instant now) {
  for (std::size_t tries = 0; tries < std::min<std::size_t>(shapers_.size(), 2); ++tries) {
    hand_ = hand_ + 1 < shapers_.size() ? hand_ + 1 : 0;
    if (shapers_[hand_] == &than) continue;
    shapers_[hand_]->expire_flows(looks, now, Duration::zero());
    return;
  }
}

}  // namespace headgate
