// What the shapers of several workers have counted, as one shape's statistics.
#pragma once

#include <vector>

#include "core/delay_histogram.hpp"
#include "core/shaper.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

// Of one shaper at some instant.
struct ShaperReading {
  ShaperStatistics statistics;
  std::vector<DelayCounts> delays;  // by class
};

ShaperReading reading_of(Shaper& shaper, Instant now);

// Adds up. Classes by their names: those that `sum` does not have are in its totals alone. A reading without delays adds
// none. The sum's summaries of delays stay as they are, until summarize().
void add(ShaperReading& sum, const ShaperReading& one);
void summarize(ShaperReading& sum);

// The sum. Percentiles of delays are those of all packets together; where there is only one reading it needs no
// `delays`. Classes are added up by name; the sum has those of the first reading.
ShaperStatistics sum_of(const std::vector<ShaperReading>& readings);

}  // namespace headgate
