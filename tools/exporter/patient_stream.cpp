#include "patient_stream.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace headgate {

bool PatientStream::wait_for(short events) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    if (left.count() <= 0) return false;
    pollfd poll_one{.fd = socket_, .events = events, .revents = 0};
    const int ready = poll(&poll_one, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool PatientStream::is_readable() const {
  return begin_ < end_ || wait_for(POLLIN);
}

bool PatientStream::is_writable() const {
  return wait_for(POLLOUT);
}

ssize_t PatientStream::read(char* out, std::size_t size) {
  if (begin_ == end_) {
    ssize_t received = -1;
    do {
      if (!wait_for(POLLIN)) return -1;
      received = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    } while (received < 0 && (errno == EINTR || errno == EAGAIN));
    if (received <= 0) return received;
    received_ += static_cast<std::size_t>(received);
    if (received_ > kMostReceived) return -1;
    begin_ = 0;
    end_ = static_cast<std::size_t>(received);
  }
  const std::size_t taken = std::min(size, end_ - begin_);
  std::memcpy(out, buffer_.data() + begin_, taken);
  begin_ += taken;
  return static_cast<ssize_t>(taken);
}

ssize_t PatientStream::write(const char* bytes, std::size_t size) {
  for (;;) {
    if (!wait_for(POLLOUT)) return -1;
    const ssize_t sent = send(socket_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0 || (errno != EINTR && errno != EAGAIN)) return sent;
  }
}

// Nobody asks: the exporter keeps no log of its clients.
void PatientStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

void PatientStream::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace headgate
