#include "live_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cstdlib>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>

namespace headgate {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kFile[] = R"([[shape]]
interface = "eth0"
  [[shape.class]]
  name = "clients"
  key = "dst"
  rate = "1000pps"
  [[shape.class.plan]]
  name = "gold"
  rate = "5mbit"
  [[shape.class.plan]]
  name = "silver"
  rate = "2mbit"
  [[shape.class.plan]]
  name = "bronze"
  rate = "1mbit"
  [[shape.class]]
  name = "rest"
  control = true
  rate = "50pps"
)";

// Keeps what is put in force.
class FakeHost : public ConfigHost {
 public:
  ConfigResult read(const ConfigDocument& document) override {
    if (during_read) during_read();
    return document.read({});
  }
  std::vector<std::string> apply(const Config& config) override {
    if (!refusal.empty()) throw std::runtime_error(refusal);
    in_force = config;
    ++applied;
    return {"changed"};
  }
  bool has_interface(const std::string& name) override { return name.starts_with("eth"); }
  MemberResult put_member(const MemberChange& change) override {
    if (!member_refusal.empty()) return {.refusal = member_refusal};
    PlanNumber& plan = members.try_emplace(change.member, kNoPlan).first->second;
    return {.ok = true, .before = std::exchange(plan, change.plan)};
  }
  void log(const std::string& line) override { lines.push_back(line); }

  Config in_force;
  int applied = 0;
  std::string refusal;
  std::string member_refusal;
  std::map<Prefix, PlanNumber> members;
  std::vector<std::string> lines;
  std::function<void()> during_read;
};

class LiveConfigTest : public testing::Test {
 protected:
  LiveConfigTest() {
    std::string pattern = testing::TempDir() + "headgate-XXXXXX";
    directory = mkdtemp(pattern.data());
    path = directory + "/headgate.toml";
    write(kFile);
    const ConfigTextsResult texts = read_config_texts(path);
    host.in_force = ConfigDocument(texts.texts).read({}).config;
    live.emplace(host, path, texts.texts, host.in_force);
  }
  ~LiveConfigTest() override { std::filesystem::remove_all(directory); }

  void write(const std::string& text) const { std::ofstream(path) << text; }
  static std::string file_with(const std::string& rate) {
    std::string text = kFile;
    text.replace(text.find("1000pps"), 7, rate);
    return text;
  }

  static TableName table(const std::string& class_name) {
    return {.interface = "eth0",
            .direction = Direction::egress,
            .group = "",
            .class_name = class_name,
            .plan = ""};
  }
  ChangeResult set(const std::string& key, const std::string& value, std::optional<Duration> time = {},
                   const std::string& class_name = "clients") {
    return live->set({.table = table(class_name), .values = {{key, value}}, .time = time}, "alice", now);
  }
  ChangeResult limit(const std::string& interface, const std::string& rate, const std::string& key = "",
                     std::optional<Duration> time = {}) {
    return live->limit(
        {.interface = interface, .direction = Direction::egress, .rate = rate, .key = key, .time = time},
        "alice", now);
  }
  ChangeResult unlimit(const std::string& interface) {
    return live->unlimit(
        {.interface = interface, .direction = Direction::egress, .rate = "", .key = "", .time = {}}, "alice");
  }
  ChangeResult try_text(const std::string& text) {
    return live->try_text({.file = "new.toml", .text = text, .time = 60s}, "alice", now);
  }
  std::uint64_t rate(std::size_t position = 0) const {
    return host.in_force.shapes.at(0).classes.at(position).rate.packets->packets;
  }
  MemberResult change_member(PlanNumber plan, std::optional<Duration> time = {}) {
    return live->change_member({.interface = "eth0",
                                .direction = Direction::egress,
                                .class_name = "clients",
                                .member = {},
                                .plan = plan,
                                .time = time},
                               "bob", now);
  }
  PlanNumber plan() const { return host.members.at({}); }

