#include "top/full_screen.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>

#include "ending_signals.hpp"
#include "top/layout.hpp"
#include "top/question.hpp"
#include "top/requests.hpp"
#include "top/shown_rows.hpp"
#include "top/terminal.hpp"

namespace headgate::top {
namespace {

constexpr Duration kPatienceForAnswers = std::chrono::seconds(1);  // then it is looked whether they are late

Instant now() {
  return instant_of(std::chrono::steady_clock::now());
}

Question::WallTime wall_time() {
  return std::chrono::system_clock::now();
}

std::string clock_text(Question::WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%H:%M:%S", &parts)};
}

class FullScreen {
 public:
  explicit FullScreen(const Task& task)
      : task_(task), view_(task.view), show_(task.control), flows_(task.control) {}

  void run() {
    while (!over_ && !signals_.came()) {
      if (now() >= next_tick_) tick();
      see_to_failures();
      if (changed_) draw();
      wait();
      read_keys();
      take_answers();
    }
  }

 private:
  // The next tick is one interval on, whatever this one took.
  void tick() {
    if (task_.rounds && ticks_++ > *task_.rounds) {
      over_ = true;
      return;
    }
    show_.ask(show_request(view_), now(), wall_time());
    ask_flows();
    next_tick_ = now() + view_.interval;
  }

  void ask_flows() {
    if (view_.level != Level::flows) return flows_.drop();
    flows_.ask(flows_request(view_.class_name), now(), wall_time());
  }

  void wait() {
    std::array<pollfd, 3> descriptors = {pollfd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                         pollfd{.fd = show_.descriptor(), .events = POLLIN, .revents = 0},
                                         pollfd{.fd = flows_.descriptor(), .events = POLLIN, .revents = 0}};
    Duration rest = std::max(next_tick_ - now(), Duration::zero());
    if (is_waiting()) rest = std::min(rest, kPatienceForAnswers);
    const auto seconds = std::chrono::floor<std::chrono::seconds>(rest);
    const timespec time{.tv_sec = seconds.count(), .tv_nsec = (rest - seconds).count()};
    const int ready = ppoll(descriptors.data(), descriptors.size(), &time, &signals_.outside());
    if (ready < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
    if (ready > 0 && (descriptors[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) over_ = true;
  }

  void read_keys() {
    while (const auto key = terminal_.read_key()) {
      changed_ = true;
      const Level level = view_.level;
      const bool paused = view_.paused;
      const ShownRows shown = followed_rows();
      if (press(view_, *key, shown, rows_on(terminal_.size())) == Outcome::quits) over_ = true;
      if (view_.paused && !paused) frozen_ = samples_;
      if (view_.level == Level::flows && level != Level::flows) ask_flows();
      next_tick_ = std::min(next_tick_, now() + view_.interval);
    }
  }

  bool is_waiting() const { return show_.pending() || flows_.pending(); }

  // One draw for all that was asked.
  void take_answers() {
    const bool waited = is_waiting();
    if (const auto reply = show_.take(wall_time())) samples_.add_show(*reply);
    if (const auto reply = flows_.take(wall_time())) samples_.add_flows(view_.class_name, *reply);
    if (waited && !is_waiting()) changed_ = true;
  }

  // What does not come is said in time, whatever the interval.
  void see_to_failures() {
    if (show_.failure(now()) || flows_.failure(now())) changed_ = true;
  }

  const Samples& samples() const { return view_.paused ? frozen_ : samples_; }

  ShownRows followed_rows() {
    ShownRows shown = shown_rows(samples(), view_);
    follow(view_.place(), shown, rows_on(terminal_.size()));
    return shown;
  }

  Remarks remarks() const {
    Remarks remarks;
    if (const auto failure = show_.failure(now()))
      remarks.silence =
          "headgated does not answer since " + clock_text(failure->since) + ", trying on: " + failure->why;
    if (const auto failure = flows_.failure(now())) remarks.flows = failure->why;
    return remarks;
  }

  void draw() {
    const ShownRows shown = followed_rows();
    terminal_.draw(layout(samples(), shown, view_, remarks(), terminal_.size(), style_.utf8));
    changed_ = false;
  }

  const Task& task_;
  View view_;
  const ScreenStyle style_ = ScreenStyle::detect();  // sets the locale, which the terminal goes by
  const EndingSignals signals_;
  Terminal terminal_{style_.colour};
  Samples samples_;
  Samples frozen_;  // what is shown while paused
  Question show_;
  Question flows_;
  Instant next_tick_ = now();
  std::uint64_t ticks_ = 0;
  bool changed_ = true;
  bool over_ = false;
};

}  // namespace

void show_full_screen(const Task& task) {
  FullScreen(task).run();
}

}  // namespace headgate::top
