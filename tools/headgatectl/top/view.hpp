// What of the samples is looked at, and what keys make of it.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/clock.hpp"
#include "top/samples.hpp"

namespace headgate::top {

enum class Level { links, classes, flows };

enum class SortBy { rate, drops, delay, queue, name };
inline constexpr std::array<std::string_view, 5> kSortNames = {"rate", "drops", "delay", "queue", "name"};

enum class Key {
  character,
  up,
  down,
  page_up,
  page_down,
  home,
  end,
  enter,
  right,
  left,
  backspace,
  escape,
  none
};

struct KeyPress {
  Key key = Key::none;
  std::string text;  // of a character, in the encoding of the locale
};

// Where one level stands.
struct Place {
  std::string selected;      // key of a row; empty: the first, whichever that is
  std::size_t position = 0;  // of that row, when it was last there
  std::size_t first = 0;     // the row that is uppermost on the screen
  std::string filter;        // shown are the rows that have it in their names
};

struct View {
  Level level = Level::links;
  std::string link;        // that is open, by its key
  std::string class_name;  // that is open, likewise
  std::array<Place, 3> places;

  SortBy sort = SortBy::rate;
  bool reversed = false;
  bool packets = false;    // rates in packets ahead of those in bits
  bool instances = false;  // each interface of a pattern, too
  bool paused = false;
  bool help = false;
  bool typing = false;  // a filter
  Duration interval = std::chrono::seconds(1);

  Place& place() { return places[static_cast<std::size_t>(level)]; }
  const Place& place() const { return places[static_cast<std::size_t>(level)]; }
};

// Rows as they are shown: those that the filter lets through, sorted. See shown_rows.hpp.
using ShownRows = std::vector<const Row*>;

enum class Outcome { goes_on, quits };

// `page`: how many rows the screen has room for.
Outcome press(View& view, const KeyPress& press, const ShownRows& shown, std::size_t page);

// Keeps the selected row selected, and on the screen, when others come and go.
void follow(Place& place, const ShownRows& shown, std::size_t page);

}  // namespace headgate::top
