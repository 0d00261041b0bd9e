// The program as its users see it: exit code, standard output, standard error, against a real socket.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "control/fake_daemon.hpp"
#include "service/served_socket.hpp"
#include "service/temporary_directory.hpp"
#include "support/packet_builder.hpp"
#include "support/pcapng_reader.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

struct Outcome {
  int exit_code = -1;  // 128 + the signal that ended it
  std::string output;
  std::string errors;
};

std::string read_all(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class HeadgatectlTest : public testing::Test {
 protected:
  // `output` is where standard output goes, a file of the test's own unless given.
  Outcome run(std::vector<std::string> arguments, uid_t user = 0, int output = -1) {
    const std::string out = directory.file("out"), err = directory.file("err");
    const int out_file =
        output >= 0 ? output : open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    const int in_file = input_file();
    const int err_file = open(err.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    arguments.insert(arguments.begin(), {HEADGATECTL, "--control", path});
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      dup2(in_file, STDIN_FILENO);
      dup2(out_file, STDOUT_FILENO);
      dup2(err_file, STDERR_FILENO);
      setenv("LC_ALL", "C.UTF-8", 1);
      if (user != 0 && (setgid(user) < 0 || setuid(user) < 0)) _exit(99);
      execv(HEADGATECTL, pointers.data());
      _exit(98);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (output < 0) close(out_file);
    close(err_file);
    close(in_file);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return {code, output < 0 ? read_all(out) : "", read_all(err)};
  }

  int input_file() const {
    const std::string file = directory.file("in");
    std::ofstream(file) << input;
    return open(file.c_str(), O_RDONLY | O_CLOEXEC);
  }

  ControlSocket::Handler handler() {
    return
        [this](std::string_view line, const PeerCredentials&) { return handle_request(line, daemon).line; };
  }

  // As the daemon does it; `started` fills the tap of a capture.
  ControlSocket::Handler capture_handler(const std::function<void(PacketTap&)>& started) {
    return [this, started](std::string_view line, const PeerCredentials&) {
      Reply reply = handle_request(line, daemon);
      ControlReply result(reply.line);
      if (!reply.stream) return result;
      started(*daemon.tap);
      result.stream = [stream = reply.stream](std::string& out) { return stream->read(out); };
      return result;
    };
  }

  static void put(PacketTap& tap, PacketEvent event, int port, DropReason reason = {}) {
    const auto frame = PacketBuilder()
                           .ipv4("10.0.0.1", "10.0.0.2")
                           .udp(4000, static_cast<std::uint16_t>(port))
                           .payload(18)
                           .build();
    const std::span<const std::byte> part = frame;
    if (tap.wants(event))
      tap.put(event, reason, Instant(std::chrono::seconds(1'700'000'000)),
              static_cast<std::uint32_t>(frame.size()), {&part, 1});
  }

  TemporaryDirectory directory;
  std::string path = directory.file("control.sock");
  FakeDaemon daemon;
  std::string input;  // what run() gives the program to read
};

TEST_F(HeadgatectlTest, ShowsWithoutACommand) {
  ServedSocket server(path, handler());
  const Outcome outcome = run({});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_THAT(outcome.output,
              StartsWith("headgated 0.1.0, process 1234, up 2 h 13 min, /etc/headgate/headgate.toml\n\n"
                         "eth0 egress  diverting by tcx\n"));
  EXPECT_EQ(outcome.output.find('\033'), std::string::npos) << "no colours into a file";
  EXPECT_EQ(outcome.errors, "");
}

TEST_F(HeadgatectlTest, PrintsTheJsonOfTheDaemon) {
  ServedSocket server(path, handler());
  const Outcome outcome = run({"-j", "show"});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_EQ(Json::parse(outcome.output), Json::parse(handle_request(R"({"command":"show"})", daemon).line));
}

TEST_F(HeadgatectlTest, PrintsOneLineOfJsonForEachLookWhileWatching) {
  int looks = 0;
  ServedSocket server(path, [&](std::string_view line, const PeerCredentials&) {
    return ++looks <= 3 ? handle_request(line, daemon).line
                        : R"({"schema":1,"error":{"code":"refused","message":"enough"}})"
                          "\n";
  });
  const Outcome outcome = run({"-j", "show", "-w", "0.1"});
  EXPECT_EQ(outcome.exit_code, kExitRefused);
  const std::string line = handle_request(R"({"command":"show"})", daemon).line;
  EXPECT_THAT(outcome.output, StartsWith(line + line + line));
}

TEST_F(HeadgatectlTest, ShowsFlowsWithRates) {
  daemon.growth_per_query = {500, 30'000};
  daemon.time_per_query = std::chrono::seconds(1);
  ServedSocket server(path, handler());
  const Outcome outcome = run({"flows", "video"});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_EQ(outcome.output, R"(eth1/ingress/video: 2 flows
the 1 largest; rates measured over 1.0 s

  FLOW                                 NOW              SENT           DROPPED  QUEUED
  10.0.0.1 → 10.0.0.2 udp 5000→53  500 pps  240 kbit/s   505  30.3 kB        0       1
)");
}

TEST_F(HeadgatectlTest, ListsTheClassesItMayMean) {
  ServedSocket server(path, handler());
  const Outcome outcome = run({"flows", "clients"});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_EQ(outcome.errors,
            "headgatectl: class \"clients\" may be any of:\n  eth0/egress/clients\n  eth1/ingress/clients\n");
}

TEST_F(HeadgatectlTest, Reloads) {
  ServedSocket server(path, handler());
  const Outcome outcome = run({"reload"});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_EQ(outcome.output, "reloaded\n  1 class changed\n");
}

TEST_F(HeadgatectlTest, TellsWhyAReloadWasRefused) {
  daemon.reload_result = {false, {"h.toml:3:1: no rate", "h.toml:4:1: no name"}};
  ServedSocket server(path, handler());
  const Outcome outcome = run({"reload"});
  EXPECT_EQ(outcome.exit_code, kExitRefused);
  EXPECT_EQ(outcome.output, "");
  EXPECT_EQ(outcome.errors,
            "headgatectl: not reloaded, the configuration in force stays as it was\n  h.toml:3:1: no rate\n  "
            "h.toml:4:1: no name\n");
}

TEST_F(HeadgatectlTest, PrintsErrorsAsJsonToo) {
  daemon.reload_result = {false, {"h.toml:3:1: no rate"}};
  ServedSocket server(path, handler());
  const Outcome outcome = run({"-j", "reload"});
  EXPECT_EQ(outcome.exit_code, kExitRefused);
  EXPECT_EQ(
      Json::parse(outcome.output).dump(),
      R"({"schema":1,"error":{"code":"refused","message":"not reloaded, the configuration in force stays as it )"
      R"(was","details":["h.toml:3:1: no rate"]}})");
}

TEST_F(HeadgatectlTest, ChecksAFileWithoutADaemon) {
  const std::string file = directory.file("h.toml");
  std::ofstream(file) << R"(
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "a"
  rate = "8kbps"
  [[shape.class]]
  name = "b"
  bypass = true
)";
  const Outcome outcome = run({"check", file});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_EQ(outcome.output, file + " is valid: 1 shape, 2 classes\n");
  EXPECT_THAT(outcome.errors, StartsWith("headgatectl: warning: " + file + ":6:10: "));
}

TEST_F(HeadgatectlTest, PrintsAllErrorsOfAFile) {
  const std::string file = directory.file("h.toml");
  std::ofstream(file) << R"(
[[shape]]
interface = 7
direction = "up"
  [[shape.class]]
  name = "a"
  bypass = true
)";
  const Outcome outcome = run({"check", file});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_EQ(outcome.output, "");
  EXPECT_EQ(outcome.errors,
            file + ":3:13: interface: found a whole number, expected a text such as \"eth0\"\n" + file +
                ":4:13: direction: \"up\" is not a direction: expected \"egress\" or \"ingress\"\n");
}

