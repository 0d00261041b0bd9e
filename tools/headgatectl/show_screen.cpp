#include "show_screen.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "budget_lines.hpp"
#include "human_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

std::string words(const Json& array) {
  std::string text;
  for (const Json& word : array) {
    if (!text.empty()) text += ' ';
    text += word.get<std::string>();
  }
  return text;
}

std::string text_of(const Json& json, const char* member) {
  const auto found = json.find(member);
  return found == json.end() || !found->is_string() ? "" : found->get<std::string>();
}

bool is_policed(const Json& item) {
  return text_of(item, "action") == "police";
}

// The four counts of a class, or of what stands in a row like one.
struct Counts {
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  std::uint64_t dropped = 0;
  std::uint64_t queued = 0;

  void subtract(const Counts& other) {
    received -= other.received;
    sent -= other.sent;
    dropped -= other.dropped;
    queued -= other.queued;
  }
};

// A shape, or the sums of a pattern.
class ShapeScreen {
 public:
  ShapeScreen(const Json& shape, const Json* previous, double seconds, const ShowOptions& options,
              const ScreenStyle& style)
      : shape_(shape),
        previous_(seconds > 0 ? previous : nullptr),
        seconds_(seconds),
        unit_(options.bytes ? "bytes" : "packets"),
        style_(style),
        table_(columns()) {}

  std::string text() {
    const Counts total = counts_of(shape_);
    Counts rest = total;
    for (const Json& item : shape_["classes"]) rest.subtract(counts_of(item));
    add_classes();
    const std::uint64_t unmatched = shape_["unmatched"][unit_];
    const Counts unmatched_counts{unmatched, unmatched, 0, 0};
    rest.subtract(unmatched_counts);
    add_row("(unmatched)", "unshaped", "", unmatched_counts, rate_of("unmatched", shape_, previous_), {});
    if (rest.received != 0) add_row("(other)", "", "", rest, "", {});
    add_row("total", "", "", total, rate_of("sent", shape_, previous_), {});
    add_losses();
    add_hook_counts();
    for (const Json& limit : shape_.value("limits", Json::array()))
      table_.add_note({limit.get<std::string>(), Tone::attention});
    return heading() + table_.text(style_);
  }

 private:
  std::vector<Column> columns() const {
    std::vector<Column> columns = {{"CLASS", false}, {"RATE"},    {"FLOWS"}, {"RECEIVED"},
                                   {"SENT"},         {"DROPPED"}, {"QUEUED"}};
    if (previous_) columns.insert(columns.begin() + 5, {"NOW"});
    for (const char* title : {"P50", "P99", "MAX"}) columns.push_back({title});
    return columns;
  }

  std::string heading() const {
    const std::string state = shape_["state"];
    std::string line = "\n" + styled(link_name(shape_), Tone::heading, style_) + "  ";
    if (shape_.contains("interfaces")) {
      line += interfaces();
    } else if (shape_["diverting"]) {
      line += styled("diverting", Tone::good, style_) + " by " + shape_["divert"].get<std::string>();
    } else {
      line += styled("not diverting, traffic is not shaped", Tone::bad, style_);
    }
    if (!state.empty()) line += ": " + styled(state, Tone::attention, style_);
    return line + settings() + "\n";
  }

  // Of a pattern: how many there are, and how many of them are diverting.
  std::string interfaces() const {
    const std::size_t all = shape_["interfaces"].size(), diverting = shape_["diverting_interfaces"];
    if (all == 0) return styled("no interface matches", Tone::attention, style_);
    const std::string by = " by " + shape_["divert"].get<std::string>();
    if (all == 1 && diverting == 1) return "1 interface, " + styled("diverting", Tone::good, style_) + by;
    const std::string count = std::to_string(all) + (all == 1 ? " interface, " : " interfaces, ");
    if (diverting == all) return count + styled("all diverting", Tone::good, style_) + by;
    if (diverting == 0) return count + styled("none diverting, traffic is not shaped", Tone::bad, style_);
    return count + styled(std::to_string(diverting) + " of them diverting", Tone::bad, style_) + by;
  }

