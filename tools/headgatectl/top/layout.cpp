#include "top/layout.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "human_text.hpp"
#include "top/cell_text.hpp"
#include "top/columns.hpp"
#include "top/sparkline.hpp"
#include "top/terminal_text.hpp"

namespace headgate::top {
namespace {

constexpr std::size_t kRowsForState = 8;     // a screen of so many rows has a line for it
constexpr std::size_t kRowsForDetails = 14;  // and so many for those of the selected row
constexpr std::size_t kDetails = 2;

struct KeyHelp {
  std::string_view key;
  std::string_view word;  // on the bottom line; empty: not there
  std::string_view does;
};

constexpr std::array kKeys = {
    KeyHelp{"q", "quit", "quit"},
    KeyHelp{"?", "help", "this help; any key closes it"},
    KeyHelp{"Enter", "open", "open a link or a class; also right"},
    KeyHelp{"Esc", "back", "end the filter, or go back; left only goes back"},
    KeyHelp{"s", "sort", "sort by rate, drops, delay, queue, name in turn"},
    KeyHelp{"/", "filter", "show rows whose names hold what is typed; Esc clears it"},
    KeyHelp{"p", "pause", "keep the screen as it is, or go on; also space"},
    KeyHelp{"r", "reverse", "turn the order around"},
    KeyHelp{"u", "unit", "rates in bits or in packets"},
    KeyHelp{"+ -", "interval", "look less or more often"},
    KeyHelp{"a", "all", "each interface of a pattern, or their sum"},
    KeyHelp{"arrows", "", "select a row; also PgUp, PgDn, Home, End"},
};

class Layout {
 public:
  Layout(const Samples& samples, const ShownRows& rows, const View& view, const Remarks& remarks, Size size,
         bool utf8)
      : samples_(samples), rows_(rows), view_(view), remarks_(remarks), size_(size), utf8_(utf8) {}

  Screen screen() {
    add_title();
    if (size_.rows >= kRowsForState) add_state();
    if (view_.help) {
      add_help();
    } else {
      add_table();
    }
    fill_up_to(std::max<std::size_t>(1, size_.rows - 1 - details_rows()));
    if (details_rows() > 0) add_details();
    if (size_.rows > 1) add_bottom();
    screen_.lines.resize(std::min(screen_.lines.size(), size_.rows));
    return std::move(screen_);
  }

 private:
  std::size_t details_rows() const { return size_.rows >= kRowsForDetails ? kDetails : 0; }
  std::string_view ellipsis() const { return utf8_ ? "…" : "~"; }
  std::string seen(std::string_view text) const { return printable(text, utf8_); }
  std::string cut(std::string_view text, std::size_t columns) const {
    return cut_to(text, columns, ellipsis());
  }

  void add(std::vector<Span> spans, bool marked = false) {
    screen_.lines.push_back({std::move(spans), marked});
  }
  void add_text(std::string_view text, Tone tone = Tone::plain) {
    add({{cut(seen(text), size_.columns), tone}});
  }
  void fill_up_to(std::size_t rows) { screen_.lines.resize(rows); }

  // "eth0 egress / clients" and on the right how it is looked at.
  void add_title() {
    const std::string settings = seen(settings_text()), pause = view_.paused ? "PAUSED  " : "";
    const std::size_t right = columns_of(pause) + columns_of(settings);
    if (right + 12 > size_.columns) {
      const std::string end = view_.paused ? " PAUSED" : "";
      const std::size_t room = size_.columns - std::min(size_.columns, end.size());
      return add({{padded(seen(path()), room, ellipsis()), Tone::heading},
                  {cut(end, size_.columns - room), Tone::attention}});
    }
    add({{padded(seen(path()), size_.columns - right, ellipsis()), Tone::heading},
         {pause, Tone::attention},
         {settings, Tone::plain}});
  }

  std::string path() const {
    std::string path = "headgate";
    if (view_.level == Level::links) return path + ": links";
    path = view_.link;
    for (const Row& link : samples_.links())
      if (link.key == view_.link) path = link.name;
    if (view_.level == Level::flows) path += " / " + view_.class_name.substr(view_.link.size() + 1);
    return path;
  }

