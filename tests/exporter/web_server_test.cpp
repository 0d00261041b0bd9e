#include "web_server.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "listen_address.hpp"

namespace headgate {
namespace {

class WebServerTest : public testing::Test {
 protected:
  FileDescriptor connect_to_it() const {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
    FileDescriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    return client;
  }

  static void say(const FileDescriptor& client, const std::string& text) {
    EXPECT_EQ(send(client.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }

  // Whether the server has not closed it.
  static bool is_open(const FileDescriptor& client) {
    char byte = 0;
    return recv(client.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
  }

  // Until the server closes.
  static std::string hear(const FileDescriptor& client) {
    std::string all;
    std::vector<char> buffer(65536);
    for (;;) {
      const ssize_t received = recv(client.get(), buffer.data(), buffer.size(), 0);
      if (received <= 0) return all;
      all.append(buffer.data(), static_cast<std::size_t>(received));
    }
  }

  std::string ask(const std::string& request) const {
    const FileDescriptor client = connect_to_it();
    say(client, request);
    return hear(client);
  }

  FileDescriptor socket = listen_at(parse_listen_address("127.0.0.1:0"));
  std::atomic<std::uint64_t> refused{0};
};

WebResponse echo(const WebRequest& request) {
  return {.body = request.path + "|" + request.parameter("a") + "|" + request.host + "\n"};
}

TEST_F(WebServerTest, AnswersOneRequestAConnection) {
  const WebServer server(socket, echo, refused);
  const std::string answer = ask("GET /x?a=b%20c HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
  EXPECT_NE(answer.find("Content-Security-Policy: default-src 'none'; script-src 'self'"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n/x|b c|h\n")) << answer;
}

TEST_F(WebServerTest, OnlyReads) {
  const WebServer server(socket, echo, refused);
  for (const std::string method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
    const std::string answer = ask(method + " / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 405 ")) << answer;
    EXPECT_NE(answer.find("Allow: GET, HEAD\r\n"), std::string::npos);
  }
  const std::string head = ask("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 ")) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
}

TEST_F(WebServerTest, MultipliesNoAnswerByRanges) {
  const auto large = [](const WebRequest&) { return WebResponse{.body = std::string(10'000, 'x')}; };
  const WebServer server(socket, large, refused);
  std::string ranges = "0-";
  for (int i = 0; i < 500; ++i) ranges += ",0-";
  EXPECT_LT(ask("GET / HTTP/1.1\r\nHost: h\r\nRange: bytes=" + ranges + "\r\n\r\n").size(), 20'000u);
}

TEST_F(WebServerTest, ServesOthersWhileOneIsSlow) {
  const WebServer server(socket, echo, refused);
  std::vector<FileDescriptor> slow;
  for (std::size_t i = 0; i < kWebThreads - 1; ++i) {
    slow.push_back(connect_to_it());
    say(slow.back(), "GET / HT");
  }
  EXPECT_TRUE(ask("GET /y HTTP/1.1\r\nHost: h\r\n\r\n").ends_with("/y||h\n"));
  for (const FileDescriptor& one : slow) EXPECT_TRUE(is_open(one)) << "the slow ones were served first";
}

TEST_F(WebServerTest, ClosesWhoDoesNotFinishTheRequest) {
  const WebServer server(socket, echo, refused);
  const FileDescriptor client = connect_to_it();
  say(client, "GET / HTTP/1.1\r\nHost: h\r\nX: ");
  std::atomic<bool> closed{false};
  // A byte at a time, which is not to lengthen it.
  auto drip = std::async(std::launch::async, [&] {
    while (!closed && send(client.get(), "x", 1, MSG_NOSIGNAL) == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
  });
  const std::string answer = hear(client);
  closed = true;
  drip.get();
  EXPECT_FALSE(is_open(client)) << "it waits for the rest";
  EXPECT_EQ(answer.find("200 OK"), std::string::npos) << answer;
}

TEST_F(WebServerTest, ClosesWhoSendsHeadersWithoutEnd) {
  const WebServer server(socket, echo, refused);
  const FileDescriptor client = connect_to_it();
  say(client, "GET / HTTP/1.1\r\nHost: h\r\n");
  const std::string lines = [] {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "x: y\r\n";
    return text;
  }();
  std::size_t sent = 0;
  constexpr std::size_t kFarTooMuch = 64 << 20;
  while (sent < kFarTooMuch) {
    const ssize_t more = send(client.get(), lines.data(), lines.size(), MSG_NOSIGNAL);
    if (more < 0) break;
    sent += static_cast<std::size_t>(more);
  }
  EXPECT_LT(sent, kFarTooMuch) << "it took all";
}

TEST_F(WebServerTest, RefusesAtOnceWhatIsTooMuch) {
  std::latch go(1);
  std::atomic<std::size_t> served{0};
  const auto wait = [&](const WebRequest&) {
    ++served;
    go.wait();
    return WebResponse{.body = "late\n"};
  };
  const WebServer server(socket, wait, refused);
  const std::string request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  std::vector<FileDescriptor> clients;
  for (std::size_t i = 0; i < kWebThreads + kWaitingConnections; ++i) {
    clients.push_back(connect_to_it());
    say(clients.back(), request);
    while (i < kWebThreads && served <= i) std::this_thread::yield();
  }
  const std::string answer = ask(request);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
  EXPECT_TRUE(answer.ends_with("too many connections, later\n")) << answer;
  EXPECT_EQ(refused, 1u);
  go.count_down();
  for (const FileDescriptor& client : clients) EXPECT_TRUE(hear(client).ends_with("late\n"));
}

TEST_F(WebServerTest, SaysWhatFailed) {
  const auto fail = [](const WebRequest&) -> WebResponse { throw std::runtime_error("no luck"); };
  const WebServer server(socket, fail, refused);
  const std::string answer = ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
  EXPECT_TRUE(answer.ends_with("it failed: no luck\n")) << answer;
}

}  // namespace
}  // namespace headgate
