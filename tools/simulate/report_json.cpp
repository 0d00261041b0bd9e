#include "report_json.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "config/json_values.hpp"
#include "config/quantity_text.hpp"
#include "control/statistics_json.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostSeries = 8;  // more lines nobody can tell apart

double microseconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e3;
}

double seconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e9;
}

Json delay_json(const ValueSpread& delays) {
  return {{"p50", microseconds(delays.percentile(0.5))},
          {"p99", microseconds(delays.percentile(0.99))},
          {"max", microseconds(delays.longest())}};
}

Json bits_or_null(const std::optional<BitRate>& rate) {
  return rate ? Json(rate->bits_per_second) : Json();
}

Json class_json(const ClassSummary& one) {
  const ClassStatistics& counted = one.counted;
  Json json = {{"name", one.name}};
  json["bypass"] = one.config == nullptr || one.config->bypass;
  json["rate"] = text_or_null(one.config != nullptr ? to_text(one.config->rate) : "");
  json["flows"] = one.flows;
  json["received"] = to_json(counted.received);
  json["sent"] = to_json(counted.sent);
  json["dropped"] = to_json(counted.dropped);
  json["queued"] = to_json(counted.queued);
  json["delay_us"] = delay_json(one.delays);
  json["fairness"] = one.fairness ? Json(*one.fairness) : Json();
  json["guaranteed"] = to_json(counted.guaranteed);
  json["marked"] = to_json(counted.marked);
  json["remarked"] = to_json(counted.remarked);
  return json;
}

Json flow_json(const FlowTally& flow, const SimulationSummary& summary) {
  Json reasons = Json::object();
  for (std::size_t i = 0; i < kDropReasonCount; ++i)
    if (flow.reasons[i] > 0) reasons[std::string(kDropReasonNames[i])] = flow.reasons[i];
  Json dropped = to_json(flow.dropped);
  dropped["reasons"] = reasons;
  return {{"class", summary.class_of(flow).name},
          {"text", summary.name_of(flow)},
          {"received", to_json(flow.offered)},
          {"sent", to_json(flow.sent)},
          {"dropped", dropped},
          {"queued", to_json(flow.queued())},
          {"delay_us", delay_json(flow.delays)}};
}

// Link, groups and classes, each behind its parent: what the classes below it were sent together. Policed classes are
// outside of it.
class TreeLines {
 public:
  explicit TreeLines(const SimulationSummary& summary) : summary_(summary) {}

  Json json() {
    Json link = {{"kind", "link"}, {"name", summary_.shape.interface}, {"depth", 0}};
    link["ceiling_bps"] = bits_or_null(summary_.shape.rate);
    lines_.push_back(link);
    const Count sent = below({}, 1);
    put_sent(lines_[0], sent);
    return lines_;
  }

 private:
  static void put_sent(Json& line, const Count& sent) { line["sent"] = to_json(sent); }

  static void put_place(Json& line, const TreePlace& place) {
    line["ceiling_bps"] = bits_or_null(place.ceiling);
    line["priority"] = place.priority;
    line["weight"] = place.weight;
  }

  Count below(const std::string& parent, std::size_t depth) {
    Count sum;
    for (const GroupConfig& group : summary_.shape.groups) {
      if (group.place.parent != parent) continue;
      const std::size_t at = lines_.size();
      lines_.push_back({{"kind", "group"}, {"name", group.name}, {"depth", depth}});
      put_place(lines_[at], group.place);
      const Count sent = below(group.name, depth + 1);
      put_sent(lines_[at], sent);
      sum += sent;
    }
    for (const ClassSummary& one : summary_.classes) {
      if (one.config == nullptr || one.config->bypass || one.config->place.parent != parent) continue;
      Json line = {{"kind", "class"}, {"name", one.name}, {"depth", depth}};
      if (one.config->action == ClassAction::shape && has_tree(summary_.shape)) {
        put_place(line, one.config->place);
        line["guarantee_bps"] = bits_or_null(one.config->guarantee);
      }
      put_sent(line, one.counted.sent);
      lines_.push_back(line);
      if (one.config->action == ClassAction::shape) sum += one.counted.sent;
    }
    return sum;
  }

  const SimulationSummary& summary_;
  Json lines_ = Json::array();
};

