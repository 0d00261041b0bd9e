#include "config/config_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "config/keys.hpp"
#include "config/network_grammar.hpp"
#include "config/prefix.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;

Config accepted(std::string_view text) {
  const ConfigResult result = parse_config(text, "test.toml");
  for (const ConfigError& error : result.errors) ADD_FAILURE() << error.to_string();
  return result.config;
}

std::vector<std::string> warnings_of(std::string_view text) {
  const ConfigResult result = parse_config(text, "test.toml");
  for (const ConfigError& error : result.errors) ADD_FAILURE() << error.to_string();
  std::vector<std::string> lines;
  for (const ConfigWarning& warning : result.warnings) lines.push_back(warning.to_string());
  return lines;
}

constexpr char kUnusedBudget[] = R"(
[budget.uplink]
rate  = "10mbit"
floor = "1mbit"
hosts = 2
redis = "unix:/run/redis.sock"
[[shape]]
interface = "eth0"
rate      = "1mbit"
)";

// A file in a directory of its own, both gone at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content) {
    std::string pattern = testing::TempDir() + "headgate-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    std::ofstream(path()) << content;
  }
  ~TemporaryFile() { std::filesystem::remove_all(directory_); }
  std::string directory() const { return directory_; }
  std::string path() const { return directory_ + "/headgate.toml"; }

 private:
  std::string directory_;
};

NetworkSelector networks(const std::vector<std::string>& texts) {
  Networks networks;
  for (const std::string& text : texts) EXPECT_TRUE(read_network(text, networks).ok()) << text;
  return {std::make_shared<const NetworkSet>(std::move(networks), texts)};
}

TEST(ConfigFile, WithoutShapesIsValid) {
  EXPECT_EQ(accepted(""), Config{});
  EXPECT_EQ(accepted("# nothing yet\n"), Config{});
  EXPECT_EQ(accepted("[daemon]\n"), Config{});
  EXPECT_EQ(accepted("shape = []\n"), Config{});
}

TEST(ConfigFile, FillsInDefaults) {
  const Config config = accepted(R"(
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "clients"
  rate = "1000pps"
)");
  EXPECT_EQ(config.daemon, DaemonConfig{});
  ASSERT_EQ(config.shapes.size(), 1U);
  ClassConfig expected;
  expected.name = "clients";
  expected.rate.packets = PacketRate{1000};
  expected.queue.packets = 100;
  EXPECT_EQ(config.shapes[0], (ShapeConfig{.interface = "eth0", .classes = {expected}}));
}

TEST(ConfigFile, ReadsEveryKey) {
  const Config config = accepted(R"(
[daemon]
divert = "clsact"
mark = 0x10
memory = "128mb"
max_flows = 1000
idle = "5s"
control = "/run/other.sock"
workers = 3

[[shape]]
interface = "eth0"
direction = "egress"
qdisc_bypass = true
segmentation = "whole"
capture = "ring"
precision = "high"
workers = 64
overhead = -4
mpu = 64
control_limit = ["500pps", "2mbit"]

  [[shape.class]]
  name = "dns"
  match = "udp port 53"
  bypass = true
  control = true

  [[shape.class]]
  name = "clients"
  match = "net 10.0.0.0/8"
  dscp = ["ef", "cs5", "10"]
  src = ["10.0.0.0/8", "2001:db8::/32"]
  dst = "192.168.0.1"
  key = ["vlan", "dst/24,64"]
  rate = ["1000pps", "20mbit"]
  burst = ["10p", "15kb"]
  queue = ["100p", "64kb", "50ms"]

[[shape]]
interface = "eth1.7"
direction = "ingress"
segmentation = "precise"
capture = "pcap"
precision = "normal"
control_limit = "none"
class = [{ name = "all", rate = "1pps", bypass = false }]
)");
  EXPECT_EQ(config.daemon, (DaemonConfig{DivertMethod::clsact, 0x10, DataSize{128U << 20}, 1000,
                                         std::chrono::seconds(5), "/run/other.sock", 3}));
  ASSERT_EQ(config.shapes.size(), 2U);
  EXPECT_EQ(config.shapes[0].direction, Direction::egress);
  EXPECT_TRUE(config.shapes[0].qdisc_bypass);
  EXPECT_EQ(config.shapes[0].segmentation, Segmentation::whole);
  EXPECT_EQ(config.shapes[0].capture, CaptureMethod::ring);
  EXPECT_EQ(config.shapes[0].precision, Precision::high);
  EXPECT_EQ(config.shapes[0].workers, 64U);
  EXPECT_EQ(config.shapes[0].overhead, -4);
  EXPECT_EQ(config.shapes[0].mpu, 64U);
  EXPECT_EQ(config.shapes[0].control_limit, (Rate{PacketRate{500}, BitRate{2'000'000}}));
  ASSERT_EQ(config.shapes[0].classes.size(), 2U);
  ClassConfig dns;
  dns.name = "dns";
  dns.match = "udp port 53";
  dns.bypass = true;
  dns.control = true;
  EXPECT_EQ(config.shapes[0].classes[0], dns);
  ClassConfig clients;
  clients.name = "clients";
  clients.match = "net 10.0.0.0/8";
  clients.selectors.dscp = std::uint64_t{1} << 46 | std::uint64_t{1} << 40 | std::uint64_t{1} << 10;
  clients.selectors.source = networks({"10.0.0.0/8", "2001:db8::/32"});
  clients.selectors.destination = networks({"192.168.0.1"});
  clients.key = {
      .destination_address = true, .vlan = true, .destination_prefix_v4 = 24, .destination_prefix_v6 = 64};
  clients.rate = {PacketRate{1000}, BitRate{20'000'000}};
  clients.burst = {10, DataSize{15 * 1024}};
  clients.queue = {100, DataSize{64 * 1024}, milliseconds(50)};
  EXPECT_EQ(config.shapes[0].classes[1], clients);
  EXPECT_EQ(config.shapes[1].interface, "eth1.7");
  EXPECT_EQ(config.shapes[1].direction, Direction::ingress);
  EXPECT_EQ(config.shapes[1].segmentation, Segmentation::precise);
  EXPECT_EQ(config.shapes[1].capture, CaptureMethod::pcap);
  EXPECT_EQ(config.shapes[1].precision, Precision::normal);
  EXPECT_EQ(config.shapes[1].workers, 1U);
  EXPECT_EQ(config.shapes[1].control_limit, Rate{});
  EXPECT_EQ(config.shapes[1].classes.at(0).name, "all");
}

constexpr KeySpec kConnection{.source_address = true, .destination_address = true, .ports = true};

