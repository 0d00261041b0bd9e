// Log lines on standard error.
//
// Under systemd, when standard error is the journal, each line begins with "<N>", which sets its priority.
// Anywhere else it reads "headgated: warning: ...", in colour only on a terminal and unless NO_COLOR is set.
// What cannot be seen is escaped: visible_text.hpp.
#pragma once

#include <string>
#include <string_view>

#include "headgate/clock.hpp"

namespace headgate {

// The numbers of syslog(3).
enum class LogPriority : int { error = 3, warning = 4, notice = 5, info = 6, debug = 7 };

// Any thread. One write per message, so lines of several threads do not mix. Each line of a message becomes a
// log line. Waits until standard error takes it, but for what log_in_background() says.
void log(LogPriority priority, std::string_view message);

inline void log_error(std::string_view message) {
  log(LogPriority::error, message);
}
inline void log_warning(std::string_view message) {
  log(LogPriority::warning, message);
}
inline void log_notice(std::string_view message) {
  log(LogPriority::notice, message);
}
inline void log_info(std::string_view message) {
  log(LogPriority::info, message);
}

// From here on log() does not wait for whoever reads: what standard error does not take in time is dropped and counted
// (LogWriter). For a process that has more to do than to be read. Main thread, before there are others.
void log_in_background();

// Before the process ends: waits until the lines are written, at most `patience`.
void flush_log(Duration patience);

struct LogFormat {
  std::string program;  // not shown in the journal, which knows it
  bool journal = false;
  bool colour = false;
};

// By what `descriptor` is, JOURNAL_STREAM and NO_COLOR.
LogFormat detect_log_format(std::string program, int descriptor);

// With its line ends. Notice and info go without a word for their priority.
std::string format_log(const LogFormat& format, LogPriority priority, std::string_view message);

}  // namespace headgate
