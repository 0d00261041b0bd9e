// A Redis server of a test's own: in a temporary directory, on a Unix socket there, and keeping nothing on disk.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

struct redisContext;

namespace headgate::test {

class RedisServer {
 public:
  // `options` go to redis-server, as {"--requirepass", "secret"}. Returns when it listens. Throws
  // std::runtime_error when it does not.
  explicit RedisServer(std::vector<std::string> options = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  std::string address() const { return "unix:" + socket(); }

  void stop();   // at once, and all that it knew is gone
  void start();  // again, at the same address
  void pause();  // it answers nothing until go_on()
  void go_on();

  // A command's answer as text: of an array its elements, with blanks between them; nothing: "(nil)". Throws
  // std::runtime_error for an error.
  std::string ask(const std::vector<std::string>& words);

  // How many changes the server has counted since it was started.
  long changes();

 private:
  std::string socket() const { return directory_ + "/redis.sock"; }
  void wait_until_it_listens();

  std::vector<std::string> options_;
  std::string directory_;
  pid_t process_ = 0;
  redisContext* context_ = nullptr;
};

}  // namespace headgate::test
