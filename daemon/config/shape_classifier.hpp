// The classifier of a shape: its classes' expressions compiled, by libpcap.
#pragma once

#include <cstdint>
#include <memory>

#include "config/compiled_matches.hpp"
#include "core/cgroup_places.hpp"
#include "core/classifier.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Compiles what is not yet in `matches`. Throws std::runtime_error, "class dns: match: ...", where libpcap refuses one.
std::shared_ptr<const Classifier> make_classifier(const ShapeConfig& config, std::uint64_t hash_seed,
                                                  CompiledMatches& matches, const CgroupPlaces& cgroups = {});

}  // namespace headgate
