#include "top/terminal.hpp"

#define NCURSES_NOMACROS 1
#include <curses.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <stdexcept>
#include <string>

namespace headgate::top {
namespace {

// So long the rest of a key's sequence may be behind its first byte, an Escape.
constexpr int kEscapePatience = 100;  // ms

// Of a terminal's own colours, those that are seen on light and on dark. The numbers are ncurses's pairs.
enum Pair : short { kGreen = 1, kMagenta, kRed };

void let_in_while_waiting(int signal) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
}

std::string text_of(wint_t character) {
  std::mbstate_t state{};
  std::string text(MB_CUR_MAX, '\0');
  const std::size_t bytes = std::wcrtomb(text.data(), static_cast<wchar_t>(character), &state);
  text.resize(bytes <= text.size() ? bytes : 0);
  return text;
}

Key function_key(wint_t code) {
  switch (code) {
    case KEY_UP:
      return Key::up;
    case KEY_DOWN:
      return Key::down;
    case KEY_PPAGE:
      return Key::page_up;
    case KEY_NPAGE:
      return Key::page_down;
    case KEY_HOME:
      return Key::home;
    case KEY_END:
      return Key::end;
    case KEY_ENTER:
      return Key::enter;
    case KEY_RIGHT:
      return Key::right;
    case KEY_LEFT:
      return Key::left;
    case KEY_BACKSPACE:
      return Key::backspace;
    default:
      return Key::none;
  }
}

KeyPress character_key(wint_t character) {
  constexpr wint_t kEscape = 0x1b, kDelete = 0x7f, kBackspace = 0x08;
  if (character == '\r' || character == '\n') return {Key::enter, ""};
  if (character == kEscape) return {Key::escape, ""};
  if (character == kDelete || character == kBackspace) return {Key::backspace, ""};
  if (character < ' ') return {};
  return {Key::character, text_of(character)};
}

}  // namespace

Terminal::Terminal(bool colour) {
  SCREEN* screen = newterm(nullptr, stdout, stdin);
  if (!screen) throw std::runtime_error("this terminal cannot show a screen: is TERM what it is?");
  handle_ = reinterpret_cast<Handle*>(screen);
  let_in_while_waiting(SIGWINCH);
  let_in_while_waiting(SIGTSTP);
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  set_escdelay(kEscapePatience);
  curs_set(0);
  colour_ = colour && has_colors();
  if (!colour_) return;
  start_color();
  use_default_colors();
  init_pair(kGreen, COLOR_GREEN, -1);
  init_pair(kMagenta, COLOR_MAGENTA, -1);
  init_pair(kRed, COLOR_RED, -1);
}

Terminal::~Terminal() {
  endwin();
  delscreen(reinterpret_cast<SCREEN*>(handle_));
}

Size Terminal::size() const {
  return {static_cast<std::size_t>(getmaxx(stdscr)), static_cast<std::size_t>(getmaxy(stdscr))};
}

unsigned long Terminal::attributes_of(Tone tone) const {
  switch (tone) {
    case Tone::heading:
      return A_BOLD;
    case Tone::good:
      return colour_ ? COLOR_PAIR(kGreen) : A_NORMAL;
    case Tone::attention:
      return (colour_ ? COLOR_PAIR(kMagenta) : A_NORMAL) | A_BOLD;
    case Tone::bad:
      return (colour_ ? COLOR_PAIR(kRed) : A_NORMAL) | A_BOLD;
    case Tone::plain:
      break;
  }
  return A_NORMAL;
}

void Terminal::draw_line(int row, const Line& line) const {
  ::move(row, 0);
  for (const Span& span : line.spans) {
    attrset(static_cast<int>(line.marked ? A_REVERSE : attributes_of(span.tone)));
    addnstr(span.text.data(), static_cast<int>(span.text.size()));
  }
  const bool ended_before_the_edge = getcury(stdscr) == row;
  if (line.marked && ended_before_the_edge) hline(' ' | A_REVERSE, getmaxx(stdscr) - getcurx(stdscr));
}

void Terminal::draw(const Screen& screen) {
  ::erase();
  for (std::size_t row = 0; row < screen.lines.size(); ++row)
    draw_line(static_cast<int>(row), screen.lines[row]);
  attrset(A_NORMAL);
  curs_set(screen.cursor ? 1 : 0);
  if (screen.cursor) ::move(static_cast<int>(screen.lines.size()) - 1, static_cast<int>(*screen.cursor));
  refresh();
}

std::optional<KeyPress> Terminal::read_key() {
  wint_t character = 0;
  switch (get_wch(&character)) {
    case KEY_CODE_YES:
      return KeyPress{function_key(character), ""};
    case OK:
      return character_key(character);
    default:
      return std::nullopt;
  }
}

}  // namespace headgate::top
