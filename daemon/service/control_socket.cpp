#include "service/control_socket.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <exception>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>

#include "linux/file_descriptor.hpp"
#include "service/peer_credentials.hpp"
#include "service/published_socket.hpp"

namespace headgate {
namespace {

constexpr std::uint64_t kListenerTag = 0;
constexpr std::uint64_t kTimerTag = 1;
constexpr std::uint64_t kFirstClientTag = 2;

constexpr std::size_t kReadBytes = 16 * 1024;
// Requests of a client are answered in a row, and their replies sent at once, until there are so many bytes of these or so
// much time is over: others wait for as long.
constexpr std::size_t kReplyBytesAtOnce = 16 * 1024;
constexpr Duration kAnsweringTime = std::chrono::milliseconds(1);
constexpr int kStreamReadsAtOnce = 16;  // per dispatch() and client
constexpr int kAcceptsAtOnce =
    64;  // per dispatch(), so that a flood of connections cannot hold the main loop

void check(int result, const char* attempt) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), attempt);
}

Instant monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Instant(std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec));
}

// `message` must need no escape in JSON.
std::string error_line(std::string_view code, std::string_view message) {
  std::string line = R"({"schema":)" + std::to_string(kSchema) + R"(,"error":{"code":")";
  line += code;
  line += R"(","message":")";
  line += message;
  line += "\"}}\n";
  return line;
}

struct Client {
  FileDescriptor socket;
  PeerCredentials peer;
  std::string input;        // what has been read and not answered
  std::string output;       // the replies under way
  std::size_t written = 0;  // of output
  Instant deadline{};       // for the line or the reply that is under way
  bool end_of_input = false;
  bool closing = false;                          // when the output is out
  std::function<bool(std::string& out)> stream;  // what follows, where the last reply goes on
  std::size_t body = 0;                          // bytes of input that belong to the last request
  std::function<ControlReply(std::string body)> with_body;
  std::uint32_t interest = EPOLLIN;
};

// What can be answered: the body that was asked for, or a line.
bool has_whole_input(const Client& client) {
  if (client.body > 0) return client.input.size() >= client.body;
  return client.input.find('\n') != std::string::npos;
}

// A stream that has nothing to send at the moment: nobody is waited for.
bool rests(const Client& client) {
  return client.stream && client.output.empty();
}

}  // namespace

