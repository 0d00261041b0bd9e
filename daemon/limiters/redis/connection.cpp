#include "headgate/redis/connection.hpp"

#include <fcntl.h>
#include <hiredis.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <new>
#include <optional>

namespace headgate::redis {
namespace {

constexpr int kUsualPort = 6379;

// Of an answer, whatever the server says of it: memory is taken as it says.
constexpr std::size_t kLongestAnswer = 1024 * 1024;  // bytes
constexpr int kMostElements = 1024;                  // of a list, in which there is no other
constexpr std::size_t kLongestError = 300;           // bytes of it that are told

[[noreturn]] void reject_address(const std::string& address) {
  throw std::invalid_argument(
      "a Redis server's address is unix:/path, host, host:port or [IPv6]:port, not '" + address + "'");
}

int port_of(std::string_view text, const std::string& address) {
  int port = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, port);
  if (failure != std::errc() || rest != end || port < 1 || port > 65535) reject_address(address);
  return port;
}

timeval time_value(Duration time) {
  const auto microseconds = std::chrono::ceil<std::chrono::microseconds>(time).count();
  return {microseconds / 1'000'000, microseconds % 1'000'000};
}

// hiredis' own, but for lists that no script of ours answers with.
redisReplyObjectFunctions* bounded_replies() {
  static const redisReplyObjectFunctions usual = [] {
    const std::unique_ptr<redisReader, void (*)(redisReader*)> reader(redisReaderCreate(), redisReaderFree);
    if (reader == nullptr) throw std::bad_alloc();
    return *reader->fn;
  }();
  static redisReplyObjectFunctions bounded = [] {
    redisReplyObjectFunctions functions = usual;
    functions.createArray = [](const redisReadTask* task, int elements) -> void* {
      return elements > kMostElements || task->parent != nullptr ? nullptr
                                                                 : usual.createArray(task, elements);
    };
    return functions;
  }();
  return &bounded;
}

struct Meaning {
  std::string_view code;
  Trouble trouble;
  std::string_view advice;
};

// Codes of a server's errors, as Redis documents them. An error in a script has its code in the text.
constexpr Meaning kMeanings[] = {
    {"NOAUTH", Trouble::denied, "give a password"},
    {"WRONGPASS", Trouble::denied, "check user and password"},
    {"NOPERM", Trouble::denied, "allow the user EVALSHA, SCRIPT LOAD, and on the keys what the script calls"},
    {"READONLY", Trouble::read_only, "connect to the primary"},
    {"LOADING", Trouble::not_ready, "try again later"},
    {"BUSY", Trouble::not_ready, "another script runs for too long"},
    {"MASTERDOWN", Trouble::not_ready, "the replica has lost its primary"},
    {"CLUSTERDOWN", Trouble::not_ready, "try again later"},
    {"OOM", Trouble::out_of_memory, "raise maxmemory"},
    {"WRONGTYPE", Trouble::foreign_value,
     "something else keeps a value under this key; use a name of its own"},
    {"MOVED", Trouble::other, "connect to the server that holds this slot"},
};

const Meaning* meaning_of(std::string_view answer) {
  for (const Meaning& each : kMeanings) {
    if (answer.find(each.code) != std::string_view::npos) return &each;
  }
  return nullptr;
}

std::string_view text_of(const redisReply& reply) {
  return {reply.str, static_cast<std::size_t>(reply.len)};
}

bool no_such_script(const redisReply& reply) {
  return reply.type == REDIS_REPLY_ERROR && text_of(reply).starts_with("NOSCRIPT");
}

}  // namespace

void Connection::ContextDeleter::operator()(redisContext* context) const {
  redisFree(context);
}

void Connection::ReplyDeleter::operator()(redisReply* reply) const {
  freeReplyObject(reply);
}