TEST(ConfigFile, ReadsATreeOfRates) {
  const Config config = accepted(R"(
[[shape]]
interface = "eth0"
rate = "100mbit"

  [[shape.group]]
  name = "office"
  parent = "people"
  ceiling = "60mbit"
  priority = 7
  weight = 10000

  [[shape.group]]
  name = "people"

  [[shape.class]]
  name = "voice"
  match = "udp"
  guarantee = "2mbit"
  priority = 0

  [[shape.class]]
  name = "work"
  group = "office"
  match = "tcp"
  ceiling = "20mbit"
  weight = 2
  fair = true
  target = "2ms"
  interval = "40ms"
  ecn = false

  [[shape.class]]
  name = "guests"
  group = "people"
  key = "dst"
  rate = ["500pps", "5mbit"]
  queue = "100ms"
  aqm = "codel"
)");
  const ShapeConfig& shape = config.shapes.at(0);
  EXPECT_EQ(shape.rate, BitRate{100'000'000});
  EXPECT_EQ(
      shape.groups,
      (std::vector<GroupConfig>{
          {.name = "office",
           .place = {.parent = "people", .ceiling = BitRate{60'000'000}, .priority = 7, .weight = 10'000}},
          {.name = "people", .place = {}}}));
  ClassConfig voice;
  voice.name = "voice";
  voice.match = "udp";
  voice.guarantee = BitRate{2'000'000};
  voice.place.priority = 0;
  voice.queue.packets = 100;
  ClassConfig work;
  work.name = "work";
  work.match = "tcp";
  work.place = {.parent = "office", .ceiling = BitRate{20'000'000}, .weight = 2};
  work.fair = true;
  work.key = kConnection;
  work.queue.packets = 1000;
  work.aqm = QueueManagement::codel;
  work.codel = {.target = milliseconds(2), .interval = milliseconds(40), .ecn = false};
  ClassConfig guests;
  guests.name = "guests";
  guests.place.parent = "people";
  guests.key.destination_address = true;
  guests.rate = {PacketRate{500}, BitRate{5'000'000}};
  guests.queue.time = milliseconds(100);
  guests.aqm = QueueManagement::codel;
  ClassConfig rest;
  rest.name = "(default)";
  rest.fair = true;
  rest.key = kConnection;
  rest.queue.packets = 1000;
  rest.aqm = QueueManagement::codel;
  EXPECT_EQ(shape.classes, (std::vector{voice, work, guests, rest}));
}

TEST(ConfigFile, ReadsPolicedClasses) {
  const Config config = accepted(R"(
[[shape]]
interface = "eth0"
workers = 2
  [[shape.class]]
  name = "bucket"
  match = "udp"
  action = "police"
  rate = "10mbit"
  burst = "15kb"
  exceed = "dscp:cs1"
  [[shape.class]]
  name = "fixed"
  match = "tcp"
  action = "police"
  exceed = "drop"
  limiter = "fixed-window"
  limit = "5000p"
  window = "1h"
  key = "src"
  [[shape.class]]
  name = "sliding"
  action = "police"
  exceed = "dscp:5"
  limiter = "sliding-window"
  limit = "10mb"
  window = "1.5s"
)");
  ClassConfig bucket;
  bucket.name = "bucket";
  bucket.match = "udp";
  bucket.action = ClassAction::police;
  bucket.rate.bits = BitRate{10'000'000};
  bucket.burst.bytes = DataSize{15 << 10};
  bucket.police.exceed_dscp = 8;
  ClassConfig fixed;
  fixed.name = "fixed";
  fixed.match = "tcp";
  fixed.action = ClassAction::police;
  fixed.key.source_address = true;
  fixed.police = {.limiter = Limiter::fixed_window,
                  .window = {.packets = 5000, .bytes = {}, .length = std::chrono::hours(1)},
                  .exceed_dscp = {}};
  ClassConfig sliding;
  sliding.name = "sliding";
  sliding.action = ClassAction::police;
  sliding.police = {.limiter = Limiter::sliding_window,
                    .window = {.packets = {}, .bytes = DataSize{10 << 20}, .length = milliseconds(1500)},
                    .exceed_dscp = 5};
  EXPECT_EQ(config.shapes.at(0).classes, (std::vector{bucket, fixed, sliding}));
  EXPECT_FALSE(has_tree(config.shapes[0]));
}

Member member(std::string_view network, PlanNumber plan) {
  Member member{.plan = plan};
  EXPECT_TRUE(read_prefix(network, member.prefix).ok()) << network;
  return member;
}

// A class with a bucket for each `key`, and what stands below it.
std::string class_with_plans(const std::string& key, const std::string& plans) {
  return "[[shape]]\ninterface = \"eth0\"\n[[shape.class]]\nname = \"customers\"\nkey = " + key +
         "\nrate = \"1mbit\"\nqueue = \"50ms\"\n" + plans;
}

std::string plan_with(const std::string& name, const std::string& keys) {
  return "[[shape.class.plan]]\nname = \"" + name + "\"\nrate = \"20mbit\"\n" + keys + "\n";
}

ClassConfig with_plans(const std::string& plans) {
  return accepted(class_with_plans("\"dst\"", plans)).shapes.at(0).classes.at(0);
}

TEST(ConfigFile, ReadsPlans) {
  const TemporaryFile list("# gold\n10.0.0.7\n10.0.0.0/24  # all of it\n10.0.0.7\n");
  const ClassConfig config = with_plans(R"(
  [[shape.class.plan]]
  name = "gold"
  rate = ["10p/min", "100mbit"]
  burst = ["10p", "15kb"]
  queue = ["100p", "20ms"]
  members = ["2001:db8::/56", "10.0.0.9", "10.0.0.9/32"]
  members_file = ")" + list.path() + R"("
  [[shape.class.plan]]
  name = "silver"
  rate = "20mbit"
  members = "10.0.0.5"
)");
  PlanConfig gold;
  gold.name = "gold";
  gold.rate = {.packets = PacketRate{10, 60}, .bits = BitRate{100'000'000}};
  gold.burst = {.packets = 10, .bytes = DataSize{15 << 10}};
  gold.queue = {.packets = 100, .bytes = {}, .time = milliseconds(20)};
  gold.members_file = list.path();
  PlanConfig silver;
  silver.name = "silver";
  silver.rate.bits = BitRate{20'000'000};
  silver.queue.time = milliseconds(50);
  EXPECT_EQ(config.plans, (std::vector{gold, silver}));
  ASSERT_TRUE(config.members.members);
  EXPECT_THAT(*config.members.members,
              testing::ElementsAre(member("10.0.0.0/24", 0), member("10.0.0.5", 1), member("10.0.0.7", 0),
                                   member("10.0.0.9", 0), member("2001:db8::/56", 0)));
}

TEST(ConfigFile, ReadsWhetherThePlansMembersAreTogether) {
  const ClassConfig config = with_plans(plan_with("acme", "together = true") +
                                        plan_with("gold", "together = false") + plan_with("silver", ""));
  EXPECT_TRUE(config.plans.at(0).together);
  EXPECT_FALSE(config.plans.at(1).together);
  EXPECT_FALSE(config.plans.at(2).together);
  EXPECT_TRUE(has_plans_together(config));
  EXPECT_FALSE(has_plans_together(with_plans(plan_with("gold", "together = false"))));
}

TEST(ConfigFile, TakesPlansWithoutMembers) {
  const ClassConfig config = with_plans(plan_with("gold", ""));
  EXPECT_EQ(config.plans.size(), 1U);
  EXPECT_EQ(config.members, MemberList{});
  const TemporaryFile comments("# nobody yet\n");
  EXPECT_EQ(with_plans(plan_with("gold", "members_file = \"" + comments.path() + "\"")).members,
            MemberList{});
  EXPECT_EQ(with_plans("plan = []\n"), with_plans(""));
}

TEST(ConfigFile, TakesPlansForEachKeyOfOneAddress) {
  for (const char* key :
       {"\"src\"", "\"dst/24,56\"", "[\"vlan\", \"dst\"]", "[\"src/24\", \"vlan\"]", "[\"dst\"]"}) {
    EXPECT_THAT(warnings_of(class_with_plans(
                    key, plan_with("gold", "members = [\"10.0.0.0/24\", \"2001:db8::/56\", \"::/0\"]"))),
                testing::IsEmpty())
        << key;
  }
}

TEST(ConfigFile, IsEqualWhereTheMembersOfItsPlansAre) {
  const TemporaryFile list("10.0.0.0/24\n10.0.0.5\n");
  const std::string plans = plan_with("gold", "members_file = \"" + list.path() + "\"");
  const ClassConfig first = with_plans(plans);
  std::ofstream(list.path()) << "# the same\n10.0.0.5\n10.0.0.0/24\n";
  EXPECT_EQ(with_plans(plans), first);
  std::ofstream(list.path()) << "10.0.0.0/24\n";
  EXPECT_NE(with_plans(plans), first);
}

std::vector<std::string> errors_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const ConfigError& error : parse_config(text, "test.toml").errors) lines.push_back(error.to_string());
  return lines;
}

