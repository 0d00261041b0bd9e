#include "service/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>

#include "linux/file_descriptor.hpp"
#include "visible_text.hpp"

namespace headgate {
namespace {

struct Address {
  sockaddr_un value{};
  socklen_t length = 0;
};

// None: there is no service manager.
std::optional<Address> address_of_manager() {
  const char* name = std::getenv("NOTIFY_SOCKET");
  Address address;
  if (name == nullptr || (*name != '/' && *name != '@')) return std::nullopt;
  const std::size_t length = std::strlen(name);
  if (length >= sizeof address.value.sun_path) return std::nullopt;
  address.value.sun_family = AF_UNIX;
  std::memcpy(address.value.sun_path, name, length);
  if (*name == '@')
    address.value.sun_path[0] = '\0';  // of the abstract namespace, which knows no end but the length
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length + (*name == '/' ? 1 : 0));
  return address;
}

// False: it was not taken.
bool tell(const std::string& message) {
  const std::optional<Address> address = address_of_manager();
  if (!address) return true;
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const ssize_t sent = sendto(socket.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address->value), address->length);
  return sent == static_cast<ssize_t>(message.size());
}

// A line end would start another assignment of the protocol. What is long is cut short: systemd ignores a message of
// 4096 bytes or more, and all that is in it.
std::string status_assignment(std::string_view status) {
  constexpr std::size_t kLongest = 2000;
  std::string line(status);
  std::replace(line.begin(), line.end(), '\n', ' ');
  line = visible(line);
  if (line.size() > kLongest) {
    std::size_t end = kLongest;
    while ((static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;  // whole characters
    line.replace(end, std::string::npos, "...");
  }
  return "STATUS=" + line;
}

std::string_view kind_of(std::string_view message) {
  return message.substr(0, message.find('='));
}

std::uint64_t microseconds(Duration duration) {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::microseconds>(duration).count()));
}

}  // namespace

void ServiceManager::ready(std::string_view status) {
  must_tell("READY=1\n" + status_assignment(status));
}

void ServiceManager::status(std::string_view status) {
  if (tell_again()) tell(status_assignment(status));
}

// systemd before 253 ignores the time; from then on Type=notify-reload asks for it.
void ServiceManager::reloading() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const Duration since_start = std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec);
  must_tell("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds(since_start)));
}

void ServiceManager::stopping(std::string_view status) {
  must_tell("STOPPING=1\n" + status_assignment(status));
}

void ServiceManager::extend_timeout(Duration duration) {
  if (tell_again()) tell("EXTEND_TIMEOUT_USEC=" + std::to_string(microseconds(duration)));
}

void ServiceManager::feed_watchdog() {
  if (tell_again()) tell("WATCHDOG=1");
}

// A later one of its kind stands for the earlier one; a reload that begins takes back that the last one has ended.
void ServiceManager::must_tell(std::string message) {
  const bool begins = kind_of(message) == "RELOADING";
  std::erase_if(untold_, [&](const std::string& earlier) {
    return kind_of(earlier) == kind_of(message) || (begins && kind_of(earlier) == "READY");
  });
  untold_.push_back(std::move(message));
  tell_again();
}

bool ServiceManager::tell_again() {
  while (!untold_.empty() && tell(untold_.front())) untold_.pop_front();
  return untold_.empty();
}

}  // namespace headgate
