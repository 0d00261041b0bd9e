#include "budget/redis_talk.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <variant>

#include "budget/lease_script.hpp"

namespace headgate {
namespace {

constexpr std::size_t kLongestPassword = 4096;  // bytes

const redis::Script& lease_script() {
  static const redis::Script script{kLeaseScript};
  return script;
}

// Its first line. It is never waited for, as a pipe would be.
std::string read_password(const std::string& path) {
  const auto fail = [&path](const std::string& why) {
    throw std::runtime_error("cannot read a password from " + path + ": " + why);
  };
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) fail(std::generic_category().message(errno));
  std::array<char, kLongestPassword + 1> text{};
  struct stat status {};
  const bool is_file = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const ssize_t length = is_file ? read(file, text.data(), text.size()) : 0;
  close(file);
  if (!is_file) fail("this is not a regular file");
  const std::string_view line =
      std::string_view(text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  if (line.empty()) fail("the file is empty");
  if (line.find('\n') > kLongestPassword && line.size() > kLongestPassword)
    fail("its first line has more than " + std::to_string(kLongestPassword) + " characters");
  return std::string(line.substr(0, line.find('\n')));
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
    for (std::size_t i = 0; i < lines.size(); ++i) {
      answers.answers.push_back({questions[i].budget, read_lease_reply(lines[i])});
      const auto* const reply = std::get_if<LeaseReply>(&answers.answers.back().reply);
      if (reply != nullptr && reply->serial != questions[i].request.serial)
        throw std::runtime_error("Redis at " + server_.address +
                                 ": it answers another request than was asked");
    }
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