TEST(ConfigFile, NamesTheFileOfAMemberThatIsRefused) {
  const TemporaryFile list("10.0.0.5\n10.0.0.6\n10.0.0.7\n");
  const std::string file = "members_file = \"" + list.path() + "\"";
  EXPECT_THAT(
      errors_of(class_with_plans("\"dst\"",
                                 plan_with("gold", "members = \"10.0.0.6\"") + plan_with("silver", file))),
      testing::ElementsAre("test.toml:15:16: members_file: " + list.path() +
                           ": \"10.0.0.6\" is a member of the plan \"gold\" and of the plan \"silver\", "
                           "expected it in one of the two"));
  EXPECT_THAT(errors_of(class_with_plans("\"dst/24\"", plan_with("gold", file))),
              testing::ElementsAre(testing::StartsWith("test.toml:11:16: members_file: " + list.path() +
                                                       ": \"10.0.0.5\" has 32 bits, but")));
}

TEST(ConfigFile, TakesSoManyMembersAndPlansOfAClassAndNoMore) {
  std::string networks;
  for (std::size_t i = 0; i < kMaxMembers; ++i)
    networks += "10." + std::to_string(i >> 16) + "." + std::to_string(i >> 8 & 255) + "." +
                std::to_string(i & 255) + "\n";
  const TemporaryFile list(networks);
  const std::string most = plan_with("gold", "members_file = \"" + list.path() + "\"");
  EXPECT_EQ(with_plans(most).members.members->size(), kMaxMembers);
  EXPECT_THAT(errors_of(class_with_plans("\"dst\"", most + plan_with("silver", "members = \"10.9.0.0\""))),
              testing::ElementsAre(
                  "test.toml:12:1: with this plan the class has 100001 members, expected at most 100000"));

  std::string plans;
  for (std::size_t i = 0; i < kMaxPlans; ++i) plans += plan_with("p" + std::to_string(i), "");
  EXPECT_EQ(with_plans(plans).plans.size(), kMaxPlans);
  EXPECT_THAT(errors_of(class_with_plans("\"dst\"", plans + plan_with("last", ""))),
              testing::ElementsAre("test.toml:8:1: the class has 4097 plans, expected at most 4096"));
}

TEST(ConfigFile, CountsBytesForPlansWithABitRate) {
  const auto warnings = [](const std::string& rate) {
    return warnings_of(
        "[[shape]]\ninterface = \"eth0\"\noverhead = 24\n[[shape.class]]\nname = \"a\"\nkey = \"src\"\n"
        "rate = \"10pps\"\n[[shape.class.plan]]\nname = \"gold\"\nrate = \"" +
        rate + "\"\n");
  };
  EXPECT_THAT(warnings("1mbit"), testing::IsEmpty());
  EXPECT_EQ(warnings("100pps").size(), 1U);
}

TEST(ConfigFile, WritesPlansAsJson) {
  const auto row = std::find_if(class_keys().begin(), class_keys().end(),
                                [](const ClassKey& key) { return key.name == "plan"; });
  ASSERT_NE(row, class_keys().end());
  EXPECT_EQ(row->json_name, "plans");
  EXPECT_EQ(row->write(ClassConfig{}).dump(), "[]");
  const TemporaryFile list("10.0.0.7\n");
  const std::string file = "members_file = \"" + list.path() + "\"";
  EXPECT_EQ(
      row->write(with_plans(plan_with("gold", file) + plan_with("silver", "burst = \"15kb\""))).dump(),
      R"([{"name":"gold","rate":["20mbit"],"budget":null,"burst":["1p"],"queue":["50ms"],"together":false,"members_file":")" +
          list.path() +
          R"("},{"name":"silver","rate":["20mbit"],"budget":null,"burst":["15kb"],"queue":["50ms"],"together":false,"members_file":null}])");
}

TEST(ConfigFile, HasPolicedClassesBesideALink) {
  const Config config = accepted(
      "[[shape]]\ninterface = \"eth0\"\nrate = \"20mbit\"\nclass = [{ name = \"a\", action = \"police\", "
      "rate = \"1mbit\" }]\n");
  EXPECT_EQ(config.shapes.at(0).classes.at(0).rate.bits, BitRate{1'000'000});
  EXPECT_EQ(config.shapes[0].classes[0].queue, QueueCapacity{});
}

