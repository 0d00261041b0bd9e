// headgated: reads what is wanted, then runs the daemon.
#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "config/command_line.hpp"
#include "config/config_file.hpp"
#include "daemon.hpp"
#include "headgate/control_message.hpp"
#include "linux/real_time.hpp"
#include "linux/runtime_directory.hpp"
#include "linux/traffic_divert.hpp"
#include "log.hpp"

namespace headgate {
namespace {

// Waited for by the main loop; blocked before the first thread is made, so that no thread is interrupted by them.
void block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

// The configuration that the command line or the file says, or none after its errors were logged.
std::optional<Config> read_config(const CommandLine& command_line) {
  if (command_line.config) return command_line.config;
  ConfigResult result = load_config(command_line.config_path);
  for (const ConfigWarning& warning : result.warnings) log_warning(warning.to_string());
  for (const ConfigError& error : result.errors) log_error(error.to_string());
  if (!result.ok()) return std::nullopt;
  command_line.apply_to(result.config);
  return std::move(result.config);
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

int run_daemon(const CommandLine& command_line) {
  block_signals();
  std::optional<Config> config = read_config(command_line);
  if (!config) return kExitUsage;
  limit_thread_stacks();
  if (const std::string refusal = lock_memory(); !refusal.empty()) {
    log_notice("memory is not locked, departures may be late when memory is short: " + refusal);
  }
  make_runtime_directory();
  Daemon(std::move(*config), command_line).run();
  return kExitOk;
}

int run(const CommandLine& command_line) {
  switch (command_line.action) {
    case CommandLine::Action::show_help:
      std::fputs(command_line_help().c_str(), stdout);
      return kExitOk;
    case CommandLine::Action::show_version:
      std::puts("headgated " HEADGATE_VERSION);
      return kExitOk;
    case CommandLine::Action::check:
      return read_config(command_line) ? kExitOk : kExitUsage;
    case CommandLine::Action::cleanup:
      return clean_up();
    case CommandLine::Action::run:
      return run_daemon(command_line);
  }
  return kExitUsage;
}

int exit_code_of(const std::error_code& code) {
  const bool not_permitted =
      code == std::errc::operation_not_permitted || code == std::errc::permission_denied;
  return not_permitted ? kExitNotPermitted : kExitRefused;
}

}  // namespace
}  // namespace headgate

int main(int argc, char** argv) {
  using namespace headgate;
  try {
    const CommandLineResult parsed = parse_command_line({argv + 1, argv + argc});
    for (const std::string& warning : parsed.warnings) log_warning(warning);
    for (const std::string& error : parsed.errors) log_error(error);
    if (!parsed.ok()) {
      log_error("see headgated --help");
      return kExitUsage;
    }
    return run(parsed.command_line);
  } catch (const std::system_error& error) {
    log_error(error.what());
    return exit_code_of(error.code());
  } catch (const std::exception& error) {
    log_error(error.what());
    return kExitRefused;
  }
}
