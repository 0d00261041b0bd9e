#include "control/live_answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fake_daemon.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class LiveAnswersTest : public testing::Test {
 protected:
  Json ask(const Json& request, const Requester& requester = {}) {
    return Json::parse(handle_request(request.dump(), daemon, requester).line);
  }
  std::string refusal(const Json& request) {
    const Json reply = ask(request);
    if (!reply.contains("error")) return "no error";
    return reply["error"]["code"].get<std::string>() + ": " + reply["error"]["message"].get<std::string>();
  }
  static Json set(const Json& values, const std::string& name = "eth0/egress/clients") {
    return {{"command", "set"}, {"class", name}, {"values", values}};
  }

  FakeDaemon daemon;
};

TEST_F(LiveAnswersTest, SetSaysValuesAsTheFileWould) {
  Json request = set({{"rate", {"500pps", "1mbit"}}, {"weight", 2}, {"control", true}, {"queue", nullptr}});
  request["for_s"] = 90.5;
  EXPECT_EQ(ask(request)["set"], "eth0/egress/clients");
  const SetRequest& asked = daemon.sets.at(0);
  EXPECT_EQ(to_text(asked.table), "eth0/egress/clients");
  EXPECT_EQ(asked.time, 90'500ms);
  EXPECT_THAT(asked.values, ElementsAre(Pair("rate", "[\"500pps\",\"1mbit\"]"), Pair("weight", "2"),
                                        Pair("control", "true"), Pair("queue", "")));
}

TEST_F(LiveAnswersTest, SetFindsALinkAGroupAClassByItsNameAndAPlan) {
  daemon.status_now.shapes[0].config.groups.push_back({.name = "office", .place = {}});
  const auto table = [&](const Json& values, const std::string& name) {
    ask(set(values, name));
    return daemon.sets.back().table;
  };
  EXPECT_EQ(to_text(table({{"rate", "1mbit"}}, "eth0/egress")), "eth0/egress");
  EXPECT_EQ(table({{"weight", 2}}, "office").group, "office");
  EXPECT_EQ(table({{"weight", 2}}, "eth0/egress/office").group, "office");
  EXPECT_EQ(table({{"rate", "1pps"}}, "video").class_name, "video");
  EXPECT_EQ(table({{"plan.gold.rate", "1mbit"}}, "video").plan, "gold");
  EXPECT_THAT(daemon.sets.back().values, ElementsAre(Pair("rate", "\"1mbit\"")));
}

TEST_F(LiveAnswersTest, SetRefusesWhatIsNoKeyOfIt) {
  const Json one = {{"rate", "1pps"}};
  EXPECT_THAT(refusal(set(one, "clients")), HasSubstr("ambiguous_class: "));
  EXPECT_THAT(refusal(set(one, "eth0/egress/cleints")), HasSubstr("unknown_class: "));
  EXPECT_THAT(refusal(set(Json::object())), HasSubstr("bad_request: member \"values\""));
  EXPECT_THAT(refusal(set(3)), HasSubstr("bad_request: member \"values\""));
  EXPECT_THAT(refusal(set({{"name", "x"}})), HasSubstr("name says which table it is"));
  EXPECT_THAT(refusal(set({{"plan", "x"}})), HasSubstr("plan.NAME.KEY=VALUE"));
  EXPECT_THAT(refusal(set({{"interface", "x"}}, "eth0/egress")), HasSubstr("interface says which table"));
  EXPECT_THAT(refusal(set({{"workers", 2}}, "eth0/egress")), HasSubstr("takes effect at a start"));
  EXPECT_THAT(refusal(set({{"rate = 1\nx", "1pps"}})), HasSubstr("is no key"));
  EXPECT_THAT(refusal(set({{"rate", 1.5}})), HasSubstr("the value of \"rate\""));
  EXPECT_THAT(refusal(set({{"rate", {{"a", 1}}}})), HasSubstr("the value of \"rate\""));
  EXPECT_THAT(refusal(set({{"rate", "1pps"}, {"plan.gold.rate", "1pps"}})), HasSubstr("one table"));
  Json request = set(one);
  for (const Json& time : {Json(0), Json(-1), Json(1e9), Json("1s"), Json(nullptr)}) {
    request["for_s"] = time;
    EXPECT_THAT(refusal(request), HasSubstr("member \"for_s\" is not a number of seconds")) << time;
  }
  EXPECT_TRUE(daemon.sets.empty());
}

TEST_F(LiveAnswersTest, WhatTheDaemonRefusesIsSaidWithItsReasons) {
  daemon.change_result = {.ok = false, .messages = {"run time: rate: wrong"}};
  const Json error = ask(set({{"rate", "x"}}))["error"];
  EXPECT_EQ(error["code"], "refused");
  EXPECT_EQ(error["details"], Json({"run time: rate: wrong"}));
}

TEST_F(LiveAnswersTest, LimitNeedsARateThatIsOne) {
  Json request = {{"command", "limit"}, {"interface", "eth5"}, {"direction", "ingress"},
                  {"rate", "20mbit"},   {"key", "src"},        {"for_s", 5}};
  ask(request);
  const LimitRequest& asked = daemon.limits.at(0);
  EXPECT_EQ(asked.interface, "eth5");
  EXPECT_EQ(asked.direction, Direction::ingress);
  EXPECT_EQ(asked.rate, "20mbit");
  EXPECT_EQ(asked.key, "src");
  EXPECT_EQ(asked.time, 5s);
  request["rate"] = "20";
  EXPECT_THAT(refusal(request), HasSubstr("bad_request: rate: "));
  request.erase("rate");
  EXPECT_THAT(refusal(request), HasSubstr("no member \"rate\""));
  request["direction"] = "up";
  EXPECT_THAT(refusal(request), HasSubstr("direction: "));
}

TEST_F(LiveAnswersTest, WhoMayOnlyLookIsToldSo) {
  const Requester looker{.name = "alice (uid 1000)", .may_change = false};
  for (const char* command : {"reload", "plan", "set", "limit", "unlimit", "try", "confirm", "undo"}) {
    const Json error = ask({{"command", command}}, looker)["error"];
    EXPECT_EQ(error["code"], kErrorNotPermitted) << command;
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("alice (uid 1000) may look"));
  }
  for (const char* command : {"show", "version", "diff", "save"})
    EXPECT_FALSE(ask({{"command", command}}, looker).contains("error")) << command;
  EXPECT_EQ(daemon.reloads, 0);
}

