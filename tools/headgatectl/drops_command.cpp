// headgatectl drops: live lines of what is dropped, where and why.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <system_error>

#include "commands.hpp"
#include "control_client.hpp"
#include "drop_line.hpp"
#include "dropped_packets.hpp"
#include "ending_signals.hpp"
#include "invocation.hpp"
#include "json_output.hpp"
#include "line_limit.hpp"
#include "option_value.hpp"
#include "output.hpp"
#include "trace_blocks.hpp"
#include "visible_text.hpp"
#include "vocabulary/packet_event.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kLinesShown = 10;    // a second, unless --limit says
constexpr std::size_t kClassesFollowed = 4;  // headgated runs no more captures at once

Instant now() {
  return instant_of(std::chrono::steady_clock::now());
}

std::vector<std::string> shaped_classes(const Invocation& invocation) {
  std::vector<std::string> names;
  const Json reply = ask_daemon(invocation.control, {{"command", "show"}});
  for (const Json& shape : reply.at("shapes"))
    for (const Json& each : shape.at("classes"))
      if (!each.at("bypass").get<bool>())
        names.push_back(shape.at("interface").get<std::string>() + "/" +
                        shape.at("direction").get<std::string>() + "/" + each.at("name").get<std::string>());
  return names;
}

std::vector<std::string> classes_to_follow(const Invocation& invocation) {
  std::vector<std::string> names = invocation.operands("CLASS");
  if (!names.empty() && names.size() <= kClassesFollowed) return names;
  const bool named = !names.empty();
  if (!named) names = shaped_classes(invocation);
  if (names.empty())
    throw ControlError(kExitRefused, "refused", "nothing can be dropped: no class is shaped");
  if (names.size() <= kClassesFollowed) return names;
  throw ControlError(kExitUsage, std::string(kErrorAmbiguousClass),
                     std::to_string(names.size()) + " classes " + (named ? "are named" : "are shaped") +
                         ", and " + std::to_string(kClassesFollowed) +
                         " can be followed at once: name those that matter",
                     named ? std::vector<std::string>{} : names);
}

// The drops of one class. Its stream is closed when it has ended.
struct FollowedClass {
  std::string name;
  DaemonStream stream;
  TraceBlocks blocks{std::nullopt};
  DroppedPackets packets{};
};

std::vector<FollowedClass> follow(const Invocation& invocation) {
  std::vector<FollowedClass> followed;
  for (const std::string& name : classes_to_follow(invocation)) {
    const Json request = {
        {"command", "capture"}, {"class", name}, {"events", {name_of(PacketEvent::dropped)}}};
    followed.push_back({.name = name, .stream = open_stream(invocation.control, request)});
    followed.back().blocks.add(followed.back().stream.received);
  }
  return followed;
}

class DropLines {
 public:
  explicit DropLines(const Invocation& invocation)
      : json_(invocation.json), limit_(invocation.value<std::uint64_t>("limit").value_or(kLinesShown)) {}

  void show(const DroppedPacket& packet) {
    show_left_out();
    if (!limit_.admits(packet.reason, now())) return;
    if (json_) {
      print_json(drop_json(packet), JsonLayout::one_line);
    } else {
      print(drop_line(packet, style_) + "\n");
    }
  }

  void show_left_out() { print_left_out(limit_.take_left_out(now())); }
  void end() { print_left_out(limit_.take_left_out(Instant::max())); }

  // Until there is something to say of what is left out; null: there is no such time.
  const timespec* time_to_wait() {
    const auto due = limit_.due();
    if (!due) return nullptr;
    const Duration rest = std::max(*due - now(), Duration::zero());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(rest);
    wait_ = {.tv_sec = seconds.count(), .tv_nsec = (rest - seconds).count()};
    return &wait_;
  }

