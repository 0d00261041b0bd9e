// A connection to a Redis server, on which limiters of many processes and hosts count together.
//
// It is made at the first request, and anew at the next one after an error that ended it. A request is one script,
// which the server runs as a whole, so two clients never see the same state. A script that the server has forgotten
// is sent again.
//
// The server is waited for as long as Server::timeout, and twice that where its answer comes in pieces; looking up a
// host's name takes as long as the resolver does. An answer of more than a megabyte or 1024 elements is refused.
// When a connection that has been open before turns out closed, the request is sent once more on a new one: if the
// server had counted it before it went, it is counted twice, never left out. After `late` nobody knows whether it
// was counted.
//
// Redis 6.2 or later, one server or the primary of several; nothing follows a cluster's redirections. Not
// thread-safe: one for each thread, with the limiters that use it. Errors: std::invalid_argument for an address or
// a timeout, else Error.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/clock.hpp"

struct redisContext;  // hiredis
struct redisReply;

namespace headgate::redis {

struct Server {
  std::string address = "127.0.0.1:6379";  // unix:/path, host, host:port or [IPv6]:port
  std::string user = {};                   // empty: the default user
  std::string password = {};               // empty: none is given
  unsigned database = 0;
  Duration timeout = std::chrono::milliseconds(500);  // 1 us … 1 day
};

// What went wrong, as far as a program may act on it.
enum class Trouble : std::uint8_t {
  unreachable,    // nobody listens there, or not in time
  lost,           // the server closed the connection
  late,           // no answer in time
  denied,         // the password, or what the user may do
  read_only,      // a replica, which counts nothing
  not_ready,      // it loads its data, or a script runs for too long, or its cluster is down
  out_of_memory,  // it has reached its maxmemory
  foreign_value,  // the key holds what this kind of limiter has not written
  other,          // as the text says
};

class Error : public std::runtime_error {
 public:
  Error(Trouble trouble, const std::string& text) : std::runtime_error(text), trouble_(trouble) {}

  Trouble trouble() const { return trouble_; }

 private:
  Trouble trouble_;
};

// A program in Lua of one key, kept by the server under its digest.
struct Script {
  std::string_view text;
};

class Connection {
 public:
  explicit Connection(Server server);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Connects if there is no connection: to find out at once whether the server is there.
  void connect();

  // Runs a script. It answers with as many integers as `results` has places. `script` outlives the connection.
  void run(const Script& script, std::string_view key, const std::vector<std::string>& arguments,
           std::span<std::int64_t> results);

  // The same, of several keys, for a script that answers with a list of texts.
  std::vector<std::string> texts(const Script& script, std::span<const std::string> keys,
                                 std::span<const std::string> arguments);

  const Server& server() const { return server_; }

 private:
  struct ContextDeleter {
    void operator()(redisContext* context) const;
  };
  struct ReplyDeleter {
    void operator()(redisReply* reply) const;
  };
  using Reply = std::unique_ptr<redisReply, ReplyDeleter>;
  using Words = std::vector<std::string_view>;

  void open();
  void greet();
  Reply answer(const Script& script, std::span<const std::string_view> keys,
               std::span<const std::string> arguments);
  Reply evaluate(const Script& script, std::span<const std::string_view> keys,
                 std::span<const std::string> arguments);
  const std::string& digest_of(const Script& script);
  Reply ask(const Words& words);
  Reply exchange(const Words& words);
  Reply receive();
  void send(std::string_view command);
  [[noreturn]] void fail(std::string_view attempt);
  [[noreturn]] void refuse(std::string_view answer);
  Error other_form() const;
  Error too_long() const;
  Error error(Trouble trouble, std::string_view text) const;

  Server server_;
  std::string host_;  // or the path of a socket
  int port_ = 0;      // 0: a socket's path
  std::unique_ptr<redisContext, ContextDeleter> context_;
  std::map<const Script*, std::string> digests_;  // of scripts that a server has been sent
};

}  // namespace headgate::redis
