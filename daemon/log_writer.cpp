#include "log_writer.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace headgate {
namespace {

struct Text {
  std::string text;
  std::uint64_t lines = 0;  // what is lost with it
};

// A thread started meanwhile takes no signal: they are the main thread's.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

struct LogWriter::State {
  State(int its_descriptor, LossReport its_loss_report)
      : descriptor(its_descriptor), loss_report(std::move(its_loss_report)) {}

  void add(std::string lines);
  bool wait_until_idle(std::unique_lock<std::mutex>& lock, Duration patience);
  void run();

  const int descriptor;
  const LossReport loss_report;
  std::mutex mutex;  // of all below; never held while something is written
  std::condition_variable changed;
  std::deque<Text> waiting;
  std::size_t waiting_bytes = 0;
  std::uint64_t lost = 0;  // lines that no report has told of yet
  bool writing = false;
  bool late = false;  // write() did not see the end of it
  bool ended = false;

 private:
  void push(Text text);
  void report_loss();
};

void LogWriter::State::push(Text text) {
  waiting_bytes += text.text.size();
  waiting.push_back(std::move(text));
}

// What failed stands at this place of the sequence: behind what waits, before what comes.
void LogWriter::State::report_loss() {
  if (lost == 0) return;
  push({loss_report(lost), lost});
  lost = 0;
}

void LogWriter::State::add(std::string lines) {
  const auto count = static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
  if (!waiting.empty() && waiting_bytes + lines.size() > kMostBytes) {
    lost += count;
    return;
  }
  report_loss();
  push({std::move(lines), count});
}

bool LogWriter::State::wait_until_idle(std::unique_lock<std::mutex>& lock, Duration patience) {
  return changed.wait_for(lock, patience, [this] { return waiting.empty() && !writing; });
}

void LogWriter::State::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return ended || !waiting.empty(); });
    if (waiting.empty()) return;
    const Text next = std::move(waiting.front());
    waiting.pop_front();
    waiting_bytes -= next.text.size();
    writing = true;
    lock.unlock();
    const bool written = write_whole(descriptor, next.text);
    lock.lock();
    writing = false;
    if (!written) {
      lost += next.lines;
    } else if (waiting.empty()) {
      report_loss();
    }
    if (waiting.empty()) late = false;
    changed.notify_all();
  }
}

LogWriter::LogWriter(int descriptor, LossReport loss_report)
    : state_(std::make_shared<State>(descriptor, std::move(loss_report))) {
  const SignalsBlocked blocked;
  std::thread([state = state_] { state->run(); }).detach();
}

LogWriter::~LogWriter() {
  const std::lock_guard lock(state_->mutex);
  state_->ended = true;
  state_->changed.notify_all();
}

void LogWriter::write(std::string lines) {
  std::unique_lock lock(state_->mutex);
  state_->add(std::move(lines));
  state_->changed.notify_all();
  if (!state_->late) state_->late = !state_->wait_until_idle(lock, kAtOnce);
}

bool LogWriter::flush(Duration patience) {
  std::unique_lock lock(state_->mutex);
  return state_->wait_until_idle(lock, patience);
}

bool write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // another process made it non-blocking
      pollfd writable{.fd = descriptor, .events = POLLOUT, .revents = 0};
      poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace headgate
