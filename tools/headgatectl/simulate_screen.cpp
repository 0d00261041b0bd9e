#include "simulate_screen.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "human_text.hpp"
#include "summary.hpp"

namespace headgate {
namespace {

double microseconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e3;
}

std::string rate_of(const Count& count, Duration duration) {
  const double seconds = static_cast<double>(duration.count()) / 1e9;
  return seconds > 0 ? bit_rate_text(static_cast<double>(count.bytes) * 8 / seconds) : "-";
}

std::string reasons_text(const DropCounts& dropped) {
  std::string text;
  for (std::size_t i = 0; i < kDropReasonCount; ++i) {
    if (dropped[i].packets == 0) continue;
    if (!text.empty()) text += ", ";
    text += std::string(kDropReasonNames[i]) + " " + packets_text(dropped[i].packets);
  }
  return text;
}

std::string fairness_text(const std::optional<double>& fairness) {
  if (!fairness) return "-";
  char text[16];
  std::snprintf(text, sizeof text, "%.4f", *fairness);
  return text;
}

void add_delays(std::vector<Cell>& row, const ValueSpread& delays) {
  const bool any = delays.count() > 0;
  for (const double share : {0.5, 0.99})
    row.push_back({any ? delay_text(microseconds(delays.percentile(share))) : "-"});
  row.push_back({any ? delay_text(microseconds(delays.longest())) : "-"});
}

Cell dropped_cell(const Count& dropped) {
  return {packets_text(dropped.packets), dropped.packets > 0 ? Tone::attention : Tone::plain};
}

std::string classes_table(const SimulationSummary& summary, const ScreenStyle& style) {
  TextTable table({{"CLASS", false},
                   {"FLOWS"},
                   {"OFFERED"},
                   {""},
                   {"SENT"},
                   {""},
                   {"DROPPED"},
                   {"QUEUED"},
                   {"DELAY P50"},
                   {"P99"},
                   {"MAX"},
                   {"FAIRNESS"}});
  for (const ClassSummary& one : summary.classes) {
    const ClassStatistics& counted = one.counted;
    if (one.config == nullptr && counted.received.packets == 0) continue;
    const Count dropped = total(counted.dropped);
    std::vector<Cell> row = {{one.name},
                             {whole_text(one.flows)},
                             {packets_text(counted.received.packets)},
                             {rate_of(counted.received, summary.duration)},
                             {packets_text(counted.sent.packets)},
                             {rate_of(counted.sent, summary.duration)},
                             dropped_cell(dropped),
                             {packets_text(counted.queued.packets)}};
    add_delays(row, one.delays);
    row.push_back({fairness_text(one.fairness)});
    table.add_row(row);
    if (dropped.packets > 0) table.add_note({"dropped: " + reasons_text(counted.dropped), Tone::attention});
  }
  return table.text(style);
}

std::string flows_table(const SimulationSummary& summary, std::size_t flows, const ScreenStyle& style) {
  TextTable table({{"CLASS", false},
                   {"FLOW", false},
                   {"OFFERED"},
                   {"SENT"},
                   {""},
                   {"DROPPED"},
                   {"QUEUED"},
                   {"DELAY P50"},
                   {"P99"},
                   {"MAX"}});
  for (std::size_t i = 0; i < flows; ++i) {
    const FlowTally& flow = summary.flows[i];
    std::vector<Cell> row = {{summary.class_of(flow).name},          {summary.name_of(flow)},
                             {packets_text(flow.offered.packets)},   {packets_text(flow.sent.packets)},
                             {rate_of(flow.sent, summary.duration)}, dropped_cell(flow.dropped),
                             {packets_text(flow.queued().packets)}};
    add_delays(row, flow.delays);
    table.add_row(row);
  }
  return table.text(style);
}

std::string law_line(const SimulationSummary& summary) {
  const ShaperStatistics& all = summary.counted;
  std::string line = "received " + whole_text(all.received.packets) + " = sent " +
                     whole_text(all.sent.packets) + " + dropped " + whole_text(total(all.dropped).packets) +
                     " + queued " + whole_text(all.queued.packets) + " packets\n";
  if (summary.control_traffic.packets > 0)
    line += whole_text(summary.control_traffic.packets) + " packets of control traffic went on unshaped\n";
  return line;
}

}  // namespace

std::string simulate_screen(const SimulationSummary& summary, std::size_t flows, const ScreenStyle& style) {
  char time[48];
  std::snprintf(time, sizeof time, ": %.6g s of traffic, simulated\n",
                static_cast<double>(summary.duration.count()) / 1e9);
  std::string screen = styled(summary.title(), Tone::heading, style) + time;
  for (const std::string& note : summary.subject.notes)
    screen += styled("note: " + note, Tone::attention, style) + "\n";
  screen += "A trace does not react: TCP would slow down where this drops or delays.\n\n";
  screen += classes_table(summary, style) + "\n" + law_line(summary);
  const std::size_t shown = std::min(flows, summary.flows.size());
  if (shown == 0 || summary.flows.size() < 2) return screen;
  screen += "\n" + (shown < summary.flows.size() ? "the " + whole_text(shown) + " largest of " +
                                                       whole_text(summary.flows.size()) + " flows\n"
                                                 : whole_text(shown) + " flows\n");
  return screen + flows_table(summary, shown, style);
}

}  // namespace headgate
