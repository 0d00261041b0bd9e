#include "show_screen.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "human_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

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
    for (const Json& item : shape_["classes"]) {
      add_class(item);
      rest.subtract(counts_of(item));
    }
    const std::uint64_t unmatched = shape_["unmatched"][unit_];
    const Counts unmatched_counts{unmatched, unmatched, 0, 0};
    rest.subtract(unmatched_counts);
    add_row("(unmatched)", "unshaped", "", unmatched_counts, rate_of("unmatched", shape_, previous_), {});
    if (rest.received != 0) add_row("(other)", "", "", rest, "", {});
    add_row("total", "", "", total, rate_of("sent", shape_, previous_), {});
    add_losses();
    add_hook_counts();
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
    const Json& forward_to = shape_["forward_to"];
    const std::string name = shape_["interface"].get<std::string>() +
                             (forward_to.is_null() ? " " + shape_["direction"].get<std::string>()
                                                   : " to " + forward_to.get<std::string>());
    const std::string state = shape_["state"];
    std::string line = "\n" + styled(name, Tone::heading, style_) + "  ";
    if (shape_["diverting"]) {
      line += styled("diverting", Tone::good, style_) + " by " + shape_["divert"].get<std::string>();
    } else {
      line += styled("not diverting, traffic is not shaped", Tone::bad, style_);
    }
    if (!state.empty()) line += ": " + styled(state, Tone::attention, style_);
    return line + settings() + "\n";
  }

  // What of the shape is not as it is by default.
  std::string settings() const {
    std::string text;
    if (shape_["segmentation"] == "whole") text += ", super-packets whole";
    if (shape_["segmentation"] == "auto") text += ", super-packets cut by the rate";
    if (shape_["capture"] != "ring") text += ", captured by " + shape_["capture"].get<std::string>();
    if (shape_["precision"] != "normal") text += ", precision " + shape_["precision"].get<std::string>();
    if (shape_.value("workers", 1) != 1) text += ", " + shape_["workers"].dump() + " workers";
    if (shape_["overhead"] != 0) text += ", overhead " + shape_["overhead"].dump() + " bytes";
    if (shape_["mpu"] != 0) text += ", mpu " + shape_["mpu"].dump() + " bytes";
    const Json usual = {"1000pps", "1mbit"}, control_limit = shape_.value("control_limit", usual);
    if (control_limit != usual) text += ", control limit " + words(control_limit);
    return text;
  }

  static std::string words(const Json& array) {
    std::string text;
    for (const Json& word : array) {
      if (!text.empty()) text += ' ';
      text += word.get<std::string>();
    }
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

  void add_class(const Json& item) {
    const std::string name = item["name"];
    const bool bypass = item["bypass"];
    const std::string rate = words(item["rate"]);
    const Json& delay = item["delay_us"];
    std::vector<std::string> delays;
    for (const char* quantile : {"p50", "p99", "max"}) {
      delays.push_back(delay["max"] == 0.0 ? "-" : delay_text(delay[quantile]));
    }
    add_row(name, bypass ? "bypass" : rate, bypass ? "" : std::to_string(item["flows"].get<std::uint64_t>()),
            counts_of(item), rate_of("sent", item, previous_class(name)), delays);
    add_drop_reasons(item["dropped"]);
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

  void add_drop_reasons(const Json& dropped) {
    std::string reasons;
    for (const auto& [reason, count] : dropped["reasons"].items()) {
      const std::uint64_t amount = count[unit_];
      if (amount != 0) reasons += (reasons.empty() ? "dropped: " : ", ") + reason + " " + count_text(amount);
    }
    if (!reasons.empty()) table_.add_note({reasons, Tone::attention});
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
};

const Json* same_shape(const Json& shapes, const Json& shape) {
  for (const Json& other : shapes) {
    if (other["interface"] == shape["interface"] && other["direction"] == shape["direction"]) return &other;
  }
  return nullptr;
}

}  // namespace

double seconds_between(const Json& earlier, const Json& later) {
  if (earlier.is_null() || earlier["pid"] != later["pid"]) return 0;
  return later["uptime_s"].get<double>() - earlier["uptime_s"].get<double>();
}

std::string daemon_line(const Json& reply) {
  const Json& config = reply["config"];
  return "headgated " + reply["version"].get<std::string>() + ", process " + reply["pid"].dump() + ", up " +
         uptime_text(reply["uptime_s"]) + ", " +
         (config.is_null() ? "configured on its command line" : config.get<std::string>());
}

std::string show_screen(const Json& reply, const Json& previous, const ShowOptions& options,
                        const ScreenStyle& style) {
  std::string screen = styled(daemon_line(reply), Tone::plain, style) + "\n";
  if (reply["shapes"].empty()) screen += "It shapes nothing: its configuration has no [[shape]].\n";
  const double seconds = seconds_between(previous, reply);
  for (const Json& shape : reply["shapes"]) {
    const Json* before = seconds > 0 ? same_shape(previous["shapes"], shape) : nullptr;
    screen += ShapeScreen(shape, before, seconds, options, style).text();
  }
  return screen;
}

}  // namespace headgate
