#include "simulate_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "config/config_file.hpp"
#include "config/interface_pattern.hpp"
#include "config/quantity_text.hpp"
#include "departure_trace.hpp"
#include "human_text.hpp"
#include "invocation.hpp"
#include "json_output.hpp"
#include "merged_traffic.hpp"
#include "output.hpp"
#include "page.hpp"
#include "report_csv.hpp"
#include "report_json.hpp"
#include "simulate_screen.hpp"
#include "simulation.hpp"
#include "summary.hpp"
#include "synthetic_traffic.hpp"
#include "trace_traffic.hpp"
#include "traffic_grammar.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

constexpr std::size_t kFlowsOfScreen = 20;
constexpr std::size_t kFlowsOfReport = 100;
constexpr Duration kSyntheticTime = std::chrono::seconds(10);  // unless somebody says how long
constexpr auto kBetweenProgress = std::chrono::milliseconds(200);

std::string name_of(const ShapeConfig& shape) {
  return shape.interface + "/" + std::string(to_text(shape.direction));
}

// By its name, by its interface where that has but one, or as an instance of its pattern.
bool is_meant(const ShapeConfig& shape, const std::string& text) {
  const std::size_t slash = text.rfind('/');
  const std::string interface = text.substr(0, slash);
  if (slash != std::string::npos && text.substr(slash + 1) != to_text(shape.direction)) return false;
  return shape.interface == interface || (is_template(shape) && matches_pattern(shape.interface, interface));
}

ShapeConfig find_shape(const Config& config, const std::string& text) {
  std::string names;
  std::vector<const ShapeConfig*> meant;
  for (const ShapeConfig& shape : config.shapes) {
    names += (names.empty() ? "" : ", ") + name_of(shape);
    if (text.empty() || is_meant(shape, text)) meant.push_back(&shape);
  }
  if (config.shapes.empty()) throw UsageError("the configuration has no [[shape]]; expected at least one");
  if (meant.empty())
    throw UsageError("--shape \"" + text + "\": there is no such shape; expected one of " + names);
  if (meant.size() > 1)
    throw UsageError(
        (text.empty() ? "there are several shapes" : "--shape \"" + text + "\" may mean several") +
        "; name one of them by --shape: " + names);
  return *meant.front();
}

// What a simulation cannot know, said once.
std::vector<std::string> notes_of(const ShapeConfig& shape) {
  std::vector<std::string> notes;
  for (const ClassConfig& one : shape.classes)
    if (!one.selectors.cgroups.empty())
      notes.push_back("class " + one.name + " takes packets of cgroups: here no packet is of one");
  if (shape.workers > 1) notes.push_back("the shape has several workers: here it has one");
  return notes;
}

Config read_config(const SimulateOptions& options, CompiledMatches& matches) {
  const ConfigResult read = load_config(options.config, FileUse::once, {.matches = &matches});
  for (const ConfigWarning& warning : read.warnings)
    print_error("headgatectl: warning: " + warning.to_string());
  if (read.ok()) return read.config;
  for (std::size_t i = 0; i + 1 < read.errors.size(); ++i) print_error(read.errors[i].to_string());
  throw UsageError(read.errors.back().to_string());
}

// All that comes, and when it begins.
struct AllTraffic {
  std::vector<const TraceTraffic*> traces;
  std::unique_ptr<Traffic> traffic;
  Instant start{};
};

AllTraffic make_traffic(const SimulateOptions& options) {
  std::vector<std::vector<TrafficSource>> sources;
  for (const std::string& text : options.traffic) {
    try {
      sources.push_back(read_traffic(text));
    } catch (const TrafficError& error) {
      throw UsageError("--traffic, " + std::string(error.what()) + "\n  " + text + "\n  " +
                       std::string(error.column - 1, ' ') + "^");
    }
  }
  AllTraffic all;
  std::vector<std::unique_ptr<Traffic>> parts;
  std::optional<Instant> start;
  for (const std::string& path : options.traces) {
    auto trace = std::make_unique<TraceTraffic>(path, options.filter);
    if (trace->start()) start = start ? std::min(*start, *trace->start()) : *trace->start();
    all.traces.push_back(trace.get());
    parts.push_back(std::move(trace));
  }
  all.start = start.value_or(Instant{});
  const Duration end = options.until.value_or(kSyntheticTime);
  for (std::size_t i = 0; i < sources.size(); ++i)
    parts.push_back(std::make_unique<SyntheticTraffic>(sources[i], all.start, end, options.seed + i));
  all.traffic = std::make_unique<MergedTraffic>(std::move(parts));
  return all;
}

