#include "control_client.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "linux/file_descriptor.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kLongestReply = 64 * 1024 * 1024;

std::string error_text(int error) {
  return std::generic_category().message(error);
}

ControlError not_permitted(const std::string& path) {
  return {kExitNotPermitted, std::string(kErrorNotPermitted),
          "not permitted to use " + path +
              "\nRun as root, or join group headgate: usermod -aG headgate USER, and log in again"};
}

ControlError connect_failure(const std::string& path, int error) {
  if (error == EACCES || error == EPERM) return not_permitted(path);
  return not_running(path, error == EAGAIN ? "it takes no more connections" : error_text(error));
}

ControlError foreign_language(const std::string& path) {
  return {kExitRefused, "system", "what answers on " + path + " does not speak the language of headgated"};
}

FileDescriptor new_socket(int flags) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!socket) throw ControlError(kExitRefused, "system", "cannot create a socket: " + error_text(errno));
  return socket;
}

void connect_socket(const FileDescriptor& socket, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    throw ControlError(
        kExitUsage, std::string(kErrorBadRequest),
        "control socket \"" + path + "\": the path is " + (path.empty() ? "empty" : "too long"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) {
    throw connect_failure(path, errno);
  }
}

void set_receive_timeout(int socket, SteadyClock::duration left) {
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(left).count();
  const timeval timeout{microseconds / 1'000'000, microseconds % 1'000'000};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
}

// Whatever has come after the reply's line is left in `rest`.
std::string read_reply(int socket, const std::string& path, std::chrono::seconds patience,
                       std::string& rest) {
  const auto deadline = SteadyClock::now() + patience;
  std::string reply;
  std::array<char, 64 * 1024> buffer;
  std::size_t end = std::string::npos;
  while (end == std::string::npos) {
    const auto left = deadline - SteadyClock::now();
    if (left < std::chrono::microseconds(1)) throw no_reply(path, patience);
    set_receive_timeout(socket, left);
    const ssize_t received = recv(socket, buffer.data(), buffer.size(), 0);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && errno == EAGAIN) continue;  // the deadline decides
    if (received < 0) throw not_running(path, error_text(errno));
    if (received == 0) throw not_running(path, "it closed the connection without a reply");
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(received));
    if (const std::size_t found = bytes.find('\n'); found != std::string_view::npos)
      end = reply.size() + found;
    reply += bytes;
    check_length(reply);
  }
  rest = reply.substr(end + 1);
  reply.resize(end);
  return reply;
}

Json ask(const FileDescriptor& socket, const std::string& path, const Json& request,
         std::chrono::seconds patience, std::string& rest, std::string_view body = {}) {
  send_all(socket, request_line(request));
  send_all(socket, body);
  Json reply = parse_reply(read_reply(socket.get(), path, patience, rest), path);
  if (reply.contains("error")) throw error_of(reply, path);
  return reply;
}

}  // namespace

ControlError not_running(const std::string& path, const std::string& why) {
  return {
      kExitNotRunning, kErrorNotRunning,
      "no headgated answers on " + path + ": " + why + "\nIs it running? See: systemctl status headgated"};
}

ControlError no_reply(const std::string& path, std::chrono::seconds waited) {
  return {kExitNotRunning, kErrorNotRunning,
          "headgated on " + path + " has not replied within " + std::to_string(waited.count()) +
              " s: it is busy, as with a reload of many shapes, or stopped\nSee: systemctl status headgated"};
}

FileDescriptor connect_to(const std::string& path, std::chrono::seconds patience) {
  FileDescriptor socket = new_socket(0);
  const timeval timeout{patience.count(), 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);  // connect() takes it, too
  connect_socket(socket, path);
  return socket;
}

FileDescriptor connect_at_once(const std::string& path) {
  FileDescriptor socket = new_socket(SOCK_NONBLOCK);
  connect_socket(socket, path);
  return socket;
}

void send_all(const FileDescriptor& socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string request_line(const Json& request) {
  return request.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json parse_reply(std::string_view line, const std::string& path) {
  Json reply;
  try {
    reply = Json::parse(line);
    if (reply.contains("error") || reply.at("schema") == kSchema) return reply;
  } catch (const Json::exception&) {
    throw foreign_language(path);
  }
  throw ControlError(kExitRefused, "system",
                     "headgated replies by schema " + reply["schema"].dump() +
                         ", this headgatectl knows schema " + std::to_string(kSchema) +
                         ": install the same version of both");
}

void check_length(const std::string& reply) {
  if (reply.size() > kLongestReply)
    throw ControlError(kExitRefused, "system", "the reply of headgated does not end");
}

ControlError error_of(const Json& reply, const std::string& path) {
  try {
    const Json& error = reply.at("error");
    const std::string code = error.value("code", std::string(kErrorInternal));
    const bool of_the_socket = !error.contains("details") && code == kErrorNotPermitted;
    if (of_the_socket) return not_permitted(path);
    return {exit_code_of(code), code, error.value("message", std::string("headgated refused")),
            error.value("details", std::vector<std::string>{})};
  } catch (const Json::exception&) {
    return foreign_language(path);
  }
}

Json ask_daemon(const std::string& path, const Json& request, std::chrono::seconds patience) {
  std::string rest;
  return ask(connect_to(path, std::min(patience, kPatience)), path, request, patience, rest);
}

Json ask_daemon(const std::string& path, const Json& request, const std::string& body) {
  std::string rest;
  return ask(connect_to(path), path, request, kReloadPatience, rest, body);
}

DaemonStream open_stream(const std::string& path, const Json& request) {
  DaemonStream stream{.socket = connect_to(path), .received = {}};
  ask(stream.socket, path, request, kPatience, stream.received);
  return stream;
}

}  // namespace headgate