TEST_F(HeadgatectlTest, PrintsTheErrorsOfAFileAsJson) {
  const std::string file = directory.file("none.toml");
  const Outcome outcome = run({"-j", "check", file});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  const Json result = Json::parse(outcome.output);
  EXPECT_EQ(result["schema"], 1);
  EXPECT_EQ(result["file"], file);
  EXPECT_EQ(result["valid"], false);
  ASSERT_EQ(result["errors"].size(), 1);
  EXPECT_TRUE(result["errors"][0]["line"].is_null());
  EXPECT_TRUE(result["errors"][0]["column"].is_null());
  EXPECT_TRUE(result["warnings"].empty());
}

TEST_F(HeadgatectlTest, TellsBothVersions) {
  daemon.status_now.version = "0.0.9";
  ServedSocket server(path, handler());
  const Outcome outcome = run({"version"});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_EQ(outcome.output,
            "headgatectl 0.1.0\nheadgated 0.0.9, process 1234, up 2 h 13 min, /etc/headgate/headgate.toml\n");
}

TEST_F(HeadgatectlTest, TellsItsOwnVersionWithoutADaemon) {
  const Outcome outcome = run({"version"});
  EXPECT_EQ(outcome.exit_code, kExitNotRunning);
  EXPECT_EQ(outcome.output, "headgatectl 0.1.0\n");
  EXPECT_EQ(outcome.errors,
            "headgatectl: no headgated answers on " + path +
                ": No such file or directory\nIs it running? See: systemctl status headgated\n");
}