  void pass(Duration time) {
    now += time;
    live->tick(now);
  }

  std::string directory, path;
  FakeHost host;
  std::optional<LiveConfig> live;
  Instant now{1000s};
};

std::string first(const ChangeResult& result) {
  return result.messages.empty() ? "" : result.messages.front();
}

TEST_F(LiveConfigTest, SetPutsAValueInForceAndSaysWhoDidIt) {
  ASSERT_TRUE(set("rate", "\"500pps\"").ok);
  EXPECT_EQ(rate(), 500U);
  EXPECT_EQ(rate(1), 50U);
  EXPECT_THAT(host.lines, ElementsAre("alice: set eth0/egress/clients rate=\"500pps\""));
}

TEST_F(LiveConfigTest, AWrongValueChangesNothing) {
  const ChangeResult result = set("rate", "\"fast\"");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(first(result), HasSubstr("run time: rate: "));
  EXPECT_EQ(host.applied, 0);
  ASSERT_TRUE(set("burst", "\"2p\"").ok) << "and is not kept";
  EXPECT_EQ(rate(), 1000U);
}

TEST_F(LiveConfigTest, WhatTheKernelRefusesChangesNothing) {
  host.refusal = "no memory";
  EXPECT_THAT(first(set("rate", "\"500pps\"")), "no memory");
  host.refusal.clear();
  EXPECT_FALSE(live->undo("bob", now).ok) << "there is nothing to undo";
}

TEST_F(LiveConfigTest, AValueForATimeGoesBackToTheOneBeneath) {
  set("rate", "\"500pps\"");
  set("rate", "\"100pps\"", 10s);
  set("rate", "\"20pps\"", 5s);
  EXPECT_EQ(rate(), 20U);
  pass(5s);
  EXPECT_EQ(rate(), 100U);
  pass(5s);
  EXPECT_EQ(rate(), 500U);
  const int before = host.applied;
  pass(1h);
  EXPECT_EQ(host.applied, before);
}

TEST_F(LiveConfigTest, AValueForGoodEndsThoseForATime) {
  set("rate", "\"100pps\"", 10s);
  set("rate", "\"500pps\"");
  pass(10s);
  EXPECT_EQ(rate(), 500U);
}

TEST_F(LiveConfigTest, WhatCannotEndYetIsTriedAgain) {
  set("rate", "\"100pps\"", 10s);
  host.refusal = "busy";
  pass(10s);
  pass(20s);
  EXPECT_EQ(rate(), 100U);
  EXPECT_EQ(std::count_if(host.lines.begin(), host.lines.end(),
                          [](const std::string& line) { return line.find("busy") != std::string::npos; }),
            1);
  host.refusal.clear();
  pass(20s);
  EXPECT_EQ(rate(), 1000U);
}

TEST_F(LiveConfigTest, ATickWithinAReadingEndsNothing) {
  set("rate", "\"100pps\"", 10s);
  now += 20s;
  host.during_read = [this] { live->tick(now); };
  ASSERT_TRUE(set("burst", "\"2p\"").ok);
  host.during_read = nullptr;
  live->tick(now);
  EXPECT_EQ(rate(), 1000U);
}

TEST_F(LiveConfigTest, AReloadKeepsWhatWasSetWhileTheFileSaysTheSame) {
  set("rate", "\"500pps\"");
  set("rate", "\"7pps\"", {}, "rest");
  write(file_with("800pps"));
  const ChangeResult result = live->reload("bob");
  ASSERT_TRUE(result.ok);
  EXPECT_EQ(rate(), 800U) << "the file says something new";
  EXPECT_EQ(rate(1), 7U) << "and of this the same";
  EXPECT_THAT(result.messages,
              testing::Contains(HasSubstr("eth0/egress/clients: rate: what was set at run time")));
}