TEST(ConfigFile, SharesALinkAmongAllFlowsWhereThereIsNoClass) {
  const Config config = accepted("shape = [{ interface = \"eth0\", rate = \"20mbit\" }]");
  ASSERT_EQ(config.shapes.at(0).classes.size(), 1U);
  EXPECT_EQ(config.shapes[0].classes[0].name, "(default)");
  EXPECT_TRUE(config.shapes[0].classes[0].fair);
}

TEST(ConfigFile, HasADefaultClassOnlyBelowALink) {
  const Config config = accepted(
      "[[shape]]\ninterface = \"eth0\"\nclass = [{ name = \"a\", ceiling = \"1mbit\" }]\n"
      "group = [{ name = \"g\", ceiling = \"1mbit\" }]\n");
  ASSERT_EQ(config.shapes.at(0).classes.size(), 1U);
}

TEST(ConfigFile, LetsAFairClassSayWhatIsItsOwn) {
  const Config config = accepted(
      "[[shape]]\ninterface = \"eth0\"\nclass = [{ name = \"a\", fair = true, key = \"dst\", queue = "
      "\"50ms\", "
      "aqm = \"none\" }]\n");
  const ClassConfig& fair = config.shapes.at(0).classes.at(0);
  EXPECT_EQ(fair.key, KeySpec{.destination_address = true});
  EXPECT_EQ(fair.queue, QueueCapacity{.time = milliseconds(50)});
  EXPECT_EQ(fair.aqm, QueueManagement::none);
  EXPECT_EQ(fair.rate, Rate{});
}

TEST(ConfigFile, TakesGuaranteesThatAddUpToTheirBounds) {
  accepted(R"(
[[shape]]
interface = "eth0"
rate = "100mbit"
group = [{ name = "g", ceiling = "40mbit" }, { name = "h", parent = "g", ceiling = "30mbit" }]
class = [{ name = "a", match = "tcp", group = "h", guarantee = "30mbit", ceiling = "30mbit" },
         { name = "b", match = "udp", group = "g", guarantee = "10mbit" },
         { name = "c", guarantee = "60mbit" }]
)");
}

TEST(ConfigFile, KnowsWhichShapesHaveATree) {
  const auto tree_of = [](const std::string& in_shape, const std::string& in_class) {
    return has_tree(accepted("[[shape]]\ninterface = \"eth0\"\n" + in_shape + "\nclass = [{ name = \"a\", " +
                             in_class + " }]\n")
                        .shapes.at(0));
  };
  EXPECT_FALSE(tree_of("", "rate = \"1pps\""));
  EXPECT_FALSE(tree_of("", "rate = \"1pps\", aqm = \"none\""));
  EXPECT_TRUE(tree_of("rate = \"1mbit\"", "rate = \"1pps\""));
  EXPECT_TRUE(tree_of("group = [{ name = \"g\" }]", "group = \"g\""));
  EXPECT_TRUE(tree_of("", "ceiling = \"1mbit\""));
  EXPECT_TRUE(tree_of("", "fair = true"));
  EXPECT_TRUE(tree_of("", "rate = \"1pps\", aqm = \"codel\""));
  EXPECT_TRUE(tree_of("rate = \"2mbit\"", "guarantee = \"1mbit\""));
}

TEST(ConfigFile, WarnsOfGroupsAndCeilingsThatChangeNothing) {
  EXPECT_THAT(
      warnings_of(R"([[shape]]
interface = "eth0"
rate = "100mbit"
overhead = 24

[[shape.group]]
name = "guests"
ceiling = "200mbit"

[[shape.group]]
name = "children"
parent = "guests"

[[shape.class]]
name = "a"
ceiling = "25mbps"
)"),
      testing::ElementsAre(
          "test.toml:6:1: group \"guests\" has no class below it and does nothing; a class joins it by group "
          "= "
          "\"guests\"",
          "test.toml:8:11: ceiling: \"200mbit\" is above the rate of the shape, \"100mbit\", and changes "
          "nothing",
          "test.toml:10:1: group \"children\" has no class below it and does nothing; a class joins it by "
          "group "
          "= \"children\"",
          "test.toml:16:11: ceiling: \"25mbps\" is in bytes per second, as in tc: 200mbit; for bits per "
          "second "
          "write \"25mbit\"",
          "test.toml:16:11: ceiling: \"200mbit\" is above the rate of the shape, \"100mbit\", and changes "
          "nothing"));
}

TEST(ConfigFile, DropsTheDefaultCapacityOnceOneIsGiven) {
  const Config config = accepted(
      "[[shape]]\ninterface = \"eth0\"\nclass = [{ name = \"a\", rate = \"1mbit\", queue = \"50ms\" }]\n");
  EXPECT_EQ(config.shapes.at(0).classes.at(0).queue,
            (QueueCapacity{std::nullopt, std::nullopt, milliseconds(50)}));
}

TEST(ConfigFile, TakesByteOrderMarkAndWindowsLineEnds) {
  const Config config = accepted("\xef\xbb\xbf[daemon]\r\nmark = 7\r\n");
  EXPECT_EQ(config.daemon.mark, 7U);
}

TEST(ConfigFile, TakesTheSameClassNameInTwoShapes) {
  accepted(R"(shape = [{ interface = "eth0", class = [{ name = "a", rate = "1pps" }] },
                       { interface = "eth1", class = [{ name = "a", rate = "1pps" }] }])");
}

TEST(ConfigFile, TakesTheBoundsThemselves) {
  accepted("[daemon]\nmark = 1\nmax_flows = 1\nmemory = \"1mb\"\nidle = \"1ms\"\ncontrol = \"/c\"\n");
  const Config config = accepted(
      "[daemon]\nmark = 0xffffffff\nmax_flows = 16777216\nmemory = \"64gb\"\nidle = \"86400s\"\ncontrol = "
      "\"/" +
      std::string(98, 'c') + "\"\n");
  EXPECT_EQ(config.daemon.mark, 0xffffffffU);
  accepted("shape = [{ interface = \"fifteen_letters\", class = [{ name = \"" + std::string(64, 'n') +
           "\", rate = \"1pps\" }] }]\n");
}

TEST(ConfigFile, LimitsControlTrafficByBothRatesUnlessOneIsGiven) {
  const auto limit_of = [](const std::string& key) {
    return accepted("[[shape]]\ninterface = \"eth0\"\n" + key +
                    "\nclass = [{ name = \"a\", rate = \"1pps\" }]\n")
        .shapes.at(0)
        .control_limit;
  };
  EXPECT_EQ(limit_of(""), (Rate{PacketRate{1000}, BitRate{1'000'000}}));
  EXPECT_EQ(limit_of("control_limit = \"500pps\""), (Rate{PacketRate{500}, std::nullopt}));
  EXPECT_EQ(limit_of("control_limit = [\"1mbit\"]"), (Rate{std::nullopt, BitRate{1'000'000}}));
  EXPECT_EQ(limit_of("control_limit = [\"none\"]"), Rate{});
}

