// The signals that end a command that goes on: SIGINT, SIGTERM and SIGHUP.
#pragma once

#include <chrono>
#include <csignal>

namespace headgate {

// From its making on they are taken only while the command waits, so that none is lost and no output is cut. One a process.
class EndingSignals {
 public:
  EndingSignals();

  // The mask to wait with, as ppoll() takes it.
  const sigset_t& outside() const { return outside_; }

  bool came() const;

  // False: one has come. `time` is below a second.
  bool wait(std::chrono::milliseconds time) const;

 private:
  sigset_t outside_;
};

}  // namespace headgate