TEST_F(LiveConfigTest, AReloadThatSaysWhatWasSetGivesNothingUp) {
  set("rate", "\"500pps\"");
  write(file_with("500pps"));
  EXPECT_THAT(live->reload("bob").messages, ElementsAre("changed"));
  EXPECT_THAT(live->diff(now).differences, IsEmpty());
}

TEST_F(LiveConfigTest, UndoGoesBackStepByStepTenTimes) {
  for (int i = 1; i <= 12; ++i) set("rate", "\"" + std::to_string(i) + "pps\"");
  for (std::uint64_t i = 11; i >= 2; --i) {
    ASSERT_TRUE(live->undo("bob", now).ok);
    EXPECT_EQ(rate(), i);
  }
  const ChangeResult result = live->undo("bob", now);
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(first(result), HasSubstr("nothing to undo"));
}

TEST_F(LiveConfigTest, UndoTakesAReloadBackWithoutTheFile) {
  write(file_with("800pps"));
  live->reload("bob");
  std::filesystem::remove(path);
  ASSERT_TRUE(live->undo("bob", now).ok);
  EXPECT_EQ(rate(), 1000U);
}

TEST_F(LiveConfigTest, UndoBringsNothingBackThatIsOver) {
  set("rate", "\"100pps\"", 10s);
  set("burst", "\"2p\"");
  pass(10s);
  ASSERT_TRUE(live->undo("bob", now).ok);
  pass(1s);
  EXPECT_EQ(rate(), 1000U);
}

TEST_F(LiveConfigTest, LimitShapesAnInterfaceUntilUnlimit) {
  ASSERT_TRUE(limit("eth1", "20mbit").ok);
  ASSERT_EQ(host.in_force.shapes.size(), 2U);
  EXPECT_EQ(host.in_force.shapes[1].rate, BitRate{20'000'000});
  ASSERT_TRUE(limit("eth1", "30mbit").ok);
  EXPECT_EQ(host.in_force.shapes.at(1).rate, BitRate{30'000'000});
  ASSERT_TRUE(unlimit("eth1").ok);
  EXPECT_EQ(host.in_force.shapes.size(), 1U);
  EXPECT_THAT(first(unlimit("eth1")), HasSubstr("has no limit"));
}

TEST_F(LiveConfigTest, ALimitByKeyOrOfPacketsIsABuckets) {
  ASSERT_TRUE(limit("eth1", "5mbit", "dst").ok);
  EXPECT_TRUE(host.in_force.shapes.at(1).classes.at(0).key.destination_address);
  ASSERT_TRUE(limit("eth2", "100pps").ok);
  EXPECT_EQ(host.in_force.shapes.at(2).classes.at(0).rate.packets, PacketRate{100});
}

TEST_F(LiveConfigTest, ALimitForATimeEnds) {
  limit("eth1", "5mbit", "", 10s);
  pass(10s);
  EXPECT_EQ(host.in_force.shapes.size(), 1U);
}

TEST_F(LiveConfigTest, LimitLeavesAloneWhatTheFileShapesAndWhatIsNotThere) {
  EXPECT_THAT(first(limit("eth0", "5mbit")), HasSubstr("is shaped by " + path));
  EXPECT_THAT(first(limit("wlan9", "5mbit")), HasSubstr("there is no interface"));
  EXPECT_THAT(first(unlimit("eth0")), HasSubstr("take it out of there"));
  EXPECT_EQ(host.applied, 0);
}

TEST_F(LiveConfigTest, ATrialGoesBackByItself) {
  set("rate", "\"5pps\"", {}, "rest");
  ASSERT_TRUE(try_text(file_with("30pps")).ok);
  EXPECT_EQ(rate(), 30U);
  EXPECT_EQ(rate(1), 5U);
  EXPECT_THAT(first(set("rate", "\"1pps\"")), HasSubstr("a trial of new.toml by alice is under way"));
  EXPECT_THAT(first(live->reload("bob")), HasSubstr("headgatectl confirm"));
  write("no toml [");
  pass(59s);
  EXPECT_EQ(rate(), 30U);
  pass(1s);
  EXPECT_EQ(rate(), 1000U);
  EXPECT_EQ(rate(1), 5U);
  EXPECT_FALSE(live->confirm("alice").ok);
}