  // What of the shape is not as it is by default.
  std::string settings() const {
    std::string text;
    if (shape_["segmentation"] == "whole") text += ", super-packets whole";
    if (shape_["segmentation"] == "precise") text += ", super-packets cut into packets";
    if (shape_["capture"] != "bpf") text += ", captured by " + shape_["capture"].get<std::string>();
    if (shape_["precision"] != "normal") text += ", precision " + shape_["precision"].get<std::string>();
    if (shape_.value("workers", 1) != 1) text += ", " + shape_["workers"].dump() + " workers";
    if (shape_["overhead"] != 0) text += ", overhead " + shape_["overhead"].dump() + " bytes";
    if (shape_["mpu"] != 0) text += ", mpu " + shape_["mpu"].dump() + " bytes";
    const Json usual = {"1000pps", "1mbit"}, control_limit = shape_.value("control_limit", usual);
    if (control_limit != usual) text += ", control limit " + words(control_limit);
    return text;
  }

  Counts counts_of(const Json& json) const {
    return {json["received"][unit_], json["sent"][unit_], json["dropped"][unit_], json["queued"][unit_]};
  }

  std::string count_text(std::uint64_t count) const {
    return unit_ == "bytes" ? bytes_text(count) : packets_text(count);
  }

  // What `member` has grown by, per second.
  std::string rate_of(const char* member, const Json& now, const Json* before) const {
    if (!before) return "";
    const std::uint64_t count = now[member][unit_], count_before = (*before)[member][unit_];
    if (count < count_before) return "-";
    const double rate = static_cast<double>(count - count_before) / seconds_;
    return unit_ == "bytes" ? bit_rate_text(rate * 8) : packet_rate_text(rate);
  }

  // As a tree, if the shape has one: what is below the link or a group stands under it, further to the right.
  void add_classes() {
    for (const Json& item : shape_["classes"]) classes_below_[text_of(item, "group")].push_back(&item);
    for (const Json& item : groups_of(shape_)) groups_below_[text_of(item, "parent")].push_back(&item);
    sums_ = sums_of(shape_);
    if (previous_) sums_before_ = sums_of(*previous_);
    const std::string link = link_limit(shape_);
    if (link.empty()) return add_below("", 0);
    for (const Json& item : shape_["classes"])
      if (is_outside(item)) add_class(item, 0);
    add_sum("link", link, "", 0);
    add_below("", 1);
  }

  void add_below(const std::string& group, std::size_t depth) {
    for (const Json* item : classes_below_[group])
      if (depth == 0 || !is_outside(*item)) add_class(*item, depth);
    for (const Json* item : groups_below_[group]) {
      add_sum((*item)["name"], limits_text(*item), (*item)["name"], depth);
      add_below((*item)["name"], depth + 1);
    }
  }

  // The link ("") or a group, with what its classes count together.
  void add_sum(const std::string& title, const std::string& limits, const std::string& group,
               std::size_t depth) {
    const auto before = sums_before_.find(group);
    const Json& sum = sums_.at(group);
    add_row(indented(title, depth), limits, std::to_string(sum["flows"].get<std::uint64_t>()), counts_of(sum),
            rate_of("sent", sum, before == sums_before_.end() ? nullptr : &before->second), {});
  }

  // What the classes below the link (""), and below each group, count together.
  std::map<std::string, Json> sums_of(const Json& shape) const {
    Json none = {{"flows", 0}};
    for (const char* member : kCounts) none[member][unit_] = 0;
    std::map<std::string, Json> sums{{"", none}};
    std::map<std::string, std::string> parents;
    for (const Json& item : groups_of(shape)) {
      sums.emplace(item["name"], none);
      parents.emplace(item["name"], text_of(item, "parent"));
    }
    const auto add = [](Json& sum, const Json& more) {
      sum = sum.get<std::uint64_t>() + more.get<std::uint64_t>();
    };
    for (const Json& item : shape["classes"]) {
      if (is_outside(item)) continue;
      std::string group = text_of(item, "group");
      for (std::size_t steps = 0; steps <= parents.size(); ++steps) {
        Json& sum = sums[group];
        add(sum["flows"], item["flows"]);
        for (const char* member : kCounts) add(sum[member][unit_], item[member][unit_]);
        if (group.empty()) break;
        group = parents[group];
      }
    }
    return sums;
  }

