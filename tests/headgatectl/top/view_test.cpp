#include "top/view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "top/shown_rows.hpp"

namespace headgate::top {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

// A row that now has this rate of packets, each of 125 bytes, and of drops.
Row row(const std::string& name, std::uint64_t packets, std::uint64_t drops = 0, std::uint64_t queued = 0) {
  Row row{.key = name, .name = name, .queued = queued, .opens = true};
  row.history.add({}, 0, {});
  row.history.add({.packets = packets, .bytes = 125 * packets, .drops = drops}, 1, {});
  return row;
}

struct ViewTest : testing::Test {
  Rows rows = {row("voice", 100, 0, 1), row("bulk", 5000, 70, 90), row("web", 2000, 300, 20)};
  View view;

  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const Row* each : arranged(rows, view)) names.push_back(each->name);
    return names;
  }

  ShownRows followed(std::size_t page = 10) {
    ShownRows shown = arranged(rows, view);
    follow(view.place(), shown, page);
    return shown;
  }

  std::string selected() { return followed().at(view.place().position)->name; }

  Outcome press_key(Key key, const std::string& text = "", std::size_t page = 10) {
    const ShownRows shown = followed(page);
    return press(view, {key, text}, shown, page);
  }
  Outcome type(const std::string& letters) {
    Outcome outcome = Outcome::goes_on;
    for (const char letter : letters) outcome = press_key(Key::character, std::string(1, letter));
    return outcome;
  }
};

TEST_F(ViewTest, SortsByWhatIsLargestFirstAndByNameInItsOrder) {
  EXPECT_THAT(names(), ElementsAre("bulk", "web", "voice"));
  type("s");
  EXPECT_THAT(names(), ElementsAre("web", "bulk", "voice"));  // drops
  type("ss");
  EXPECT_THAT(names(), ElementsAre("bulk", "web", "voice"));  // queue
  type("s");
  EXPECT_THAT(names(), ElementsAre("bulk", "voice", "web"));
  type("r");
  EXPECT_THAT(names(), ElementsAre("web", "voice", "bulk"));
  type("s");
  EXPECT_THAT(names(), ElementsAre("voice", "web", "bulk"));  // rate, reversed
}

TEST_F(ViewTest, PutsWhatIsNotKnownLast) {
  rows.insert(rows.begin(), Row{.key = "new", .name = "new"});
  EXPECT_THAT(names(), ElementsAre("bulk", "web", "voice", "new"));
}

TEST_F(ViewTest, LetsNoRowsChangePlacesForNoise) {
  rows = {row("one", 999), row("two", 1001), row("three", 1100)};
  EXPECT_THAT(names(), ElementsAre("three", "one", "two"));
}

TEST_F(ViewTest, KeepsTheSelectedRowSelectedWhenTheOrderChanges) {
  EXPECT_EQ(selected(), "bulk");
  press_key(Key::down);
  EXPECT_EQ(selected(), "web");
  type("r");
  EXPECT_EQ(selected(), "web");
  press_key(Key::end);
  EXPECT_EQ(selected(), "bulk");
  press_key(Key::down);
  EXPECT_EQ(selected(), "bulk");
  press_key(Key::home);
  EXPECT_EQ(selected(), "voice");
  press_key(Key::up);
  EXPECT_EQ(selected(), "voice");
}

TEST_F(ViewTest, SelectsTheNeighbourOfARowThatIsGone) {
  press_key(Key::end);
  EXPECT_EQ(selected(), "voice");
  rows.erase(rows.begin());
  EXPECT_EQ(selected(), "web");
  rows.clear();
  followed();
  EXPECT_EQ(press_key(Key::down), Outcome::goes_on);
  EXPECT_EQ(press_key(Key::enter), Outcome::goes_on);
}

TEST_F(ViewTest, ScrollsSoThatTheSelectedRowIsSeen) {
  rows.clear();
  for (int i = 0; i < 30; ++i) rows.push_back(row("row" + std::to_string(10 + i), 1));
  followed(10);
  for (int i = 0; i < 10; ++i) press_key(Key::down, "", 10);
  followed(10);
  EXPECT_EQ(view.place().first, 1);
  press_key(Key::page_down, "", 10);
  followed(10);
  EXPECT_EQ(view.place().position, 20);
  EXPECT_EQ(view.place().first, 11);
  press_key(Key::home, "", 10);
  followed(10);
  EXPECT_EQ(view.place().first, 0);
  press_key(Key::end, "", 10);
  followed(10);
  EXPECT_EQ(view.place().first, 20);
  followed(25);  // a larger terminal: nothing below the last row stays empty
  EXPECT_EQ(view.place().first, 5);
}