// On a terminal, once it has taken a moment.
class ProgressLine {
 public:
  ~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }

  void show(Duration time, std::uint64_t packets, const Traffic& traffic) {
    using SteadyClock = std::chrono::steady_clock;
    if (!terminal_ || SteadyClock::now() - last_ < kBetweenProgress) return;
    last_ = SteadyClock::now();
    const double seconds = std::chrono::duration<double>(last_ - began_).count();
    const std::string rate = packet_rate_text(static_cast<double>(packets) / seconds);
    const std::optional<double> share = traffic.progress();
    std::fprintf(stderr, "\r\033[K%s%.3f s simulated, %s packets, %s", share ? percent(*share).c_str() : "",
                 std::chrono::duration<double>(time).count(), packets_text(packets).c_str(), rate.c_str());
    shown_ = true;
  }

 private:
  static std::string percent(double share) { return std::to_string(static_cast<int>(share * 100)) + " %, "; }

  const bool terminal_ = isatty(STDERR_FILENO) == 1;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = began_;
  bool shown_ = false;
};

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw std::system_error(errno, std::generic_category(), "cannot write " + path);
}

// Of a file that is written: its own, and of none that is read.
void check_output(std::string_view option, const std::string& path, const SimulateOptions& options) {
  if (path == "-") throw UsageError(std::string(option) + " -: expected a file");
  std::vector<std::string> read = options.traces;
  read.push_back(options.config);
  for (const std::string& each : read) {
    std::error_code none;
    if (!path.empty() && std::filesystem::equivalent(path, each, none))
      throw UsageError(std::string(option) + " " + path + ": this file is read; expected another one");
  }
}

void check(const SimulateOptions& options) {
  if (options.traces.empty() && options.traffic.empty())
    throw UsageError(
        "simulate needs something to simulate: --trace FILE or --traffic SPEC, such as "
        "--traffic \"udp 10.0.0.1:1000>10.0.0.2:53 1200b 5mbit\"");
  if (options.json && options.csv)
    throw UsageError("--json and --csv both write to standard output; expected one of them");
  check_output("--out", options.out, options);
  check_output("--html", options.html, options);
  if (!options.out.empty() && options.out == options.html)
    throw UsageError("--out and --html both write " + options.out + "; expected two files");
  if (!options.filter.empty() && options.traces.empty())
    throw UsageError("--filter says which packets of a trace to take; expected --trace, too");
}

void tell(const SimulationSummary& summary, const SimulateOptions& options) {
  const std::size_t flows = options.flows.value_or(kFlowsOfReport);
  if (options.json) {
    print_json(report_json(summary, flows), JsonLayout::one_line);
  } else if (options.csv) {
    print(report_csv(summary));
  } else {
    print(simulate_screen(summary, options.flows.value_or(kFlowsOfScreen), ScreenStyle::detect()));
  }
  if (!options.html.empty()) write_file(options.html, page_of(report_json(summary, flows)));
}

}  // namespace

int simulate(const SimulateOptions& options) {
  check(options);
  CompiledMatches matches;
  const Config config = read_config(options, matches);
  const ShapeConfig shape = find_shape(config, options.shape);
  SimulationSubject subject{
      .config = options.config, .traffic = options.traces, .seed = options.seed, .notes = notes_of(shape)};
  subject.traffic.insert(subject.traffic.end(), options.traffic.begin(), options.traffic.end());
  const AllTraffic all = make_traffic(options);
  std::unique_ptr<DepartureTrace> out;
  if (!options.out.empty()) out = std::make_unique<DepartureTrace>(options.out, name_of(shape), shape);
  Simulation simulation(config.daemon, shape, matches, all.start, out.get());
  {
    ProgressLine line;
    simulation.run(*all.traffic, options.until,
                   [&](Duration time, std::uint64_t packets) { line.show(time, packets, *all.traffic); });
  }
  if (out) out->finish();
  for (const TraceTraffic* trace : all.traces)
    for (std::string& note : trace->notes()) subject.notes.push_back(std::move(note));
  const auto summary = summarize(simulation, std::move(subject));
  if (!adds_up(*summary))
    throw std::logic_error("received is not sent + dropped + queued: a fault of headgate");
  tell(*summary, options);
  return kExitOk;
}

}  // namespace headgate
