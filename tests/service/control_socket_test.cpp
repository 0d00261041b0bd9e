#include "service/control_socket.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <list>
#include <stdexcept>
#include <thread>
#include <vector>

#include "served_socket.hpp"
#include "service/peer_credentials.hpp"
#include "service/published_socket.hpp"
#include "temporary_directory.hpp"
#include "unix_socket_client.hpp"

namespace headgate {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string echo(std::string_view line, const PeerCredentials&) {
  return "<" + std::string(line) + ">\n";
}

class ControlSocketTest : public testing::Test {
 protected:
  // Everything that is readable now.
  static void drain(ControlSocket& socket) {
    pollfd descriptor{socket.descriptor(), POLLIN, 0};
    while (poll(&descriptor, 1, 0) > 0) socket.dispatch();
  }
  static mode_t mode_of(const std::string& file) {
    struct stat status {};
    return lstat(file.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }
  std::string message_of_failure(const std::string& at) const {
    try {
      ControlSocket socket(at, echo);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory.path()), {}));
  }

  TemporaryDirectory directory;
  std::string path = directory.file("control.sock");
};

TEST_F(ControlSocketTest, AnswersALine) {
  ControlSocket socket(path, echo);
  UnixSocketClient client(path);
  client.write("show\n");
  drain(socket);
  EXPECT_EQ(client.read_line(), "<show>\n");
}

TEST_F(ControlSocketTest, AnswersSeveralLinesOfOnePacketInOrder) {
  ControlSocket socket(path, echo);
  UnixSocketClient client(path);
  client.write("a\nb\n\nc");
  drain(socket);
  client.write("d\n");
  drain(socket);
  for (const char* expected : {"<a>\n", "<b>\n", "<>\n", "<cd>\n"}) EXPECT_EQ(client.read_line(), expected);
}

TEST_F(ControlSocketTest, AnswersThousandsOfLinesThatAreSentAhead) {
  constexpr int kLines = 5000;
  ServedSocket socket(path, echo);
  UnixSocketClient client(path);
  std::thread writer([&client] {
    std::string lines;
    for (int i = 0; i < kLines; ++i) lines += "request " + std::to_string(i) + "\n";
    EXPECT_TRUE(client.write(lines));
  });
  for (int i = 0; i < kLines; ++i) ASSERT_EQ(client.read_line(), "<request " + std::to_string(i) + ">\n");
  writer.join();
}

TEST_F(ControlSocketTest, AnswersALineThatComesInPieces) {
  ControlSocket socket(path, echo);
  UnixSocketClient client(path);
  for (const char* piece : {"s", "ho", "w", "\n"}) {
    client.write(piece);
    drain(socket);
  }
  EXPECT_EQ(client.read_line(), "<show>\n");
}

TEST_F(ControlSocketTest, AnswersAllLinesOfAClientThatHasFinishedWriting) {
  ControlSocket socket(path, echo);
  UnixSocketClient client(path);
  client.write("a\nb\nlast without an end");
  client.finish_writing();
  drain(socket);
  for (const char* expected : {"<a>\n", "<b>\n", "<last without an end>\n"})
    EXPECT_EQ(client.read_line(), expected);
  EXPECT_TRUE(client.closed_by_peer());
}

TEST_F(ControlSocketTest, SurvivesAClientThatLeavesBeforeItsReply) {
  ControlSocket socket(path, echo);
  {
    UnixSocketClient client(path);
    client.write("a\nb\nc");
  }
  drain(socket);
  UnixSocketClient next(path);
  next.write("x\n");
  drain(socket);
  EXPECT_EQ(next.read_line(), "<x>\n");
}

