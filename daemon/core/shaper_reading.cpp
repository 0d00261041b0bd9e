#include "core/shaper_reading.hpp"

#include <algorithm>
#include <cstddef>

namespace headgate {
namespace {

void add_drops(DropCounts& sum, const DropCounts& dropped) {
  for (std::size_t i = 0; i < kDropReasonCount; ++i) sum[i] += dropped[i];
}

// Of a class, or of the shape.
template <typename Statistics>
void add_counts(Statistics& sum, const Statistics& one) {
  sum.received += one.received;
  sum.sent += one.sent;
  add_drops(sum.dropped, one.dropped);
  sum.queued += one.queued;
}

void add_class(ShaperReading& sum, const ClassStatistics& one, const DelayCounts* delays) {
  auto& classes = sum.statistics.classes;
  const auto found = std::find_if(classes.begin(), classes.end(),
                                  [&one](const ClassStatistics& known) { return known.name == one.name; });
  if (found == classes.end()) return;
  add_counts(*found, one);
  found->flows += one.flows;
  found->delays += one.delays;
  found->guaranteed += one.guaranteed;
  found->marked += one.marked;
  found->remarked += one.remarked;
  if (found->held_by.empty()) found->held_by = one.held_by;
  if (found->members.empty()) found->members = one.members;
  if (delays != nullptr) sum.delays[static_cast<std::size_t>(found - classes.begin())] += *delays;
}

}  // namespace

ShaperReading reading_of(Shaper& shaper, Instant now) {
  return {.statistics = shaper.statistics(now), .delays = shaper.delays(now)};
}

void add(ShaperReading& sum, const ShaperReading& one) {
  add_counts(sum.statistics, one.statistics);
  sum.statistics.unmatched += one.statistics.unmatched;
  sum.statistics.shifts += one.statistics.shifts;
  for (std::size_t i = 0; i < one.statistics.classes.size(); ++i)
    add_class(sum, one.statistics.classes[i], i < one.delays.size() ? &one.delays[i] : nullptr);
}

void summarize(ShaperReading& sum) {
  for (std::size_t i = 0; i < sum.statistics.classes.size(); ++i)
    sum.statistics.classes[i].delay = sum.delays[i].summary();
}

ShaperStatistics sum_of(const std::vector<ShaperReading>& readings) {
  if (readings.empty()) return {};
  if (readings.size() == 1) return readings.front().statistics;
  ShaperReading sum = readings.front();
  for (std::size_t i = 1; i < readings.size(); ++i) add(sum, readings[i]);
  summarize(sum);
  return sum.statistics;
}

}  // namespace headgate
