#include "top/view.hpp"

#include <algorithm>

namespace headgate::top {
namespace {

using namespace std::chrono_literals;

constexpr std::array<Duration, 10> kIntervals = {100ms, 200ms, 500ms, 1s, 2s, 5s, 10s, 20s, 30s, 60s};

void lengthen(Duration& interval) {
  const auto next = std::upper_bound(kIntervals.begin(), kIntervals.end(), interval);
  if (next != kIntervals.end()) interval = *next;
}

void shorten(Duration& interval) {
  const auto next = std::lower_bound(kIntervals.begin(), kIntervals.end(), interval);
  if (next != kIntervals.begin()) interval = *(next - 1);
}

// Flows have no delays of their own.
void sort_by_next(View& view) {
  do view.sort = static_cast<SortBy>((static_cast<std::size_t>(view.sort) + 1) % kSortNames.size());
  while (view.level == Level::flows && view.sort == SortBy::delay);
}

void open(View& view, const ShownRows& shown) {
  const std::size_t position = view.place().position;
  if (position >= shown.size() || !shown[position]->opens) return;
  view.place().selected = shown[position]->key;  // to be found when it comes back
  if (view.level == Level::links) {
    view.link = shown[position]->key;
    view.level = Level::classes;
  } else {
    view.class_name = shown[position]->key;
    view.level = Level::flows;
  }
  view.place() = {};
}

void go_back(View& view) {
  if (view.level == Level::flows)
    view.level = Level::classes;
  else
    view.level = Level::links;
}

void leave(View& view) {
  if (view.place().filter.empty()) return go_back(view);
  view.place().filter.clear();
}

void select(View& view, const ShownRows& shown, std::ptrdiff_t position) {
  if (shown.empty()) return;
  Place& place = view.place();
  place.position = static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(position, 0, static_cast<std::ptrdiff_t>(shown.size()) - 1));
  place.selected = shown[place.position]->key;
}

void erase_last_character(std::string& text) {
  while (!text.empty()) {
    const bool began = (static_cast<unsigned char>(text.back()) & 0xc0) != 0x80;
    text.pop_back();
    if (began) return;
  }
}

void type(View& view, const KeyPress& press) {
  std::string& filter = view.place().filter;
  if (press.key == Key::character) filter += press.text;
  if (press.key == Key::backspace) erase_last_character(filter);
  if (press.key == Key::escape) filter.clear();
  if (press.key == Key::escape || press.key == Key::enter) view.typing = false;
}

Outcome press_character(View& view, char letter) {
  switch (letter) {
    case 'q':
      return Outcome::quits;
    case 's':
      sort_by_next(view);
      break;
    case 'r':
      view.reversed = !view.reversed;
      break;
    case 'u':
      view.packets = !view.packets;
      break;
    case 'a':
      view.instances = !view.instances;
      break;
    case '/':
      view.typing = true;
      break;
    case 'p':
    case ' ':
      view.paused = !view.paused;
      break;
    case '+':
      lengthen(view.interval);
      break;
    case '-':
      shorten(view.interval);
      break;
    case '?':
    case 'h':
      view.help = true;
      break;
    default:
      break;
  }
  return Outcome::goes_on;
}

}  // namespace

Outcome press(View& view, const KeyPress& press, const ShownRows& shown, std::size_t page) {
  if (view.typing) {
    type(view, press);
    return Outcome::goes_on;
  }
  const bool character = press.key == Key::character && press.text.size() == 1;
  if (view.help && press.key != Key::none) {
    view.help = false;
    return character && press.text[0] == 'q' ? Outcome::quits : Outcome::goes_on;
  }
  const auto position = static_cast<std::ptrdiff_t>(view.place().position);
  const auto rows = static_cast<std::ptrdiff_t>(std::max<std::size_t>(page, 1));
  switch (press.key) {
    case Key::up:
      select(view, shown, position - 1);
      break;
    case Key::down:
      select(view, shown, position + 1);
      break;
    case Key::page_up:
      select(view, shown, position - rows);
      break;
    case Key::page_down:
      select(view, shown, position + rows);
      break;
    case Key::home:
      select(view, shown, 0);
      break;
    case Key::end:
      select(view, shown, static_cast<std::ptrdiff_t>(shown.size()) - 1);
      break;
    case Key::enter:
    case Key::right:
      open(view, shown);
      break;
    case Key::left:
    case Key::backspace:
      go_back(view);
      break;
    case Key::escape:
      leave(view);
      break;
    case Key::character:
      return character ? press_character(view, press.text[0]) : Outcome::goes_on;
    case Key::none:
      break;
  }
  return Outcome::goes_on;
}

void follow(Place& place, const ShownRows& shown, std::size_t page) {
  if (shown.empty()) {
    place.position = place.first = 0;
    return;
  }
  const auto found =
      std::find_if(shown.begin(), shown.end(), [&](const Row* row) { return row->key == place.selected; });
  if (found != shown.end()) place.position = static_cast<std::size_t>(found - shown.begin());
  place.position = std::min(place.position, shown.size() - 1);
  const std::size_t rows = std::max<std::size_t>(page, 1);
  if (place.position < place.first) place.first = place.position;
  if (place.position >= place.first + rows) place.first = place.position - rows + 1;
  place.first = std::min(place.first, shown.size() - std::min(shown.size(), rows));
}

}  // namespace headgate::top
