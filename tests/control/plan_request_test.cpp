#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config/prefix.hpp"
#include "control/control_handler.hpp"
#include "fake_daemon.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;

class DaemonWithPlans : public FakeDaemon {
 public:
  DaemonWithPlans() { add_plans(*this); }
};

// Asks for nothing that the workers would have to answer.
class DaemonWithoutStatus : public DaemonWithPlans {
 public:
  DaemonStatus status() override {
    ADD_FAILURE() << "status() waits for the workers";
    return {};
  }
};

Json change(DaemonControl& daemon, const std::string& class_name, const std::string& member,
            const Json& plan) {
  const Json request = {{"command", "plan"}, {"class", class_name}, {"member", member}, {"plan", plan}};
  return Json::parse(handle_request(request.dump(), daemon).line);
}

// "code: message"
std::string refusal(DaemonControl& daemon, const std::string& class_name, const std::string& member,
                    const Json& plan) {
  const Json reply = change(daemon, class_name, member, plan);
  if (!reply.contains("error")) return "accepted";
  return reply["error"]["code"].get<std::string>() + ": " + reply["error"]["message"].get<std::string>();
}

TEST(PlanRequest, MakesAnAddressAMemberOfAPlan) {
  DaemonWithoutStatus daemon;
  EXPECT_EQ(
      change(daemon, "eth0/egress/clients", "10.0.0.5", "silver").dump(),
      R"({"schema":1,"class":"eth0/egress/clients","member":"10.0.0.5","plan":"silver","before":null})");
  ASSERT_EQ(daemon.member_changes.size(), 1);
  const MemberChange& made = daemon.member_changes[0];
  EXPECT_EQ(made.interface, "eth0");
  EXPECT_EQ(made.direction, Direction::egress);
  EXPECT_EQ(made.class_name, "clients");
  EXPECT_EQ(to_text(made.member), "10.0.0.5");
  EXPECT_EQ(made.plan, 1);
}

TEST(PlanRequest, TakesAMemberOutAndSaysOfWhatPlanItWas) {
  DaemonWithoutStatus daemon;
  daemon.member_result.before = 0;
  const Json reply = change(daemon, "eth0/egress/clients", "2001:db8::/32", nullptr);
  EXPECT_TRUE(reply["plan"].is_null());
  EXPECT_EQ(reply["before"], "gold");
  EXPECT_EQ(to_text(daemon.member_changes.at(0).member), "2001:db8::/32");
  EXPECT_EQ(daemon.member_changes.at(0).plan, kNoPlan);
}

TEST(PlanRequest, FindsAClassByItsNameAloneWhereThatIsUnique) {
  DaemonWithoutStatus daemon;
  EXPECT_EQ(refusal(daemon, "clients", "10.0.0.5", "gold"),
            "ambiguous_class: class \"clients\" may be any of:");
  daemon.status_now.shapes[1].config.classes[0].name = "others";
  EXPECT_EQ(change(daemon, "clients", "10.0.0.5", "gold")["class"], "eth0/egress/clients");
}

TEST(PlanRequest, NamesAClassOfAPatternByThePattern) {
  DaemonWithoutStatus daemon;
  add_pattern(daemon);
  ClassConfig& tenants = daemon.status_now.patterns[0].sum.config.classes[0];
  tenants.plans = daemon.status_now.shapes[0].config.classes[1].plans;
  for (const char* name : {"veth*/egress/tenants", "tenants"}) {
    EXPECT_EQ(change(daemon, name, "10.0.0.5", "gold")["class"], "veth*/egress/tenants");
    EXPECT_EQ(daemon.member_changes.back().interface, "veth*");
  }
  EXPECT_EQ(refusal(daemon, "veth1/egress/tenants", "10.0.0.5", "gold"),
            "unknown_class: no class \"veth1/egress/tenants\", did you mean \"veth*/egress/tenants\"? "
            "The classes are:");
}

TEST(PlanRequest, ProposesTheNearestClassAndListsAll) {
  DaemonWithoutStatus daemon;
  const Json error = change(daemon, "clinets", "10.0.0.5", "gold")["error"];
  EXPECT_EQ(error["message"], "no class \"clinets\", did you mean \"clients\"? The classes are:");
  EXPECT_THAT(error["details"], ElementsAre("eth0/egress/dns", "eth0/egress/clients", "eth1/ingress/clients",
                                            "eth1/ingress/video"));
}