  static const Json& groups_of(const Json& shape) {
    static const Json kNone = Json::array();
    const auto found = shape.find("groups");
    return found == shape.end() ? kNone : *found;
  }

  // Of the link's rate.
  static bool is_outside(const Json& item) { return item["bypass"] || is_policed(item); }

  static std::string indented(const std::string& text, std::size_t depth) {
    return std::string(2 * depth, ' ') + text;
  }

  // What it has by its guarantee and beyond it, what was marked, and what keeps it back.
  void add_tree_note(const Json& item, const Json* before, std::size_t depth) {
    std::string note;
    const auto add = [&note](const std::string& text) { note += (note.empty() ? "" : ", ") + text; };
    if (!text_of(item, "guarantee").empty()) {
      const auto borrowed = [this](const Json& one) {
        return one["sent"][unit_].get<std::uint64_t>() - one["guaranteed"][unit_].get<std::uint64_t>();
      };
      const Json now = {{"borrowed", {{unit_, borrowed(item)}}}};
      const Json then = before ? Json{{"borrowed", {{unit_, borrowed(*before)}}}} : Json();
      if (borrowed(item) != 0)
        add("borrowed " + (before ? rate_of("borrowed", now, &then) : count_text(borrowed(item))));
    }
    if (item.contains("marked") && item["marked"][unit_] != 0)
      add("marked " + count_text(item["marked"][unit_]));
    if (item.contains("remarked") && item["remarked"][unit_] != 0)
      add("remarked " + count_text(item["remarked"][unit_]));
    if (const std::string held_by = text_of(item, "held_by"); !held_by.empty())
      add("held back by " + (held_by == item["name"] ? "its ceiling" : held_by));
    if (!note.empty()) table_.add_note({indented(note, depth)});
  }

  void add_class(const Json& item, std::size_t depth) {
    const std::string name = item["name"];
    const bool bypass = item["bypass"];
    const std::string rate = limits_text(item);
    const Json& delay = item["delay_us"];
    std::vector<std::string> delays;
    for (const char* quantile : {"p50", "p99", "max"}) {
      delays.push_back(delay["max"] == 0.0 ? "-" : delay_text(delay[quantile]));
    }
    add_row(indented(name, depth), bypass ? "bypass" : rate,
            bypass ? "" : std::to_string(item["flows"].get<std::uint64_t>()), counts_of(item),
            rate_of("sent", item, previous_class(name)), delays);
    add_tree_note(item, previous_class(name), depth);
    if (const std::string plans = plans_text(item, depth); !plans.empty())
      table_.add_note({indented(plans, depth)});
    add_drop_reasons(item["dropped"], depth);
  }

  // "plans: gold 10mbit 50 000 members, silver 2mbit 1 member and 12 more": as many as fit on a line, and at least one.
  static std::string plans_text(const Json& item, std::size_t depth) {
    constexpr std::size_t kMostNamed = 4, kRoomForMore = 15;
    const std::size_t width = 76 - 2 * depth;
    const Json plans = item.value("plans", Json::array());
    std::string text;
    std::size_t named = 0;
    while (named < std::min(plans.size(), kMostNamed)) {
      const std::string next = (named == 0 ? "plans: " : ", ") + plan_text(plans[named]);
      const std::size_t room = named + 1 == plans.size() ? width : width - kRoomForMore;
      if (named > 0 && text.size() + next.size() > room) break;
      text += next;
      ++named;
    }
    return named == plans.size() ? text : text + " and " + whole_text(plans.size() - named) + " more";
  }

  static std::string plan_text(const Json& plan) {
    std::string text = text_of(plan, "name") + " " + limits_text(plan);
    const auto members = plan.find("members");
    if (members == plan.end()) return text;
    text += " " + whole_text(*members) + (*members == 1 ? " member" : " members");
    return plan.value("together", false) ? text + " together" : text;
  }

