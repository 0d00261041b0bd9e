#include "explain_screen.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

constexpr ScreenStyle kPlain{.colour = false, .utf8 = true};

Json reply() {
  return Json::parse(R"({
    "interface": "eth0", "direction": "egress", "state": null, "charged": {"packets": 1, "bytes": 64},
    "hook": {"verdict": "taken_out", "why": null},
    "classes": [
      {"name": "bulk", "verdict": "match", "key": "match", "value": "tcp port 80"},
      {"name": "near", "verdict": "source", "key": "src", "value": ["a", "b", "c", "d", "e"]},
      {"name": "dns", "verdict": "takes", "key": null, "value": null}],
    "keeps_control_limit": false, "class": "dns", "bypass": false,
    "flow": {"known": true, "text": "10.0.0.5 →", "key": {"source": "10.0.0.5"}, "plan": "gold", "worker": 0,
             "sent": {"packets": 500, "bytes": 5000}, "dropped": {"packets": 20, "bytes": 200},
             "queued": {"packets": 3, "bytes": 300}},
    "bucket": {"rate": ["1000pps", "20mbit"], "burst": ["1p"], "queue": ["50ms"], "opens_in_us": 1000},
    "queued_in_class": {"packets": 30, "bytes": 3000},
    "fate": "waits", "reason": null, "wait_us": 12300, "wait_is_exact": true,
    "held_by": {"what": "packet_rate", "name": "gold", "rate": "1000pps"}})");
}

std::string screen_of(const Json& shown) {
  return explain_screen(shown, read_packet("src 10.0.0.5 dst 1.1.1.1 udp dport 53"), kPlain);
}

TEST(ExplainScreen, TellsAPacketsWayLineByLine) {
  EXPECT_EQ(screen_of(reply()),
            "packet   10.0.0.5 → 1.1.1.1 udp 40000→53, 64 B\n"
            "hook     eth0 egress: takes it out\n"
            "classes  1 bulk: no: it does not match \"tcp port 80\"\n"
            "         2 near: no: its source is none of \"a\", \"b\", \"c\" and 2 more\n"
            "         3 dns: takes it\n"
            "flow     10.0.0.5 →, plan gold: 3 packets queued (300 B), so far 500 sent, 20 dropped\n"
            "bucket   1000pps and 20mbit, queue 50ms: lets the next packet go in 1.00 ms\n"
            "now      leaves in 12.3 ms; held back by the rate 1000pps of gold\n");
}

TEST(ExplainScreen, TellsWhatIsNotShapedAndWhy) {
  Json open = reply();
  open["hook"]["verdict"] = "let_go";
  open["class"] = nullptr;
  open["classes"].erase(2);
  open["flow"] = open["bucket"] = nullptr;
  open["fate"] = "goes_on";
  const std::string screen = screen_of(open);
  EXPECT_THAT(screen, HasSubstr("lets it go on: no class shapes it"));
  EXPECT_THAT(screen, HasSubstr("no class takes it: (unmatched)"));
  EXPECT_THAT(screen, HasSubstr("now      goes on, not shaped\n"));
  EXPECT_THAT(screen, Not(HasSubstr("bucket")));
}

TEST(ExplainScreen, TellsThatAClassShapesNothing) {
  Json bypass = reply();
  bypass["bypass"] = true;
  EXPECT_THAT(screen_of(bypass), HasSubstr("3 dns: takes it, and shapes nothing (bypass)\n"));
}

TEST(ExplainScreen, TellsTheCeilingAndThatOthersMayComeFirst) {
  Json held = reply();
  held["wait_us"] = 0;
  held["wait_is_exact"] = false;
  held["held_by"] = {{"what", "ceiling"}, {"name", "link"}, {"rate", "10mbit"}};
  EXPECT_THAT(screen_of(held), HasSubstr("leaves in its turn; held back by the link's rate 10mbit\n"));
  held["held_by"] = {{"what", "ceiling"}, {"name", "office"}, {"rate", "5mbit"}};
  EXPECT_THAT(screen_of(held), HasSubstr("held back by the ceiling 5mbit of office\n"));
  held["held_by"] = {{"what", "turn"}, {"name", nullptr}, {"rate", nullptr}};
  EXPECT_THAT(screen_of(held), HasSubstr("leaves in its turn; others may come first\n"));
}

TEST(ExplainScreen, TellsWhyAPacketIsDropped) {
  Json dropped = reply();
  dropped["fate"] = "dropped";
  dropped["reason"] = "queue_full";
  EXPECT_THAT(screen_of(dropped), HasSubstr("now      dropped, queue_full: its queue is full\n"));
}

TEST(ExplainScreen, HasALineForAPacketOfATrace) {
  EXPECT_EQ(
      explain_line(reply(), read_packet("src 10.0.0.5 dst 1.1.1.1 udp dport 53"), 7, kPlain),
      "7  10.0.0.5 → 1.1.1.1 udp 40000→53, 64 B  dns  leaves in 12.3 ms; held back by the rate 1000pps of "
      "gold\n");
}

}  // namespace
}  // namespace headgate