TEST_F(ControlSocketTest, TakesALineOfTheLongestLengthAndNoLonger) {
  const std::string longest(kMaxRequestBytes, 'x');
  ServedSocket socket(
      path, [](std::string_view line, const PeerCredentials&) { return std::to_string(line.size()) + "\n"; });
  UnixSocketClient client(path);
  EXPECT_TRUE(client.write(longest + "\n"));
  EXPECT_EQ(client.read_line(), "65536\n");
  client.write(longest + "y\n");
  EXPECT_THAT(client.read_line(),
              HasSubstr(R"("code":"bad_request","message":"the request is longer than 65536)"));
  EXPECT_TRUE(client.closed_by_peer());
}

TEST_F(ControlSocketTest, StopsReadingALineWithoutEnd) {
  ServedSocket socket(path, echo);
  UnixSocketClient client(path);
  const std::string piece(64 * 1024, 'x');
  int pieces = 0;
  while (pieces < 1000 && client.write(piece)) ++pieces;
  EXPECT_LT(pieces, 1000);
  EXPECT_THAT(client.read_line(), HasSubstr(R"("code":"bad_request")"));
}

// The reply of a client that reads nothing stays in its own buffer, nothing more of it is read, and others go
// on.
TEST_F(ControlSocketTest, AClientThatNeverReadsCostsOneReplyAndDelaysNobody) {
  int handled = 0;
  ControlSocket socket(path, [&](std::string_view line, const PeerCredentials& peer) {
    ++handled;
    return line == "much" ? std::string(4'000'000, 'x') + "\n" : echo(line, peer);
  });
  UnixSocketClient deaf(path);
  fcntl(deaf.descriptor(), F_SETFL, O_NONBLOCK);
  for (int i = 0; i < 100; ++i) deaf.write("much\n");
  for (int i = 0; i < 1000; ++i) socket.dispatch();
  EXPECT_EQ(handled, 1);
  UnixSocketClient other(path);
  other.write("quick\n");
  drain(socket);
  EXPECT_EQ(other.read_line(), "<quick>\n");
  EXPECT_EQ(handled, 2);
  pollfd descriptor{socket.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&descriptor, 1, 0), 0) << "a deaf client must not keep the main loop busy";
}