  std::string settings_text() const {
    char interval[32];
    std::snprintf(interval, sizeof interval, "%g", std::chrono::duration<double>(view_.interval).count());
    std::string text;
    if (!view_.place().filter.empty()) text += "/" + view_.place().filter + "  ";
    text += "by " + std::string(kSortNames[static_cast<std::size_t>(view_.sort)]);
    return text + (view_.reversed ? " reversed" : "") + "  every " + interval + " s";
  }

  void add_state() {
    if (!remarks_.silence.empty()) return add_text(remarks_.silence, Tone::bad);
    if (view_.level == Level::flows && !remarks_.flows.empty()) return add_text(remarks_.flows, Tone::bad);
    if (view_.level == Level::flows) return add_text(flows_state());
    for (const Row& link : samples_.links()) {
      const bool looked_at = view_.level == Level::links || link.key == view_.link;
      if (looked_at && !link.trouble.empty()) return add_text(link.name + ": " + link.trouble, Tone::bad);
    }
    if (view_.level == Level::links) return add_text(samples_.daemon());
    for (const Row& link : samples_.links())
      if (link.key == view_.link) return add_text(link_state(link));
    add_text("this link is not shaped any more", Tone::bad);
  }

  std::string link_state(const Row& link) const {
    const Sample& now = link.history.latest();
    std::string text =
        now.bits ? "in all " + bit_rate_text(*now.bits) + ", " + packet_rate_text(*now.packets) : "";
    if (!link.limit.empty()) text += " of " + link.limit;
    return text;
  }

  std::string flows_state() const {
    const std::size_t known = samples_.flows_of(view_.class_name).size();
    if (known == 0) return "";
    if (samples_.flows_in_all() <= known) return whole_text(known) + (known == 1 ? " flow" : " flows");
    return "the " + whole_text(known) + " largest of " + whole_text(samples_.flows_in_all()) + " flows";
  }

  void add_help() {
    for (const KeyHelp& key : kKeys) add_text(padded(key.key, 8, "") + std::string(key.does));
    add_text("");
    add_text("Rates, drops and delays are those since the look before. P50, P99: so long");
    add_text("waited half of the packets, and 99 of 100; of a link in its slowest class.");
  }

  void add_table() {
    Content content;
    for (const Row* row : rows_) {
      content.longest_name = std::max(content.longest_name, columns_of(name_of(*row)));
      content.limits = content.limits || !row->limit.empty();
    }
    columns_ = columns_for(view_, size_.columns, content);
    std::string titles;
    for (const PlacedColumn& column : columns_)
      titles += std::string(column.gap, ' ') + padded(column.title, column.width, "", column.right);
    add({{titles, Tone::heading}});
    if (rows_.empty()) return add_text(nothing_text());
    const Place& place = view_.place();
    const std::size_t end = std::min(rows_.size(), place.first + rows_on(size_));
    for (std::size_t i = place.first; i < end; ++i) add_row(*rows_[i], i == place.position);
  }

  std::string nothing_text() const {
    if (view_.level == Level::flows && !remarks_.flows.empty()) return remarks_.flows;
    if (!view_.place().filter.empty()) return "no name holds \"" + view_.place().filter + "\"";
    if (view_.level == Level::links) return "headgated shapes nothing: its configuration has no [[shape]]";
    if (view_.level == Level::classes) return "no class";
    if (samples_.knows_flows_of(view_.class_name)) return "no flows";
    return view_.paused ? "paused: flows are not asked for" : "asking for the flows";
  }

  // What is in trouble is marked without colour, too.
  std::string name_of(const Row& row) const { return (row.trouble.empty() ? "" : "! ") + seen(row.name); }

