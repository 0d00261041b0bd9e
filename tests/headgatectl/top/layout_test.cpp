#include "top/layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>

#include "control/fake_daemon.hpp"
#include "top/shown_rows.hpp"
#include "top/terminal_text.hpp"

namespace headgate::top {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = Samples::Json;

struct LayoutTest : testing::Test {
  LayoutTest() { std::setlocale(LC_CTYPE, "C.UTF-8"); }
  ~LayoutTest() override { std::setlocale(LC_CTYPE, "C"); }

  Json ask(const std::string& request) { return Json::parse(handle_request(request, daemon).line); }

  // Looks in which the clients of eth0 send 500 packets of 60 bytes a second, and `drops` are dropped.
  void look(int times = 1, std::uint64_t drops = 0) {
    for (int i = 0; i < times; ++i) {
      ClassStatistics& clients = daemon.status_now.shapes[0].shaper.classes[1];
      clients.sent += Count{500, 30'000};
      clients.delays.packets[12] += 500;
      clients.dropped[static_cast<std::size_t>(DropReason::queue_full)] += Count{drops, 60 * drops};
      daemon.status_now.shapes[0].shaper.sent += Count{500, 30'000};
      daemon.status_now.uptime += 1s;
      samples.add_show(ask(R"({"command":"show"})"));
    }
  }

  void open_flows() {
    view.level = Level::flows;
    view.link = "eth0/egress";
    view.class_name = "eth0/egress/clients";
    samples.add_flows(view.class_name, ask(R"({"command":"flows","class":"eth0/egress/clients"})"));
  }

  void open_classes() {
    view.level = Level::classes;
    view.link = "eth0/egress";
  }

  Screen screen(Size size = {}) {
    const ShownRows rows = shown_rows(samples, view);
    follow(view.place(), rows, rows_on(size));
    return layout(samples, rows, view, remarks, size, utf8);
  }

  static std::string text_of(const Line& line) {
    std::string text;
    for (const Span& span : line.spans) text += span.text;
    return text.erase(text.find_last_not_of(' ') + 1);
  }

  std::string line(std::size_t number, Size size = {}) { return text_of(screen(size).lines.at(number)); }

  std::string text(Size size = {}) {
    std::string text;
    for (const Line& line : screen(size).lines) text += text_of(line) + "\n";
    return text;
  }

  FakeDaemon daemon;
  Samples samples;
  View view;
  Remarks remarks;
  bool utf8 = true;
};

TEST_F(LayoutTest, ShowsTheClassesOfALink) {
  open_classes();
  look(10);
  look(2, 40);
  EXPECT_EQ(text({80, 16}),
            R"(eth0 egress                                                   by rate  every 1 s
in all 240 kbit/s, 500 pps
CLASS          BIT/S           DROP/S               P50      P99           QUEUE
clients         240k ████████      40 ▁▁▁▁▁▁██  97.0 ms  99.5 ms ████████    100
dns                0 ▁▁▁▁▁▁▁▁       0 ▁▁▁▁▁▁▁▁        -        -               0
(unmatched)        0 ▁▁▁▁▁▁▁▁       0 ▁▁▁▁▁▁▁▁        -        -               0







eth0/egress/clients: 1000pps, key dst, queue 100p
sent 26.0k packets 1.56 MB, dropped 40.0k: queue_full 40.0k, send_failed 3
q quit  ? help  Enter open  Esc back  s sort  / filter  p pause  r reverse
)");
}

TEST_F(LayoutTest, ShowsLinksAndWhatIsWrongWithOne) {
  look(3);
  EXPECT_THAT(line(0), StartsWith("headgate: links  "));
  EXPECT_EQ(line(1), "eth1 ingress: the interface is down");
  EXPECT_THAT(line(3), StartsWith("eth0 egress "));
  EXPECT_THAT(line(4), StartsWith("! eth1 ingress "));
  EXPECT_EQ(line(21), "eth0 egress: diverting by tcx");
}

TEST_F(LayoutTest, ShowsTheFlowsOfAClassWithoutDelays) {
  daemon.growth_per_query = {500, 30'000};
  daemon.time_per_query = 1s;
  look();
  open_flows();
  open_flows();
  EXPECT_THAT(line(0), StartsWith("eth0 egress / clients  "));
  EXPECT_EQ(line(1), "the 2 largest of 20 flows");
  EXPECT_THAT(line(2), AllOf(HasSubstr("BIT/S"), HasSubstr("PKT/S"), Not(HasSubstr("P99"))));
  EXPECT_THAT(line(3), AllOf(StartsWith("→ 10.0.0.2 "), HasSubstr("240k"), HasSubstr("500")));
}

TEST_F(LayoutTest, ShowsNumbersFirstWhereThereIsLittleRoom) {
  open_classes();
  look(3);
  EXPECT_EQ(text({40, 10}), R"(eth0 egress           by rate  every 1 s
in all 240 kbit/s, 500 pps
CLASS          BIT/S  DROP/S      P99
clients         240k       0  99.5 ms
dns                0       0        -
(unmatched)        0       0        -



q quit  ? help  Enter open  Esc back
)");
}

TEST_F(LayoutTest, ShowsMoreWhereThereIsRoom) {
  open_classes();
  look(61);
  const std::string titles = line(2, {200, 50});
  for (const char* title : {"PKT/S", "P50", "FLOWS", "LIMIT"}) EXPECT_THAT(titles, HasSubstr(title));
  EXPECT_THAT(line(3, {200, 50}), HasSubstr("1000pps"));
  EXPECT_EQ(screen({200, 50}).lines.size(), 50);
}

TEST_F(LayoutTest, PutsPacketsAheadOfBitsWhereThatIsWanted) {
  view.packets = true;
  open_classes();
  look(3);
  EXPECT_THAT(line(2), AllOf(HasSubstr("PKT/S"), Not(HasSubstr("BIT/S"))));
  EXPECT_THAT(line(3), HasSubstr("  500 "));
}

TEST_F(LayoutTest, IsInAsciiWhereTheTerminalKnowsNoOther) {
  std::setlocale(LC_CTYPE, "C");
  utf8 = false;
  look(3, 10);
  open_flows();
  for (const Level level : {Level::links, Level::classes, Level::flows}) {
    view.level = level;
    const std::string all = text();
    EXPECT_EQ(std::count_if(all.begin(), all.end(), [](char byte) { return (byte & 0x80) != 0; }), 0) << all;
  }
  EXPECT_THAT(line(3), StartsWith("-> 10.0.0.2 "));
  open_classes();
  EXPECT_THAT(line(3), HasSubstr("240k       ##"));
}

TEST_F(LayoutTest, HoldsAnyNameWithinItsColumn) {
  daemon.status_now.shapes[0].interface = "et\x1b[31mh";
  daemon.status_now.shapes[1].interface = "漢字漢字漢字漢字漢字漢字漢字漢字漢字";
  look(3);
  const std::string all = text();
  EXPECT_THAT(all, HasSubstr("et\\x1b[31mh egress "));
  EXPECT_THAT(all, HasSubstr("! 漢字漢字漢字漢字漢… "));
  EXPECT_THAT(all, Not(HasSubstr("\x1b")));
  view.place().filter = "\\x1b[31M";
  EXPECT_THAT(line(0), HasSubstr("/\\x1b[31M"));
  EXPECT_EQ(shown_rows(samples, view).size(), 1);
}

TEST_F(LayoutTest, IsNeverLargerThanTheTerminal) {
  daemon.status_now.shapes[1].interface = "漢字漢字漢字漢字漢字漢字漢字漢字漢字";
  remarks.silence =
      "headgated does not answer since 12:00:00, trying on: no headgated answers on /run/headgate";
  look(3, 10);
  open_flows();
  for (const Size size :
       {Size{80, 24}, Size{40, 10}, Size{200, 50}, Size{21, 7}, Size{10, 3}, Size{3, 2}, Size{1, 1}}) {
    for (const Level level : {Level::links, Level::classes, Level::flows}) {
      for (const int state : {0, 1, 2, 3}) {
        view.level = level;
        view.help = state == 1;
        view.typing = state == 2;
        view.place().filter =
            state == 2 ? "a long filter that nobody will ever type, but who knows 漢字" : "";
        view.paused = state == 3;
        const Screen shown = screen(size);
        EXPECT_EQ(shown.lines.size(), size.rows);
        for (const Line& each : shown.lines)
          EXPECT_LE(columns_of(text_of(each)), size.columns) << text_of(each);
        if (shown.cursor) {
          EXPECT_LT(*shown.cursor, size.columns);
        }
      }
    }
  }
}

TEST_F(LayoutTest, MarksTheSelectedRowAndTellsOfIt) {
  open_classes();
  look(2);
  view.place().selected = "eth0/egress/dns";
  const Screen shown = screen();
  for (std::size_t i = 0; i < shown.lines.size(); ++i) EXPECT_EQ(shown.lines[i].marked, i == 4) << i;
  EXPECT_EQ(line(21), "eth0/egress/dns: not shaped, its flows are not told apart");
}

TEST_F(LayoutTest, ScrollsToTheSelectedRow) {
  ShapeStatistics& eth0 = daemon.status_now.shapes[0];
  for (int i = 10; i < 60; ++i) {
    eth0.config.classes.push_back(eth0.config.classes[1]);
    eth0.config.classes.back().name = "class" + std::to_string(i);
    eth0.shaper.classes.push_back(ClassStatistics{"class" + std::to_string(i), 0, {}, {}, {}, {}, {}});
  }
  open_classes();
  look(2);
  view.place().selected = "eth0/egress/class42";
  const Screen shown = screen();
  EXPECT_TRUE(shown.lines[20].marked);
  EXPECT_THAT(line(20), StartsWith("class42"));
}

TEST_F(LayoutTest, SaysThatNobodyAnswersAndGoesOnShowingWhatWas) {
  open_classes();
  look(2);
  remarks.silence = "headgated does not answer since 12:00:00";
  EXPECT_EQ(line(1), remarks.silence);
  EXPECT_EQ(screen().lines[1].spans.at(0).tone, Tone::bad);
  EXPECT_THAT(line(3), StartsWith("clients"));
}

TEST_F(LayoutTest, SaysWhyThereIsNothing) {
  look(2);
  view.place().filter = "nobody";
  EXPECT_EQ(line(3), "no name holds \"nobody\"");
  view.level = Level::classes;
  view.link = "eth7/egress";
  EXPECT_EQ(line(1), "this link is not shaped any more");
  view.level = Level::flows;
  view.class_name = "eth7/egress/gone";
  remarks.flows = "no class \"gone\"";
  EXPECT_EQ(line(1), "no class \"gone\"");
  EXPECT_EQ(line(3), "no class \"gone\"");
  remarks.flows = "";
  EXPECT_EQ(line(3), "asking for the flows");
  view.paused = true;
  EXPECT_EQ(line(3), "paused: flows are not asked for");
  daemon.status_now.shapes.clear();
  samples.add_show(ask(R"({"command":"show"})"));
  view = {};
  EXPECT_EQ(line(3), "headgated shapes nothing: its configuration has no [[shape]]");
}

TEST_F(LayoutTest, SaysThatItIsPausedAndHowItLooks) {
  look(2);
  view.paused = true;
  view.sort = SortBy::drops;
  view.reversed = true;
  view.interval = 500ms;
  EXPECT_THAT(line(0), HasSubstr("PAUSED  by drops reversed  every 0.5 s"));
  EXPECT_THAT(line(0, {30, 10}), HasSubstr("PAUSED"));
}

TEST_F(LayoutTest, ShowsTheFilterThatIsTypedWithTheCursorBehindIt) {
  look(2);
  view.typing = true;
  view.place().filter = "eth字";
  EXPECT_EQ(line(23), "filter: eth字");
  EXPECT_EQ(screen().cursor, 13);
}

}  // namespace
}  // namespace headgate::top