TEST_F(ControlSocketTest, ALongReplyArrivesWhole) {
  const std::string reply = std::string(400'000, 'x') + "\n";
  ServedSocket socket(path, [&](std::string_view, const PeerCredentials&) { return reply; },
                      {.client_timeout = std::chrono::minutes(1)});
  UnixSocketClient client(path);
  client.write("much\nmuch\n");
  EXPECT_TRUE(client.read_line() == reply);
  EXPECT_TRUE(client.read_line() == reply);
}

TEST_F(ControlSocketTest, ClosesASilentClientAndOneThatDoesNotReadAfterTheTimeout) {
  ControlSocketLimits limits;
  limits.client_timeout = std::chrono::milliseconds(20);
  ServedSocket socket(
      path, [](std::string_view, const PeerCredentials&) { return std::string(4'000'000, 'x') + "\n"; },
      limits);
  UnixSocketClient silent(path), partial(path), deaf(path);
  partial.write("begun");
  deaf.write("much\n");
  EXPECT_TRUE(silent.closed_by_peer());
  EXPECT_TRUE(partial.closed_by_peer());
  pollfd descriptor{deaf.descriptor(), POLLRDHUP, 0};
  EXPECT_EQ(poll(&descriptor, 1, 20'000), 1);
}

TEST_F(ControlSocketTest, RefusesMoreThanTheMostClientsAndTakesThemLater) {
  ControlSocket socket(path, echo);
  std::list<UnixSocketClient> clients;
  for (std::size_t i = 0; i < kMaxControlClients; ++i) {
    ASSERT_EQ(clients.emplace_back(path).connect_error(), 0);
    drain(socket);
  }
  UnixSocketClient one_more(path);
  drain(socket);
  EXPECT_THAT(one_more.read_line(), StartsWith(R"({"schema":1,"error":{"code":"busy",)"));
  EXPECT_TRUE(one_more.closed_by_peer());
  clients.pop_front();
  drain(socket);
  UnixSocketClient later(path);
  later.write("x\n");
  drain(socket);
  EXPECT_EQ(later.read_line(), "<x>\n");
}

TEST_F(ControlSocketTest, RepliesWhenTheHandlerThrows) {
  ControlSocket socket(
      path, [](std::string_view, const PeerCredentials&) -> std::string { throw std::runtime_error("no"); });
  UnixSocketClient client(path);
  client.write("x\n");
  drain(socket);
  EXPECT_EQ(client.read_line(),
            R"({"schema":1,"error":{"code":"internal","message":"the daemon failed to answer"}})"
            "\n");
}

TEST_F(ControlSocketTest, ShedsConnectionsWhenDescriptorsHaveRunOut) {
  ControlSocket socket(path, echo);
  UnixSocketClient client(path);
  std::list<FileDescriptor> hoard;
  rlimit limit{}, low{};
  getrlimit(RLIMIT_NOFILE, &limit);
  low = limit;
  low.rlim_cur = 200;
  setrlimit(RLIMIT_NOFILE, &low);
  for (;;) {
    FileDescriptor descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!descriptor) break;
    hoard.push_back(std::move(descriptor));
  }
  pollfd descriptor{socket.descriptor(), POLLIN, 0};
  for (int i = 0; i < 10 && poll(&descriptor, 1, 0) > 0; ++i) socket.dispatch();
  EXPECT_EQ(poll(&descriptor, 1, 0), 0)
      << "a connection that cannot be accepted must not keep the main loop busy";
  hoard.clear();
  setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_TRUE(client.closed_by_peer());
}

TEST_F(ControlSocketTest, HasItsModeWhateverTheUmask) {
  for (const mode_t mask : {0, 022, 0077, 0777}) {
    const mode_t before = umask(mask);
    ControlSocket socket(path, echo);
    EXPECT_EQ(umask(before), mask);
    EXPECT_EQ(mode_of(path), 0660) << std::oct << mask;
  }
}

TEST_F(ControlSocketTest, BelongsToTheGroup) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a file to another group";
  PublishedSocket socket(path, gid_t{12345});
  struct stat status {};
  ASSERT_EQ(lstat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_gid, 12345);
  EXPECT_EQ(mode_of(path), 0660);
}

TEST_F(ControlSocketTest, LeavesNothingBehind) {
  { ControlSocket socket(path, echo); }
  EXPECT_EQ(files(), 0);
}

TEST_F(ControlSocketTest, ReplacesTheSocketOfADeadDaemon) {
  {
    ControlSocket dead(path, echo);
    std::filesystem::create_hard_link(path, directory.file("kept"));
  }
  std::filesystem::rename(directory.file("kept"), path);
  ControlSocket socket(path, echo);
  EXPECT_EQ(files(), 1);
  UnixSocketClient client(path);
  client.write("x\n");
  drain(socket);
  EXPECT_EQ(client.read_line(), "<x>\n");
}

TEST_F(ControlSocketTest, RefusesToReplaceALiveOne) {
  ControlSocket live(path, echo);
  EXPECT_EQ(message_of_failure(path),
            "another headgated answers on " + path + " (process " + std::to_string(getpid()) + ")");
  EXPECT_EQ(files(), 1);
  drain(live);
  UnixSocketClient client(path);
  client.write("x\n");
  drain(live);
  EXPECT_EQ(client.read_line(), "<x>\n");
}

TEST_F(ControlSocketTest, RefusesToReplaceALiveOneWhoseBacklogIsFull) {
  ControlSocket live(path, echo);
  std::list<FileDescriptor> waiting;
  int error = 0;
  while (error == 0) {
    FileDescriptor& client =
        waiting.emplace_back(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    error =
        connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 ? errno : 0;
  }
  ASSERT_EQ(error, EAGAIN);
  EXPECT_EQ(message_of_failure(path), "another headgated answers on " + path);
}

// A name as a daemon has it between bind() and the rename, of a process that has ended.
class TemporarySocketName : public ControlSocketTest {
 protected:
  static pid_t ended_process() {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    return child;
  }
  std::string name_of(pid_t process) const { return path + "." + std::to_string(process); }
  static FileDescriptor bound(const std::string& name) {
    FileDescriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << name;
    return listener;
  }
};

TEST_F(TemporarySocketName, OfAKilledDaemonIsSweptAtTheNextStart) {
  const std::string left = name_of(ended_process());
  bound(left).close();
  ControlSocket socket(path, echo);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_EQ(files(), 1);
}

TEST_F(TemporarySocketName, IsSweptBesideARelativePathToo) {
  const std::filesystem::path before = std::filesystem::current_path();
  const std::string left = name_of(ended_process());
  bound(left).close();
  std::filesystem::current_path(directory.path());
  { ControlSocket socket("control.sock", echo); }
  std::filesystem::current_path(before);
  EXPECT_EQ(files(), 0);
}

TEST_F(TemporarySocketName, WithSomebodyBehindItStays) {
  const std::string live = name_of(ended_process());
  const FileDescriptor listener = bound(live);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  ControlSocket socket(path, echo);
  EXPECT_TRUE(std::filesystem::exists(live));
}

TEST_F(TemporarySocketName, OfADaemonThatIsJustStartingStays) {
  const pid_t starting = fork();
  if (starting == 0) {
    pause();
    _exit(0);
  }
  const std::string name = name_of(starting);
  const FileDescriptor not_yet_listening = bound(name);
  { ControlSocket socket(path, echo); }
  EXPECT_TRUE(std::filesystem::exists(name));
  kill(starting, SIGKILL);
  waitpid(starting, nullptr, 0);
}

TEST_F(TemporarySocketName, IsNotTakenForOneWhereItOnlyLooksLikeIt) {
  const std::string number = std::to_string(ended_process());
  const std::vector<std::string> others = {path + ".old",        path + "." + number + "0x",
                                           path + ".0" + number, path + "-" + number,
                                           path + ".-" + number, path + ".",
                                           path + "x." + number};
  for (const std::string& other : others) bound(other).close();
  std::ofstream(path + "." + number) << "precious";
  ControlSocket socket(path, echo);
  EXPECT_EQ(files(), others.size() + 2);
}

TEST_F(ControlSocketTest, RefusesToReplaceAFileThatIsNoSocket) {
  std::ofstream(path) << "precious";
  EXPECT_EQ(message_of_failure(path),
            "control socket " + path + ": there is a file of that name that is not a socket");
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(std::filesystem::file_size(path), 8);
}

TEST_F(ControlSocketTest, NamesAMissingDirectory) {
  EXPECT_EQ(message_of_failure(directory.file("none/control.sock")),
            "control socket " + directory.file("none/control.sock") + ": the directory " +
                directory.file("none") + " does not exist; create it, or choose another path with --control");
}

TEST_F(ControlSocketTest, NamesAPathThatIsTooLong) {
  EXPECT_THAT(message_of_failure(directory.file(std::string(100, 'x'))), HasSubstr("the path is too long"));
  EXPECT_EQ(files(), 0);
}

TEST_F(ControlSocketTest, LeavesThePathAloneWhenAnotherHasTakenIt) {
  auto first = std::make_unique<ControlSocket>(path, echo);
  std::filesystem::remove(path);
  ControlSocket second(path, echo);
  first.reset();
  EXPECT_EQ(UnixSocketClient(path).connect_error(), 0);
}

// Root alone can be somebody else. The mode of the file is opened up, so that the check of the peer decides.
class ForeignPeer : public ControlSocketTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to connect as another user";
    chmod(directory.path().c_str(), 0755);
  }

  // What a process of that user and groups is told; asks one question.
  std::string told_to(uid_t user, gid_t group, const std::vector<gid_t>& supplementary) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
      if (setgroups(supplementary.size(), supplementary.data()) < 0 || setgid(group) < 0 || setuid(user) < 0)
        _exit(1);
      UnixSocketClient client(path);
      client.write("x\n");
      const std::string line =
          client.connect_error() ? std::strerror(client.connect_error()) : client.read_line();
      _exit(write(ends[1], line.data(), line.size()) < 0 ? 1 : 0);
    }
    close(ends[1]);
    char buffer[256];
    const ssize_t length = read(ends[0], buffer, sizeof buffer);
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return std::string(buffer, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  }
};