// Class numbers whose series stand for themselves, in order of the configuration; the rest is shown together.
std::vector<std::size_t> shown_classes(const SimulationSummary& summary) {
  std::vector<std::size_t> numbers(summary.classes.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  std::erase_if(numbers, [&](std::size_t i) { return summary.classes[i].counted.received.packets == 0; });
  std::stable_sort(numbers.begin(), numbers.end(), [&](std::size_t one, std::size_t other) {
    return summary.classes[one].counted.received.bytes > summary.classes[other].counted.received.bytes;
  });
  if (numbers.size() > kMostSeries) numbers.resize(kMostSeries - 1);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Json line_of(const std::string& name, const std::vector<SeriesBin>& bins) {
  Json json = {{"class", name}};
  const auto put = [&](const char* member, const auto& value_of) {
    Json& values = json[member] = Json::array();
    for (const SeriesBin& bin : bins) values.push_back(value_of(bin));
  };
  put("offered_packets", [](const SeriesBin& bin) { return bin.offered.packets; });
  put("offered_bytes", [](const SeriesBin& bin) { return bin.offered.bytes; });
  put("sent_packets", [](const SeriesBin& bin) { return bin.sent.packets; });
  put("sent_bytes", [](const SeriesBin& bin) { return bin.sent.bytes; });
  put("dropped_packets", [](const SeriesBin& bin) { return bin.dropped; });
  // None where nothing was sent.
  put("delay_us_mean", [](const SeriesBin& bin) {
    return bin.sent.packets == 0
               ? Json()
               : Json(std::round(microseconds(bin.delay) / static_cast<double>(bin.sent.packets) * 10) / 10);
  });
  put("delay_us_max", [](const SeriesBin& bin) {
    return bin.sent.packets == 0 ? Json() : Json(std::round(microseconds(bin.longest_delay) * 10) / 10);
  });
  return json;
}

Json spacing_of(const std::string& name, const ValueSpread& gaps) {
  Json json = {
      {"class", name}, {"from_us", Json::array()}, {"to_us", Json::array()}, {"count", Json::array()}};
  for (std::size_t step = 0; step < gaps.counts().size(); ++step) {
    if (gaps.counts()[step] == 0) continue;
    json["from_us"].push_back(microseconds(ValueSpread::first_of(step)));
    json["to_us"].push_back(microseconds(ValueSpread::first_of(step + 1)));
    json["count"].push_back(gaps.counts()[step]);
  }
  return json;
}

void add_series(Json& json, const SimulationSummary& summary) {
  Json& series = json["series"] = {{"interval_s", seconds(summary.bin)}, {"classes", Json::array()}};
  Json& spacing = json["spacing"] = Json::array();
  const std::vector<std::size_t> shown = shown_classes(summary);
  std::vector<SeriesBin> others(summary.series.front().size());
  ValueSpread other_gaps;
  bool any_other = false;
  for (std::size_t i = 0; i < summary.classes.size(); ++i) {
    const std::string& name = summary.classes[i].name;
    if (std::binary_search(shown.begin(), shown.end(), i)) {
      series["classes"].push_back(line_of(name, summary.series[i]));
      if (summary.gaps[i].count() > 0) spacing.push_back(spacing_of(name, summary.gaps[i]));
    } else if (summary.classes[i].counted.received.packets > 0) {
      any_other = true;
      for (std::size_t bin = 0; bin < others.size(); ++bin) others[bin] += summary.series[i][bin];
      other_gaps += summary.gaps[i];
    }
  }
  if (!any_other) return;
  series["classes"].push_back(line_of("(others)", others));
  if (other_gaps.count() > 0) spacing.push_back(spacing_of("(others)", other_gaps));
}

}  // namespace

Json report_json(const SimulationSummary& summary, std::size_t flows) {
  const SimulationSubject& subject = summary.subject;
  const ShaperStatistics& counted = summary.counted;
  Json json = {{"schema", kSchema},
               {"kind", "simulation"},
               {"shape", summary.title()},
               {"config", subject.config},
               {"traffic", subject.traffic},
               {"seed", subject.seed},
               {"notes", subject.notes},
               {"start_ns", summary.start.time_since_epoch().count()},
               {"duration_s", seconds(summary.duration)},
               {"received", to_json(counted.received)},
               {"sent", to_json(counted.sent)},
               {"dropped", to_json(counted.dropped)},
               {"queued", to_json(counted.queued)},
               {"unmatched", to_json(counted.unmatched)},
               {"control_traffic", to_json(summary.control_traffic)},
               {"delay_us", delay_json(summary.delays)},
               {"classes", Json::array()},
               {"flows", Json::array()}};
  for (const ClassSummary& one : summary.classes)
    if (one.config != nullptr || one.counted.received.packets > 0) json["classes"].push_back(class_json(one));
  const std::size_t shown = std::min(flows, summary.flows.size());
  for (std::size_t i = 0; i < shown; ++i) json["flows"].push_back(flow_json(summary.flows[i], summary));
  json["flows_left_out"] = summary.flows.size() - shown;
  json["tree"] = TreeLines(summary).json();
  add_series(json, summary);
  return json;
}

}  // namespace headgate
