#include "service/service_manager.hpp"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

namespace headgate {
namespace {

void notify(const std::string& message) {
  sd_notify(0, message.c_str());
}

// A line end would start another assignment of the protocol.
std::string status_assignment(std::string_view status) {
  std::string line = "STATUS=";
  line += status;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace

void ServiceManager::ready(std::string_view status) {
  notify("READY=1\n" + status_assignment(status));
}

void ServiceManager::status(std::string_view status) {
  notify(status_assignment(status));
}

// systemd before 253 ignores the time; from then on Type=notify-reload asks for it.
void ServiceManager::reloading() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::uint64_t microseconds =
      static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1'000;
  notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds));
}

void ServiceManager::stopping(std::string_view status) {
  notify("STOPPING=1\n" + status_assignment(status));
}

void ServiceManager::extend_timeout(Duration from_now) {
  const auto time = std::chrono::duration_cast<std::chrono::microseconds>(from_now);
  notify("EXTEND_TIMEOUT_USEC=" + std::to_string(time.count()));
}

std::optional<Duration> ServiceManager::watchdog_interval() const {
  std::uint64_t microseconds = 0;
  if (sd_watchdog_enabled(0, &microseconds) <= 0) return std::nullopt;
  return std::chrono::microseconds(microseconds) / 2;
}

void ServiceManager::feed_watchdog() {
  notify("WATCHDOG=1");
}

}  // namespace headgate