TEST_F(HeadgatectlTest, WritesMetricsToAFileInOneStep) {
  ServedSocket server(path, handler());
  const std::string file = directory.file("headgate.prom"), other = directory.file("link");
  std::ofstream(file) << "old";
  std::filesystem::create_hard_link(file, other);
  const Outcome outcome = run({"metrics", "--output", file});
  EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.errors;
  EXPECT_EQ(outcome.output, "");
  EXPECT_EQ(read_all(file), run({"metrics"}).output);
  EXPECT_THAT(read_all(file), HasSubstr("headgate_packets_sent_total{interface=\"eth0\""));
  EXPECT_EQ(read_all(other), "old");  // what somebody reads meanwhile
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0644));
}

TEST_F(HeadgatectlTest, LeavesNoPartOfMetricsThatCannotBeWritten) {
  ServedSocket server(path, handler());
  const std::string file = directory.file("is_a_directory");
  std::filesystem::create_directory(file);
  const Outcome outcome = run({"metrics", "-o", file});
  EXPECT_EQ(outcome.exit_code, kExitRefused);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("cannot replace " + file), HasSubstr("directory")));
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    EXPECT_EQ(entry.path().string().find(file + "."), std::string::npos) << entry.path();
}

TEST_F(HeadgatectlTest, MetricsWithoutADaemonSaySo) {
  const std::string file = directory.file("headgate.prom");
  const Outcome outcome = run({"metrics", "--output", file});
  EXPECT_EQ(outcome.exit_code, kExitNotRunning);
  EXPECT_THAT(outcome.errors, HasSubstr("no headgated answers"));
  EXPECT_THAT(read_all(file), HasSubstr("\nheadgate_up 0\n"));
}

TEST_F(HeadgatectlTest, MetricsAreNoJson) {
  const Outcome outcome = run({"metrics", "--json"});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_THAT(outcome.errors, HasSubstr("headgatectl -j show"));
}

TEST_F(HeadgatectlTest, KnowsTheSocketOfADeadDaemon) {
  {
    ServedSocket server(path, handler());
    std::filesystem::create_hard_link(path, directory.file("left"));
  }
  path = directory.file("left");
  const Outcome outcome = run({});
  EXPECT_EQ(outcome.exit_code, kExitNotRunning);
  EXPECT_THAT(outcome.errors, HasSubstr("Connection refused"));
}

TEST_F(HeadgatectlTest, ProposesWhatToDoWhenTheModeKeepsItOut) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  chmod(directory.path().c_str(), 0755);
  ServedSocket server(path, handler());
  const Outcome outcome = run({}, 65534);
  EXPECT_EQ(outcome.exit_code, kExitNotPermitted);
  EXPECT_EQ(outcome.errors,
            "headgatectl: not permitted to use " + path +
                "\nRun as root, or join group headgate: usermod -aG headgate USER, and log in again\n");
}

TEST_F(HeadgatectlTest, ProposesTheSameWhenTheDaemonRefusesIt) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  chmod(directory.path().c_str(), 0755);
  std::optional<ServedSocket> server(std::in_place, path, handler());
  chmod(path.c_str(), 0666);
  const Outcome outcome = run({"reload"}, 65534);
  EXPECT_EQ(outcome.exit_code, kExitNotPermitted);
  EXPECT_THAT(outcome.errors, StartsWith("headgatectl: not permitted to use " + path));
  server.reset();
  EXPECT_EQ(daemon.reloads, 0);
}

class StrangeReplies : public HeadgatectlTest, public testing::WithParamInterface<const char*> {};

