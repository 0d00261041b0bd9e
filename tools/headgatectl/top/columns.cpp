#include "top/columns.hpp"

#include <algorithm>
#include <array>

namespace headgate::top {
namespace {

constexpr std::size_t kLeastName = 12;
constexpr std::size_t kUsualName = 20;  // longer names give way to other columns
constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastTrend = 8;
constexpr std::size_t kUsualTrend = 15;  // then long names are worth more

struct Candidate {
  Field field;
  std::string_view title;
  std::size_t width;
  int rank;  // those of lower ranks are placed before
  bool trend = false;
};

// As they stand from left to right.
std::vector<Candidate> candidates_for(const View& view, bool limits) {
  const int bits = view.packets ? 9 : 1, packets = view.packets ? 1 : 9;
  std::vector<Candidate> all = {{Field::bits, "BIT/S", 6, bits}, {Field::packets, "PKT/S", 6, packets}};
  if (view.packets) std::swap(all[0], all[1]);
  all.insert(all.begin() + 1, {Field::rate_trend, "", kLeastTrend, 5, true});
  all.insert(all.end(), {{Field::drops, "DROP/S", 6, 2}, {Field::drops_trend, "", kLeastTrend, 6, true}});
  if (view.level != Level::flows)
    all.insert(all.end(), {{Field::p50, "P50", 7, 8},
                           {Field::p99, "P99", 7, 3},
                           {Field::delay_trend, "", kLeastTrend, 7, true}});
  all.push_back({Field::queue, "QUEUE", 5, 4});
  if (view.level != Level::flows) all.push_back({Field::flows, "FLOWS", 5, 10});
  if (limits) all.push_back({Field::limit, view.level == Level::flows ? "PLAN" : "LIMIT", 14, 11});
  return all;
}

std::string_view title_of(Level level) {
  static constexpr std::array<std::string_view, 3> kTitles = {"LINK", "CLASS", "FLOW"};
  return kTitles[static_cast<std::size_t>(level)];
}

std::size_t gap_before(const Candidate& candidate) {
  return candidate.trend ? 1 : kGap;  // a trend belongs to the number before it
}

// Those that fit, in the order of the screen; `room` becomes what they leave.
std::vector<Candidate> fitting(std::vector<Candidate> candidates, std::size_t& room) {
  std::vector<const Candidate*> by_rank;
  by_rank.reserve(candidates.size());
  for (const Candidate& candidate : candidates) by_rank.push_back(&candidate);
  std::sort(by_rank.begin(), by_rank.end(),
            [](const Candidate* one, const Candidate* other) { return one->rank < other->rank; });
  std::size_t taken = 0;
  for (; taken < by_rank.size(); ++taken) {
    const std::size_t needed = by_rank[taken]->width + gap_before(*by_rank[taken]);
    if (needed > room) break;
    room -= needed;
  }
  const int end = taken < by_rank.size() ? by_rank[taken]->rank : by_rank.back()->rank + 1;
  std::erase_if(candidates, [end](const Candidate& candidate) { return candidate.rank >= end; });
  return candidates;
}

void widen_trends(std::vector<Candidate>& placed, std::size_t most, std::size_t& room) {
  const auto trends = static_cast<std::size_t>(
      std::count_if(placed.begin(), placed.end(), [](const Candidate& each) { return each.trend; }));
  if (trends == 0) return;
  const std::size_t share = room / trends;
  for (Candidate& each : placed) {
    if (!each.trend) continue;
    const std::size_t more = std::min(share, most - each.width);
    each.width += more;
    room -= more;
  }
}

}  // namespace

std::vector<PlacedColumn> columns_for(const View& view, std::size_t width, const Content& content) {
  std::size_t name = std::min(width, std::clamp(content.longest_name, kLeastName, kUsualName));
  const std::size_t least = std::min(width, kLeastName);
  std::size_t room = width - name;
  // The numbers that matter most are worth more than the end of a name.
  constexpr std::size_t kNumbers = 4 * kGap + 6 + 6 + 7 + 5;
  if (room < kNumbers) {
    name = std::max(least, width - std::min(width, kNumbers));
    room = width - name;
  }
  std::vector<Candidate> placed = fitting(candidates_for(view, content.limits), room);
  widen_trends(placed, kUsualTrend, room);
  const std::size_t more = std::min(room, content.longest_name - std::min(content.longest_name, name));
  name += more;
  room -= more;
  widen_trends(placed, kSamplesKept, room);
  std::vector<PlacedColumn> columns = {{Field::name, title_of(view.level), 0, name, false}};
  for (const Candidate& each : placed)
    columns.push_back(
        {each.field, each.title, gap_before(each), each.width, !each.trend && each.field != Field::limit});
  return columns;
}

}  // namespace headgate::top
