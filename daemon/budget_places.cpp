#include "budget_places.hpp"

#include "core/shaper_settings.hpp"

namespace headgate {

std::map<std::string, BudgetPlace> budget_places(const Config& config) {
  std::map<std::string, BudgetPlace> places;
  for (const ShapeConfig& shape : config.shapes) {
    const auto add = [&](const std::string& budget, const RatePlace& rate, const std::string& owner = {}) {
      if (!budget.empty())
        places.try_emplace(budget, BudgetPlace{shape.interface, shape.direction, rate, owner});
    };
    add(shape.budget, {.kind = RatePlace::Kind::link});
    const TreeConfig tree = tree_of(shape);
    for (std::size_t i = 0; i < tree.groups.size(); ++i)
      add(tree.groups[i].place.budget,
          {.kind = RatePlace::Kind::group, .group = static_cast<std::uint16_t>(i)}, tree.groups[i].name);
    for (std::size_t i = 0; i < shape.classes.size(); ++i) {
      const ClassConfig& one = shape.classes[i];
      const auto index = static_cast<ClassIndex>(i);
      add(one.place.budget, {.kind = RatePlace::Kind::ceiling, .class_index = index}, one.name);
      for (std::size_t plan = 0; plan < one.plans.size(); ++plan)
        add(one.plans[plan].budget,
            {.kind = RatePlace::Kind::plan, .class_index = index, .plan = static_cast<PlanNumber>(plan)},
            one.name + "/" + one.plans[plan].name);
      add(one.budget, {.kind = RatePlace::Kind::bucket, .class_index = index}, one.name);
    }
  }
  return places;
}

}  // namespace headgate
