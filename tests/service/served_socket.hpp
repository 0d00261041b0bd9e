// A control socket and the loop that serves it, in a thread of its own.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "linux/file_descriptor.hpp"
#include "service/control_socket.hpp"

namespace headgate {

class ServedSocket {
 public:
  ServedSocket(const std::string& path, ControlSocket::Handler handler, ControlSocketLimits limits = {})
      : socket_(path, std::move(handler), limits),
        stop_(eventfd(0, EFD_CLOEXEC)),
        thread_([this] { serve(); }) {}
  ~ServedSocket() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);
    thread_.join();
  }

 private:
  void serve() {
    pollfd descriptors[] = {{socket_.descriptor(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    for (;;) {
      poll(descriptors, 2, -1);
      if (descriptors[1].revents != 0) return;
      socket_.dispatch();
    }
  }

  ControlSocket socket_;
  FileDescriptor stop_;
  std::thread thread_;
};

}  // namespace headgate