TEST_F(ForeignPeer, IsKeptOutByTheModeOfTheFile) {
  ServedSocket socket(path, echo);
  EXPECT_EQ(told_to(65534, 65534, {}), "Permission denied");
}

TEST_F(ForeignPeer, IsToldThatItIsNotPermittedEvenWhereTheModeLetsItIn) {
  ServedSocket socket(path, echo);
  chmod(path.c_str(), 0666);
  EXPECT_EQ(
      told_to(65534, 65534, {1, 2, 3}),
      R"({"schema":1,"error":{"code":"not_permitted","message":"not permitted: only root and members of group )"
      R"(headgate may"}})"
      "\n");
}

TEST_F(ForeignPeer, IsServedWhenItIsRoot) {
  ServedSocket socket(path, echo);
  EXPECT_EQ(told_to(0, 65534, {}), "<x>\n");
}

TEST(PeerCredentials, GiveManySupplementaryGroups) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to set the groups of a process";
  std::vector<gid_t> groups;
  for (gid_t group = 1000; group < 1100; ++group) groups.push_back(group);
  const pid_t child = fork();
  if (child == 0) {
    int pair[2];
    if (setgroups(groups.size(), groups.data()) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
      _exit(1);
    const auto peer = peer_credentials(pair[0]);
    _exit(peer && peer->supplementary_groups == groups && peer->process == getpid() ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(AccessRule, PermitsRootOurselvesAndMembersOfTheGroup) {
  const AccessRule rule{500, 900};
  EXPECT_TRUE(permitted({1, 0, 0, {}}, rule));
  EXPECT_TRUE(permitted({1, 500, 1, {}}, rule));
  EXPECT_TRUE(permitted({1, 1000, 900, {}}, rule));
  EXPECT_TRUE(permitted({1, 1000, 1000, {27, 900}}, rule));
}

TEST(AccessRule, RefusesEverybodyElse) {
  EXPECT_FALSE(permitted({1, 1000, 1000, {27, 500}}, {500, 900}));
  EXPECT_FALSE(permitted({1, 1000, 0, {0}}, {500, std::nullopt}));
}

// A reply that goes on with what a test puts in `source`.
class ControlSocketStreamTest : public ControlSocketTest {
 protected:
  ControlSocket::Handler handler() {
    return [this](std::string_view line, const PeerCredentials& peer) {
      ControlReply reply(echo(line, peer));
      if (line != "stream") return reply;
      const auto alive = std::make_shared<int>();
      streams.push_back(alive);
      reply.stream = [this, alive](std::string& out) {
        ++reads;
        out += std::exchange(source, {});
        return !ended;
      };
      return reply;
    };
  }
  // Waits for the timer that asks streams.
  static void wait(ControlSocket& socket) {
    pollfd descriptor{socket.descriptor(), POLLIN, 0};
    poll(&descriptor, 1, 5000);
    socket.dispatch();
  }
  static std::string read(const UnixSocketClient& client, std::size_t count) {
    std::string bytes(count, '\0');
    const ssize_t received = recv(client.descriptor(), bytes.data(), count, MSG_WAITALL);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(received, 0)));
    return bytes;
  }
  bool streaming() const { return !streams.back().expired(); }

  std::string source;
  bool ended = false;
  int reads = 0;
  std::vector<std::weak_ptr<int>> streams;
};

TEST_F(ControlSocketStreamTest, SendsBytesAfterTheReplyAsTheyCome) {
  ControlSocket socket(path, handler());
  UnixSocketClient client(path);
  source = std::string("a\n\0b", 4);
  client.write("stream\n");
  drain(socket);
  EXPECT_EQ(client.read_line(), "<stream>\n");
  while (!source.empty()) wait(socket);
  EXPECT_EQ(read(client, 4), std::string("a\n\0b", 4));
  source = "later";
  while (!source.empty()) wait(socket);
  EXPECT_EQ(read(client, 5), "later");
  EXPECT_TRUE(streaming());
}

TEST_F(ControlSocketStreamTest, ClosesAfterTheEndOfTheStream) {
  ControlSocket socket(path, handler());
  UnixSocketClient client(path);
  source = "last";
  ended = true;
  client.write("stream\nshow\n");
  drain(socket);
  while (streaming()) wait(socket);
  EXPECT_EQ(client.read_line(), "<stream>\n");
  EXPECT_EQ(read(client, 4), "last");
  EXPECT_TRUE(client.closed_by_peer()) << "the second request is not answered";
}

TEST_F(ControlSocketStreamTest, EndsWithItsClient) {
  ControlSocket socket(path, handler());
  {
    UnixSocketClient client(path);
    client.write("stream\n");
    drain(socket);
    EXPECT_EQ(client.read_line(), "<stream>\n");
    EXPECT_TRUE(streaming());
  }
  drain(socket);
  EXPECT_FALSE(streaming());
}

TEST_F(ControlSocketStreamTest, GoesOnForAClientThatHasFinishedWriting) {
  ControlSocket socket(path, handler());
  UnixSocketClient client(path);
  client.write("stream\n");
  client.finish_writing();
  drain(socket);
  EXPECT_EQ(client.read_line(), "<stream>\n");
  source = "more";
  while (!source.empty()) wait(socket);
  EXPECT_EQ(read(client, 4), "more");
}

TEST_F(ControlSocketStreamTest, AsksForNothingMoreWhileTheClientDoesNotRead) {
  ControlSocket socket(path, handler());
  UnixSocketClient client(path);
  client.write("stream\n");
  drain(socket);
  const std::string piece(1024 * 1024, 'x');
  source = piece;
  while (!source.empty()) wait(socket);
  const int reads_before = reads;
  source = "next";
  for (int i = 0; i < 5; ++i) socket.dispatch();
  EXPECT_EQ(reads, reads_before);
  UnixSocketClient other(path);
  other.write("show\n");
  drain(socket);
  EXPECT_EQ(other.read_line(), "<show>\n") << "others are served meanwhile";
  const std::string expected = "<stream>\n" + piece + "next";
  std::string all, some(64 * 1024, '\0');
  while (all.size() < expected.size()) {
    const ssize_t received = recv(client.descriptor(), some.data(), some.size(), MSG_DONTWAIT);
    if (received > 0) all.append(some, 0, static_cast<std::size_t>(received));
    if (received <= 0) wait(socket);
  }
  EXPECT_EQ(all, expected);
}

TEST_F(ControlSocketStreamTest, ClosesAClientThatTakesNothingForTheTimeout) {
  ControlSocket socket(path, handler(), {.client_timeout = std::chrono::milliseconds(100)});
  UnixSocketClient deaf(path);
  deaf.write("stream\n");
  drain(socket);
  source = std::string(4 * 1024 * 1024, 'x');
  while (!source.empty()) wait(socket);
  const auto full = std::chrono::steady_clock::now();
  EXPECT_TRUE(streaming());
  for (int i = 0; i < 3 && streaming(); ++i) wait(socket);
  const auto took = std::chrono::steady_clock::now() - full;
  EXPECT_FALSE(streaming());
  EXPECT_GE(took, std::chrono::milliseconds(90)) << "not before its time";
  const int reads_before = reads;
  socket.dispatch();
  EXPECT_EQ(reads, reads_before) << "nothing is asked for a client that is gone";
}

TEST_F(ControlSocketStreamTest, GoesOnForAClientThatReadsALittleNowAndThen) {
  ControlSocket socket(path, handler(), {.client_timeout = std::chrono::milliseconds(500)});
  UnixSocketClient slow(path);
  slow.write("stream\n");
  drain(socket);
  source = std::string(64 * 1024 * 1024, 'x');
  while (!source.empty()) wait(socket);
  std::string some(256 * 1024, '\0');
  const auto begun = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(1200)) {
    ASSERT_GT(recv(slow.descriptor(), some.data(), some.size(), MSG_DONTWAIT), 0);
    wait(socket);
    ASSERT_TRUE(streaming());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST_F(ControlSocketStreamTest, HasNoTimeLimitWhileNothingIsSent) {
  ControlSocket socket(path, handler(), {.client_timeout = std::chrono::milliseconds(20)});
  UnixSocketClient client(path);
  client.write("stream\n");
  drain(socket);
  for (int i = 0; i < 10; ++i) wait(socket);  // kStreamInterval each
  EXPECT_TRUE(streaming());
}

}  // namespace
}  // namespace headgate