TEST_F(LiveAnswersTest, TryTakesTheFileBehindItsRequest) {
  const Json request = {{"command", "try"}, {"file", "new.toml"}, {"bytes", 9}, {"confirm_s", 60}};
  const Reply reply = handle_request(request.dump(), daemon);
  ASSERT_EQ(reply.body, 9U);
  EXPECT_EQ(reply.line, "");
  const Json answer = Json::parse(reply.with_body("# a file\n").line);
  EXPECT_EQ(answer["messages"], Json({"changed: eth0/egress"}));
  EXPECT_EQ(daemon.trials.at(0).text, "# a file\n");
  EXPECT_EQ(daemon.trials[0].time, 60s);
}

TEST_F(LiveAnswersTest, AWrongTryClosesSoThatItsFileIsNoRequest) {
  for (const Json& request :
       {Json({{"command", "try"}, {"file", "a"}, {"bytes", 0}, {"confirm_s", 60}}),
        Json({{"command", "try"}, {"file", "a"}, {"bytes", 2'000'000}, {"confirm_s", 60}}),
        Json({{"command", "try"}, {"file", "a"}, {"bytes", 5}, {"confirm_s", 0}}),
        Json({{"command", "try"}, {"bytes", 5}, {"confirm_s", 6}})}) {
    const Reply reply = handle_request(request.dump(), daemon);
    EXPECT_TRUE(reply.close) << request;
    EXPECT_EQ(reply.body, 0U);
    EXPECT_EQ(Json::parse(reply.line)["error"]["code"], "bad_request");
  }
}

TEST_F(LiveAnswersTest, DiffAndSaveSayWhatTheDaemonFinds) {
  daemon.diff_result.differences = {{.where = "eth0/egress/clients",
                                     .key = "rate",
                                     .in_files = "\"1pps\"",
                                     .in_force = "",
                                     .why = "set by bob"}};
  EXPECT_EQ(
      ask({{"command", "diff"}})["differences"],
      Json::parse(R"([{"where": "eth0/egress/clients", "key": "rate", "in_files": "1pps", "in_force": null,
                             "why": "set by bob"}])"));
  daemon.diff_result.errors = {"a:1:1: wrong"};
  EXPECT_THAT(refusal({{"command", "diff"}}), HasSubstr("refused: "));
  daemon.save_result = {.refusal = "", .path = "/x", .text = "a", .left_out = {"b"}};
  EXPECT_EQ(ask({{"command", "save"}}),
            Json::parse(R"({"schema":1,"path":"/x","text":"a","left_out":["b"]})"));
}

}  // namespace
}  // namespace headgate