// A shape of one class, at 20mbit unless said otherwise.
std::string shape_of(const std::string& keys, const std::string& limits = "rate = \"20mbit\"") {
  return "[[shape]]\n" + keys + "\nclass = [{ name = \"a\", " + limits + " }]\n";
}

constexpr char kThere[] = "interface = \"eth0\"\nforward_to = \"eth1\"";
constexpr char kBack[] = "interface = \"eth1\"\nforward_to = \"eth0\"";

TEST(ConfigFile, ShapesAWireByOneShapeForEachDirection) {
  const std::string text = shape_of(kThere) + shape_of(kBack);
  const Config config = accepted(text);
  ASSERT_EQ(config.shapes.size(), 2U);
  EXPECT_EQ(config.shapes[0].forward_to, "eth1");
  EXPECT_EQ(config.shapes[1].forward_to, "eth0");
  for (const ShapeConfig& shape : config.shapes) EXPECT_EQ(shape.direction, Direction::ingress);
  EXPECT_THAT(warnings_of(text), testing::IsEmpty());
}

TEST(ConfigFile, TakesAnInlineShapeThatSaysItsDirectionAndSkipsTheQdisc) {
  const Config config =
      accepted(shape_of(std::string(kThere) + "\ndirection = \"ingress\"\nqdisc_bypass = true"));
  EXPECT_EQ(config.shapes.at(0).direction, Direction::ingress);
  EXPECT_TRUE(config.shapes.at(0).qdisc_bypass);
}

TEST(ConfigFile, WarnsOfAWireWithoutAWayBack) {
  const auto warning = testing::ElementsAre(
      "test.toml:3:14: forward_to: nothing forwards what arrives on \"eth1\" back to \"eth0\"; that is "
      "another "
      "[[shape]], with interface = \"eth1\" and forward_to = \"eth0\"");
  EXPECT_THAT(warnings_of(shape_of(kThere)), warning);
  EXPECT_THAT(warnings_of(shape_of(kThere) + shape_of("interface = \"eth1\"")), warning);
  EXPECT_THAT(warnings_of(shape_of(kThere) + shape_of("interface = \"eth1\"\ndirection = \"ingress\"")),
              warning);
  EXPECT_EQ(warnings_of(shape_of(kThere) + shape_of("interface = \"eth1\"\nforward_to = \"eth2\"")).size(),
            2U);
}

TEST(ConfigFile, ShapesBothDirectionsOfAnInterface) {
  const Config config =
      accepted(shape_of("interface = \"eth0\"") +
               shape_of("interface = \"eth0\"\ndirection = \"ingress\"\nqdisc_bypass = false"));
  ASSERT_EQ(config.shapes.size(), 2U);
  EXPECT_EQ(config.shapes[0].direction, Direction::egress);
  EXPECT_EQ(config.shapes[1].direction, Direction::ingress);
}

TEST(ConfigFile, ShapesWhatTheHostSendsBesideAWire) {
  EXPECT_THAT(warnings_of(shape_of(kThere) + shape_of(kBack) + shape_of("interface = \"eth0\"") +
                          shape_of("interface = \"eth1\"")),
              testing::IsEmpty());
}

TEST(ConfigFile, TakesTheBoundsOfAccounting) {
  const Config config = accepted(shape_of("interface = \"eth0\"\noverhead = -64\nmpu = 256") +
                                 shape_of("interface = \"eth1\"\noverhead = 256\nmpu = 0"));
  EXPECT_EQ(config.shapes.at(0).overhead, -64);
  EXPECT_EQ(config.shapes.at(0).mpu, 256U);
  EXPECT_EQ(config.shapes.at(1).overhead, 256);
  EXPECT_EQ(config.shapes.at(1).mpu, 0U);
}

TEST(ConfigFile, WarnsOfAccountingThatChangesNothing) {
  const std::string keys = "interface = \"eth0\"\noverhead = 24\nmpu = 84";
  EXPECT_THAT(warnings_of(shape_of(keys, "rate = \"1000pps\"")),
              testing::ElementsAre("test.toml:3:12: overhead: no class of the shape has a bit rate or a "
                                   "queue in bytes, so it changes nothing",
                                   "test.toml:4:7: mpu: no class of the shape has a bit rate or a queue in "
                                   "bytes, so it changes nothing"));
  EXPECT_EQ(warnings_of(shape_of(keys, "bypass = true")).size(), 2U);
  EXPECT_THAT(warnings_of(shape_of(keys, "rate = [\"1000pps\", \"20mbit\"]")), testing::IsEmpty());
  EXPECT_THAT(warnings_of(shape_of(keys, "rate = \"1000pps\", queue = \"64kb\"")), testing::IsEmpty());
  EXPECT_THAT(warnings_of(shape_of("interface = \"eth0\"\noverhead = 0\nmpu = 0", "rate = \"1000pps\"")),
              testing::IsEmpty());
}

TEST(ConfigFile, TakesAVlanAsAKeyAloneAndWithOthers) {
  const auto key_of = [](const std::string& key) {
    return accepted(shape_of("interface = \"eth0\"", "rate = \"1000pps\", key = " + key))
        .shapes.at(0)
        .classes.at(0)
        .key;
  };
  EXPECT_EQ(key_of("\"vlan\""), (KeySpec{.vlan = true}));
  EXPECT_EQ(key_of("[\"vlan\", \"dst\"]"), (KeySpec{.destination_address = true, .vlan = true}));
  EXPECT_EQ(key_of("[\"5-tuple\", \"vlan\"]"),
            (KeySpec{.source_address = true, .destination_address = true, .ports = true, .vlan = true}));
  EXPECT_EQ(key_of("[\"src-mac\", \"dst\", \"vlan\"]"),
            (KeySpec{.destination_address = true, .source_mac = true, .vlan = true}));
}

TEST(ConfigFile, TakesInterfacesThatOnlyLookLikeOurs) {
  for (const auto* name : {"hg", "hgp", "hg0q", "hgx0", "xhg0", "loop", "lo0"}) {
    accepted("shape = [{ interface = \"" + std::string(name) +
             "\", class = [{ name = \"a\", rate = \"1pps\" }] }]\n");
  }
}

