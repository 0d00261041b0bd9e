#include "core/shaper_reading.hpp"

#include <algorithm>
#include <cstddef>

namespace headgate {
namespace {

void add(DropCounts& sum, const DropCounts& dropped) {
  for (std::size_t i = 0; i < kDropReasonCount; ++i) sum[i] += dropped[i];
}

// Of a class, or of the shape.
template <typename Statistics>
void add_counts(Statistics& sum, const Statistics& one) {
  sum.received += one.received;
  sum.sent += one.sent;
  add(sum.dropped, one.dropped);
  sum.queued += one.queued;
}

void add_class(ShaperReading& sum, const ClassStatistics& one, const DelayCounts& delays) {
  auto& classes = sum.statistics.classes;
  const auto found = std::find_if(classes.begin(), classes.end(),
                                  [&one](const ClassStatistics& known) { return known.name == one.name; });
  if (found == classes.end()) return;
  add_counts(*found, one);
  found->flows += one.flows;
  sum.delays[static_cast<std::size_t>(found - classes.begin())] += delays;
}

}  // namespace

ShaperReading reading_of(Shaper& shaper, Instant now) {
  return {.statistics = shaper.statistics(now), .delays = shaper.delays(now)};
}

ShaperStatistics sum_of(const std::vector<ShaperReading>& readings) {
  if (readings.empty()) return {};
  if (readings.size() == 1) return readings.front().statistics;
  ShaperReading sum = readings.front();
  for (std::size_t i = 1; i < readings.size(); ++i) {
    const ShaperStatistics& one = readings[i].statistics;
    add_counts(sum.statistics, one);
    sum.statistics.unmatched += one.unmatched;
    sum.statistics.shifts += one.shifts;
    for (std::size_t j = 0; j < one.classes.size(); ++j)
      add_class(sum, one.classes[j], readings[i].delays[j]);
  }
  for (std::size_t j = 0; j < sum.statistics.classes.size(); ++j)
    sum.statistics.classes[j].delay = sum.delays[j].summary();
  return sum.statistics;
}

}  // namespace headgate