TEST_F(LiveConfigTest, ATrialStaysWhenItIsConfirmed) {
  try_text(file_with("30pps"));
  ASSERT_TRUE(live->confirm("alice").ok);
  pass(2min);
  EXPECT_EQ(rate(), 30U);
  ASSERT_TRUE(live->undo("alice", now).ok);
  EXPECT_EQ(rate(), 1000U);
}

TEST_F(LiveConfigTest, UndoEndsATrialWhateverCameSince) {
  try_text(file_with("30pps"));
  live->change_member({.interface = "eth0",
                       .direction = Direction::egress,
                       .class_name = "clients",
                       .member = {},
                       .plan = 1,
                       .time = {}},
                      "bob", now);
  ASSERT_TRUE(live->undo("alice", now).ok);
  EXPECT_EQ(rate(), 1000U);
  pass(2min);
  EXPECT_EQ(rate(), 1000U);
}

TEST_F(LiveConfigTest, ATrialThatIsWrongIsRefused) {
  EXPECT_THAT(first(try_text(file_with("fast"))), HasSubstr("new.toml:6:10: rate: "));
  EXPECT_EQ(rate(), 1000U);
}

constexpr PlanNumber kGold = 0, kSilver = 1, kBronze = 2;

TEST_F(LiveConfigTest, AMemberForATimeGoesBackToThePlanBeneath) {
  change_member(kBronze);
  change_member(kGold, 60s);
  change_member(kSilver, 10s);
  EXPECT_EQ(plan(), kSilver);
  pass(10s);
  EXPECT_EQ(plan(), kGold);
  pass(50s);
  EXPECT_EQ(plan(), kBronze);
}

TEST_F(LiveConfigTest, AMembersEarlierEndIsNotSeenBeneathALaterOne) {
  change_member(kGold, 10s);
  change_member(kSilver, 60s);
  pass(10s);
  EXPECT_EQ(plan(), kSilver);
  pass(50s);
  EXPECT_EQ(plan(), kNoPlan);
}

TEST_F(LiveConfigTest, TheSamePlanOfAMemberAgainLastsLongerOrForGood) {
  change_member(kGold, 10s);
  change_member(kGold, 60s);
  pass(30s);
  EXPECT_EQ(plan(), kGold);
  change_member(kGold);
  pass(2min);
  EXPECT_EQ(plan(), kGold);
}

TEST_F(LiveConfigTest, AMembersPlanForGoodIsNotEndedAndItsUndoBringsTheEndBack) {
  change_member(kGold, 10s);
  change_member(kSilver);
  pass(5s);
  ASSERT_TRUE(live->undo("bob", now).ok);
  EXPECT_EQ(plan(), kGold);
  pass(5s);
  EXPECT_EQ(plan(), kNoPlan);
  change_member(kGold, 10s);
  change_member(kSilver);
  pass(20s);
  EXPECT_EQ(plan(), kSilver);
  ASSERT_TRUE(live->undo("bob", now).ok);
  EXPECT_EQ(plan(), kNoPlan) << "what is over meanwhile is not brought back";
}

TEST_F(LiveConfigTest, APlanIsGoneBackToByItsName) {
  change_member(kBronze);
  change_member(kGold, 10s);
  std::string text = kFile;
  const std::size_t gold = text.find("  [[shape.class.plan]]\n  name = \"gold\""),
                    silver = text.find("  [[shape.class.plan]]", gold + 1);
  text.erase(gold, silver - gold);
  write(text);
  ASSERT_TRUE(live->reload("bob").ok);
  pass(10s);
  EXPECT_EQ(plan(), kBronze - 1);
}