TEST(PlanRequest, TellsWhatPlansThereAre) {
  DaemonWithoutStatus daemon;
  EXPECT_EQ(refusal(daemon, "eth1/ingress/clients", "10.0.0.5", "gold"),
            "unknown_plan: class \"eth1/ingress/clients\" has no plans");
  EXPECT_EQ(refusal(daemon, "eth0/egress/clients", "10.0.0.5", "glod"),
            "unknown_plan: class \"eth0/egress/clients\" has no plan \"glod\", did you mean \"gold\"? It has "
            "\"gold\" or \"silver\"");
  EXPECT_EQ(
      refusal(daemon, "eth0/egress/clients", "10.0.0.5", "business"),
      "unknown_plan: class \"eth0/egress/clients\" has no plan \"business\", it has \"gold\" or \"silver\"");
  EXPECT_EQ(refusal(daemon, "eth0/egress/clients", "10.0.0.5", ""),
            "unknown_plan: class \"eth0/egress/clients\" has no plan \"\", it has \"gold\" or \"silver\"");
}

TEST(PlanRequest, RefusesAMemberThatIsNoNetwork) {
  DaemonWithoutStatus daemon;
  EXPECT_EQ(refusal(daemon, "eth0/egress/clients", "10.0.0", "gold"),
            "bad_request: member \"10.0.0\" is not a network, expected one such as \"10.0.0.0/8\", "
            "\"2001:db8::/32\" or \"10.0.0.1\"");
  EXPECT_EQ(
      refusal(daemon, "eth0/egress/clients", "10.0.0.1/8", "gold"),
      "bad_request: member \"10.0.0.1/8\" has bits set beyond its prefix: did you mean \"10.0.0.0/8\"?");
  EXPECT_TRUE(daemon.member_changes.empty());
}

TEST(PlanRequest, RefusesAMemberThatNoKeyCanBe) {
  DaemonWithoutStatus daemon;
  KeySpec& key = daemon.status_now.shapes[0].config.classes[1].key;
  key.destination_prefix_v4 = 24;
  key.destination_prefix_v6 = 64;
  EXPECT_EQ(refusal(daemon, "eth0/egress/clients", "10.0.0.5", "gold"),
            "bad_request: member \"10.0.0.5\" is smaller than what the key of class \"eth0/egress/clients\" "
            "keeps of an address, expected \"10.0.0.0/24\"");
  EXPECT_EQ(refusal(daemon, "eth0/egress/clients", "2001:db8::1:0/112", "gold"),
            "bad_request: member \"2001:db8::1:0/112\" is smaller than what the key of class "
            "\"eth0/egress/clients\" keeps of an address, expected \"2001:db8::/64\"");
  EXPECT_TRUE(daemon.member_changes.empty());
  for (const char* member : {"10.0.0.0/24", "10.0.0.0/8", "2001:db8::/64", "::/0"})
    EXPECT_EQ(refusal(daemon, "eth0/egress/clients", member, "gold"), "accepted");
  key = {.source_address = true, .source_prefix_v4 = 16};
  EXPECT_EQ(refusal(daemon, "eth0/egress/clients", "10.1.0.0/16", "gold"), "accepted");
  EXPECT_NE(refusal(daemon, "eth0/egress/clients", "10.1.2.0/24", "gold"), "accepted");
}

TEST(PlanRequest, SaysWhyTheDaemonRefuses) {
  DaemonWithoutStatus daemon;
  daemon.member_result = {.ok = false, .refusal = "the class has 100000 members, and no more are taken"};
  EXPECT_EQ(refusal(daemon, "eth0/egress/clients", "10.0.0.5", "gold"),
            "refused: the class has 100000 members, and no more are taken");
}

TEST(PlanRequest, NeedsAllItsMembers) {
  DaemonWithoutStatus daemon;
  const auto message = [&](const char* request) -> std::string {
    const Json error = Json::parse(handle_request(request, daemon).line)["error"];
    EXPECT_EQ(error["code"], kErrorBadRequest);
    return error["message"];
  };
  EXPECT_EQ(message(R"({"command":"plan","member":"10.0.0.5","plan":"gold"})"),
            "the request has no member \"class\"");
  EXPECT_EQ(message(R"({"command":"plan","class":"eth0/egress/clients","plan":null})"),
            "the request has no member \"member\"");
  EXPECT_EQ(message(R"({"command":"plan","class":"eth0/egress/clients","member":"10.0.0.5"})"),
            "the request has no member \"plan\"");
  EXPECT_EQ(message(R"({"command":"plan","class":"eth0/egress/clients","member":"10.0.0.5","plan":7})"),
            "member \"plan\" is neither a string nor null");
}

}  // namespace
}  // namespace headgate