  void add_row(const Row& row, bool selected) {
    std::vector<Span> spans;
    for (const PlacedColumn& column : columns_) {
      const Span cell = cell_of(row, column);
      spans.push_back(
          {std::string(column.gap, ' ') + padded(cell.text, column.width, ellipsis(), column.right),
           cell.tone});
    }
    add(std::move(spans), selected);
  }

  Span cell_of(const Row& row, const PlacedColumn& column) const {
    const Sample& now = row.history.latest();
    switch (column.field) {
      case Field::name:
        return {name_of(row), row.trouble.empty() ? Tone::plain : Tone::bad};
      case Field::bits:
        return {number_cell(now.bits)};
      case Field::packets:
        return {number_cell(now.packets)};
      case Field::rate_trend:
        return {trend(row, view_.packets ? &Sample::packets : &Sample::bits, column.width), Tone::good};
      case Field::drops:
        return {number_cell(now.drops), drop_tone(row)};
      case Field::drops_trend:
        return {trend(row, &Sample::drops, column.width), drops_trend_tone(row)};
      case Field::p50:
        return {delay_cell(now.p50)};
      case Field::p99:
        return {delay_cell(now.p99)};
      case Field::delay_trend:
        return {trend(row, &Sample::p99, column.width), Tone::good};
      case Field::queue:
        return {packets_text(row.queued)};
      case Field::flows:
        return {row.flows == 0 ? "-" : packets_text(row.flows)};
      case Field::limit:
        break;
    }
    return {seen(row.limit)};
  }

  static Tone drop_tone(const Row& row) {
    return row.history.latest().drops.value_or(0) > 0 ? Tone::bad : Tone::plain;
  }

  static Tone drops_trend_tone(const Row& row) {
    const auto& samples = row.history.samples();
    const bool any = std::any_of(samples.begin(), samples.end(),
                                 [](const Sample& sample) { return sample.drops.value_or(0) > 0; });
    return any ? Tone::bad : Tone::plain;
  }

  std::string trend(const Row& row, std::optional<double> Sample::*member, std::size_t width) const {
    std::vector<std::optional<double>> values;
    for (const Sample& sample : row.history.samples()) values.push_back(sample.*member);
    return sparkline(values, width, utf8_);
  }

  void add_details() {
    const bool any = !view_.help && view_.place().position < rows_.size();
    for (std::size_t i = 0; i < kDetails; ++i) {
      const auto& details = any ? rows_[view_.place().position]->details : std::vector<std::string>();
      add_text(i < details.size() ? details[i] : "");
    }
  }

  // The keys, as many as fit; or the filter that is typed.
  void add_bottom() {
    if (view_.typing) {
      // A column is left for the cursor.
      const std::string typed = cut("filter: " + seen(view_.place().filter), size_.columns - 1);
      screen_.cursor = columns_of(typed);
      return add({{typed, Tone::heading}});
    }
    std::vector<Span> spans;
    std::size_t used = 0;
    for (const KeyHelp& key : kKeys) {
      if (key.word.empty() || used + key.key.size() + 1 + key.word.size() > size_.columns) break;
      spans.push_back({std::string(key.key), Tone::heading});
      spans.push_back({" " + std::string(key.word) + "  ", Tone::plain});
      used += key.key.size() + key.word.size() + 3;
    }
    if (!spans.empty()) spans.back().text.resize(spans.back().text.size() - 2);
    add(std::move(spans));
  }

  const Samples& samples_;
  const ShownRows& rows_;
  const View& view_;
  const Remarks& remarks_;
  const Size size_;
  const bool utf8_;
  std::vector<PlacedColumn> columns_;
  Screen screen_;
};

}  // namespace

std::size_t rows_on(Size size) {
  const std::size_t others =
      3 + (size.rows >= kRowsForState ? 1 : 0) + (size.rows >= kRowsForDetails ? kDetails : 0);
  return size.rows > others ? size.rows - others : 1;
}

Screen layout(const Samples& samples, const ShownRows& rows, const View& view, const Remarks& remarks,
              Size size, bool utf8) {
  return Layout(samples, rows, view, remarks, size, utf8).screen();
}

}  // namespace headgate::top
