#include "fixed_settings.hpp"

#include <stdexcept>

#include "config/keys.hpp"

namespace headgate {
namespace {

template <typename Keys, typename Config>
std::vector<std::string> names_of_changed(const Keys& keys, const Config& now, const Config& next) {
  std::vector<std::string> names;
  for (const auto& key : keys)
    if (key.fixed && key.fixed.differs(now, next)) names.emplace_back(key.name);
  return names;
}

}  // namespace

std::vector<std::string> fixed_settings_changed(const DaemonConfig& now, const DaemonConfig& next) {
  return names_of_changed(daemon_keys(), now, next);
}

std::vector<std::string> fixed_settings_changed(const ShapeConfig& now, const ShapeConfig& next) {
  return names_of_changed(shape_keys(), now, next);
}

ShapeConfig with_fixed_settings_of(const ShapeConfig& now, ShapeConfig next) {
  for (const ShapeKey& key : shape_keys())
    if (key.fixed) key.fixed.keep(now, next);
  return next;
}

void refuse_several_workers(const std::string& title, const ShapeConfig& now, const ShapeConfig& next) {
  if (now.workers == 1 || (!has_tree(next) && !has_plans_together(next))) return;
  const std::string what =
      has_tree(next) ? "a tree of rates, fair queueing or queue management" : "a plan with together = true";
  throw std::runtime_error(title + ": has " + std::to_string(now.workers) +
                           " workers until the next start, but the new file has " + what +
                           ", which one worker serves: restart headgated to put it in force");
}

}  // namespace headgate