TEST_P(StrangeReplies, EndInASentenceAndNotInACrash) {
  ServedSocket server(
      path, [](std::string_view, const PeerCredentials&) { return std::string(GetParam()) + "\n"; });
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"show"}, {"flows"}, {"reload"}, {"version"}, {"-j", "flows"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, kExitRefused) << arguments.back();
    EXPECT_THAT(outcome.errors, StartsWith("headgatectl: "));
  }
}

INSTANTIATE_TEST_SUITE_P(Headgatectl, StrangeReplies,
                         testing::Values("", "hello", "[]", "7", "{}", R"({"schema":"one"})",
                                         R"({"schema":2})", R"({"error":7})",
                                         R"({"schema":1,"error":{"code":7}})",
                                         R"({"schema":1,"error":{"code":"refused","details":7}})"));

TEST_F(HeadgatectlTest, EndsWhenTheDaemonClosesWithoutAReply) {
  ControlSocketLimits limits;
  limits.client_timeout = std::chrono::milliseconds(20);
  ServedSocket mute(
      path, [](std::string_view, const PeerCredentials&) { return std::string(); }, limits);
  const Outcome outcome = run({});
  EXPECT_EQ(outcome.exit_code, kExitNotRunning);
  EXPECT_THAT(outcome.errors, HasSubstr("it closed the connection without a reply"));
}

TEST_F(HeadgatectlTest, IsQuietWhenNobodyReadsItsOutput) {
  ServedSocket server(path, handler());
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  const Outcome by_signal = run({}, 0, ends[1]);
  EXPECT_EQ(by_signal.exit_code, 128 + SIGPIPE);
  signal(SIGPIPE, SIG_IGN);
  const Outcome by_error = run({}, 0, ends[1]);
  signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(by_error.exit_code, kExitOk);
  EXPECT_EQ(by_signal.errors + by_error.errors, "");
  close(ends[1]);
}

TEST_F(HeadgatectlTest, SaysWhenItsOutputCannotBeWritten) {
  ServedSocket server(path, handler());
  const std::string file = directory.file("h.toml");
  std::ofstream(file) << "# nothing\n";
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--help"}, {"--version"}, {"version"}, {"show"}, {"-j", "show"}, {"reload"}, {"check", file}}) {
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    const Outcome outcome = run(arguments, 0, full);
    close(full);
    EXPECT_EQ(outcome.exit_code, kExitRefused) << arguments.back();
    EXPECT_EQ(outcome.errors, "headgatectl: cannot write to standard output: No space left on device\n");
  }
}

TEST_F(HeadgatectlTest, SaysWhenThereIsNoStandardOutput) {
  ServedSocket server(path, handler());
  const std::string errors = directory.file("errors");
  const std::string command =
      std::string(HEADGATECTL) + " --control " + path + " show >&- 2> " + errors + " <&-";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), kExitRefused);
  EXPECT_EQ(read_all(errors), "headgatectl: cannot write to standard output: Bad file descriptor\n");
}

// Of what a daemon says, and of what the user gave.
TEST_F(HeadgatectlTest, ShowsWhatCannotBeSeenInMessages) {
  daemon.reload_result = {false, {"h\u202e.toml:3:1: \033[2Jno rate\nline"}};
  ServedSocket server(path, handler());
  const Outcome outcome = run({"reload"});
  EXPECT_EQ(outcome.errors,
            "headgatectl: not reloaded, the configuration in force stays as it was\n"
            "  h\\u202e.toml:3:1: \\x1b[2Jno rate\\nline\n");
  const std::string file = directory.file("a\033b.toml");
  EXPECT_EQ(run({"check", file}).errors,
            directory.file("a\\x1bb.toml") + ": cannot open the file: No such file or directory\n");
  std::ofstream(file) << "[[shape]]\ninterface = \"eth0\u2066\"\n  [[shape.class]]\n  name = \"a\u200f\"\n";
  EXPECT_THAT(run({"check", file}).errors, HasSubstr("name: \"a\\u200f\" is no name of a class"));
  EXPECT_THAT(run({"flows", "\xc2\x9b\u2067"}).errors, HasSubstr("no class \"\\u009b\\u2067\""));
}

