#include "config/shape_classifier.hpp"

#include <stdexcept>
#include <utility>

#include "core/shaper_settings.hpp"

namespace headgate {

std::shared_ptr<const Classifier> make_classifier(const ShapeConfig& config, std::uint64_t hash_seed,
                                                  CompiledMatches& matches, const CgroupPlaces& cgroups) {
  Classifier::Matchers matchers;
  for (const ClassConfig& one : config.classes) {
    const CompiledMatch match = one.match.empty() ? CompiledMatch{} : matches.get(one.match);
    if (!match.error.empty()) throw std::runtime_error("class " + one.name + ": match: " + match.error);
    matchers.push_back(match.matcher);
  }
  return std::make_shared<const Classifier>(classes_of(config), std::move(matchers), hash_seed,
                                            config.control_limit, cgroups);
}

}  // namespace headgate
