// Asks one Redis server for leases, in a thread of its own: a server that is slow, hangs or is gone holds nobody up.
//
// One round of requests is under way at a time, one call of the script for all of them. ask() and take() from one thread, and
// they never wait.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "budget/lease_request.hpp"
#include "headgate/redis/connection.hpp"

namespace headgate {

struct LeaseQuestion {
  std::string budget;
  LeaseRequest request;
};

struct LeaseAnswer {
  std::string budget;
  std::variant<LeaseReply, ReplyError> reply;
};

// Of one round. `trouble`: why there are no answers, a sentence; empty: there is one for each question.
struct LeaseAnswers {
  std::vector<LeaseAnswer> answers;
  std::string trouble;
};

class RedisTalk {
 public:
  // `password_file` is read at each connection; empty: none. `host` is this host's name in the hashes (lease_request.hpp).
  // `answered`: an eventfd that says that take() has something; it outlives this.
  RedisTalk(redis::Server server, std::string password_file, std::string host, int answered);
  // Waits for a request that is under way: the server's timeouts at most, and as long as the resolver looks up its name.
  ~RedisTalk();
  RedisTalk(const RedisTalk&) = delete;
  RedisTalk& operator=(const RedisTalk&) = delete;

  bool busy() const { return busy_; }              // until take() has given the answers
  void ask(std::vector<LeaseQuestion> questions);  // not while busy
  std::optional<LeaseAnswers> take();

 private:
  void run();
  LeaseAnswers answer(const std::vector<LeaseQuestion>& questions);
  std::string advice(const redis::Error& error) const;
  redis::Connection& connection();

  const redis::Server server_;
  const std::string password_file_;
  const std::string host_;
  const int answered_;
  std::optional<redis::Connection> connection_;  // of the thread

  bool busy_ = false;  // of the thread that asks
  std::mutex mutex_;   // what follows
  std::condition_variable changed_;
  std::optional<std::vector<LeaseQuestion>> questions_;
  std::optional<LeaseAnswers> answers_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace headgate