TEST_F(HeadgatectlTest, KeepsTheValuesOfJsonWhileShowingWhatCannotBeSeen) {
  daemon.reload_result = {true, {"a\u202e\033\177b"}};
  ServedSocket server(path, handler());
  EXPECT_EQ(run({"reload"}).output, "reloaded\n  a\\u202e\\x1b\\x7fb\n");
  const Outcome outcome = run({"-j", "reload"});
  EXPECT_THAT(outcome.output, HasSubstr("\"a\\u202e\\u001b\\u007fb\""));
  EXPECT_EQ(Json::parse(outcome.output)["messages"][0], "a\u202e\033\177b");
}

TEST_F(HeadgatectlTest, ProposesHelpAfterWrongUsage) {
  const Outcome outcome = run({"shwo"});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_EQ(outcome.errors,
            "headgatectl: unknown command \"shwo\", did you mean \"show\"?\nTry: headgatectl --help\n");
}

TEST_F(HeadgatectlTest, PrintsHelp) {
  const Outcome outcome = run({"--help"});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_THAT(outcome.output,
              AllOf(StartsWith("headgatectl shows"), HasSubstr("Examples:"), HasSubstr("flows [CLASS]")));
}

TEST_F(HeadgatectlTest, PrintsTheHelpOfACommandWithItsOwnOptionsAndExamples) {
  const Outcome outcome = run({"help", "capture"});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_THAT(
      outcome.output,
      AllOf(StartsWith("Usage: headgatectl [--control PATH] [-j] capture CLASS -w FILE [--received] [--sent] "
                       "[--dropped] [-c N]\n"),
            HasSubstr("  -w, --write FILE "), testing::Not(HasSubstr("--watch")),
            HasSubstr("\nExamples:\n  headgatectl capture clients --dropped -w - | tcpdump -nr -\n")));
  EXPECT_EQ(run({"capture", "--help"}).output, outcome.output);
}

TEST_F(HeadgatectlTest, PrintsHelpOfEachCommandThatTheGeneralHelpLists) {
  for (const char* command :
       {"show", "flows", "plan", "capture", "reload", "check", "version", "completion", "help"}) {
    const Outcome outcome = run({"help", command});
    EXPECT_EQ(outcome.exit_code, kExitOk);
    EXPECT_THAT(outcome.output,
                AllOf(HasSubstr(std::string("[-j] ") + command), HasSubstr("\nExamples:\n  headgatectl")));
  }
  EXPECT_EQ(run({"help"}).output, run({"--help"}).output);
}

TEST_F(HeadgatectlTest, NamesTheNearestCommandWhenThereIsNoHelpOfThatName) {
  const Outcome outcome = run({"help", "captrue"});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_EQ(outcome.errors,
            "headgatectl: unknown command \"captrue\", did you mean \"capture\"?\nTry: headgatectl --help\n");
}

TEST_F(HeadgatectlTest, GivesAMemberAPlan) {
  add_plans(daemon);
  ServedSocket server(path, handler());
  const Outcome outcome = run({"plan", "eth0/egress/clients", "10.0.0.5", "gold"});
  EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.errors;
  EXPECT_EQ(outcome.output, "eth0/egress/clients: 10.0.0.5 has plan gold, before no plan\n");
  EXPECT_EQ(daemon.member_changes.at(0).plan, 0);
}

TEST_F(HeadgatectlTest, TakesAMemberOutOfItsPlan) {
  add_plans(daemon);
  daemon.member_result.before = 1;
  ServedSocket server(path, handler());
  EXPECT_EQ(run({"plan", "eth0/egress/clients", "10.0.0.5", "none"}).output,
            "eth0/egress/clients: 10.0.0.5 has no plan, before plan silver\n");
  EXPECT_EQ(run({"plan", "eth0/egress/clients", "10.0.0.5", "silver"}).output,
            "eth0/egress/clients: 10.0.0.5 has plan silver, as before\n");
  EXPECT_EQ(daemon.member_changes.at(0).plan, kNoPlan);
  EXPECT_EQ(Json::parse(run({"-j", "plan", "eth0/egress/clients", "10.0.0.5", "none"}).output)["before"],
            "silver");
}

