#include "linux/instance_lock.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>

#include "linux/system_call.hpp"

namespace headgate {

namespace {

// Those who ask stay in the listener's queue, for nobody accepts them. When it is full the lock is still seen
// to be held, only not by whom.
constexpr int kQueue = 4096;

struct Address {
  sockaddr_un socket{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&socket); }
};

Address abstract_address(const std::string& name) {
  Address address;
  address.socket.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof address.socket.sun_path)
    throw std::length_error("lock name too long: " + name);
  std::memcpy(address.socket.sun_path + 1, name.data(), name.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

FileDescriptor open_socket() {
  return FileDescriptor(check_system_call("open a UNIX socket",
                                          socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
}

}  // namespace

std::string InstanceLock::Holder::to_string() const {
  return process > 0 ? "process " + std::to_string(process) : "another process";
}

std::optional<InstanceLock> InstanceLock::acquire(const std::string& name) {
  FileDescriptor descriptor = open_socket();
  const Address address = abstract_address(name);
  const int result = bind(descriptor.get(), address.get(), address.length);
  if (result < 0 && errno == EADDRINUSE) return std::nullopt;
  check_system_call("take the lock " + name, result);
  check_system_call("listen on the lock " + name, listen(descriptor.get(), kQueue));
  return InstanceLock(std::move(descriptor));
}

std::optional<InstanceLock::Holder> InstanceLock::find_holder(const std::string& name) {
  const FileDescriptor descriptor = open_socket();
  const Address address = abstract_address(name);
  if (connect(descriptor.get(), address.get(), address.length) < 0) {
    if (errno == EAGAIN) return Holder{};
    if (errno == ECONNREFUSED) return std::nullopt;
    check_system_call("ask who holds the lock " + name, -1);
  }
  ucred credentials{};
  socklen_t length = sizeof credentials;
  check_system_call("SO_PEERCRED",
                    getsockopt(descriptor.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length));
  return Holder{credentials.pid};
}

}  // namespace headgate