 private:
  void print_left_out(const LineLimit::Reasons& reasons) const {
    if (reasons.empty()) return;
    if (json_) {
      print_json({{"schema", kSchema}, {"left_out", sum_of(reasons)}, {"reasons", reasons}},
                 JsonLayout::one_line);
    } else {
      print(visible(left_out_line(reasons)) + "\n");
    }
  }

  const bool json_;
  const ScreenStyle style_ = ScreenStyle::detect();
  LineLimit limit_;
  timespec wait_{};
};

// Takes what has come for a class. False: headgated has ended it.
bool take(FollowedClass& each, DropLines& lines) {
  std::array<char, 64 * 1024> buffer;
  const ssize_t received = recv(each.stream.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (received <= 0) return false;
  each.blocks.add({buffer.data(), static_cast<std::size_t>(received)});
  each.packets.read(each.blocks.take(), [&](const DroppedPacket& packet) { lines.show(packet); });
  return true;
}

void wait(const std::vector<FollowedClass>& classes, std::vector<pollfd>& descriptors, DropLines& lines,
          const EndingSignals& signals) {
  descriptors = {{.fd = STDOUT_FILENO, .events = 0, .revents = 0}};
  for (const FollowedClass& each : classes)
    descriptors.push_back({.fd = each.stream.socket.get(), .events = POLLIN, .revents = 0});
  const int ready = ppoll(descriptors.data(), descriptors.size(), lines.time_to_wait(), &signals.outside());
  if (ready < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
  if (ready <= 0) descriptors.assign(descriptors.size(), {});
  if ((descriptors[0].revents & POLLERR) != 0) throw OutputClosed{};
}

void end_of(FollowedClass& each) {
  each.stream.socket = {};  // poll() passes over it from now on
  print_error("headgatectl: headgated ended what it tells of " + each.name +
              ": the class is gone, headgated stopped, or the lines were not taken for 10 s");
}

// Until a signal, or until no class is left. False: none is.
bool show_all(std::vector<FollowedClass>& classes, DropLines& lines, const EndingSignals& signals) {
  std::vector<pollfd> descriptors;
  for (std::size_t left = classes.size(); left > 0;) {
    wait(classes, descriptors, lines, signals);
    if (signals.came()) return true;
    lines.show_left_out();
    for (std::size_t i = 0; i < classes.size(); ++i) {
      if (descriptors[i + 1].revents == 0 || take(classes[i], lines)) continue;
      end_of(classes[i]);
      --left;
    }
  }
  return false;
}

int drops(const Invocation& invocation) {
  std::signal(SIGPIPE, SIG_IGN);
  const EndingSignals signals;
  std::vector<FollowedClass> classes = follow(invocation);
  DropLines lines(invocation);
  const bool interrupted = show_all(classes, lines, signals);
  lines.end();
  std::uint64_t missed = 0;
  for (const FollowedClass& each : classes) missed += each.blocks.missed();
  if (missed > 0)
    print_error("headgatectl: " + std::to_string(missed) +
                " more were dropped than headgatectl was fast enough to take; show counts them all");
  return interrupted ? kExitOk : kExitRefused;
}

}  // namespace

Command drops_command() {
  return {
      .name = "drops",
      .operands = {{.name = "CLASS", .occurs = Occurs::any_times, .completes = Completes::class_name}},
      .options = {{.letter = 'n',
                   .name = "limit",
                   .value = "N",
                   .help = "show at most N lines a second, 10 unless given",
                   .read = number_from(1, 1'000'000)}},
      .summary = "live lines of what is dropped, where and why",
      .details =
          "A line for each packet that is dropped, with time, class, reason and headers, until\n"
          "interrupted. What is beyond the limit is counted by reason. Without CLASS of all shaped classes,\n"
          "if there are no more than 4: headgated follows no more at once, captures included.",
      .examples = {"headgatectl drops", "headgatectl drops eth0/egress/clients -n 100",
                   "headgatectl -j drops clients | jq -r .reason"},
      .run = drops,
  };
}

}  // namespace headgate
