#include "log.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "log_writer.hpp"
#include "visible_text.hpp"

namespace headgate {
namespace {

// Set before there are other threads, and never destroyed: its thread may be stuck when the process ends.
LogWriter* background = nullptr;

const LogFormat& format_of_standard_error() {
  static const LogFormat kFormat = detect_log_format(program_invocation_short_name, STDERR_FILENO);
  return kFormat;
}

std::string loss_report(std::uint64_t lines) {
  return format_log(format_of_standard_error(), LogPriority::warning,
                    std::to_string(lines) + (lines == 1 ? " log line was lost" : " log lines were lost") +
                        ": standard error did not take them");
}

// JOURNAL_STREAM is "device:inode" of the stream that systemd connected; another stream may be in its place
// by now.
bool is_journal(int descriptor) {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  unsigned long long device = 0, inode = 0;
  return stream && std::sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
         fstat(descriptor, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

std::string_view word_of(LogPriority priority) {
  switch (priority) {
    case LogPriority::error:
      return "error: ";
    case LogPriority::warning:
      return "warning: ";
    case LogPriority::debug:
      return "debug: ";
    case LogPriority::notice:
    case LogPriority::info:
      break;
  }
  return "";
}

std::string_view colour_of(LogPriority priority) {
  if (priority == LogPriority::error) return "\033[1;31m";
  if (priority == LogPriority::warning) return "\033[1;33m";
  return "";
}

void append_line(std::string& text, const LogFormat& format, LogPriority priority, std::string_view line) {
  if (format.journal) {
    text += '<';
    text += std::to_string(static_cast<int>(priority));
    text += '>';
  } else {
    const std::string_view colour = format.colour ? colour_of(priority) : "";
    text += format.program;
    text += ": ";
    text += colour;
    text += word_of(priority);
    if (!colour.empty()) text += "\033[0m";
  }
  text += visible(line);
  text += '\n';
}

}  // namespace

LogFormat detect_log_format(std::string program, int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  LogFormat format{std::move(program)};
  format.journal = is_journal(descriptor);
  format.colour = !format.journal && isatty(descriptor) == 1 && (!no_colour || *no_colour == '\0');
  return format;
}

std::string format_log(const LogFormat& format, LogPriority priority, std::string_view message) {
  std::string text;
  while (!message.empty() && message.back() == '\n') message.remove_suffix(1);
  for (;;) {
    const std::size_t end = message.find('\n');
    append_line(text, format, priority, message.substr(0, end));
    if (end == std::string_view::npos) return text;
    message.remove_prefix(end + 1);
  }
}

void log(LogPriority priority, std::string_view message) {
  std::string text = format_log(format_of_standard_error(), priority, message);
  if (background != nullptr) {
    background->write(std::move(text));
  } else {
    // A log that nobody can take any more is no reason to fail.
    write_whole(STDERR_FILENO, text);
  }
}

void log_in_background() {
  if (background == nullptr) background = new LogWriter(STDERR_FILENO, loss_report);
}

void flush_log(Duration patience) {
  if (background != nullptr) background->flush(patience);
}

}  // namespace headgate
