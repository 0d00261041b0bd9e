// Where the exporter listens: an address and a port.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "linux/file_descriptor.hpp"

namespace headgate {

inline constexpr char kDefaultListenAddress[] = "127.0.0.1:9469";

struct ListenAddress {
  sockaddr_storage address{};
  socklen_t length = 0;
  std::string text;  // as given

  bool is_loopback() const;
};

// "127.0.0.1:9469", "[::1]:9469"; no names of hosts. Port 0 is one that is free. Throws std::invalid_argument with a sentence.
ListenAddress parse_listen_address(std::string_view text);

// A TCP socket that listens there. Throws std::system_error.
FileDescriptor listen_at(const ListenAddress& address);

// "127.0.0.1:9469", of a socket that is bound.
std::string bound_address(int socket);

}  // namespace headgate
