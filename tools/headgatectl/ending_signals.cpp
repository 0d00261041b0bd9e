#include "ending_signals.hpp"

#include <poll.h>

namespace headgate {
namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

EndingSignals::EndingSignals() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
    sigaddset(&signals, signal);
    sigaction(signal, &action, nullptr);
  }
  sigprocmask(SIG_BLOCK, &signals, &outside_);
}

bool EndingSignals::came() const {
  return interrupted != 0;
}

bool EndingSignals::wait(std::chrono::milliseconds time) const {
  const timespec limit{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(time).count()};
  ppoll(nullptr, 0, &limit, &outside_);
  return !came();
}

}  // namespace headgate
