#include "support/redis_server.hpp"

#include <fcntl.h>
#include <hiredis.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

namespace headgate::test {
namespace {

using namespace std::chrono_literals;

constexpr int kNotStarted = 127;

[[noreturn]] void become_server(const std::vector<std::string>& words, const std::string& log) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that crashes leaves no server behind
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  _exit(kNotStarted);
}

std::string text_of(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      return std::to_string(reply.integer);
    case REDIS_REPLY_NIL:
      return "(nil)";
    case REDIS_REPLY_ARRAY: {
      std::string all;
      for (std::size_t i = 0; i < reply.elements; ++i) all += (i > 0 ? " " : "") + text_of(*reply.element[i]);
      return all;
    }
    default:
      return std::string(reply.str, static_cast<std::size_t>(reply.len));
  }
}

}  // namespace

RedisServer::RedisServer(std::vector<std::string> options) : options_(std::move(options)) {
  std::string name = std::filesystem::temp_directory_path() / "headgate-redis-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
  directory_ = name;
  try {
    start();
  } catch (...) {
    stop();
    std::filesystem::remove_all(directory_);
    throw;
  }
}

RedisServer::~RedisServer() {
  stop();
  std::filesystem::remove_all(directory_);
}

void RedisServer::start() {
  std::vector<std::string> words{"redis-server", "--port", "0",     "--unixsocket", socket(), "--save", "",
                                 "--appendonly", "no",     "--dir", directory_};
  words.insert(words.end(), options_.begin(), options_.end());
  process_ = fork();
  if (process_ < 0) throw std::runtime_error("no process for redis-server");
  if (process_ == 0) become_server(words, directory_ + "/log");
  wait_until_it_listens();
}

void RedisServer::wait_until_it_listens() {
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  for (;;) {
    context_ = redisConnectUnix(socket().c_str());
    if (context_ != nullptr && context_->err == 0) return;
    redisFree(std::exchange(context_, nullptr));
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) == process_) {
      process_ = 0;
      throw std::runtime_error(WIFEXITED(status) && WEXITSTATUS(status) == kNotStarted
                                   ? "redis-server is not installed: run tools/install-dependencies"
                                   : "redis-server has ended at once");
    }
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("redis-server does not listen");
    std::this_thread::sleep_for(2ms);
  }
}

void RedisServer::stop() {
  if (context_ != nullptr) redisFree(std::exchange(context_, nullptr));
  if (process_ == 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = 0;
  std::filesystem::remove(socket());
}

void RedisServer::pause() {
  kill(process_, SIGSTOP);
}

void RedisServer::go_on() {
  kill(process_, SIGCONT);
}

std::string RedisServer::ask(const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    lengths.push_back(word.size());
  }
  const std::unique_ptr<redisReply, void (*)(void*)> reply(
      static_cast<redisReply*>(
          redisCommandArgv(context_, static_cast<int>(texts.size()), texts.data(), lengths.data())),
      freeReplyObject);
  if (reply == nullptr) throw std::runtime_error(context_->errstr);
  if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error(reply->str);
  return text_of(*reply);
}

long RedisServer::changes() {
  const std::string all = ask({"INFO", "persistence"});
  const std::string name = "rdb_changes_since_last_save:";
  return std::stol(all.substr(all.find(name) + name.size()));
}

}  // namespace headgate::test
