// Tells systemd how the service is: sd_notify(3). Without a service manager (no NOTIFY_SOCKET) every call
// does nothing.
//
// Main thread. Nothing throws: a service manager that cannot be told is no reason to stop shaping.
#pragma once

#include <optional>
#include <string_view>

#include "headgate/clock.hpp"

namespace headgate {

class ServiceManager {
 public:
  void ready(std::string_view status);   // started, or reloaded
  void status(std::string_view status);  // one line, shown by systemctl status
  void reloading();                      // ready() ends it
  void stopping(std::string_view status);
  void extend_timeout(Duration from_now);  // of what goes on: starting, reloading, stopping

  // How often feed_watchdog() is to be called: half of WatchdogSec=. None: no watchdog, or it is not for this
  // process.
  std::optional<Duration> watchdog_interval() const;
  void feed_watchdog();
};

}  // namespace headgate