TEST_F(LiveConfigTest, AMemberStaysAsItIsWhileThereIsNoSuchPlan) {
  change_member(kBronze);
  change_member(kGold, 10s);
  std::string text = kFile;
  const std::size_t bronze = text.find("  [[shape.class.plan]]\n  name = \"bronze\""),
                    rest = text.find("  [[shape.class]]", bronze);
  text.erase(bronze, rest - bronze);
  write(text);
  ASSERT_TRUE(live->reload("bob").ok);
  pass(10s);
  EXPECT_EQ(plan(), kGold);
  ASSERT_TRUE(live->undo("bob", now).ok);
  pass(1s);
  EXPECT_EQ(plan(), kBronze) << "the reload is undone, and there is such a plan";
}

TEST_F(LiveConfigTest, AMemberThatCannotEndKeepsNoOtherFromEnding) {
  change_member(kBronze);
  change_member(kGold, 10s);
  const Prefix other{.address = {1}, .length = 128};
  live->change_member({.interface = "eth0",
                       .direction = Direction::egress,
                       .class_name = "clients",
                       .member = other,
                       .plan = kGold,
                       .time = 10s},
                      "bob", now);
  std::string text = kFile;
  const std::size_t bronze = text.find("  [[shape.class.plan]]\n  name = \"bronze\""),
                    rest = text.find("  [[shape.class]]", bronze);
  text.erase(bronze, rest - bronze);
  write(text);
  ASSERT_TRUE(live->reload("bob").ok);
  pass(10s);
  EXPECT_EQ(plan(), kGold);
  EXPECT_EQ(host.members.at(other), kNoPlan);
}

TEST_F(LiveConfigTest, ALimitSaysNoMoreThanItsWords) {
  const ChangeResult result = limit("eth1", "5mbit", "dst\"\nqueue = \"1p");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(first(result), HasSubstr("is not a key"));
  EXPECT_FALSE(limit("eth*\"\nrate = \"1mbit", "5mbit").ok);
  EXPECT_EQ(host.in_force.shapes.size(), 1U);
}

TEST_F(LiveConfigTest, WorkersThatAreBusyEndAMembersPlanLater) {
  change_member(kGold, 10s);
  host.member_refusal = "busy";
  pass(10s);
  host.member_refusal.clear();
  pass(1s);
  EXPECT_EQ(plan(), kNoPlan);
}

TEST_F(LiveConfigTest, ValuesThatCannotEndKeepNoMemberFromEnding) {
  set("rate", "\"100pps\"", 10s);
  change_member(kGold, 10s);
  host.refusal = "busy";
  pass(10s);
  EXPECT_EQ(plan(), kNoPlan);
  EXPECT_EQ(rate(), 100U);
}

TEST_F(LiveConfigTest, ALimitAnewHoldsOverWhatWasSetOfTheOldOne) {
  limit("eth1", "100mbit");
  live->set(
      {.table =
           {.interface = "eth1", .direction = Direction::egress, .group = "", .class_name = "", .plan = ""},
       .values = {{"rate", "\"50mbit\""}},
       .time = {}},
      "alice", now);
  EXPECT_EQ(host.in_force.shapes.at(1).rate, BitRate{50'000'000});
  limit("eth1", "200mbit");
  EXPECT_EQ(host.in_force.shapes.at(1).rate, BitRate{200'000'000});
}

TEST_F(LiveConfigTest, WhatWasSetOfALimitEndsWithIt) {
  limit("eth1", "100mbit", "", 10s);
  live->set(
      {.table =
           {.interface = "eth1", .direction = Direction::egress, .group = "", .class_name = "", .plan = ""},
       .values = {{"rate", "\"50mbit\""}},
       .time = {}},
      "alice", now);
  pass(10s);
  EXPECT_EQ(host.in_force.shapes.size(), 1U);
  EXPECT_EQ(live->save().text, "");
}