Connection::Connection(Server server) : server_(std::move(server)) {
  if (server_.timeout < std::chrono::microseconds(1) || server_.timeout > std::chrono::days(1)) {
    throw std::invalid_argument("a Redis server's timeout is 1 us … 1 day");
  }
  const std::string_view address = server_.address;
  if (address.starts_with("unix:")) {
    host_ = address.substr(5);
    if (host_.empty() || host_.size() >= sizeof(sockaddr_un::sun_path)) reject_address(server_.address);
    return;
  }
  const bool bracketed = address.starts_with('[');
  const std::size_t end = bracketed ? address.find(']') : address.find(':');
  if (bracketed && end == std::string_view::npos) reject_address(server_.address);
  host_ = bracketed ? address.substr(1, end - 1) : address.substr(0, end);
  const std::string_view rest =
      end == std::string_view::npos ? "" : address.substr(end + (bracketed ? 1 : 0));
  if (host_.empty() || host_.find('/') != std::string::npos) reject_address(server_.address);
  if (!rest.empty() && rest.front() != ':') reject_address(server_.address);
  port_ = rest.empty() ? kUsualPort : port_of(rest.substr(1), server_.address);
}

void Connection::connect() {
  if (context_ != nullptr) return;
  open();
  try {
    greet();
  } catch (...) {
    context_.reset();
    throw;
  }
}

void Connection::open() {
  const timeval timeout = time_value(server_.timeout);
  context_.reset(port_ == 0 ? redisConnectUnixWithTimeout(host_.c_str(), timeout)
                            : redisConnectWithTimeout(host_.c_str(), port_, timeout));
  if (context_ == nullptr) throw std::bad_alloc();
  if (context_->err != 0 || redisSetTimeout(context_.get(), timeout) != REDIS_OK) {
    const Error failure = error(Trouble::unreachable, std::string("cannot connect: ") + context_->errstr);
    context_.reset();
    throw failure;
  }
  fcntl(context_->fd, F_SETFD, FD_CLOEXEC);
  context_->reader->fn = bounded_replies();
}

// Says who we are, and which of the server's databases is meant.
void Connection::greet() {
  if (!server_.password.empty()) {
    Words words{"AUTH"};
    if (!server_.user.empty()) words.push_back(server_.user);
    words.push_back(server_.password);
    const Reply reply = exchange(words);
    if (reply->type == REDIS_REPLY_ERROR) {
      throw error(Trouble::denied,
                  std::string(text_of(*reply).substr(0, kLongestError)) + " (check user and password)");
    }
  }
  if (server_.database != 0) ask({"SELECT", std::to_string(server_.database)});
}

void Connection::run(const Script& script, std::string_view key, const std::vector<std::string>& arguments,
                     std::span<std::int64_t> results) {
  const Reply reply = answer(script, {&key, 1}, arguments);
  if (reply->elements != results.size()) throw other_form();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (reply->element[i]->type != REDIS_REPLY_INTEGER) throw other_form();
    results[i] = reply->element[i]->integer;
  }
}

std::vector<std::string> Connection::texts(const Script& script, std::span<const std::string> keys,
                                           std::span<const std::string> arguments) {
  const std::vector<std::string_view> key_words(keys.begin(), keys.end());
  const Reply reply = answer(script, key_words, arguments);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < reply->elements; ++i) {
    if (reply->element[i]->type != REDIS_REPLY_STRING) throw other_form();
    texts.emplace_back(text_of(*reply->element[i]));
  }
  return texts;
}

// A list. Once more on a new connection, where one that was open turns out closed.
Connection::Reply Connection::answer(const Script& script, std::span<const std::string_view> keys,
                                     std::span<const std::string> arguments) {
  const bool open_before = context_ != nullptr;
  Reply reply;
  try {
    connect();
    reply = evaluate(script, keys, arguments);
  } catch (const Error& failure) {
    if (!open_before || failure.trouble() != Trouble::lost) throw;
    connect();
    reply = evaluate(script, keys, arguments);
  }
  if (reply->type != REDIS_REPLY_ARRAY) throw other_form();
  return reply;
}

Connection::Reply Connection::evaluate(const Script& script, std::span<const std::string_view> keys,
                                       std::span<const std::string> arguments) {
  const std::string key_count = std::to_string(keys.size());
  const auto try_once = [&] {
    Words words{"EVALSHA", digest_of(script), key_count};
    words.insert(words.end(), keys.begin(), keys.end());
    words.insert(words.end(), arguments.begin(), arguments.end());
    return exchange(words);
  };
  Reply reply = try_once();
  if (no_such_script(*reply)) {
    digests_.erase(&script);
    reply = try_once();
  }
  if (reply->type == REDIS_REPLY_ERROR) refuse(text_of(*reply));
  return reply;
}

