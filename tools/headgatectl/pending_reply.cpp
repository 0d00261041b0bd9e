#include "pending_reply.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "control_client.hpp"

namespace headgate {

using Json = nlohmann::ordered_json;

PendingReply::PendingReply(const std::string& path, const Json& request)
    : path_(path), socket_(connect_at_once(path)) {
  send_all(socket_, request_line(request));
}

std::optional<Json> PendingReply::take() {
  std::array<char, 64 * 1024> buffer;
  while (true) {
    const ssize_t received = recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && errno == EAGAIN) return std::nullopt;
    if (received < 0) throw not_running(path_, std::generic_category().message(errno));
    if (received == 0) throw not_running(path_, "it closed the connection without a reply");
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(received));
    const std::size_t end = bytes.find('\n');
    received_ += bytes.substr(0, end);
    check_length(received_);
    if (end == std::string_view::npos) continue;
    Json reply = parse_reply(received_, path_);
    if (reply.contains("error")) throw error_of(reply, path_);
    return reply;
  }
}

}  // namespace headgate
