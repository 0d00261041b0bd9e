// Apart from the rest of Terminal, for <term.h> has macros by the name of every second thing.
#include <curses.h>
// after curses.h, whose types it needs
#include <term.h>
#include <unistd.h>

namespace headgate::top {

bool can_show_screens() {
  if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) return false;
  int error = 0;
  if (setupterm(nullptr, STDOUT_FILENO, &error) != OK) return false;
  const bool can_move = cursor_address != nullptr;
  del_curterm(cur_term);
  return can_move;
}

}  // namespace headgate::top