Error Connection::other_form() const {
  return error(Trouble::other, "the script's answer has another form");
}

Error Connection::too_long() const {
  return error(Trouble::other, "this is no answer to what was asked: it is too long");
}

const std::string& Connection::digest_of(const Script& script) {
  const auto found = digests_.find(&script);
  if (found != digests_.end()) return found->second;
  const Reply reply = ask({"SCRIPT", "LOAD", script.text});
  if (reply->type != REDIS_REPLY_STRING) throw error(Trouble::other, "a script's digest has another form");
  return digests_.emplace(&script, text_of(*reply)).first->second;
}

Connection::Reply Connection::ask(const Words& words) {
  Reply reply = exchange(words);
  if (reply->type == REDIS_REPLY_ERROR) refuse(text_of(*reply));
  return reply;
}

Connection::Reply Connection::exchange(const Words& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
  for (const std::string_view word : words) {
    texts.push_back(word.data());
    lengths.push_back(word.size());
  }
  char* command = nullptr;
  const int length =
      redisFormatCommandArgv(&command, static_cast<int>(texts.size()), texts.data(), lengths.data());
  if (length < 0) throw std::bad_alloc();
  const std::unique_ptr<char, void (*)(char*)> owner(command, redisFreeCommand);
  send({command, static_cast<std::size_t>(length)});
  return receive();
}

// As a whole in time, however its pieces come.
Connection::Reply Connection::receive() {
  const auto asked = std::chrono::steady_clock::now();
  void* reply = nullptr;
  while (true) {
    if (redisGetReplyFromReader(context_.get(), &reply) != REDIS_OK) fail("no answer");
    if (reply != nullptr) return Reply(static_cast<redisReply*>(reply));
    if (context_->reader->len > kLongestAnswer) {
      context_.reset();
      throw too_long();
    }
    if (std::chrono::steady_clock::now() - asked > server_.timeout) {
      errno = EAGAIN;
      fail("no answer");
    }
    if (redisBufferRead(context_.get()) != REDIS_OK) fail("no answer");
  }
}

// Not by hiredis, whose write to a closed connection would end the program by SIGPIPE.
void Connection::send(std::string_view command) {
  while (!command.empty()) {
    const ssize_t sent = ::send(context_->fd, command.data(), command.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail("cannot send");
    command.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// Ends a connection after a failed system call, or after what is no answer of Redis: what comes on it would be
// misunderstood.
void Connection::fail(std::string_view attempt) {
  const int reason = errno;
  const int kind = context_->err;
  const std::string text = kind == REDIS_ERR_PROTOCOL ? context_->errstr : std::strerror(reason);
  context_.reset();
  if (kind == REDIS_ERR_OOM) throw too_long();
  if (kind == REDIS_ERR_PROTOCOL) throw error(Trouble::other, "this is no Redis server: " + text);
  if (kind == REDIS_ERR_EOF) throw error(Trouble::lost, "the server has closed the connection");
  if (reason == EAGAIN || reason == EWOULDBLOCK) {
    const auto limit = std::chrono::ceil<std::chrono::microseconds>(server_.timeout).count();
    throw error(Trouble::late, std::string(attempt) + " within " + std::to_string(limit) + " us");
  }
  throw error(Trouble::lost, std::string(attempt) + ": " + text);
}

void Connection::refuse(std::string_view whole) {
  const std::string_view answer = whole.substr(0, kLongestError);
  const Meaning* meaning = meaning_of(answer);
  if (meaning == nullptr) throw error(Trouble::other, answer);
  if (meaning->trouble == Trouble::read_only) context_.reset();  // the next one may lead to the new primary
  throw error(meaning->trouble, std::string(answer) + " (" + std::string(meaning->advice) + ")");
}

Error Connection::error(Trouble trouble, std::string_view text) const {
  return Error(trouble, "Redis at " + server_.address + ": " + std::string(text));
}

}  // namespace headgate::redis
