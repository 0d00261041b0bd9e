// What goes wrong on the way to a server, and how it goes on.
#include "headgate/redis/connection.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "headgate/redis/sliding_window.hpp"
#include "headgate/redis/token_bucket.hpp"
#include "support/redis_server.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;
using redis::Trouble;
using testing::HasSubstr;

// A bucket of three units a day at a server.
struct Client {
  explicit Client(redis::Server server) : connection(std::move(server)) {}

  redis::Connection connection;
  redis::TokenBucket bucket{connection, "api", UnitRate(3, std::chrono::days(1)), 3};
};

redis::Server patient(const std::string& address) {
  return {.address = address, .timeout = 30s};
}

// Asks, and expects to be refused.
void expect_trouble(Client& client, Trouble trouble, const std::string& text, std::uint64_t n = 1) {
  try {
    client.bucket.allow("alice", n);
    ADD_FAILURE() << "no trouble, but: " << text;
  } catch (const redis::Error& error) {
    EXPECT_EQ(error.trouble(), trouble) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(text));
    EXPECT_THAT(error.what(), HasSubstr("Redis at " + client.connection.server().address + ": "));
  }
}

TEST(RedisConnection, NamesAServerThatIsNotThere) {
  Client by_socket({.address = "unix:/nonexistent/redis.sock"});
  expect_trouble(by_socket, Trouble::unreachable, "cannot connect: No such file or directory");
  Client by_port({.address = "127.0.0.1:1"});
  expect_trouble(by_port, Trouble::unreachable, "cannot connect: Connection refused");
  EXPECT_THROW(by_port.connection.connect(), redis::Error);
}

TEST(RedisConnection, RefusesWhatIsNoAddress) {
  const std::string too_long = "unix:/" + std::string(120, 'x');
  for (const std::string& address :
       {std::string(), std::string("unix:"), std::string(":6379"), std::string("host:"),
        std::string("host:0"), std::string("host:65536"), std::string("host:6379x"),
        std::string("host:6379:1"), std::string("[::1"), std::string("[::1]6379"), std::string("[]:1"),
        std::string("/run/redis.sock"), too_long}) {
    try {
      redis::Connection connection({.address = address});
      ADD_FAILURE() << "takes '" << address << "'";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr("unix:/path, host, host:port or [IPv6]:port, not '" + address + "'"));
    }
  }
  EXPECT_THROW(redis::Connection({.timeout = 0s}), std::invalid_argument);
  EXPECT_THROW(redis::Connection({.timeout = 25h}), std::invalid_argument);
  for (const char* address : {"host", "host:1", "[::1]", "[::1]:6379", "unix:relative"}) {
    EXPECT_NO_THROW(redis::Connection({.address = address}));
  }
}

TEST(RedisConnection, SaysWhenTheAnswerIsLateAndGoesOnAfterwards) {
  test::RedisServer server;
  Client client({.address = server.address(), .timeout = 20ms});
  for (bool connected = false; !connected;) {  // a loaded machine may be late as well
    try {
      client.bucket.allow("bob", 1);
      connected = true;
    } catch (const redis::Error&) {
    }
  }
  server.pause();
  expect_trouble(client, Trouble::late, "no answer within 20000 us");
  expect_trouble(client, Trouble::late, "no answer within 20000 us");
  server.go_on();
  Client later(patient(server.address()));
  EXPECT_TRUE(later.bucket.allow("carol", 1));
}

TEST(RedisConnection, SurvivesARestartOfTheServer) {
  test::RedisServer server;
  Client client(patient(server.address()));
  EXPECT_EQ(client.bucket.allow("alice", 1).remaining, 2u);
  server.stop();
  expect_trouble(client, Trouble::unreachable, "cannot connect");
  server.start();
  EXPECT_EQ(client.bucket.allow("alice", 1).remaining, 2u) << "the server has forgotten all, the script, too";
  server.stop();
  server.start();
  EXPECT_EQ(client.bucket.allow("alice", 1).remaining, 2u) << "no error is seen of what happened in between";
}