TEST_F(HeadgatectlTest, ExplainsWhyAMemberGetsNoPlan) {
  add_plans(daemon);
  ServedSocket server(path, handler());
  EXPECT_EQ(run({"plan", "eth0/egress/clients", "10.0.0.5"}).exit_code, kExitUsage);
  EXPECT_EQ(run({"plan", "eth0/egress/clients", "10.0.0.5", "bronze"}).exit_code, kExitUsage);
  EXPECT_EQ(run({"plan", "eth0/egress/clients", "10.0.0", "gold"}).exit_code, kExitUsage);
  daemon.member_result = {.ok = false, .refusal = "there are 100000 members"};
  const Outcome outcome = run({"plan", "eth0/egress/clients", "10.0.0.5", "gold"});
  EXPECT_EQ(outcome.exit_code, kExitRefused);
  EXPECT_EQ(outcome.errors, "headgatectl: there are 100000 members\n");
}

TEST_F(HeadgatectlTest, GivesPlansToTheMembersOfItsInput) {
  add_plans(daemon);
  daemon.member_result.before = 1;
  input = "# of the north\n\n10.0.0.5 gold\n 10.0.0.6\tsilver # as it was\r\n10.0.0.7 none";
  ServedSocket server(path, handler());
  const Outcome outcome = run({"plan", "eth0/egress/clients", "-"});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_EQ(outcome.errors, "");
  EXPECT_EQ(outcome.output, "2 members changed, 1 as before, 0 refused\n");
  ASSERT_EQ(daemon.member_changes.size(), 3);
  EXPECT_EQ(daemon.member_changes[2].plan, kNoPlan);
}

TEST_F(HeadgatectlTest, NamesTheLinesOfItsInputThatAreRefusedAndGoesOn) {
  add_plans(daemon);
  input = "10.0.0.5 bronze\n10.0.0.6 gold\n10.0.0.7\n" + std::string(2000, 'x') +
          " gold\n10.0.0 gold\n10.0.0.8 gold\n";
  ServedSocket server(path, handler());
  const Outcome outcome = run({"plan", "eth0/egress/clients", "-"});
  EXPECT_EQ(outcome.exit_code, kExitRefused);
  EXPECT_EQ(outcome.output, "2 members changed, 0 as before, 4 refused\n");
  EXPECT_THAT(
      outcome.errors,
      AllOf(HasSubstr("headgatectl: line 1: class \"eth0/egress/clients\" has no plan \"bronze\", it has"),
            HasSubstr("headgatectl: line 3: expected MEMBER PLAN, as in 10.0.0.5 gold\n"),
            HasSubstr("headgatectl: line 4: longer than 1024 bytes\n"),
            HasSubstr("headgatectl: line 5: member \"10.0.0\" is not a network")));
}

TEST_F(HeadgatectlTest, NamesTheFirstOfManyRefusedLines) {
  add_plans(daemon);
  for (int i = 0; i < 2000; ++i) input += "10.0.0.5 bronze\n";
  ServedSocket server(path, handler());
  const Outcome outcome = run({"plan", "eth0/egress/clients", "-"});
  EXPECT_EQ(outcome.exit_code, kExitRefused);
  EXPECT_EQ(outcome.output, "0 members changed, 0 as before, 2 000 refused\n");
  EXPECT_EQ(std::count(outcome.errors.begin(), outcome.errors.end(), '\n'), 11);
  EXPECT_THAT(outcome.errors,
              testing::EndsWith("headgatectl: 1 990 more lines were refused, which are not named\n"));
}

TEST_F(HeadgatectlTest, PrintsAReplyALineForTheMembersOfItsInput) {
  add_plans(daemon);
  input = "10.0.0.5 gold\n\n10.0.0.6 bronze\n10.0.0.7\n";
  ServedSocket server(path, handler());
  const Outcome outcome = run({"-j", "plan", "eth0/egress/clients", "-"});
  EXPECT_EQ(outcome.exit_code, kExitRefused);
  std::istringstream lines(outcome.output);
  std::vector<Json> replies;
  for (std::string line; std::getline(lines, line);) replies.push_back(Json::parse(line));
  ASSERT_EQ(replies.size(), 3);
  std::sort(replies.begin(), replies.end(),
            [](const Json& a, const Json& b) { return a["line"] < b["line"]; });
  EXPECT_EQ(
      replies[0].dump(),
      R"({"schema":1,"class":"eth0/egress/clients","member":"10.0.0.5","plan":"gold","before":null,"line":1})");
  EXPECT_EQ(replies[1]["error"]["code"], "unknown_plan");
  EXPECT_EQ(replies[1]["line"], 3);
  EXPECT_EQ(replies[2]["error"]["code"], "bad_request");
  EXPECT_THAT(outcome.errors, HasSubstr("headgatectl: 1 member changed, 0 as before, 2 refused\n"));
}

