#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "control/control_handler.hpp"
#include "fake_daemon.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kFrame = "020000000002020000000001080045";

Json ask(const Json& members, FakeDaemon& daemon) {
  Json request = {{"command", "explain"}, {"interface", "eth0"}, {"frame", kFrame}};
  if (!members.is_null()) request.update(members);
  return Json::parse(handle_request(request.dump(), daemon, {.name = "bob", .may_change = false}).line);
}

// eth0 of the fake daemon, where class clients takes the packet and its flow has 3 queued.
FakeDaemon explaining_daemon() {
  FakeDaemon daemon;
  static const ShapeConfig eth0 = daemon.status_now.shapes[0].config;
  FlowOutlook outlook{.known = true, .sent = {5, 500}, .queued = {3, 300}, .queued_in_class = {9, 900}};
  outlook.bucket_opens_in = std::chrono::microseconds(1500);
  outlook.fate = Fate::waits;
  outlook.wait = std::chrono::microseconds(3500);
  outlook.held_by = HeldBy::packet_rate;
  daemon.explain_result.shape = &eth0;
  daemon.explain_result.explanation = Explanation{.hook = HookVerdict::taken_out,
                                                  .charged = {1, 64},
                                                  .verdicts = {ClassVerdict::match, ClassVerdict::takes},
                                                  .class_index = 1,
                                                  .key = ipv4_key(nullptr, "10.0.0.5"),
                                                  .outlook = outlook};
  return daemon;
}

TEST(ExplainAnswer, TellsAllThatIsKnownOfThePacketToWhoMayOnlyLook) {
  FakeDaemon daemon = explaining_daemon();
  const Json expected = Json::parse(R"({
    "schema": 1, "interface": "eth0", "direction": "egress", "state": null,
    "charged": {"packets": 1, "bytes": 64},
    "hook": {"verdict": "taken_out", "why": null},
    "classes": [{"name": "dns", "verdict": "match", "key": "match", "value": "udp port 53"},
                {"name": "clients", "verdict": "takes", "key": null, "value": null}],
    "keeps_control_limit": false, "class": "clients", "bypass": false,
    "flow": {"known": true, "text": "→ 10.0.0.5", "key": {"destination": "10.0.0.5"}, "plan": null, "worker": 0,
             "sent": {"packets": 5, "bytes": 500}, "dropped": {"packets": 0, "bytes": 0},
             "queued": {"packets": 3, "bytes": 300}},
    "bucket": {"rate": ["1000pps"], "burst": ["1p"], "queue": ["100p"], "opens_in_us": 1500.0},
    "queued_in_class": {"packets": 9, "bytes": 900},
    "fate": "waits", "reason": null, "wait_us": 3500.0, "wait_is_exact": true,
    "held_by": {"what": "packet_rate", "name": "clients", "rate": "1000pps"}})");
  EXPECT_EQ(ask({}, daemon), expected);
}

TEST(ExplainAnswer, HandsOverTheFrameWithZerosForWhatIsMissing) {
  FakeDaemon daemon = explaining_daemon();
  ask({{"length", 60}, {"mark", 16}, {"direction", "ingress"}}, daemon);
  const ExplainQuery& query = daemon.explain_queries.at(0);
  EXPECT_EQ(query.frame.size(), 60U);
  EXPECT_EQ(query.frame[0], std::byte{2});
  EXPECT_EQ(query.frame[14], std::byte{0x45});
  EXPECT_EQ(query.frame[59], std::byte{0});
  EXPECT_EQ(query.mark, 16U);
  EXPECT_EQ(query.direction, Direction::ingress);
  ask({}, daemon);
  EXPECT_EQ(daemon.explain_queries.at(1).direction, std::nullopt);
}

TEST(ExplainAnswer, HasNoFlowWhereThePacketGoesOn) {
  FakeDaemon daemon = explaining_daemon();
  daemon.explain_result.state = "interface eth0 is down";
  daemon.explain_result.explanation =
      Explanation{.hook = HookVerdict::open, .verdicts = {ClassVerdict::takes}};
  const Json reply = ask({}, daemon);
  EXPECT_EQ(reply.at("state"), "interface eth0 is down");
  EXPECT_EQ(reply.at("hook").at("verdict"), "open");
  EXPECT_EQ(reply.at("fate"), "goes_on");
  EXPECT_EQ(reply.at("flow"), nullptr);
  EXPECT_EQ(reply.at("held_by"), nullptr);
}

Json error_of(const Json& members, FakeDaemon& daemon) {
  return ask(members, daemon).at("error");
}

TEST(ExplainAnswer, NamesTheShapesThereAreForOneThereIsNot) {
  FakeDaemon daemon = explaining_daemon();
  ShapeConfig wg0, instance;
  wg0.interface = "wg0";
  wg0.direction = Direction::ingress;
  instance.interface = "veth1";
  instance.pattern = "veth*";
  daemon.explain_result.shape = nullptr;
  daemon.explain_result.instead = {&wg0, &instance};
  Json error = error_of({{"interface", "eth9"}}, daemon);
  EXPECT_EQ(error.at("code"), "unknown_interface");
  EXPECT_EQ(exit_code_of(error.at("code").get<std::string>()), kExitUsage);
  EXPECT_THAT(error.at("details").get<std::vector<std::string>>(),
              ElementsAre("wg0 ingress", "veth1 egress"));
  error = error_of({{"interface", "wg0"}, {"direction", "egress"}}, daemon);
  EXPECT_THAT(error.at("message").get<std::string>(), HasSubstr("its egress is not"));
}

TEST(ExplainAnswer, RefusesWhatIsNoFrame) {
  FakeDaemon daemon = explaining_daemon();
  for (const char* frame : {"0", "02x0", "0g", ""})
    EXPECT_EQ(error_of({{"frame", frame}}, daemon).at("code"), "bad_request");
  EXPECT_THAT(error_of({{"frame", "0200"}}, daemon).at("message").get<std::string>(),
              HasSubstr("the frame has 2 bytes, less than the 14"));
  for (const Json& length : {Json(3), Json(70'000), Json("60"), Json(-1)})
    EXPECT_EQ(error_of({{"length", length}}, daemon).at("code"), "bad_request") << length;
  EXPECT_EQ(error_of({{"mark", -1}}, daemon).at("code"), "bad_request");
  EXPECT_EQ(error_of({{"direction", "up"}}, daemon).at("code"), "bad_request");
  EXPECT_TRUE(daemon.explain_queries.empty());
}

TEST(ExplainAnswer, SaysThatWhatHasNoEthernetHeaderHasNoTag) {
  FakeDaemon daemon = explaining_daemon();
  daemon.explain_result.link_header = LinkHeader::none;
  const std::string tagged = "0200000000020200000000018100000708004500";
  EXPECT_THAT(error_of({{"frame", tagged}}, daemon).at("message").get<std::string>(),
              HasSubstr("no VLAN tag"));
}

TEST(ExplainAnswer, SaysWhyNothingIsExplained) {
  FakeDaemon daemon = explaining_daemon();
  daemon.explain_result.explanation.reset();
  daemon.explain_result.refusal = "the worker that has its flow does not answer";
  const Json error = error_of({}, daemon);
  EXPECT_EQ(error.at("code"), "refused");
  EXPECT_THAT(error.at("message").get<std::string>(), HasSubstr("does not answer"));
}

}  // namespace
}  // namespace headgate
