#include "report_csv.hpp"

#include <cstdio>

namespace headgate {
namespace {

std::string quoted_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char character : text)
    quoted += character == '"' ? std::string("\"\"") : std::string(1, character);
  return quoted + "\"";
}

// Exact: nanoseconds are thousandths of it.
std::string microseconds(Duration duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(duration.count() / 1000),
                static_cast<long long>(duration.count() % 1000));
  return text;
}

std::string count_fields(const Count& count) {
  return "," + std::to_string(count.packets) + "," + std::to_string(count.bytes);
}

std::string delay_fields(const ValueSpread& delays) {
  return "," + microseconds(delays.percentile(0.5)) + "," + microseconds(delays.percentile(0.99)) + "," +
         microseconds(delays.longest());
}

std::string class_line(const ClassSummary& one) {
  const ClassStatistics& counted = one.counted;
  std::string line = "class," + quoted_field(one.name) + ",";
  for (const Count& count : {counted.received, counted.sent, total(counted.dropped), counted.queued})
    line += count_fields(count);
  for (const Count& count : counted.dropped) line += "," + std::to_string(count.packets);
  line += delay_fields(one.delays) + ",";
  if (one.fairness) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6f", *one.fairness);
    line += text;
  }
  return line + "\n";
}

std::string flow_line(const FlowTally& flow, const SimulationSummary& summary) {
  std::string line =
      "flow," + quoted_field(summary.class_of(flow).name) + "," + quoted_field(summary.name_of(flow));
  for (const Count& count : {flow.offered, flow.sent, flow.dropped, flow.queued()})
    line += count_fields(count);
  for (const std::uint64_t packets : flow.reasons) line += "," + std::to_string(packets);
  return line + delay_fields(flow.delays) + ",\n";
}

}  // namespace

std::string report_csv(const SimulationSummary& summary) {
  std::string csv = "kind,class,flow";
  for (const char* what : {"received", "sent", "dropped", "queued"})
    csv += std::string(",") + what + "_packets," + what + "_bytes";
  for (const std::string_view reason : kDropReasonNames) csv += ",dropped_" + std::string(reason);
  csv += ",delay_p50_us,delay_p99_us,delay_max_us,fairness\n";
  for (const ClassSummary& one : summary.classes)
    if (one.config != nullptr || one.counted.received.packets > 0) csv += class_line(one);
  for (const FlowTally& flow : summary.flows) csv += flow_line(flow, summary);
  return csv;
}

}  // namespace headgate
