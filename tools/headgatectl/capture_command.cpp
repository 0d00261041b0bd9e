// headgatectl capture: a trace of what happens to the packets of a class, to a file or standard output.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <system_error>

#include "commands.hpp"
#include "control_client.hpp"
#include "ending_signals.hpp"
#include "invocation.hpp"
#include "json_output.hpp"
#include "linux/file_descriptor.hpp"
#include "option_value.hpp"
#include "output.hpp"
#include "trace_blocks.hpp"
#include "vocabulary/packet_event.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

// Standard output, or a file that is created or overwritten. A FIFO is opened as soon as it has a reader.
class TraceFile {
 public:
  TraceFile(const std::string& path, const EndingSignals& signals)
      : path_(path == "-" ? "standard output" : path) {
    if (path == "-") return;
    do {
      file_ = FileDescriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666));
    } while (!file_ && errno == ENXIO && signals.wait(std::chrono::milliseconds(100)));
    if (!file_ && signals.came()) return;
    if (!file_ || fcntl(file_.get(), F_SETFL, 0) < 0) fail();
  }

  int descriptor() const { return file_ ? file_.get() : STDOUT_FILENO; }

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail();
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

 private:
  [[noreturn]] void fail() const {
    if (errno == EPIPE) throw OutputClosed{};
    throw ControlError(kExitRefused, "system",
                       "cannot write to " + path_ + ": " + std::generic_category().message(errno));
  }

  const std::string path_;
  FileDescriptor file_;
};

Json request_of(const Invocation& invocation) {
  Json some = Json::array(), all = Json::array();
  for (const std::string_view event : kPacketEventNames) {
    all.push_back(event);
    if (invocation.has(event)) some.push_back(event);
  }
  return {
      {"command", "capture"}, {"class", invocation.operand("CLASS")}, {"events", some.empty() ? all : some}};
}

enum class Ended { by_signal, by_count, by_headgated };

// False: a signal ended the waiting. Throws OutputClosed when nobody reads the output any more.
bool wait_for_bytes(const DaemonStream& stream, const TraceFile& file, const EndingSignals& signals) {
  std::array<pollfd, 2> descriptors{{{.fd = stream.socket.get(), .events = POLLIN, .revents = 0},
                                     {.fd = file.descriptor(), .events = 0, .revents = 0}}};
  const int ready = ppoll(descriptors.data(), descriptors.size(), nullptr, &signals.outside());
  if (ready < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
  if (signals.came()) return false;
  if (ready > 0 && (descriptors[1].revents & POLLERR) != 0) throw OutputClosed{};
  return true;
}

Ended copy(DaemonStream& stream, const TraceFile& file, TraceBlocks& blocks, const EndingSignals& signals) {
  std::array<char, 64 * 1024> buffer;
  blocks.add(stream.received);
  for (;;) {
    file.write(blocks.take());
    if (blocks.complete()) return Ended::by_count;
    if (!wait_for_bytes(stream, file, signals)) return Ended::by_signal;
    const ssize_t received = recv(stream.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (received <= 0) return Ended::by_headgated;
    blocks.add({buffer.data(), static_cast<std::size_t>(received)});
  }
}

void report(const Invocation& invocation, const std::string& path, const TraceBlocks& blocks) {
  print_error("headgatectl: " + std::to_string(blocks.packets()) + " packets captured, " +
              std::to_string(blocks.missed()) + " missed");
  if (!invocation.json) return;
  const Json json = {
      {"schema", kSchema}, {"file", path}, {"captured", blocks.packets()}, {"missed", blocks.missed()}};
  print_json(json);
}

// Until a signal, the number of packets, the end of whoever reads the output, or of the capture.
int capture(const Invocation& invocation) {
  const std::string path = *invocation.value("write");
  if (path == "-" && invocation.json)
    throw UsageError("--json and a trace cannot both go to standard output");
  if (path == "-" && isatty(STDOUT_FILENO) == 1)
    throw UsageError("a trace is nothing for a terminal: -w FILE, or -w - and a pipe, as | tcpdump -nr -");
  std::signal(SIGPIPE, SIG_IGN);
  const EndingSignals signals;
  DaemonStream stream = open_stream(invocation.control, request_of(invocation));
  const TraceFile file(path, signals);
  TraceBlocks blocks(invocation.value<std::uint64_t>("count"));
  const Ended ended = signals.came() ? Ended::by_signal : copy(stream, file, blocks, signals);
  report(invocation, path, blocks);
  if (ended != Ended::by_headgated) return kExitOk;
  print_error(
      "headgatectl: headgated ended the capture: the class is gone, headgated stopped, or the trace was not "
      "written for 10 s");
  return kExitRefused;
}

}  // namespace

Command capture_command() {
  return {
      .name = "capture",
      .operands = {{.name = "CLASS", .completes = Completes::class_name}},
      .options = {{.letter = 'w',
                   .name = "write",
                   .value = "FILE",
                   .help = "the trace, in pcapng; - is standard output",
                   .completes = Completes::file,
                   .required = true},
                  {.name = "received", .help = "capture what the class receives"},
                  {.name = "sent", .help = "capture what it sends"},
                  {.name = "dropped", .help = "capture what it drops; without any of the three, all of them"},
                  {.letter = 'c',
                   .name = "count",
                   .value = "N",
                   .help = "end after N packets",
                   .read = number_from(1)}},
      .summary = "write what the class receives, sends and drops as a trace",
      .details =
          "What the class receives, sends and drops, as a pcapng trace that tcpdump and Wireshark read,\n"
          "until interrupted. A CLASS is eth0/egress/dns, or dns where that is unique.",
      .examples = {"headgatectl capture clients --dropped -w - | tcpdump -nr -",
                   "headgatectl capture clients -w clients.pcapng -c 1000"},
      .run = capture,
  };
}

}  // namespace headgate
