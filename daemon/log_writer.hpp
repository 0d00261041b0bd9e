// Log lines on their way to a descriptor that may take its time: a pipe that nobody reads, a stopped terminal.
//
// Role     A thread of its own writes what any thread adds. The descriptor stays as it is: its mode of blocking may be
//          shared with other processes.
// Thread   write() and flush() from any. What the descriptor takes at once is written when write() returns. It waits for
//          that at most kAtOnce, and not again before the descriptor has taken all that waits.
// Limits   At most kMostBytes wait, or one text that is longer. What finds no room, or cannot be written at all, is
//          dropped and counted in lines; the next line that gets through stands behind a line that says how many were.
// End      The destructor waits for nothing; the thread ends once the descriptor has taken what it writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "headgate/clock.hpp"

namespace headgate {

class LogWriter {
 public:
  static constexpr std::size_t kMostBytes = 64 * 1024;
  static constexpr Duration kAtOnce = std::chrono::milliseconds(100);

  // Gives the line, with its end, which says that so many lines were lost.
  using LossReport = std::function<std::string(std::uint64_t lines)>;

  // Throws std::system_error when there can be no thread.
  LogWriter(int descriptor, LossReport loss_report);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  void write(std::string lines);

  // Waits until all is written, at most `patience`. False: some is not.
  bool flush(Duration patience);

 private:
  struct State;
  std::shared_ptr<State> state_;  // the thread may outlive this object
};

// Writes it all, however long that takes. False: it cannot be written.
bool write_whole(int descriptor, std::string_view text);

}  // namespace headgate