struct ControlSocket::State {
  State(const std::string& path, Handler request_handler, ControlSocketLimits socket_limits)
      : handler(std::move(request_handler)),
        limits(socket_limits),
        rule{geteuid(), find_group(kControlGroup)},
        published(path, rule.group) {
    epoll = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
    check(epoll.get(), "control socket: cannot create an epoll instance");
    timer = FileDescriptor(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    check(timer.get(), "control socket: cannot create a timer");
    reserve = FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    check(watch(EPOLL_CTL_ADD, published.descriptor(), kListenerTag, EPOLLIN),
          "control socket: cannot watch it");
    check(watch(EPOLL_CTL_ADD, timer.get(), kTimerTag, EPOLLIN), "control socket: cannot watch the timer");
  }

  int watch(int operation, int descriptor, std::uint64_t tag, std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.u64 = tag;
    return epoll_ctl(epoll.get(), operation, descriptor, &event);
  }

  void accept_clients();
  bool shed_connection();
  void admit(FileDescriptor socket);
  void serve(std::uint64_t tag);
  void hang_up(std::uint64_t tag);
  bool progress(Client& client);
  bool send_output(Client& client);
  bool read_input(Client& client);
  bool answer_lines(Client& client);
  bool answer_next_line(Client& client);
  void reply_to(Client& client, ControlReply reply);
  ControlReply handle(std::string_view line, const PeerCredentials& peer) const;
  bool answer_body(Client& client);
  bool send_stream(Client& client);
  void feed_streams();
  bool update_interest(std::uint64_t tag, Client& client) const;
  void close_expired();
  void arm_timer();

  Handler handler;
  ControlSocketLimits limits;
  AccessRule rule;
  PublishedSocket published;
  FileDescriptor epoll;
  FileDescriptor timer;
  FileDescriptor reserve;  // given up to accept and close one connection when descriptors have run out
  std::optional<Instant> armed;
  std::map<std::uint64_t, Client> clients;  // by tag: never used twice, so a stale event finds nobody
  std::uint64_t next_tag = kFirstClientTag;
};

void ControlSocket::State::accept_clients() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    FileDescriptor socket(accept4(published.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      admit(std::move(socket));
    } else if (errno == EMFILE || errno == ENFILE) {
      if (!shed_connection()) return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

// Out of descriptors, a connection left waiting would make the main loop spin. False: there is nothing more
// to do.
bool ControlSocket::State::shed_connection() {
  reserve.close();
  const bool accepted =
      FileDescriptor(accept4(published.descriptor(), nullptr, nullptr, SOCK_CLOEXEC)).get() >= 0;
  reserve = FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
  return accepted && reserve;
}

void ControlSocket::State::admit(FileDescriptor socket) {
  const std::optional<PeerCredentials> peer = peer_credentials(socket.get());
  std::string refusal;
  if (!peer || !permitted(*peer, rule)) {
    refusal = error_line(kErrorNotPermitted, "not permitted: only root and members of group headgate may");
  } else if (clients.size() >= limits.clients) {
    refusal = error_line(kErrorBusy, "too many control clients at once, try again");
  }
  if (!refusal.empty()) {
    // Fits the empty buffer of a new connection; a peer that is gone already needs no words.
    [[maybe_unused]] const ssize_t sent = send(socket.get(), refusal.data(), refusal.size(), MSG_NOSIGNAL);
    return;
  }
  const std::uint64_t tag = next_tag++;
  if (watch(EPOLL_CTL_ADD, socket.get(), tag, EPOLLIN) < 0) return;
  Client& client = clients[tag];
  client.socket = std::move(socket);
  client.peer = *peer;
  client.deadline = monotonic_now() + limits.client_timeout;
}

void ControlSocket::State::serve(std::uint64_t tag) {
  const auto found = clients.find(tag);
  if (found == clients.end()) return;
  Client& client = found->second;
  if (!progress(client) || !update_interest(tag, client)) clients.erase(found);
}

// A stream has nobody to read it any more. Of others there may still be a request to answer, in vain or not.
void ControlSocket::State::hang_up(std::uint64_t tag) {
  const auto found = clients.find(tag);
  if (found != clients.end() && found->second.stream) clients.erase(found);
  serve(tag);
}

// At most one row of requests. False: the client is done with or gone.
bool ControlSocket::State::progress(Client& client) {
  if (!send_output(client)) return false;
  if (!client.output.empty()) return true;
  if (client.closing) return false;
  if (client.stream) return send_stream(client);
  if (!has_whole_input(client) && !client.end_of_input && !read_input(client)) return false;
  return (client.body > 0 ? answer_body(client) : answer_lines(client)) && send_output(client);
}

bool ControlSocket::State::send_output(Client& client) {
  while (client.written < client.output.size()) {
    const ssize_t sent = send(client.socket.get(), client.output.data() + client.written,
                              client.output.size() - client.written, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN;
    client.written += static_cast<std::size_t>(sent);
    // A stream has no end: who reads some of it gets on.
    if (client.stream) client.deadline = monotonic_now() + limits.client_timeout;
  }
  if (!client.output.empty()) {
    std::string().swap(
        client.output);  // a reply may be long; its memory is not kept for a client that may be idle
    client.written = 0;
    client.deadline = monotonic_now() + limits.client_timeout;
  }
  return true;
}

bool ControlSocket::State::read_input(Client& client) {
  std::array<char, kReadBytes> buffer;
  const ssize_t received = recv(client.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (received < 0) return errno == EAGAIN || errno == EINTR;
  client.end_of_input = received == 0;
  client.input.append(buffer.data(), static_cast<std::size_t>(received));
  return true;
}

// Those that have been read. False: the client has left after the last one.
bool ControlSocket::State::answer_lines(Client& client) {
  const Instant until = monotonic_now() + kAnsweringTime;
  const auto goes_on = [&] {
    return client.output.size() < kReplyBytesAtOnce && !client.closing && !client.stream &&
           client.body == 0 && client.input.find('\n') != std::string::npos && monotonic_now() < until;
  };
  do {
    if (!answer_next_line(client)) return false;
  } while (goes_on());
  return true;
}

// A last line without its end is a line, too.
bool ControlSocket::State::answer_next_line(Client& client) {
  const std::size_t end = client.input.find('\n');
  const std::size_t length = std::min(end, client.input.size());
  if (length > kMaxRequestBytes) {
    client.input.clear();
    client.closing = true;
    reply_to(client, error_line(kErrorBadRequest, "the request is longer than 65536 bytes"));
    return true;
  }
  if (end == std::string::npos && !client.end_of_input) return true;
  if (client.input.empty()) return false;  // and the end of input
  ControlReply reply = handle(std::string_view(client.input).substr(0, length), client.peer);
  client.input.erase(0, end == std::string::npos ? end : end + 1);
  reply_to(client, std::move(reply));
  return true;
}

// False: the client is gone; without the whole of it nothing is done.
bool ControlSocket::State::answer_body(Client& client) {
  if (!has_whole_input(client)) return !client.end_of_input;
  const auto with_body = std::exchange(client.with_body, nullptr);
  std::string body = client.input.substr(0, client.body);
  client.input.erase(0, std::exchange(client.body, 0));
  reply_to(client, with_body(std::move(body)));
  return true;
}

// False: the client is gone, or it has everything.
bool ControlSocket::State::send_stream(Client& client) {
  for (int i = 0; i < kStreamReadsAtOnce; ++i) {
    const bool goes_on = client.stream(client.output);
    if (!goes_on) client.closing = true;
    if (client.output.empty()) return goes_on;
    client.deadline = monotonic_now() + limits.client_timeout;
    if (!send_output(client)) return false;
    if (!client.output.empty()) return true;
    if (!goes_on) return false;
  }
  return true;
}

void ControlSocket::State::feed_streams() {
  for (auto client = clients.begin(); client != clients.end();) {
    const bool due = client->second.stream && client->second.output.empty();
    const bool stays =
        !due || (send_stream(client->second) && update_interest(client->first, client->second));
    client = stays ? std::next(client) : clients.erase(client);
  }
}

void ControlSocket::State::reply_to(Client& client, ControlReply reply) {
  client.output += reply.line;
  client.stream = std::move(reply.stream);
  client.body = std::min(reply.body, ControlSocket::kMaxBodyBytes);
  client.with_body = std::move(reply.with_body);
  client.closing = client.closing || reply.close;
  client.deadline = monotonic_now() + limits.client_timeout;
}

ControlReply ControlSocket::State::handle(std::string_view line, const PeerCredentials& peer) const {
  try {
    return handler(line, peer);
  } catch (const std::exception&) {
    return error_line(kErrorInternal, "the daemon failed to answer");
  }
}

// Interest in output also stands for "there is more to do without any new input": it is reported at once.
bool ControlSocket::State::update_interest(std::uint64_t tag, Client& client) const {
  const bool more =
      !client.output.empty() || client.closing || client.end_of_input || has_whole_input(client);
  std::uint32_t interest = more ? EPOLLOUT : EPOLLIN;
  // Nothing is read from a client that is sent a stream; that it is gone is reported in any case.
  if (rests(client)) interest = 0;
  if (interest != client.interest && watch(EPOLL_CTL_MOD, client.socket.get(), tag, interest) < 0)
    return false;
  client.interest = interest;
  return true;
}

void ControlSocket::State::close_expired() {
  const Instant now = monotonic_now();
  std::erase_if(clients,
                [&](const auto& entry) { return !rests(entry.second) && entry.second.deadline <= now; });
}

void ControlSocket::State::arm_timer() {
  std::optional<Instant> earliest;
  for (const auto& [tag, client] : clients) {
    const Instant deadline = rests(client) ? monotonic_now() + kStreamInterval : client.deadline;
    if (!earliest || deadline < *earliest) earliest = deadline;
  }
  if (earliest == armed) return;
  itimerspec setting{};
  if (earliest) {
    const Duration since_start = earliest->time_since_epoch();
    setting.it_value.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(since_start).count();
    setting.it_value.tv_nsec = (since_start % std::chrono::seconds(1)).count();
  }
  check(timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &setting, nullptr),
        "control socket: cannot set a timer");
  armed = earliest;
}

ControlSocket::ControlSocket(const std::string& path, Handler handler, ControlSocketLimits limits)
    : state_(std::make_unique<State>(path, std::move(handler), limits)) {}

ControlSocket::~ControlSocket() = default;

int ControlSocket::descriptor() const {
  return state_->epoll.get();
}

void ControlSocket::dispatch() {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(state_->epoll.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t tag = events[static_cast<std::size_t>(i)].data.u64;
    if (tag == kListenerTag) {
      state_->accept_clients();
    } else if (tag >= kFirstClientTag && (events[static_cast<std::size_t>(i)].events & EPOLLHUP) != 0) {
      state_->hang_up(tag);
    } else if (tag >= kFirstClientTag) {
      state_->serve(tag);
    }
  }
  state_->feed_streams();
  state_->close_expired();
  state_->arm_timer();
}

}  // namespace headgate
