#include "budget_places.hpp"

#include "core/shaper_settings.hpp"

namespace headgate {

std::map<std::string, BudgetPlace> budget_places(const Config& config) {
  std::map<std::string, BudgetPlace> places;
  for (const ShapeConfig& shape : config.shapes) {
    const auto add = [&](const std::string& budget, const RatePlace& rate) {
      if (!budget.empty()) places.try_emplace(budget, BudgetPlace{shape.interface, shape.direction, rate});
    };
    add(shape.budget, {.kind = RatePlace::Kind::link});
    const TreeConfig tree = tree_of(shape);
    for (std::size_t i = 0; i < tree.groups.size(); ++i)
      add(tree.groups[i].place.budget,
          {.kind = RatePlace::Kind::group, .group = static_cast<std::uint16_t>(i)});
    for (std::size_t i = 0; i < shape.classes.size(); ++i) {
      const auto index = static_cast<ClassIndex>(i);
      add(shape.classes[i].place.budget, {.kind = RatePlace::Kind::ceiling, .class_index = index});
      for (std::size_t plan = 0; plan < shape.classes[i].plans.size(); ++plan)
        add(shape.classes[i].plans[plan].budget,
            {.kind = RatePlace::Kind::plan, .class_index = index, .plan = static_cast<PlanNumber>(plan)});
      add(shape.classes[i].budget, {.kind = RatePlace::Kind::bucket, .class_index = index});
    }
  }
  return places;
}

}  // namespace headgate