  const Json* previous_class(const std::string& name) const {
    if (!previous_) return nullptr;
    for (const Json& item : (*previous_)["classes"]) {
      if (item["name"] == name) return &item;
    }
    return nullptr;
  }

  void add_row(const std::string& name, const std::string& rate, const std::string& flows,
               const Counts& counts, const std::string& now, const std::vector<std::string>& delays) {
    auto or_dash = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
    std::vector<Cell> row = {{name},
                             {or_dash(rate)},
                             {or_dash(flows)},
                             {count_text(counts.received)},
                             {count_text(counts.sent)},
                             {count_text(counts.dropped), counts.dropped ? Tone::attention : Tone::plain},
                             {count_text(counts.queued)}};
    if (previous_) row.insert(row.begin() + 5, {or_dash(now)});
    for (std::size_t i = 0; i < 3; ++i) row.push_back({delays.empty() ? "-" : delays[i]});
    table_.add_row(row);
  }

  void add_drop_reasons(const Json& dropped, std::size_t depth) {
    std::string reasons;
    for (const auto& [reason, count] : dropped["reasons"].items()) {
      const std::uint64_t amount = count[unit_];
      if (amount != 0) reasons += (reasons.empty() ? "dropped: " : ", ") + reason + " " + count_text(amount);
    }
    if (!reasons.empty()) table_.add_note({indented(reasons, depth), Tone::attention});
  }

  // Counted in packets alone, whatever the unit of the table.
  void add_losses() {
    const std::uint64_t ring = shape_["lost"]["ring"]["packets"],
                        device = shape_["lost"]["device"]["packets"];
    const std::uint64_t unshaped = shape_["unshaped"]["packets"];
    if (ring != 0 || device != 0) {
      table_.add_note({"lost before headgate received them: " + packets_text(ring) +
                           " packets in the capture ring, " + packets_text(device) + " at the divert device",
                       Tone::attention});
    }
    if (unshaped != 0) {
      const std::uint64_t times = shape_["unshaped"]["times"];
      std::string note = "passed unshaped by the dead-man switch: " + packets_text(unshaped) + " packets";
      if (times != 0) {
        note += " in " + delay_text(shape_["unshaped"]["seconds"].get<double>() * 1e6) + ", open " +
                std::to_string(times) + (times == 1 ? " time" : " times");
      }
      table_.add_note({note, Tone::attention});
    }
  }

  // What never came to headgate.
  void add_hook_counts() {
    const auto note = [this](const char* member, const std::string& text, Tone tone) {
      const std::uint64_t count = shape_.contains(member) ? shape_[member][unit_].get<std::uint64_t>() : 0;
      if (count != 0) table_.add_note({text + ": " + amount_text(count), tone});
    };
    note("control_traffic", "control traffic, never shaped", Tone::plain);
    note("unshapable", "passed unshaped, with tunnel metadata or decrypted by IPsec", Tone::attention);
    note("foreign", "dropped, for another program sent them on the divert device", Tone::attention);
  }

  std::string amount_text(std::uint64_t count) const {
    return unit_ == "bytes" ? bytes_text(count) : packets_text(count) + " packets";
  }

  const Json& shape_;
  const Json* previous_;
  double seconds_;
  std::string unit_;
  ScreenStyle style_;
  TextTable table_;

  // Of its tree, by the name of the group that they stand below; "": the link.
  static constexpr std::array kCounts = {"received", "sent", "dropped", "queued"};
  std::map<std::string, std::vector<const Json*>> classes_below_;
  std::map<std::string, std::vector<const Json*>> groups_below_;
  std::map<std::string, Json> sums_;
  std::map<std::string, Json> sums_before_;
};

// Of daemons that know no patterns: none.
const Json& patterns_of(const Json& reply) {
  static const Json kNone = Json::array();
  const auto found = reply.find("patterns");
  return found == reply.end() ? kNone : *found;
}

bool is_instance(const Json& shape) {
  const auto pattern = shape.find("pattern");
  return pattern != shape.end() && !pattern->is_null();
}

