// The terminal, by ncurses: taken over while this lives, then as it was before. One a process.
//
// ncurses sends what has changed since the last screen, no more. It deals with a change of size and with being
// stopped and continued; those signals are let in only by who waits with EndingSignals::outside(), so none is lost.
#pragma once

#include <optional>

#include "top/screen.hpp"
#include "top/view.hpp"

namespace headgate::top {

// Whether standard input and output are a terminal that a screen can be drawn on.
bool can_show_screens();

class Terminal {
 public:
  // To be made after EndingSignals. Throws std::runtime_error for a terminal that can_show_screens() is false of.
  explicit Terminal(bool colour);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  Size size() const;
  void draw(const Screen& screen);

  // The next key that was pressed, without waiting; Key::none for one that means nothing, and for a change of size.
  std::optional<KeyPress> read_key();

 private:
  unsigned long attributes_of(Tone tone) const;
  void draw_line(int row, const Line& line) const;

  struct Handle;  // what ncurses calls SCREEN
  Handle* handle_;
  bool colour_;
};

}  // namespace headgate::top