TEST_F(HeadgatectlTest, GivesPlansToThousandsOfMembersOverOneConnection) {
  constexpr std::size_t kMembers = 20'000;
  add_plans(daemon);
  for (std::size_t i = 0; i < kMembers; ++i)
    input += "10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250) + " gold\n";
  ServedSocket server(path, handler(), {.clients = 1});
  const Outcome outcome = run({"plan", "eth0/egress/clients", "-"});
  EXPECT_EQ(outcome.errors, "");
  EXPECT_EQ(outcome.output, "20 000 members changed, 0 as before, 0 refused\n");
  EXPECT_EQ(daemon.member_changes.size(), kMembers);
}

TEST_F(HeadgatectlTest, EndsAtOnceWhereTheClassOfItsInputDoesNotExist) {
  add_plans(daemon);
  for (int i = 0; i < 100; ++i) input += "10.0.0.5 gold\n";
  ServedSocket server(path, handler());
  const Outcome outcome = run({"plan", "customers", "-"});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_THAT(outcome.errors, StartsWith("headgatectl: no class \"customers\""));
  EXPECT_EQ(std::count(outcome.errors.begin(), outcome.errors.end(), '\n'), 5)
      << "once, with the four classes";
}

TEST_F(HeadgatectlTest, SaysHowFarItCameWhereTheDaemonGoes) {
  add_plans(daemon);
  for (int i = 0; i < 5000; ++i) input += "10.0.0.5 gold\n";
  int replies = 0;
  ServedSocket server(path, [&](std::string_view line, const PeerCredentials&) {
    ControlReply reply(handle_request(line, daemon).line);
    if (++replies == 3) reply.stream = [](std::string&) { return false; };  // then it closes
    return reply;
  });
  const Outcome outcome = run({"plan", "eth0/egress/clients", "-"});
  EXPECT_EQ(outcome.exit_code, kExitNotRunning);
  EXPECT_EQ(outcome.output, "3 members changed, 0 as before, 0 refused\n");
  EXPECT_THAT(outcome.errors, HasSubstr("it closed the connection without a reply"));
}

TEST_F(HeadgatectlTest, NeedsNoDaemonForAnInputWithoutMembers) {
  input = "# none\n";
  EXPECT_EQ(run({"plan", "eth0/egress/clients", "-"}).output, "0 members changed, 0 as before, 0 refused\n");
}

TEST_F(HeadgatectlTest, CapturesToAFileThatTcpdumpReads) {
  ServedSocket server(path, capture_handler([](PacketTap& tap) {
                        put(tap, PacketEvent::received, 1053);
                        put(tap, PacketEvent::received, 1054);
                        put(tap, PacketEvent::sent, 1053);
                        put(tap, PacketEvent::dropped, 1054, DropReason::queue_full);
                        put(tap, PacketEvent::received, 1055);
                      }));
  const std::string file = directory.file("trace.pcapng");
  const Outcome outcome = run({"capture", "dns", "-w", file, "-c", "4"});
  EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.errors;
  EXPECT_EQ(outcome.output, "");
  EXPECT_EQ(outcome.errors, "headgatectl: 4 packets captured, 0 missed\n");
  const PcapngTrace trace = PcapngReader(read_all(file)).read();
  std::vector<std::string> comments;
  for (const auto& packet : trace.packets) comments.push_back(packet.comment);
  EXPECT_THAT(comments, testing::ElementsAre("received", "received", "sent", "dropped: queue_full"));

  const std::string text = directory.file("text");
  ASSERT_EQ(std::system(("TZ=UTC tcpdump -tt -nr " + file + " > " + text + " 2> /dev/null").c_str()), 0);
  EXPECT_EQ(read_all(text),
            "1700000000.000000 IP 10.0.0.1.4000 > 10.0.0.2.1053: UDP, length 18\n"
            "1700000000.000000 IP 10.0.0.1.4000 > 10.0.0.2.1054: UDP, length 18\n"
            "1700000000.000000 IP 10.0.0.1.4000 > 10.0.0.2.1053: UDP, length 18\n"
            "1700000000.000000 IP 10.0.0.1.4000 > 10.0.0.2.1054: UDP, length 18\n");
}