TEST(RedisConnection, ConnectsAnewWhenTheServerHasClosedTheConnection) {
  test::RedisServer server;
  Client client(patient(server.address()));
  EXPECT_EQ(client.bucket.allow("alice", 1).remaining, 2u);
  server.ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  EXPECT_EQ(client.bucket.allow("alice", 1).remaining, 1u);
}

TEST(RedisConnection, SendsAScriptAgainThatTheServerHasForgotten) {
  test::RedisServer server;
  Client client(patient(server.address()));
  EXPECT_EQ(client.bucket.allow("alice", 1).remaining, 2u);
  server.ask({"SCRIPT", "FLUSH"});
  EXPECT_EQ(client.bucket.allow("alice", 1).remaining, 1u);
}

TEST(RedisConnection, GivesThePassword) {
  test::RedisServer server({"--requirepass", "secret"});
  Client without(patient(server.address()));
  expect_trouble(without, Trouble::denied, "NOAUTH Authentication required. (give a password)");
  Client wrong({.address = server.address(), .password = "wrong", .timeout = 30s});
  expect_trouble(wrong, Trouble::denied, "(check user and password)");
  Client right({.address = server.address(), .password = "secret", .timeout = 30s});
  EXPECT_TRUE(right.bucket.allow("alice", 1));
}

TEST(RedisConnection, IsAUserWithThePermissionsThatTheTextNames) {
  test::RedisServer server;
  const auto add_user = [&](std::vector<std::string> rules) {
    rules.insert(rules.begin(), {"ACL", "SETUSER"});
    server.ask(rules);
  };
  add_user(
      {"limiter", "on", ">secret", "~api:*", "-@all", "+evalsha", "+script|load", "+time", "+get", "+set"});
  add_user({"reader", "on", ">secret", "~*", "+@read"});
  Client client({.address = server.address(), .user = "limiter", .password = "secret", .timeout = 30s});
  EXPECT_TRUE(client.bucket.allow("alice", 1));
  redis::SlidingLog log(client.connection, "api", 1, 1s);
  EXPECT_THROW(log.allow("bob", 1), redis::Error);
  add_user({"limiter", "+@sortedset", "+del", "+pexpireat"});
  EXPECT_TRUE(log.allow("bob", 1));
  Client reader({.address = server.address(), .user = "reader", .password = "secret", .timeout = 30s});
  expect_trouble(reader, Trouble::denied, "NOPERM");
}

TEST(RedisConnection, SelectsADatabase) {
  test::RedisServer server;
  Client client({.address = server.address(), .database = 3, .timeout = 30s});
  EXPECT_TRUE(client.bucket.allow("alice", 1));
  EXPECT_EQ(server.ask({"DBSIZE"}), "0");
  server.ask({"SELECT", "3"});
  EXPECT_EQ(server.ask({"KEYS", "*"}), "api:alice");
  Client beyond({.address = server.address(), .database = 16, .timeout = 30s});
  expect_trouble(beyond, Trouble::other, "DB index is out of range");
}