bool is_instance_of(const Json& shape, const Json& pattern) {
  return is_instance(shape) && shape["pattern"] == pattern["interface"] &&
         shape["direction"] == pattern["direction"];
}

const Json* same_shape(const Json& shapes, const Json& shape) {
  for (const Json& other : shapes) {
    if (other["interface"] == shape["interface"] && other["direction"] == shape["direction"]) return &other;
  }
  return nullptr;
}

}  // namespace

double seconds_between(const Json& earlier, const Json& later) {
  if (earlier.is_null() || earlier.at("pid") != later.at("pid")) return 0;
  return later.at("uptime_s").get<double>() - earlier.at("uptime_s").get<double>();
}

std::string link_name(const Json& shape) {
  const Json& forward_to = shape.at("forward_to");
  return shape.at("interface").get<std::string>() + (forward_to.is_null()
                                                         ? " " + shape.at("direction").get<std::string>()
                                                         : " to " + forward_to.get<std::string>());
}

std::string limits_text(const Json& item) {
  // In place of its rate; of the ceiling, where it has none.
  const std::string budget = text_of(item, "budget");
  const bool has_own_ceiling =
      budget.empty() || (item.contains("rate") && item.value("fair", Json()) != Json(true));
  std::string text = item.contains("rate") && budget.empty() ? words(item["rate"]) : "";
  const auto add = [&text](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
  if (const std::string limit = text_of(item, "limit"); !limit.empty())
    add(limit + " in " + text_of(item, "window"));
  if (is_policed(item)) add("policed");
  if (item.value("fair", Json()) == Json(true)) add("fair");
  if (const std::string guarantee = text_of(item, "guarantee"); !guarantee.empty()) add(">=" + guarantee);
  if (const std::string ceiling = text_of(item, "ceiling"); !ceiling.empty() && has_own_ceiling)
    add("<=" + ceiling);
  if (!budget.empty()) add("budget " + budget);
  return text;
}

std::string link_limit(const Json& shape) {
  const std::string budget = text_of(shape, "budget");
  return budget.empty() ? text_of(shape, "rate") : "budget " + budget;
}

std::string daemon_line(const Json& reply) {
  const Json& config = reply.at("config");
  return "headgated " + reply.at("version").get<std::string>() + ", process " + reply.at("pid").dump() +
         ", up " + uptime_text(reply.at("uptime_s")) + ", " +
         (config.is_null() ? "configured on its command line" : config.get<std::string>());
}

std::string show_screen(const Json& reply, const Json& previous, const ShowOptions& options,
                        const ScreenStyle& style) {
  std::string screen = styled(daemon_line(reply), Tone::plain, style) + "\n";
  for (const Json& lack : reply.value("kernel_lacks", Json::array()))
    screen += styled("This kernel lacks " + lack.get<std::string>() + ".", Tone::attention, style) + "\n";
  const Json& patterns = patterns_of(reply);
  if (reply["shapes"].empty() && patterns.empty())
    screen += "It shapes nothing: its configuration has no [[shape]].\n";
  const double seconds = seconds_between(previous, reply);
  const auto add_shape = [&](const Json& shape) {
    const Json* before = seconds > 0 ? same_shape(previous["shapes"], shape) : nullptr;
    screen += ShapeScreen(shape, before, seconds, options, style).text();
  };
  for (const Json& shape : reply["shapes"])
    if (!is_instance(shape)) add_shape(shape);
  for (const Json& pattern : patterns) {
    const Json* before = seconds > 0 ? same_shape(patterns_of(previous), pattern) : nullptr;
    screen += ShapeScreen(pattern, before, seconds, options, style).text();
    if (!options.all) continue;
    for (const Json& shape : reply["shapes"])
      if (is_instance_of(shape, pattern)) add_shape(shape);
  }
  const Json budgets = reply.value("budgets", Json::array());
  if (!budgets.empty()) screen += "\n";
  for (const Json& budget : budgets) screen += budget_lines(budget, style);
  return screen;
}

}  // namespace headgate
