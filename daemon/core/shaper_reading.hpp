// What the shapers of several workers have counted, as one shape's statistics.
#pragma once

#include <vector>

#include "core/delay_histogram.hpp"
#include "core/shaper.hpp"
#include "headgate/statistics.hpp"

namespace headgate {

// Of one shaper at some instant.
struct ShaperReading {
  ShaperStatistics statistics;
  std::vector<DelayCounts> delays;  // by class
};

ShaperReading reading_of(Shaper& shaper, Instant now);

// The sum, with delays over all packets alike; one reading needs none of its own. Classes are added by name; those of the first reading count.
ShaperStatistics sum_of(const std::vector<ShaperReading>& readings);

}  // namespace headgate
