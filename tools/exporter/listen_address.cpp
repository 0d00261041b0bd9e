#include "listen_address.hpp"

#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>

namespace headgate {
namespace {

constexpr int kBacklog = 128;  // connections that the kernel keeps until they are accepted

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw std::invalid_argument("\"" + std::string(text) + "\" " + std::string(why) +
                              "; expected ADDRESS:PORT, such as 127.0.0.1:9469, [::1]:9469 or 0.0.0.0:9469");
}

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

struct Parts {
  std::string host;
  std::string_view port;
};

Parts split(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) refuse(text, "has no port");
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    refuse(text, "has an IPv6 address without brackets");
  }
  if (host.empty()) refuse(text, "has no address");
  return {std::string(host), text.substr(colon + 1)};
}

std::system_error failure(const char* what, const ListenAddress& address) {
  return {errno, std::generic_category(), what + address.text};
}

}  // namespace

ListenAddress parse_listen_address(std::string_view text) {
  const auto [host, port_text] = split(text);
  const auto port = port_of(port_text);
  if (!port) refuse(text, "has a port that is no number from 0 to 65535");
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(*port).c_str(), &hints, &found) != 0)
    refuse(text, "has no address of IPv4 or IPv6 before the port");
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  ListenAddress address;
  address.length = found->ai_addrlen;
  address.text = text;
  std::memcpy(&address.address, found->ai_addr, found->ai_addrlen);
  return address;
}

bool ListenAddress::is_loopback() const {
  if (address.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(ipv4.sin_addr.s_addr) >> 24 == 127;
  }
  const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
  return IN6_IS_ADDR_LOOPBACK(&ipv6.sin6_addr) != 0;
}

FileDescriptor listen_at(const ListenAddress& address) {
  FileDescriptor socket(::socket(address.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) throw failure("cannot make a socket for ", address);
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.address), address.length) < 0 ||
      listen(socket.get(), kBacklog) < 0)
    throw failure("cannot listen at ", address);
  return socket;
}

std::string bound_address(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) < 0 ||
      getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host.data(), host.size(), port.data(),
                  port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "an unknown address";
  const bool ipv6 = address.ss_family == AF_INET6;
  return (ipv6 ? "[" : "") + std::string(host.data()) + (ipv6 ? "]:" : ":") + port.data();
}

}  // namespace headgate