TEST(ConfigFile, WarnsOfBytesPerSecond) {
  EXPECT_THAT(warnings_of("[[shape]]\ninterface = \"eth0\"\nclass = [{ name = \"a\", rate = \"1mbps\" }]\n"),
              testing::ElementsAre(
                  "test.toml:3:31: rate: \"1mbps\" is in bytes per second, as in tc: 8mbit; for bits "
                  "per second write \"1mbit\""));
}

constexpr char kOrder[] = R"([[shape]]
interface = "eth0"
  [[shape.class]]
  name = "first"
  %FIRST%
  rate = "1000pps"
  [[shape.class]]
  name = "second"
  %SECOND%
  rate = "1000pps"
)";

std::vector<std::string> warnings_of_order(const std::string& first, const std::string& second) {
  std::string text = kOrder;
  text.replace(text.find("%FIRST%"), 7, first);
  text.replace(text.find("%SECOND%"), 8, second);
  return warnings_of(text);
}

TEST(ConfigFile, ReadsWhatOnlyTheKernelKnows) {
  const Config config = parse_config(R"(
[[shape]]
interface = "eth0"
class = [{ name = "a", bypass = true, mark = "0x10/0xff" },
         { name = "b", bypass = true, mark = ["1", "2"], cgroup = ["/system.slice/backup.service", "user.slice"] }]
[[shape]]
interface = "eth1"
direction = "ingress"
capture = "bpf"
class = [{ name = "a", bypass = true, mark = "3" }]
)",
                                     "test.toml")
                            .config;
  ASSERT_EQ(config.shapes.size(), 2U);
  EXPECT_EQ(config.shapes[0].classes.at(0).selectors.marks,
            (std::vector<MarkSelector>{{.value = 0x10, .mask = 0xff}}));
  const Selectors& both = config.shapes[0].classes.at(1).selectors;
  EXPECT_EQ(both.marks, (std::vector<MarkSelector>{{.value = 1}, {.value = 2}}));
  EXPECT_THAT(both.cgroups, testing::ElementsAre("system.slice/backup.service", "user.slice"));
  EXPECT_EQ(config.shapes[1].classes.at(0).selectors.marks, (std::vector<MarkSelector>{{.value = 3}}));
  Selectors other = both;
  other.cgroups.pop_back();
  EXPECT_NE(other, both);
}

TEST(ConfigFile, WarnsOfAClassThatNeverGetsAPacket) {
  const auto warning = testing::ElementsAre(
      "test.toml:7:3: class \"second\" never gets a packet: the class \"first\" before it takes them all");
  EXPECT_THAT(warnings_of_order("", "match = \"udp\""), warning);
  EXPECT_THAT(warnings_of_order("", ""), warning);
  EXPECT_THAT(warnings_of_order("match = \"udp\"", "match = \"udp\""), warning);
  EXPECT_THAT(warnings_of_order("control = true", "control = true"), warning);
  EXPECT_THAT(warnings_of_order("", "dscp = \"ef\""), warning);
  EXPECT_THAT(warnings_of_order("", "mark = \"1\""), warning);
  EXPECT_THAT(warnings_of_order("mark = \"16\"", "mark = \"0x10\"\ncgroup = \"a\""), testing::IsEmpty());
  EXPECT_THAT(
      warnings_of_order("mark = \"16\"\ncgroup = \"/a\"", "mark = \"0x10\"\ncgroup = \"a\"\nmatch = \"udp\""),
      testing::ElementsAre(testing::HasSubstr("class \"second\" never gets a packet")));
  EXPECT_THAT(warnings_of_order("dscp = \"46\"", "dscp = [\"ef\"]\nmatch = \"udp\""), warning);
  EXPECT_THAT(warnings_of_order("src = \"10.0.0.0/8\"", "src = [\"10.0.0.0/8\"]\ndst = \"10.0.0.1\""),
              warning);
}

TEST(ConfigFile, DoesNotWarnOfAClassThatGetsPackets) {
  EXPECT_THAT(warnings_of_order("match = \"udp\"", ""), testing::IsEmpty());
  EXPECT_THAT(warnings_of_order("match = \"udp\"", "match = \"tcp\""), testing::IsEmpty());
  EXPECT_THAT(warnings_of_order("", "control = true"), testing::IsEmpty()) << "control traffic is left to it";
  for (const auto* selectors :
       {"dscp = \"ef\"", "src = \"10.0.0.0/8\"", "dst = \"::/0\"", "mark = \"1\"", "cgroup = \"a\""}) {
    EXPECT_THAT(warnings_of_order(selectors, ""), testing::IsEmpty()) << selectors;
    EXPECT_THAT(warnings_of_order(selectors, "match = \"udp\""), testing::IsEmpty()) << selectors;
  }
  EXPECT_THAT(warnings_of_order("dscp = \"ef\"", "dscp = \"cs5\""), testing::IsEmpty());
  EXPECT_THAT(warnings_of_order("src = \"10.0.0.0/8\"", "dst = \"10.0.0.0/8\""), testing::IsEmpty());
  EXPECT_THAT(warnings_of_order("mark = \"1\"", "mark = \"2\""), testing::IsEmpty());
  EXPECT_THAT(warnings_of_order("cgroup = \"a\"", "cgroup = \"a/b\""), testing::IsEmpty());
  EXPECT_THAT(warnings_of_order("match = \"udp\"\ndscp = \"ef\"", "match = \"udp\""), testing::IsEmpty());
}

std::string shape_with_list(const std::string& path) {
  return "[[shape]]\ninterface = \"eth0\"\n[[shape.class]]\nname = \"a\"\nbypass = true\nsrc = \"" + path +
         "\"\n";
}

TEST(ConfigFile, TakesNetworksFromAFileAndIsEqualWhereTheyAre) {
  const TemporaryFile list("10.0.0.0/8\n");
  const Config first = accepted(shape_with_list(list.path()));
  EXPECT_TRUE(first.shapes.at(0).classes.at(0).selectors.source.networks->has_ipv4(0x0a000001));
  std::ofstream(list.path()) << "# the same\n10.128.0.0/9\n10.0.0.0/9\n";
  EXPECT_EQ(accepted(shape_with_list(list.path())), first);
  std::ofstream(list.path()) << "10.0.0.0/9\n";
  EXPECT_NE(accepted(shape_with_list(list.path())), first);
}

TEST(ConfigFile, ReportsWhatIsWrongWithAFileOfNetworks) {
  const TemporaryFile list("10.0.0.0/8\n10.0.0.1/24\n");
  const ConfigResult result = parse_config(shape_with_list(list.path()), "test.toml");
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_EQ(result.errors[0].to_string(),
            "test.toml:6:7: src: " + list.path() +
                ":2: \"10.0.0.1/24\" has bits set beyond its prefix: did you mean \"10.0.0.0/24\"?");
  const TemporaryFile comments("# nobody\n");
  EXPECT_THAT(warnings_of(shape_with_list(comments.path())),
              testing::ElementsAre("test.toml:6:7: src: has no network, so the class gets no packet"));
}