TEST_F(HeadgatectlTest, CapturesLiveIntoAPipe) {
  std::atomic<PacketTap*> tap = nullptr;
  ServedSocket server(path, capture_handler([&tap](PacketTap& started) { tap = &started; }));
  const std::string text = directory.file("text");
  std::thread reader([&] {
    const std::string command = std::string(HEADGATECTL) + " --control " + path +
                                " capture dns --dropped -w - 2>/dev/null | tcpdump -l -c 2 -nr - > " + text +
                                " 2>/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);
  });
  while (tap == nullptr) std::this_thread::yield();
  put(*tap, PacketEvent::received, 50);
  put(*tap, PacketEvent::dropped, 51, DropReason::queue_full);
  const auto lines = [&] {
    const std::string all = read_all(text);
    return std::count(all.begin(), all.end(), '\n');
  };
  while (lines() < 1) std::this_thread::yield();  // shown before the next one comes
  put(*tap, PacketEvent::dropped, 52, DropReason::queue_full);
  reader.join();  // headgatectl sees that nobody reads its output any more
  EXPECT_EQ(lines(), 2);
  EXPECT_THAT(read_all(text), AllOf(HasSubstr("10.0.0.2.51"), HasSubstr("10.0.0.2.52")));
}

TEST_F(HeadgatectlTest, SaysHowMuchItCapturedInJson) {
  ServedSocket server(path, capture_handler([](PacketTap& tap) { put(tap, PacketEvent::sent, 53); }));
  const std::string file = directory.file("trace.pcapng");
  const Outcome outcome = run({"-j", "capture", "dns", "-w", file, "-c", "1"});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_EQ(Json::parse(outcome.output),
            (Json{{"schema", 1}, {"file", file}, {"captured", 1}, {"missed", 0}}));
}

TEST_F(HeadgatectlTest, SaysThatTheDaemonEndedTheCapture) {
  ServedSocket server(path, capture_handler([](PacketTap& tap) {
                        put(tap, PacketEvent::sent, 53);
                        tap.end();
                      }));
  const std::string file = directory.file("trace.pcapng");
  const Outcome outcome = run({"capture", "dns", "-w", file});
  EXPECT_EQ(outcome.exit_code, kExitRefused);
  EXPECT_THAT(outcome.errors, HasSubstr("headgated ended the capture"));
  EXPECT_EQ(PcapngReader(read_all(file)).read().packets.size(), 1u);
}

TEST_F(HeadgatectlTest, WritesNoTraceOfAClassThatThereIsNot) {
  ServedSocket server(path, capture_handler([](PacketTap&) {}));
  const std::string file = directory.file("trace.pcapng");
  const Outcome outcome = run({"capture", "dnss", "-w", file});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_THAT(outcome.errors, HasSubstr(R"(no class "dnss", did you mean "dns"?)"));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(HeadgatectlTest, SaysWhereItCannotWriteATrace) {
  ServedSocket server(path, capture_handler([](PacketTap&) {}));
  const Outcome outcome = run({"capture", "dns", "-w", "/nowhere/trace.pcapng"});
  EXPECT_EQ(outcome.exit_code, kExitRefused);
  EXPECT_EQ(outcome.errors,
            "headgatectl: cannot write to /nowhere/trace.pcapng: No such file or directory\n");
  const Outcome full = run({"capture", "dns", "-w", "/dev/full"});
  EXPECT_EQ(full.errors, "headgatectl: cannot write to /dev/full: No space left on device\n");
}

TEST_F(HeadgatectlTest, ASignalEndsACaptureWithAWholeTrace) {
  std::atomic<PacketTap*> tap = nullptr;
  ServedSocket server(path, capture_handler([&tap](PacketTap& started) {
                        put(started, PacketEvent::sent, 53);
                        tap = &started;
                      }));
  const std::string file = directory.file("trace.pcapng"), pid_file = directory.file("pid");
  std::thread interrupter([&] {
    while (tap == nullptr || tap.load()->peek() || read_all(file).size() < 100) std::this_thread::yield();
    kill(std::stoi(read_all(pid_file)), SIGINT);
  });
  const std::string command = "echo $$ > " + pid_file + "; exec " + HEADGATECTL + " --control " + path +
                              " capture dns -w " + file + " 2>/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
  interrupter.join();
  EXPECT_EQ(PcapngReader(read_all(file)).read().packets.size(), 1u);
}

}  // namespace
}  // namespace headgate