TEST_F(LiveConfigTest, EveryLimitThatIsSavedCanBeRead) {
  limit("eth1", "100pps");
  limit("eth2", "5mbit", "dst");
  limit("eth3", "100mbit");
  for (const char* interface : {"eth1", "eth2", "eth3"})
    live->set({.table = {.interface = interface,
                         .direction = Direction::egress,
                         .group = "",
                         .class_name = "",
                         .plan = ""},
               .values = {{"overhead", "24"}},
               .time = {}},
              "alice", now);
  live->set({.table = {.interface = "eth1",
                       .direction = Direction::egress,
                       .group = "",
                       .class_name = "limit",
                       .plan = ""},
             .values = {{"rate", "\"70pps\""}},
             .time = {}},
            "alice", now);
  const Config before = host.in_force;
  const SaveResult saved = live->save();
  ASSERT_EQ(saved.refusal, "");
  std::filesystem::create_directories(directory + "/headgate.d");
  std::ofstream(saved.path) << saved.text;
  const ConfigResult read = ConfigDocument(read_config_texts(path).texts).read({});
  for (const ConfigError& error : read.errors) ADD_FAILURE() << error.to_string();
  EXPECT_EQ(read.config, before);
}

TEST_F(LiveConfigTest, DiffTellsWhatIsInForceFromTheFile) {
  set("rate", "\"500pps\"", 10s);
  limit("eth1", "5mbit");
  write(file_with("900pps"));
  const auto found = live->diff(now + 3s).differences;
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].where, "eth0/egress/clients");
  EXPECT_EQ(found[0].key, "rate");
  EXPECT_EQ(found[0].in_files, "\"900pps\"");
  EXPECT_EQ(found[0].in_force, "\"500pps\"");
  EXPECT_EQ(found[0].why, "set by alice, for 7 s more");
  EXPECT_EQ(found[1].where, "eth1/egress");
  EXPECT_EQ(found[1].in_files, "");
  write("no toml [");
  EXPECT_THAT(live->diff(now).errors, ElementsAre(HasSubstr("headgate.toml:1:")));
}

TEST_F(LiveConfigTest, SaveSaysInADropInWhatRunTimeSaid) {
  EXPECT_EQ(live->save().text, "");
  set("rate", "\"500pps\"");
  set("burst", "\"2p\"", 10s);
  set("queue", "");
  limit("eth1", "5mbit");
  const SaveResult saved = live->save();
  EXPECT_EQ(saved.path, directory + "/headgate.d/90-saved.toml");
  EXPECT_THAT(saved.left_out, ElementsAre(HasSubstr("burst, which is set for a time only"),
                                          HasSubstr("queue, which is left out")));
  std::filesystem::create_directories(directory + "/headgate.d");
  std::ofstream(saved.path) << saved.text;
  const Config config = ConfigDocument(read_config_texts(path).texts).read({}).config;
  EXPECT_EQ(config.shapes.at(0).classes.at(0).rate.packets, PacketRate{500});
  EXPECT_EQ(config.shapes.at(1).rate, BitRate{5'000'000});
  set("key", "\"src\"");
  std::ofstream(saved.path) << live->save().text;
  const Config again = ConfigDocument(read_config_texts(path).texts).read({}).config;
  EXPECT_EQ(again.shapes.at(0).classes.at(0).rate.packets, PacketRate{500}) << "what was saved before stays";
  EXPECT_TRUE(again.shapes[0].classes[0].key.source_address);
}

TEST_F(LiveConfigTest, NothingChangesWhatTheCommandLineSays) {
  LiveConfig fixed(host, "", {}, host.in_force);
  for (const ChangeResult& result :
       {fixed.reload("a"), fixed.undo("a", now),
        fixed.set({.table = table("clients"), .values = {{"rate", "\"1pps\""}}, .time = {}}, "a", now)}) {
    EXPECT_FALSE(result.ok);
    EXPECT_THAT(first(result), HasSubstr("command line"));
  }
}

}  // namespace
}  // namespace headgate