TEST(ConfigFile, IsLoadedFromDisk) {
  const TemporaryFile file("[daemon]\nmark = 9\n");
  const ConfigResult result = load_config(file.path());
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.config.daemon.mark, 9U);
}

TEST(ConfigFile, ThatIsMissingIsAnErrorWithoutAPlace) {
  const TemporaryFile file("");
  const ConfigResult result = load_config(file.directory() + "/none.toml");
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_EQ(result.errors[0].to_string(),
            file.directory() + "/none.toml: cannot open the file: No such file or directory");
}

TEST(ConfigFile, ThatIsADirectoryIsRefused) {
  const TemporaryFile file("");
  const ConfigResult result = load_config(file.directory());
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_EQ(result.errors[0].message, "this is a directory, expected a file");
}

TEST(ConfigFile, ThatIsEmptyIsRefused) {
  for (const char* text : {"", "\n", "  \r\n\t\n"}) {
    const TemporaryFile file(text);
    for (const FileUse use : {FileUse::again, FileUse::once}) {
      const ConfigResult result = load_config(file.path(), use);
      ASSERT_EQ(result.errors.size(), 1U);
      EXPECT_EQ(result.errors[0].to_string(),
                file.path() +
                    ": the file is empty, as while it is being written: expected a [[shape]], or a comment "
                    "where nothing is to be shaped");
    }
  }
  EXPECT_TRUE(load_config(TemporaryFile("# later\n").path()).ok());
}

TEST(ConfigFile, ThatIsAPipeIsNotWaitedForWhereItMustBeReadAgain) {
  const TemporaryFile file("");
  const std::string pipe = file.directory() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const ConfigResult result = load_config(pipe);
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_EQ(
      result.errors[0].message,
      "this is not a regular file: headgated reads its file again at a reload, so only --check takes a pipe");
}

TEST(ConfigFile, ThatIsAPipeIsReadToItsEndWhereItIsReadOnce) {
  const TemporaryFile file("");
  const std::string pipe = file.directory() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&pipe] {
    std::ofstream out(pipe);
    out << "[daemon]\n" << std::flush;
    std::this_thread::sleep_for(milliseconds(50));
    out << "mark = 9\nmork = 1\n";
  });
  const ConfigResult result = load_config(pipe, FileUse::once);
  writer.join();
  EXPECT_EQ(result.config.daemon.mark, 9U);
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_THAT(result.errors[0].to_string(), testing::StartsWith(pipe + ":3:1: unknown key \"mork\""));
}

TEST(ConfigFile, ThatIsAPipeOfMoreThanAMebibyteIsRefused) {
  const TemporaryFile file("");
  const std::string pipe = file.directory() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&pipe] { std::ofstream(pipe) << std::string(1024 * 1024 + 1, '\n'); });
  const ConfigResult result = load_config(pipe, FileUse::once);
  writer.join();
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_EQ(result.errors[0].message, "the file is larger than 1 MiB, which is no configuration");
}

TEST(ConfigFile, OfSeveralClassesHasEachExpressionCompiledOnce) {
  std::string text;
  for (int shape = 0; shape < 20; ++shape) {
    text += "[[shape]]\ninterface = \"eth" + std::to_string(shape) + "\"\n";
    for (int one = 0; one < 5; ++one) {
      text += "[[shape.class]]\nname = \"c" + std::to_string(one) + "\"\nrate = \"1pps\"\nmatch = \"port " +
              std::to_string(one + 1) + "\"\n";
    }
  }
  CompiledMatches matches;
  EXPECT_TRUE(parse_config(text, "test.toml", {.matches = &matches}).ok());
  EXPECT_EQ(matches.compilations(), 5U);
  EXPECT_TRUE(parse_config(text, "test.toml", {.matches = &matches}).ok());
  EXPECT_EQ(matches.compilations(), 5U) << "the same file again";
}

// [daemon] and so many shapes, where there are so many MiB.
ConfigResult sized(const std::string& daemon, int shapes, std::uint64_t mebibytes) {
  std::string text = "[daemon]\n" + daemon + "\n";
  for (int i = 0; i < shapes; ++i) {
    text += "[[shape]]\ninterface = \"eth" + std::to_string(i) +
            "\"\n[[shape.class]]\nname = \"a\"\nrate = \"1pps\"\n";
  }
  return parse_config(
      text, "test.toml",
      {.memory = AvailableMemory{DataSize{mebibytes << 20}, "MemAvailable of /proc/meminfo"}});
}

std::string error_of(const ConfigResult& result) {
  return result.errors.size() == 1 ? result.errors[0].to_string() : "not one error";
}

std::string warning_of(const ConfigResult& result) {
  return result.ok() && result.warnings.size() == 1 ? result.warnings[0].to_string() : "not one warning";
}

TEST(ConfigFile, ThatAsksForMoreMemoryThanThereIsIsRefused) {
  EXPECT_EQ(error_of(sized("memory = \"64gb\"", 1, 23 * 1024)),
            "test.toml:2:10: memory: a shape may use \"64gb\" for packets and \"8mb\" for 65536 flows, "
            "\"65544mb\" in "
            "all, but there are \"23gb\" (MemAvailable of /proc/meminfo), expected at most \"23544mb\"");
  EXPECT_EQ(error_of(sized("max_flows = 16777216", 1, 1024)),
            "test.toml:2:13: max_flows: a shape may use \"64mb\" for packets and \"2gb\" for 16777216 flows, "
            "\"2112mb\" "
            "in all, but there are \"1gb\" (MemAvailable of /proc/meminfo), expected at most 7864320");
}

TEST(ConfigFile, WhoseShapesTogetherAskForMoreMemoryThanThereIsIsRefused) {
  EXPECT_EQ(
      error_of(sized("memory = \"110mb\"", 10, 1000)),
      "test.toml:2:10: memory: 10 shapes may use \"110mb\" for packets and \"8mb\" for 65536 flows each, "
      "\"1180mb\" in all, but there are \"1000mb\" (MemAvailable of /proc/meminfo), expected at most "
      "\"92mb\", or "
      "fewer shapes");
  EXPECT_TRUE(sized("memory = \"92mb\"", 10, 1000).ok()) << "the advice";
  EXPECT_TRUE(sized("memory = \"110mb\"", 8, 1000).ok()) << "the other advice";
  EXPECT_THAT(error_of(sized("max_flows = 8192\nmemory = \"110mb\"", 10, 1000)),
              testing::HasSubstr(":3:10: memory: "));
  EXPECT_THAT(
      error_of(sized("max_flows = 1048576\nmemory = \"110mb\"", 10, 1000)),
      testing::AllOf(testing::HasSubstr(":2:13: max_flows: "),
                     testing::EndsWith("expected less, and a memory below \"110mb\", or fewer shapes")));
}

