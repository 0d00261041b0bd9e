// The other end of a UNIX socket in a test. Blocking, with a limit that only a hang reaches.
#pragma once

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "linux/file_descriptor.hpp"

namespace headgate {

class UnixSocketClient {
 public:
  explicit UnixSocketClient(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) {
      error_ = errno;
      return;
    }
    const timeval limit{20, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }

  int connect_error() const { return error_; }  // 0: connected
  int descriptor() const { return socket_.get(); }

  bool write(std::string_view text) const {
    return send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }

  // With its end; what has come when the other side closes.
  std::string read_line() const {
    std::string line;
    char byte;
    while (recv(socket_.get(), &byte, 1, 0) == 1) {
      line += byte;
      if (byte == '\n') break;
    }
    return line;
  }

  bool closed_by_peer() const {
    char byte;
    const ssize_t received = recv(socket_.get(), &byte, 1, 0);
    return received == 0 || (received < 0 && errno == ECONNRESET);
  }

  void finish_writing() const { shutdown(socket_.get(), SHUT_WR); }

 private:
  FileDescriptor socket_;
  int error_ = 0;
};

}  // namespace headgate
