#include "top/plain_output.hpp"

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "control_client.hpp"
#include "human_text.hpp"
#include "json_output.hpp"
#include "output.hpp"
#include "top/cell_text.hpp"
#include "top/requests.hpp"
#include "top/shown_rows.hpp"
#include "visible_text.hpp"

namespace headgate::top {
namespace {

using Json = nlohmann::ordered_json;

void look(const Task& task, Samples& samples) {
  samples.add_show(ask_daemon(task.control, show_request(task.view)));
  if (task.view.level == Level::flows)
    samples.add_flows(task.view.class_name, ask_daemon(task.control, flows_request(task.view.class_name)));
}

Rows rows_of(const Samples& samples, const View& view) {
  if (view.level == Level::flows) return samples.flows_of(view.class_name);
  Rows rows;
  for (const Row& link : samples.links()) {
    if (view.level == Level::classes && link.key != view.link) continue;
    for (const Row& row : samples.classes_of(link.key)) {
      rows.push_back(row);
      rows.back().name = row.key;
    }
  }
  return rows;
}

Json number(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json row_json(const Row& row, Level level) {
  const Sample& now = row.history.latest();
  Json json = {{"name", row.name},
               {"packets_per_second", number(now.packets)},
               {"bits_per_second", number(now.bits)},
               {"drops_per_second", number(now.drops)},
               {"queued", row.queued}};
  if (level == Level::flows) return json;
  json["flows"] = row.flows;
  json["delay_us"] = now.p99 ? Json{{"p50", *now.p50}, {"p99", *now.p99}} : Json();
  return json;
}

void print_round(const Samples& samples, const Task& task, bool json, const ScreenStyle& style) {
  if (json) {
    print_json(plain_json(samples, task.view), JsonLayout::one_line);
  } else {
    print(plain_table(samples, task.view, style) + "\n");
  }
}

}  // namespace

std::string plain_table(const Samples& samples, const View& view, const ScreenStyle& style) {
  const bool flows = view.level == Level::flows;
  std::vector<Column> columns = {{flows ? "FLOW" : "CLASS", false}, {"BIT/S"}, {"PKT/S"}, {"DROP/S"}};
  if (!flows) columns.insert(columns.end(), {{"P50"}, {"P99"}});
  columns.push_back({"QUEUE"});
  TextTable table(columns);
  const Rows rows = rows_of(samples, view);
  for (const Row* row : arranged(rows, view)) {
    const Sample& now = row->history.latest();
    const Tone tone = now.drops.value_or(0) > 0 ? Tone::attention : Tone::plain;
    std::vector<Cell> cells = {
        {row->name}, {number_cell(now.bits)}, {number_cell(now.packets)}, {number_cell(now.drops), tone}};
    if (!flows) cells.insert(cells.end(), {{delay_cell(now.p50)}, {delay_cell(now.p99)}});
    cells.push_back({packets_text(row->queued)});
    table.add_row(std::move(cells));
  }
  return table.text(style);
}

Json plain_json(const Samples& samples, const View& view) {
  Json list = Json::array();
  const Rows rows = rows_of(samples, view);
  for (const Row* row : arranged(rows, view)) list.push_back(row_json(*row, view.level));
  return {{"schema", kSchema},
          {"interval_s", samples.seconds()},
          {view.level == Level::flows ? "flows" : "classes", std::move(list)}};
}

void show_plainly(const Task& task, bool json) {
  std::signal(SIGPIPE, SIG_IGN);
  const ScreenStyle style = ScreenStyle::detect();
  Samples samples;
  look(task, samples);
  bool answered = true;
  for (std::uint64_t round = 1; !task.rounds || round <= *task.rounds; ++round) {
    std::this_thread::sleep_for(task.view.interval);
    try {
      look(task, samples);
      print_round(samples, task, json, style);
      answered = true;
    } catch (const ControlError& error) {
      if (error.exit != kExitNotRunning || round == task.rounds) throw;
      if (answered) print_error(std::string("headgatectl: ") + error.what());
      answered = false;
    }
  }
}

}  // namespace headgate::top