TEST(ConfigFile, WhoseDefaultsAddUpToMoreMemoryThanThereIsGetsAWarning) {
  EXPECT_EQ(warning_of(sized("", 20, 1000)),
            "test.toml:3:1: 20 shapes may use \"64mb\" for packets and \"8mb\" for 65536 flows each, "
            "\"1440mb\" in all, "
            "but there are \"1000mb\" (MemAvailable of /proc/meminfo); packets are dropped when it runs out; "
            "[daemon] "
            "memory and max_flows bound what each shape may use");
  EXPECT_THAT(warning_of(sized("max_flows = 100", 20, 1000)), testing::HasSubstr("20 shapes may use"))
      << "what the file says would fit";
  EXPECT_TRUE(sized("", 10, 1000).warnings.empty());
  EXPECT_TRUE(sized("memory = \"64gb\"", 0, 1000).ok()) << "without a shape none is taken";
}

TEST(ConfigFile, WithoutADaemonTableGetsAWarningWhereThereIsNoMemoryAtAll) {
  const ConfigResult result =
      parse_config("[[shape]]\ninterface = \"eth0\"\n[[shape.class]]\nname = \"a\"\nrate = \"1pps\"\n",
                   "test.toml", {.memory = AvailableMemory{DataSize{0}, "memory.max"}});
  EXPECT_THAT(warning_of(result), testing::HasSubstr("but there are \"0b\" (memory.max)"));
}

// Of one class.
std::vector<std::string> warnings_of_class(const std::string& lines) {
  return warnings_of("[[shape]]\ninterface = \"eth0\"\n[[shape.class]]\nname = \"a\"\nrate = \"1pps\"\n" +
                     lines);
}

TEST(ConfigFile, WarnsOfAClassThatNamesControlTrafficAndDoesNotTakeIt) {
  EXPECT_THAT(
      warnings_of_class("match = \"igmp or udp port 67\""),
      testing::ElementsAre(
          "test.toml:6:9: match: names IGMP and DHCP, which is control traffic: up to the shape's "
          "control_limit "
          "it is not shaped, and in no class without control = true; write control = true to have it in this "
          "one"));
  EXPECT_THAT(warnings_of_class("match = \"igmp or udp port 67\"\ncontrol = true"), testing::IsEmpty());
  EXPECT_THAT(warnings_of_class("match = \"udp\""), testing::IsEmpty());
}

TEST(ConfigFile, WarnsOfAMatchThatCanNeverSeeAPacket) {
  EXPECT_THAT(warnings_of_class("match = \"arp\"\ncontrol = true"),
              testing::ElementsAre(
                  "test.toml:6:9: match: never matches: a class gets IPv4 and IPv6 packets only, and it "
                  "takes none of them"));
  EXPECT_THAT(warnings_of_class("match = \"arp or ip\""), testing::IsEmpty());
}

TEST(ConfigFile, ThatMayNotBeReadIsRefused) {
  const TemporaryFile file("[daemon]\n");
  ASSERT_EQ(chmod(file.path().c_str(), 0), 0);
  const uid_t user = geteuid();
  const bool root = user == 0;  // who may read every file
  if (root) {
    ASSERT_EQ(seteuid(65'534), 0);
  }
  const ConfigResult result = load_config(file.path());
  if (root) {
    ASSERT_EQ(seteuid(user), 0);
  }
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_EQ(result.errors[0].message, "cannot open the file: Permission denied");
}

TEST(ConfigFile, OfMoreThanAMebibyteIsRefused) {
  const TemporaryFile largest("#" + std::string(1024 * 1024 - 1, '\n'));
  EXPECT_TRUE(load_config(largest.path()).ok());
  const TemporaryFile larger(std::string(1024 * 1024 + 1, '\n'));
  const ConfigResult result = load_config(larger.path());
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_EQ(result.errors[0].message, "the file is larger than 1 MiB, which is no configuration");
}

std::string example_text() {
  std::ifstream file(EXAMPLE_CONFIGURATION);
  std::stringstream content;
  content << file.rdbuf();
  EXPECT_GT(content.str().size(), 100U) << "cannot read " EXAMPLE_CONFIGURATION;
  return content.str();
}

TEST(ExampleConfiguration, ShapesNothingUntilEdited) {
  EXPECT_EQ(accepted(example_text()), Config{});
}

// Comments begin with "# ", configuration that is commented out with "#" alone.
TEST(ExampleConfiguration, IsValidWhereItIsCommentedOut) {
  std::istringstream lines(example_text());
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const bool commented_out = line.size() > 1 && line[0] == '#' && line[1] != ' ';
    text += (commented_out ? line.substr(1) : line) + "\n";
  }
  const Config config = accepted(text);
  EXPECT_GE(config.shapes.size(), 1U);
  EXPECT_THAT(warnings_of(text), testing::IsEmpty());
}

// The examples of the manual page, each between .EX and .EE, without the marks of its markup.
std::vector<std::string> examples_of_manual() {
  std::ifstream file(MANUAL_PAGE);
  std::vector<std::string> examples;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == ".EE") inside = false;
    if (inside) {
      std::erase(line, '\\');
      examples.back() += line + "\n";
    }
    if (line == ".EX") {
      inside = true;
      examples.emplace_back();
    }
  }
  std::erase_if(examples, [](const std::string& example) {
    return !example.starts_with("[[shape]]") && !example.starts_with("[budget.");
  });
  return examples;
}

TEST(ManualPage, HasExamplesThatAreValid) {
  const std::vector<std::string> examples = examples_of_manual();
  EXPECT_GE(examples.size(), 5U);
  for (const std::string& example : examples)
    EXPECT_THAT(warnings_of(example), testing::IsEmpty()) << example;
}

TEST(ConfigFile, WarnsOfABudgetThatNothingNamesUnlessItsPlaceMayBeWhatWasRefused) {
  EXPECT_THAT(warnings_of(kUnusedBudget), testing::ElementsAre(testing::HasSubstr("limits nothing")));
  const ConfigResult wrong = parse_config(std::string(kUnusedBudget) + "budget = \"uplink\"\n", "test.toml");
  EXPECT_EQ(wrong.errors.size(), 1u);
  EXPECT_THAT(wrong.warnings, testing::IsEmpty());
}

}  // namespace
}  // namespace headgate
