// headgatectl metrics: the counters as text for Prometheus, to standard output or a file.
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "control_client.hpp"
#include "invocation.hpp"
#include "metrics_text.hpp"
#include "output.hpp"
#include "replaced_file.hpp"

namespace headgate {
namespace {

void write_metrics(const std::string& text, const Invocation& invocation) {
  if (const auto path = invocation.value("output")) {
    replace_file(*path, text);
  } else {
    print(text);
  }
}

// Where no headgated answers the metrics say so, lest a file go on telling of old counts.
int metrics(const Invocation& invocation) {
  if (invocation.json)
    throw UsageError("metrics are text and no JSON; the same counters as JSON: headgatectl -j show");
  std::string text;
  try {
    text = metrics_text(ask_daemon(invocation.control, metrics_request()), MetricsFormat::prometheus);
  } catch (const ControlError& error) {
    if (error.exit == kExitNotRunning)
      write_metrics(metrics_text_without_daemon(MetricsFormat::prometheus), invocation);
    throw;
  }
  write_metrics(text, invocation);
  return kExitOk;
}

}  // namespace

Command metrics_command() {
  return {
      .name = "metrics",
      .options = {{.letter = 'o',
                   .name = "output",
                   .value = "FILE",
                   .help = "write them to FILE, which changes at once",
                   .completes = Completes::file}},
      .summary = "the counters as text for Prometheus",
      .details =
          "The counters of all interfaces and classes as metrics, as the textfile collector of "
          "node_exporter\n"
          "reads them; headgate-exporter serves the same. Interfaces that match a pattern count together.\n"
          "Where no headgated answers the metrics are headgate_up 0, and the exit status is 3.",
      .examples = {"headgatectl metrics | promtool check metrics",
                   "headgatectl metrics -o /var/lib/prometheus/node-exporter/headgate.prom"},
      .run = metrics,
  };
}

}  // namespace headgate