TEST(RedisConnection, SaysThatTheServerIsOutOfMemory) {
  test::RedisServer server;
  Client client(patient(server.address()));
  EXPECT_EQ(client.bucket.allow("alice", 1).remaining, 2u);
  server.ask({"CONFIG", "SET", "maxmemory", "1"});
  expect_trouble(client, Trouble::out_of_memory, "(raise maxmemory)");
  server.ask({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(client.bucket.allow("alice", 1).remaining, 1u);
}

TEST(RedisConnection, SaysThatTheServerIsAReplica) {
  test::RedisServer server;
  Client client(patient(server.address()));
  EXPECT_EQ(client.bucket.allow("alice", 1).remaining, 2u);
  server.ask({"REPLICAOF", "127.0.0.1", "1"});
  expect_trouble(client, Trouble::read_only, "(connect to the primary)");
  server.ask({"REPLICAOF", "NO", "ONE"});
  EXPECT_EQ(client.bucket.allow("alice", 1).remaining, 1u);
}

TEST(RedisConnection, TalksOverTcp) {
  const int probe = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(probe, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(probe);
  const std::string port = std::to_string(ntohs(address.sin_port));
  test::RedisServer server({"--port", port, "--bind", "127.0.0.1"});
  Client client(patient("127.0.0.1:" + port));
  EXPECT_TRUE(client.bucket.allow("alice", 1));
}

// Answers each connection's first request with one text, as a whole or byte by byte.
class OddServer {
 public:
  explicit OddServer(std::string answer, Duration pause = {}) : answer_(std::move(answer)), pause_(pause) {
    std::string name = std::filesystem::temp_directory_path() / "headgate-odd-XXXXXX";
    directory_ = mkdtemp(name.data());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    listening_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listening_, 5), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~OddServer() {
    shutdown(listening_, SHUT_RDWR);
    thread_.join();
    close(listening_);
    std::filesystem::remove_all(directory_);
  }
  std::string path() const { return directory_ + "/socket"; }

 private:
  void serve() {
    for (int peer; (peer = accept(listening_, nullptr, nullptr)) >= 0; close(peer)) {
      std::array<char, 4096> request;
      if (read(peer, request.data(), request.size()) < 0) continue;
      const std::size_t piece = pause_ == Duration{} ? answer_.size() : 1;
      for (std::size_t sent = 0; sent < answer_.size(); sent += piece) {
        if (send(peer, &answer_[sent], piece, MSG_NOSIGNAL) < 0) break;
        std::this_thread::sleep_for(pause_);
      }
    }
  }

  std::string answer_;
  const Duration pause_;
  std::string directory_;
  int listening_ = -1;
  std::thread thread_;
};

TEST(RedisConnection, TellsWhatAServerAnswersThatIsNotReadyOrOdd) {
  struct Case {
    const char* answer;
    Trouble trouble;
    const char* text;
  };
  constexpr Case kCases[] = {
      {"-LOADING Redis is loading the dataset in memory\r\n", Trouble::not_ready, "LOADING"},
      {"-BUSY Redis is busy running a script.\r\n", Trouble::not_ready, "another script runs for too long"},
      {"-CLUSTERDOWN The cluster is down\r\n", Trouble::not_ready, "CLUSTERDOWN"},
      {"-MOVED 866 10.0.0.7:6379\r\n", Trouble::other,
       "MOVED 866 10.0.0.7:6379 (connect to the server that holds"},
      {"-MISCONF Errors writing to disk\r\n", Trouble::other, "MISCONF Errors writing to disk"},
      {":1\r\n", Trouble::other, "a script's digest has another form"},
      {"HTTP/1.1 400 Bad Request\r\n\r\n", Trouble::other, "this is no Redis server: "},
      {"", Trouble::lost, "the server has closed the connection"},
      // Nobody makes room for a list of two thousand million elements, nor for lists in lists.
      {"*2147483647\r\n", Trouble::other, "this is no answer to what was asked: it is too long"},
      {"*2\r\n*1000\r\n", Trouble::other, "this is no answer to what was asked: it is too long"},
  };
  for (const Case& each : kCases) {
    OddServer server(each.answer);
    Client client(patient("unix:" + server.path()));
    expect_trouble(client, each.trouble, each.text);
  }
}

TEST(RedisConnection, GivesUpOnAnAnswerWithoutAnEnd) {
  OddServer server("$2000000000\r\n" + std::string(2'000'000, 'x'));
  Client client(patient("unix:" + server.path()));
  expect_trouble(client, Trouble::other, "it is too long");
}

TEST(RedisConnection, GivesUpOnAnAnswerThatComesByteByByte) {
  OddServer server("-" + std::string(50, 'x'), 20ms);
  Client client({.address = "unix:" + server.path(), .timeout = 200ms});
  expect_trouble(client, Trouble::late, "no answer within 200000 us");
}

TEST(RedisConnection, TellsTheBeginningOfALongError) {
  OddServer server("-ERR " + std::string(100'000, 'x') + "\r\n");
  Client client(patient("unix:" + server.path()));
  try {
    client.bucket.allow("alice", 1);
    ADD_FAILURE() << "no trouble";
  } catch (const redis::Error& error) {
    EXPECT_LT(std::strlen(error.what()), 500u);
    EXPECT_THAT(error.what(), HasSubstr("ERR xxxx"));
  }
}

}  // namespace
}  // namespace headgate
