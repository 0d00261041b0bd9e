#include "budget/redis_talk.hpp"

#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "budget/lease_script.hpp"

namespace headgate {
namespace {

const redis::Script& lease_script() {
  static const redis::Script script{kLeaseScript};
  return script;
}

// Its first line.
std::string read_password(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) throw std::runtime_error("cannot read a password from " + path);
  return line;
}

// Its unit keeps the service from IP, and a server's socket may not be open to its user.
bool is_held_back(const std::string& trouble) {
  constexpr std::array kNotLetOut{EAFNOSUPPORT, EACCES};
  return std::any_of(kNotLetOut.begin(), kNotLetOut.end(),
                     [&](int number) { return trouble.find(std::strerror(number)) != std::string::npos; });
}

}  // namespace

RedisTalk::RedisTalk(redis::Server server, std::string password_file, std::string host, int answered)
    : server_(std::move(server)),
      password_file_(std::move(password_file)),
      host_(std::move(host)),
      answered_(answered),
      thread_([this] { run(); }) {}

RedisTalk::~RedisTalk() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void RedisTalk::ask(std::vector<LeaseQuestion> questions) {
  busy_ = true;
  {
    const std::lock_guard lock(mutex_);
    questions_ = std::move(questions);
  }
  changed_.notify_one();
}

std::optional<LeaseAnswers> RedisTalk::take() {
  const std::lock_guard lock(mutex_);
  if (!answers_) return std::nullopt;
  busy_ = false;
  return std::exchange(answers_, std::nullopt);
}

void RedisTalk::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || questions_; });
    if (stopping_) return;
    const std::vector<LeaseQuestion> questions = *std::exchange(questions_, std::nullopt);
    lock.unlock();
    LeaseAnswers answers = answer(questions);
    lock.lock();
    answers_ = std::move(answers);
    eventfd_write(answered_, 1);
  }
}

LeaseAnswers RedisTalk::answer(const std::vector<LeaseQuestion>& questions) {
  try {
    std::vector<std::string> keys;
    std::vector<std::string> arguments{host_};
    for (const LeaseQuestion& question : questions) {
      keys.push_back(budget_key(question.budget));
      append_arguments(question.request, arguments);
    }
    const std::vector<std::string> lines = connection().texts(lease_script(), keys, arguments);
    if (lines.size() != questions.size())
      throw std::runtime_error("Redis answered " + std::to_string(lines.size()) + " of " +
                               std::to_string(questions.size()) + " questions");
    LeaseAnswers answers;
    for (std::size_t i = 0; i < lines.size(); ++i)
      answers.answers.push_back({questions[i].budget, read_lease_reply(lines[i])});
    return answers;
  } catch (const redis::Error& error) {
    connection_.reset();
    return {.answers = {}, .trouble = error.what() + advice(error)};
  } catch (const std::exception& error) {
    connection_.reset();
    return {.answers = {}, .trouble = error.what()};
  }
}

std::string RedisTalk::advice(const redis::Error& error) const {
  if (is_held_back(error.what())) return " (what lets the service out: headgate-budget(7), THE SERVICE)";
  if (error.trouble() != redis::Trouble::denied) return {};
  return password_file_.empty() ? "; the budget has no password_file"
                                : "; password_file is " + password_file_;
}

redis::Connection& RedisTalk::connection() {
  if (connection_) return *connection_;
  redis::Server server = server_;
  if (!password_file_.empty()) server.password = read_password(password_file_);
  return connection_.emplace(std::move(server));
}

}  // namespace headgate
