// headgate-exporter: serves the counters of a running headgated over HTTP. See headgate-exporter(8).
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "exporter.hpp"
#include "exporter_options.hpp"
#include "output.hpp"
#include "service/service_manager.hpp"
#include "standard_descriptors.hpp"
#include "vocabulary/control_message.hpp"
#include "web_server.hpp"

namespace headgate {
namespace {

// Blocked before the first thread is made, so that wait_for_end() alone gets them.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

void wait_for_end(const sigset_t& signals) {
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) continue;
}

int serve(const ExporterOptions& options) {
  const sigset_t signals = block_signals();
  const FileDescriptor socket = listen_at(options.listen);
  const std::string address = bound_address(socket.get());
  ServiceManager manager;
  std::atomic<std::uint64_t> refused{0};
  Exporter exporter(options, refused);
  const WebServer server(
      socket, [&exporter](const WebRequest& request) { return exporter.answer(request); }, refused);
  print("listening at http://" + address + "/\n");
  manager.ready("listening at " + address);
  wait_for_end(signals);
  manager.stopping("stopping");
  return kExitOk;
}

int run(const std::vector<std::string>& arguments) {
  const ExporterOptions options = parse_exporter_options(arguments);
  if (options.help) {
    print(exporter_help());
    return kExitOk;
  }
  if (options.version) {
    print("headgate-exporter " HEADGATE_VERSION "\n");
    return kExitOk;
  }
  return serve(options);
}

}  // namespace
}  // namespace headgate

int main(int count, char** arguments) {
  headgate::open_standard_descriptors();
  try {
    return headgate::run({arguments + (count > 0 ? 1 : 0), arguments + count});
  } catch (const headgate::ExporterUsageError& error) {
    headgate::print_error(std::string("headgate-exporter: ") + error.what() +
                          "\nTry: headgate-exporter --help");
    return headgate::kExitUsage;
  } catch (const headgate::OutputClosed&) {
    return headgate::kExitOk;
  } catch (const std::exception& error) {
    headgate::print_error(std::string("headgate-exporter: ") + error.what());
    return headgate::kExitRefused;
  }
}