TEST_F(ViewTest, FiltersByWhatIsTyped) {
  type("/");
  EXPECT_TRUE(view.typing);
  type("Wq");
  press_key(Key::backspace);
  EXPECT_THAT(names(), ElementsAre("web"));
  press_key(Key::enter);
  EXPECT_FALSE(view.typing);
  EXPECT_THAT(names(), ElementsAre("web"));
  press_key(Key::escape);
  EXPECT_THAT(names(), ElementsAre("bulk", "web", "voice"));
  type("/v");
  press_key(Key::escape);
  EXPECT_FALSE(view.typing);
  EXPECT_EQ(view.place().filter, "");
}

TEST_F(ViewTest, ErasesWholeCharactersOfTheFilter) {
  type("/");
  press_key(Key::character, "a");
  press_key(Key::character, "字");
  press_key(Key::backspace);
  EXPECT_EQ(view.place().filter, "a");
  press_key(Key::backspace);
  press_key(Key::backspace);
  EXPECT_EQ(view.place().filter, "");
}

TEST_F(ViewTest, OpensWhatIsSelectedAndGoesBackToIt) {
  rows = {row("eth0/egress", 1), row("eth1/egress", 2)};
  press_key(Key::end);
  press_key(Key::enter);
  EXPECT_EQ(view.level, Level::classes);
  EXPECT_EQ(view.link, "eth0/egress");
  rows = {row("eth0/egress/web", 1)};
  press_key(Key::right);
  EXPECT_EQ(view.level, Level::flows);
  EXPECT_EQ(view.class_name, "eth0/egress/web");
  rows = {row("a flow", 1)};
  rows[0].opens = false;
  press_key(Key::enter);
  EXPECT_EQ(view.level, Level::flows);
  press_key(Key::escape);
  EXPECT_EQ(view.level, Level::classes);
  press_key(Key::left);
  rows = {row("eth0/egress", 1), row("eth1/egress", 2)};
  EXPECT_EQ(view.level, Level::links);
  EXPECT_EQ(selected(), "eth0/egress");
  press_key(Key::backspace);
  EXPECT_EQ(view.level, Level::links);
}

TEST_F(ViewTest, OpensNothingThatIsNotTold) {
  rows = {row("dns", 1)};
  rows[0].opens = false;
  press_key(Key::enter);
  EXPECT_EQ(view.level, Level::links);
}

TEST_F(ViewTest, PassesOverDelaysWhereFlowsAreSorted) {
  view.level = Level::flows;
  type("ss");
  EXPECT_EQ(view.sort, SortBy::queue);
}

TEST_F(ViewTest, PausesAndGoesOn) {
  type("p");
  EXPECT_TRUE(view.paused);
  type(" ");
  EXPECT_FALSE(view.paused);
}

TEST_F(ViewTest, ChangesTheIntervalByStepsThatEnd) {
  type("+");
  EXPECT_EQ(view.interval, 2s);
  type("--");
  EXPECT_EQ(view.interval, 500ms);
  type("----");
  EXPECT_EQ(view.interval, 100ms);
  view.interval = 3s;
  type("+");
  EXPECT_EQ(view.interval, 5s);
  type("++++++++");
  EXPECT_EQ(view.interval, 60s);
  view.interval = 1h;
  type("+");
  EXPECT_EQ(view.interval, 1h);
}

TEST_F(ViewTest, ShowsItsHelpUntilAKey) {
  type("?");
  EXPECT_TRUE(view.help);
  press_key(Key::none);
  EXPECT_TRUE(view.help);
  type("s");
  EXPECT_FALSE(view.help);
  EXPECT_EQ(view.sort, SortBy::rate);
}

TEST_F(ViewTest, QuitsButNotWhileAFilterIsTyped) {
  EXPECT_EQ(type("q"), Outcome::quits);
  EXPECT_EQ(type("/q"), Outcome::goes_on);
}

}  // namespace
}  // namespace headgate::top
