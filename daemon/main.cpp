// headgated: reads what is wanted, then runs the daemon.
#include <pthread.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "config/command_line.hpp"
#include "config/config_document.hpp"
#include "daemon.hpp"
#include "headgate/clock.hpp"
#include "linux/available_memory.hpp"
#include "linux/descriptor_limit.hpp"
#include "linux/mapped_memory.hpp"
#include "linux/real_time.hpp"
#include "linux/runtime_directory.hpp"
#include "linux/traffic_divert.hpp"
#include "log.hpp"
#include "output.hpp"
#include "service/service_manager.hpp"
#include "standard_descriptors.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

// What each sign of life while expressions are compiled gives the start more than it has.
constexpr auto kStartExtension = std::chrono::seconds(30);

// How long the end of the process waits for its log to be written.
constexpr Duration kLastWords = std::chrono::seconds(1);

// Waited for by the main loop; blocked before the first thread is made, so that no thread is interrupted by them.
void block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

struct ReadConfig {
  Config config;
  ConfigTexts texts;  // none: the command line says it
};

// The configuration that the command line or the file says, or none after its errors were logged.
std::optional<ReadConfig> read_config(const CommandLine& command_line, FileUse use,
                                      const Surroundings& surroundings) {
  if (command_line.config) return ReadConfig{.config = *command_line.config, .texts = {}};
  ConfigTextsResult read = read_config_texts(command_line.config_path, use);
  ConfigResult result;
  result.errors = std::move(read.errors);
  if (result.ok()) result = ConfigDocument(read.texts).read(surroundings);
  for (const ConfigWarning& warning : result.warnings) log_warning(warning.to_string());
  for (const ConfigError& error : result.errors) log_error(error.to_string());
  if (!result.ok()) return std::nullopt;
  command_line.apply_to(result.config);
  return ReadConfig{.config = std::move(result.config), .texts = std::move(read.texts)};
}

// systemd.exec(5): set for ExecStopPost=. After a failure the service is restarted, and a wire must not be cut meanwhile.
bool after_failure_of_the_service() {
  const char* result = std::getenv("SERVICE_RESULT");
  return result != nullptr && std::string_view(result) != "success";
}

int clean_up() {
  const std::vector<std::string> done = TrafficDivert::sweep(after_failure_of_the_service());
  for (const std::string& line : done) log_info(line);
  if (done.empty()) log_info("nothing to clean up");
  return kExitOk;
}

// A headgated that runs gives back what it holds before the file is put in force by a start.
int check(const CommandLine& command_line, CompiledMatches& matches) {
  const Surroundings surroundings{
      .matches = &matches, .meanwhile = {}, .memory = available_memory(Held::counts)};
  return read_config(command_line, FileUse::once, surroundings) ? kExitOk : kExitUsage;
}

int run_daemon(const CommandLine& command_line, CompiledMatches& matches) {
  block_signals();
  raise_descriptor_limit();
  limit_thread_stacks();
  log_in_background();
  const Surroundings surroundings{.matches = &matches,
                                  .meanwhile = [] { ServiceManager().extend_timeout(kStartExtension); },
                                  .memory = available_memory(Held::does_not_count)};
  std::optional<ReadConfig> read = read_config(command_line, FileUse::again, surroundings);
  if (!read) return kExitUsage;
  const std::string refusal = lock_memory();
  if (!refusal.empty())
    log_notice("memory is not locked, departures may be late when memory is short: " + refusal);
  make_runtime_directory();
  MappedMemory memory(refusal.empty());
  Daemon(std::move(read->config), std::move(read->texts), command_line, matches, memory).run();
  return kExitOk;
}

int run(const CommandLine& command_line, CompiledMatches& matches) {
  switch (command_line.action) {
    case CommandLine::Action::show_help:
      print(command_line_help());
      return kExitOk;
    case CommandLine::Action::show_version:
      print("headgated " HEADGATE_VERSION "\n");
      return kExitOk;
    case CommandLine::Action::check:
      return check(command_line, matches);
    case CommandLine::Action::cleanup:
      return clean_up();
    case CommandLine::Action::run:
      return run_daemon(command_line, matches);
  }
  return kExitUsage;
}

int exit_code_of(const std::error_code& code) {
  const bool not_permitted =
      code == std::errc::operation_not_permitted || code == std::errc::permission_denied;
  return not_permitted ? kExitNotPermitted : kExitRefused;
}

// Whatever comes of it becomes an exit code.
int run_and_report(const std::vector<std::string>& arguments) {
  try {
    CompiledMatches matches;
    const CommandLineResult parsed = parse_command_line(arguments, matches);
    for (const std::string& warning : parsed.warnings) log_warning(warning);
    for (const std::string& error : parsed.errors) log_error(error);
    if (!parsed.ok()) {
      log_error("see headgated --help");
      return kExitUsage;
    }
    return run(parsed.command_line, matches);
  } catch (const OutputClosed&) {
    return kExitOk;
  } catch (const std::system_error& error) {
    log_error(error.what());
    return exit_code_of(error.code());
  } catch (const std::exception& error) {
    log_error(error.what());
    return kExitRefused;
  }
}

}  // namespace
}  // namespace headgate

int main(int argc, char** argv) {
  headgate::open_standard_descriptors();
  const int code = headgate::run_and_report({argv + (argc > 0 ? 1 : 0), argv + argc});
  headgate::flush_log(headgate::kLastWords);
  return code;
}
