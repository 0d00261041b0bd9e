#include "request_pipeline.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "control_client.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

// Half of the time after which the daemon closes the connection of a silent client.
constexpr std::chrono::seconds kIdleTime(5);

}  // namespace

void RequestPipeline::put(const Json& request) {
  if (!socket_) socket_ = connect_to(path_);
  requests_ += request_line(request);
  ++unanswered_;
}

pollfd RequestPipeline::interest() const {
  const auto events = static_cast<short>(requests_.empty() ? POLLIN : POLLIN | POLLOUT);
  return {.fd = socket_ ? socket_.get() : -1, .events = events, .revents = 0};
}

std::chrono::seconds RequestPipeline::wait() const {
  return unanswered_ > 0 ? kPatience : kIdleTime;
}

std::vector<Json> RequestPipeline::progress() {
  if (!socket_) return {};
  send_requests();
  const bool open = receive();
  std::vector<Json> replies = take_replies();
  if (!open && unanswered_ == 0) disconnect();
  // Where the daemon says why it closes, that comes as a reply.
  if (!open && unanswered_ > 0 && replies.empty())
    throw not_running(path_, "it closed the connection without a reply");
  return replies;
}

void RequestPipeline::idle() {
  if (unanswered_ > 0) throw no_reply(path_, kPatience);
  disconnect();
}

void RequestPipeline::send_requests() {
  if (requests_.empty()) return;
  const ssize_t sent = send(socket_.get(), requests_.data(), requests_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // Should the daemon have closed already, its reason is still there to be read.
  requests_.erase(0, sent < 0 ? std::string::npos : static_cast<std::size_t>(sent));
}

bool RequestPipeline::receive() {
  std::array<char, 64 * 1024> buffer;
  const ssize_t received = recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (received < 0) return errno == EAGAIN || errno == EINTR;
  received_.append(buffer.data(), static_cast<std::size_t>(received));
  return received > 0;
}

std::vector<Json> RequestPipeline::take_replies() {
  std::vector<Json> replies;
  std::size_t begin = 0;
  while (unanswered_ > 0) {
    const std::size_t end = received_.find('\n', begin);
    if (end == std::string::npos) break;
    replies.push_back(parse_reply(std::string_view(received_).substr(begin, end - begin), path_));
    begin = end + 1;
    --unanswered_;
  }
  received_.erase(0, begin);
  check_length(received_);
  return replies;
}

void RequestPipeline::disconnect() {
  socket_.close();
  received_.clear();
}

}  // namespace headgate
