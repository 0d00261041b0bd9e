// Tells systemd how the service is: sd_notify(3). Without a service manager (no NOTIFY_SOCKET) every call
// does nothing.
//
// Main thread. Nothing throws or waits: a service manager that cannot be told, because its socket is full or gone, is no
// reason to stop shaping. What it must not miss (ready, reloading, stopping) is told again before whatever is told next,
// which is the next tick's status at the latest; the rest is forgotten.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "headgate/clock.hpp"

namespace headgate {

class ServiceManager {
 public:
  void ready(std::string_view status);   // started, or reloaded
  void status(std::string_view status);  // one line, shown by systemctl status
  void reloading();                      // ready() ends it
  void stopping(std::string_view status);

  // While starting, reloading or stopping: may take so long from now on, whatever the unit's time-outs say.
  void extend_timeout(Duration duration);

  void feed_watchdog();

 private:
  void must_tell(std::string message);
  bool tell_again();

  std::deque<std::string> untold_;  // at most one of each kind, in their order
};

}  // namespace headgate
