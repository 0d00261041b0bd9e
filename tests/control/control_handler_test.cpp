#include "control/control_handler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "fake_daemon.hpp"
#include "vocabulary/control_message.hpp"

#define EVERY_COMMAND                                                                                      \
  "\"show\", \"flows\", \"explain\", \"capture\", \"version\", \"diff\", \"save\", \"reload\", \"plan\", " \
  "\"set\", "                                                                                              \
  "\"limit\", "                                                                                            \
  "\"unlimit\", \"try\", \"confirm\" or \"undo\""

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Json ask(std::string_view line, DaemonControl& daemon) {
  const std::string reply = handle_request(line, daemon).line;
  EXPECT_EQ(reply.find('\n'), reply.size() - 1) << "a reply is one line: " << reply;
  const Json json = Json::parse(reply);
  EXPECT_EQ(json.at("schema"), 1);
  return json;
}

Json ask(std::string_view line) {
  FakeDaemon daemon;
  return ask(line, daemon);
}

Json ask_flows(FakeDaemon& daemon, const std::string& class_name) {
  return ask(Json{{"command", "flows"}, {"class", class_name}}.dump(), daemon);
}

std::string error_code(const Json& reply) {
  return reply.at("error").at("code");
}
std::string error_message(const Json& reply) {
  return reply.at("error").at("message");
}

TEST(ControlHandler, ShowsWhatTheKernelLacksAndWhatIsLessForAShape) {
  FakeDaemon daemon;
  daemon.status_now.kernel_lacks = {"TCX"};
  daemon.status_now.shapes[0].limits = {"marks are lost"};
  const Json reply = ask(R"({"command": "show"})", daemon);
  EXPECT_EQ(reply.at("kernel_lacks"), Json({"TCX"}));
  EXPECT_EQ(reply.at("shapes").at(0).at("limits"), Json({"marks are lost"}));
}

TEST(ControlHandler, ShowsEveryMemberOfTheSchema) {
  const Json expected = Json::parse(R"({
    "schema": 1, "version": "0.1.0", "pid": 1234, "uptime_s": 7980.25, "config": "/etc/headgate/headgate.toml",
    "kernel_lacks": [], "delay_bounds_us": [32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536,
      131072, 262144, 524288, 1048576, 2097152, 4194304, 8388608],
    "shapes": [{
      "interface": "eth0", "direction": "egress", "pattern": null, "diverting": true, "state": "", "starved": false,
      "limits": [], "divert": "tcx",
      "forward_to": null, "segmentation": "auto", "capture": "bpf", "precision": "normal", "workers": 1, "overhead": 0, "mpu": 0,
      "control_limit": ["1000pps", "1mbit"], "rate": null, "budget": null, "groups": [],
      "received": {"packets": 61050, "bytes": 3669000},
      "sent": {"packets": 21050, "bytes": 1269000},
      "dropped": {"packets": 39900, "bytes": 2394000, "reasons": {
        "queue_full": {"packets": 39897, "bytes": 2393820}, "pool_full": {"packets": 0, "bytes": 0},
        "flow_table_full": {"packets": 0, "bytes": 0}, "clipped": {"packets": 0, "bytes": 0},
        "send_failed": {"packets": 3, "bytes": 180}, "stop": {"packets": 0, "bytes": 0},
        "overtaken": {"packets": 0, "bytes": 0}, "starved": {"packets": 0, "bytes": 0},
          "aqm": {"packets": 0, "bytes": 0}, "too_old": {"packets": 0, "bytes": 0},
          "policed": {"packets": 0, "bytes": 0}}},
      "queued": {"packets": 100, "bytes": 6000},
      "unmatched": {"packets": 1000, "bytes": 64000},
      "unshaped": {"packets": 7, "bytes": null, "times": 2, "seconds": 1.5},
      "unshapable": {"packets": 5, "bytes": 700},
      "control_traffic": {"packets": 40, "bytes": 3200},
      "foreign": {"packets": 2, "bytes": 180},
      "schedule_shifts": {"times": 0, "seconds": 0.0},
      "lost": {"ring": {"packets": 3, "bytes": null}, "device": {"packets": 0, "bytes": null}},
      "classes": [{
        "name": "dns", "match": "udp port 53", "dscp": [], "src": [], "dst": [], "mark": [],
        "cgroup": [], "bypass": true, "control": false,
        "key": [], "action": null, "exceed": null, "limiter": null, "limit": null, "window": null,
        "rate": [], "budget": null, "burst": [], "queue": [],
        "group": null, "guarantee": null, "ceiling": null, "priority": null, "weight": null, "fair": null,
        "aqm": null, "target": null, "interval": null, "ecn": null, "plans": [], "flows": 0,
        "received": {"packets": 50, "bytes": 5000}, "sent": {"packets": 50, "bytes": 5000},
        "dropped": {"packets": 0, "bytes": 0, "reasons": {
          "queue_full": {"packets": 0, "bytes": 0}, "pool_full": {"packets": 0, "bytes": 0},
          "flow_table_full": {"packets": 0, "bytes": 0}, "clipped": {"packets": 0, "bytes": 0},
          "send_failed": {"packets": 0, "bytes": 0}, "stop": {"packets": 0, "bytes": 0},
          "overtaken": {"packets": 0, "bytes": 0}, "starved": {"packets": 0, "bytes": 0},
          "aqm": {"packets": 0, "bytes": 0}, "too_old": {"packets": 0, "bytes": 0},
          "policed": {"packets": 0, "bytes": 0}}},
        "queued": {"packets": 0, "bytes": 0},
        "delay_us": {"p50": 0.0, "p99": 0.0, "max": 0.0},
        "delays": {"packets": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "seconds": 0.0},
        "guaranteed": {"packets": 0, "bytes": 0}, "marked": {"packets": 0, "bytes": 0},
        "remarked": {"packets": 0, "bytes": 0}, "held_by": null
      }, {
        "name": "clients", "match": "net 10.0.0.0/8", "dscp": [], "src": [], "dst": [], "mark": [],
        "cgroup": [], "bypass": false, "control": false,
        "key": ["dst"], "action": "shape", "exceed": null, "limiter": null, "limit": null, "window": null,
        "rate": ["1000pps"], "budget": null, "burst": ["1p"], "queue": ["100p"],
        "group": null, "guarantee": null, "ceiling": null, "priority": 3, "weight": 1, "fair": false,
        "aqm": "none", "target": null, "interval": null, "ecn": null, "plans": [], "flows": 20,
        "received": {"packets": 60000, "bytes": 3600000}, "sent": {"packets": 20000, "bytes": 1200000},
        "dropped": {"packets": 39900, "bytes": 2394000, "reasons": {
          "queue_full": {"packets": 39897, "bytes": 2393820}, "pool_full": {"packets": 0, "bytes": 0},
          "flow_table_full": {"packets": 0, "bytes": 0}, "clipped": {"packets": 0, "bytes": 0},
          "send_failed": {"packets": 3, "bytes": 180}, "stop": {"packets": 0, "bytes": 0},
          "overtaken": {"packets": 0, "bytes": 0}, "starved": {"packets": 0, "bytes": 0},
          "aqm": {"packets": 0, "bytes": 0}, "too_old": {"packets": 0, "bytes": 0},
          "policed": {"packets": 0, "bytes": 0}}},
        "queued": {"packets": 100, "bytes": 6000},
        "delay_us": {"p50": 97000.0, "p99": 99500.0, "max": 100012.345},
        "delays": {"packets": [0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 90, 19890, 0, 0, 0, 0, 0, 0, 10], "seconds": 1940.5},
        "guaranteed": {"packets": 0, "bytes": 0}, "marked": {"packets": 0, "bytes": 0},
        "remarked": {"packets": 0, "bytes": 0}, "held_by": null
      }]
    }],
    "patterns": [],
    "budgets": []
  })");
  Json reply = ask(R"({"command":"show"})");
  ASSERT_EQ(reply["shapes"].size(), 2);
  reply["shapes"].erase(1);
  EXPECT_EQ(reply.dump(1), expected.dump(1));
}

TEST(ControlHandler, ShowsAPatternAsAShapeWithTheNamesOfItsInterfaces) {
  FakeDaemon daemon;
  add_pattern(daemon);
  const Json reply = ask(R"({"command":"show"})", daemon);
  ASSERT_EQ(reply["shapes"].size(), 4u);
  EXPECT_EQ(reply["shapes"][2]["interface"], "veth1");
  EXPECT_EQ(reply["shapes"][2]["pattern"], "veth*");
  ASSERT_EQ(reply["patterns"].size(), 1u);
  Json pattern = reply["patterns"][0];
  EXPECT_EQ(pattern["interfaces"].dump(), R"(["veth1","veth2"])");
  EXPECT_EQ(pattern["not_shaped"].dump(), R"([{"interface":"veth-odd","reason":"it has no frames"}])");
  EXPECT_EQ(pattern["interface"], "veth*");
  EXPECT_EQ(pattern["received"]["packets"], 75u);
  EXPECT_EQ(pattern["diverting_interfaces"], 1);
  pattern.erase("diverting_interfaces");
  pattern.erase("interfaces");
  pattern.erase("not_shaped");
  std::vector<std::string> of_pattern, of_shape;
  for (const auto& [name, value] : pattern.items()) of_pattern.push_back(name);
  for (const auto& [name, value] : reply["shapes"][0].items()) of_shape.push_back(name);
  EXPECT_EQ(of_pattern, of_shape);
}

TEST(ControlHandler, LeavesOutTheInstancesWhereTheyAreNotWanted) {
  FakeDaemon daemon;
  add_pattern(daemon);
  const Json all = ask(R"({"command":"show","instances":true})", daemon);
  EXPECT_EQ(all, ask(R"({"command":"show"})", daemon));
  const Json reply = ask(R"({"command":"show","instances":false})", daemon);
  EXPECT_EQ(reply["shapes"].size(), 2u);
  EXPECT_EQ(reply["patterns"], all["patterns"]);
  EXPECT_EQ(error_message(ask(R"({"command":"show","instances":1})", daemon)),
            "member \"instances\" is not true or false");
}

TEST(ControlHandler, ShowsWhyAShapeIsOpen) {
  const Json shape = ask(R"({"command":"show"})")["shapes"][1];
  EXPECT_EQ(shape["direction"], "ingress");
  EXPECT_EQ(shape["diverting"], false);
  EXPECT_EQ(shape["state"], "the interface is down");
  EXPECT_EQ(shape["divert"], "clsact");
  EXPECT_EQ(shape["classes"][1]["rate"].dump(), R"(["5000pps","20mbit"])");
  EXPECT_EQ(shape["classes"][1]["key"].dump(), R"(["5-tuple"])");
  EXPECT_EQ(shape["classes"][1]["dscp"].dump(), R"(["3","af41"])");
  EXPECT_EQ(shape["classes"][1]["src"].dump(), R"(["10.0.0.0/8","/etc/headgate/clients"])");
  EXPECT_EQ(shape["classes"][1]["dst"].dump(), "[]");
  EXPECT_EQ(shape["classes"][1]["mark"].dump(), R"(["0x10/0xff","0x7"])");
  EXPECT_EQ(shape["classes"][1]["cgroup"].dump(), R"(["system.slice/backup.service"])");
}

TEST(ControlHandler, ShowsTheControlLimitAsTheFileHasIt) {
  FakeDaemon daemon;
  daemon.status_now.shapes[0].config.control_limit = {};
  daemon.status_now.shapes[1].config.control_limit = {PacketRate{500}, std::nullopt};
  const Json shapes = ask(R"({"command":"show"})", daemon)["shapes"];
  EXPECT_EQ(shapes[0]["control_limit"].dump(), R"(["none"])");
  EXPECT_EQ(shapes[1]["control_limit"].dump(), R"(["500pps"])");
}

TEST(ControlHandler, ShowsWhatItHasOfABudgetAndWhatItWasTold) {
  FakeDaemon daemon;
  BudgetStatistics budget{.config = {.name = "uplink",
                                     .terms = {.rate = {100'000'000},
                                               .floor = {1'000'000},
                                               .hosts = 8,
                                               .lease = std::chrono::seconds(2)},
                                     .redis = "10.0.0.1:6379"},
                          .interface = "eth0",
                          .want = {130'000'000},
                          .rate = BitRate{42'000'000},
                          .ends_in = std::chrono::milliseconds(1500),
                          .answered_ago = std::chrono::milliseconds(250),
                          .told = BudgetStatistics::Told{
                              .share = {42'000'000}, .used = {99'000'000}, .hosts = 3, .bound = "share"}};
  daemon.status_now.budgets = {budget};
  budget.rate.reset();
  budget.ends_in.reset();
  budget.answered_ago.reset();
  budget.told.reset();
  budget.trouble = "Redis at 10.0.0.1:6379: cannot connect";
  daemon.status_now.budgets.push_back(budget);
  const Json budgets = ask(R"({"command":"show"})", daemon)["budgets"];
  const Json config = {{"rate", "100mbit"},        {"floor", "1mbit"}, {"hosts", 8},
                       {"redis", "10.0.0.1:6379"}, {"lease", "2s"},    {"on_loss", "floor"}};
  const Json expected = {{{"name", "uplink"},
                          {"interface", "eth0"},
                          {"direction", "egress"},
                          {"want_bps", 130'000'000},
                          {"rate_bps", 42'000'000},
                          {"lease_ends_in_s", 1.5},
                          {"answered_ago_s", 0.25},
                          {"trouble", nullptr},
                          {"told",
                           {{"bound", "share"},
                            {"share_bps", 42'000'000},
                            {"used_bps", 99'000'000},
                            {"hosts", 3},
                            {"agreed", true}}},
                          {"config", config}},
                         {{"name", "uplink"},
                          {"interface", "eth0"},
                          {"direction", "egress"},
                          {"want_bps", 130'000'000},
                          {"rate_bps", nullptr},
                          {"lease_ends_in_s", nullptr},
                          {"answered_ago_s", nullptr},
                          {"trouble", "Redis at 10.0.0.1:6379: cannot connect"},
                          {"told", nullptr},
                          {"config", config}}};
  EXPECT_EQ(budgets.dump(1), expected.dump(1));
}

TEST(ControlHandler, ShowsATreeOfRatesAsTheFileHasIt) {
  FakeDaemon daemon;
  ShapeConfig& config = daemon.status_now.shapes[0].config;
  config.rate = BitRate{100'000'000};
  config.groups = {{.name = "people", .place = {.ceiling = BitRate{20'000'000}, .weight = 2}},
                   {.name = "guests", .place = {.parent = "people", .priority = 7}}};
  ClassConfig& clients = config.classes[1];
  clients.place = {.parent = "guests", .ceiling = BitRate{5'000'000}};
  clients.guarantee = BitRate{1'500'000};
  clients.fair = true;
  clients.aqm = QueueManagement::codel;
  const Json shape = ask(R"({"command":"show"})", daemon)["shapes"][0];
  EXPECT_EQ(shape["rate"], "100mbit");
  EXPECT_EQ(shape["groups"].dump(),
            R"([{"name":"people","parent":null,"ceiling":"20mbit","budget":null,"priority":3,"weight":2},)"
            R"({"name":"guests","parent":"people","ceiling":null,"budget":null,"priority":7,"weight":1}])");
  const Json& shown = shape["classes"][1];
  EXPECT_EQ(shown["group"], "guests");
  EXPECT_EQ(shown["guarantee"], "1500kbit");
  EXPECT_EQ(shown["ceiling"], "5mbit");
  EXPECT_EQ(shown["fair"], true);
  EXPECT_EQ(shown["aqm"], "codel");
  EXPECT_EQ(shown["target"], "5ms");
  EXPECT_EQ(shown["interval"], "100ms");
  EXPECT_EQ(shown["ecn"], true);
}

TEST(ControlHandler, ShowsPolicingAsTheFileHasIt) {
  FakeDaemon daemon;
  ShapeStatistics& eth0 = daemon.status_now.shapes[0];
  ClassConfig& clients = eth0.config.classes[1];
  clients.action = ClassAction::police;
  clients.queue = {};
  eth0.shaper.classes[1].remarked = {7, 700};
  Json shown = ask(R"({"command":"show"})", daemon)["shapes"][0]["classes"][1];
  EXPECT_EQ(shown["action"], "police");
  EXPECT_EQ(shown["exceed"], "drop");
  EXPECT_EQ(shown["limiter"], "token-bucket");
  EXPECT_EQ(shown["rate"].dump(), R"(["1000pps"])");
  EXPECT_EQ(shown["queue"].dump(), "[]");
  EXPECT_EQ(shown["remarked"].dump(), R"({"packets":7,"bytes":700})");
  for (const char* member : {"limit", "window", "priority", "weight", "fair", "aqm"})
    EXPECT_TRUE(shown[member].is_null()) << member;

  clients.rate = {};
  clients.police = {.limiter = Limiter::sliding_window,
                    .window = {.packets = {}, .bytes = DataSize{10 << 20}, .length = std::chrono::hours(1)},
                    .exceed_dscp = 8};
  shown = ask(R"({"command":"show"})", daemon)["shapes"][0]["classes"][1];
  EXPECT_EQ(shown["exceed"], "dscp:cs1");
  EXPECT_EQ(shown["limiter"], "sliding-window");
  EXPECT_EQ(shown["limit"], "10mb");
  EXPECT_EQ(shown["window"], "3600s");
  EXPECT_EQ(shown["rate"].dump(), "[]");
  EXPECT_EQ(shown["burst"].dump(), "[]");
}

TEST(ControlHandler, CountsBeyond32And53Bits) {
  FakeDaemon daemon;
  daemon.status_now.shapes[0].shaper.received = {18'446'744'073'709'551'615u, 9'007'199'254'740'993u};
  const std::string reply = handle_request(R"({"command":"show"})", daemon).line;
  EXPECT_THAT(reply, HasSubstr(R"("received":{"packets":18446744073709551615,"bytes":9007199254740993})"));
}

TEST(ControlHandler, GivesNullForTheConfigurationOfACommandLine) {
  FakeDaemon daemon;
  daemon.status_now.config_path.clear();
  EXPECT_TRUE(ask(R"({"command":"version"})", daemon)["config"].is_null());
}

TEST(ControlHandler, AnswersVersion) {
  EXPECT_EQ(
      ask(R"({"command":"version"})").dump(),
      R"({"schema":1,"version":"0.1.0","pid":1234,"uptime_s":7980.25,"config":"/etc/headgate/headgate.toml"})");
}

TEST(ControlHandler, Reloads) {
  FakeDaemon daemon;
  EXPECT_EQ(ask(R"({"command":"reload"})", daemon).dump(),
            R"({"schema":1,"reloaded":true,"messages":["1 class changed"]})");
  EXPECT_EQ(daemon.reloads, 1);
}

TEST(ControlHandler, TellsWhyAReloadWasRefused) {
  FakeDaemon daemon;
  daemon.reload_result = {false, {"h.toml:3:1: no rate"}};
  EXPECT_EQ(
      ask(R"({"command":"reload"})", daemon).dump(),
      R"({"schema":1,"error":{"code":"refused","message":"not reloaded, the configuration in force stays as it )"
      R"(was","details":["h.toml:3:1: no rate"]}})");
}

TEST(ControlHandler, ListsTheFlowsOfAClassThatIsNamedInFull) {
  FakeDaemon daemon;
  const Json reply = ask(R"({"command":"flows","class":"eth0/egress/clients","limit":2})", daemon);
  ASSERT_EQ(daemon.queries.size(), 1);
  EXPECT_EQ(daemon.queries[0].interface, "eth0");
  EXPECT_EQ(daemon.queries[0].direction, Direction::egress);
  EXPECT_EQ(daemon.queries[0].class_name, "clients");
  EXPECT_EQ(daemon.queries[0].limit, 2);
  EXPECT_EQ(reply["classes"].dump(),
            R"([{"name":"eth0/egress/clients","bypass":false,"has_plans":false,"flows":20}])");
  ASSERT_EQ(reply["flows"].size(), 2);
  EXPECT_EQ(
      reply["flows"][0].dump(),
      R"({"class":"eth0/egress/clients","text":"→ 10.0.0.3","key":{"destination":"10.0.0.3"},"plan":null,)"
      R"("sent":{"packets":8000,"bytes":480000},"dropped":{"packets":39797,"bytes":2387820},)"
      R"("queued":{"packets":40,"bytes":2400}})");
}

TEST(ControlHandler, CountsTheMembersOfEachPlan) {
  FakeDaemon daemon;
  add_plans(daemon);
  const Json reply = ask(R"({"command":"show"})", daemon);
  EXPECT_EQ(
      reply["shapes"][0]["classes"][1]["plans"].dump(),
      R"([{"name":"gold","rate":["10mbit"],"budget":null,"burst":["1p"],"queue":[],"together":false,"members_file":null,"members":50000},)"
      R"({"name":"silver","rate":["2mbit"],"budget":null,"burst":["1p"],"queue":[],"together":false,"members_file":null,"members":1}])");
  EXPECT_EQ(reply["shapes"][1]["classes"][0]["plans"], Json::array());
}

TEST(ControlHandler, NamesThePlanOfAFlow) {
  FakeDaemon daemon;
  add_plans(daemon);
  const Json reply = ask_flows(daemon, "eth0/egress/clients");
  EXPECT_EQ(reply["classes"][0]["has_plans"], true);
  EXPECT_EQ(reply["flows"][0]["plan"], nullptr);
  EXPECT_EQ(reply["flows"][1]["plan"], "gold");
}

TEST(ControlHandler, NamesAPlanInPlaceOfAnAddressWhereItsMembersAreTogether) {
  FakeDaemon daemon;
  add_the_other_way(daemon);
  const Json reply = ask_flows(daemon, "eth1/ingress/clients");
  EXPECT_EQ(reply["flows"][1]["text"], "acme");
  EXPECT_EQ(reply["flows"][1]["key"].dump(), R"({"plan":"acme"})");
  EXPECT_EQ(reply["flows"][1]["plan"], "acme");
}

Json ask_both(FakeDaemon& daemon, const std::string& class_name, std::size_t limit = 100) {
  return ask(Json{{"command", "flows"}, {"class", class_name}, {"both", true}, {"limit", limit}}.dump(),
             daemon);
}

TEST(ControlHandler, PutsBothWaysOfAnAddressSideBySide) {
  for (const char* name : {"clients", "eth0/egress/clients", "eth1/ingress/clients"}) {
    FakeDaemon daemon;
    add_the_other_way(daemon);
    const Json reply = ask_both(daemon, name);
    EXPECT_EQ(reply["classes"].dump(),
              R"([{"name":"eth0/egress/clients","way":"down","has_plans":true,"flows":20},)"
              R"({"name":"eth1/ingress/clients","way":"up","has_plans":true,"flows":3}])");
    ASSERT_EQ(reply["pairs"].size(), 4u);
    EXPECT_EQ(reply["pairs"][0]["text"], "10.0.0.3");
    EXPECT_TRUE(reply["pairs"][0]["up"].is_null());
    EXPECT_EQ(
        reply["pairs"][1].dump(),
        R"({"interface":null,"text":"10.0.0.2","key":{"destination":"10.0.0.2"},)"
        R"("down":{"class":"eth0/egress/clients","plan":"gold","sent":{"packets":12000,"bytes":720000},)"
        R"("dropped":{"packets":100,"bytes":6000},"queued":{"packets":60,"bytes":3600}},)"
        R"("up":{"class":"eth1/ingress/clients","plan":null,"sent":{"packets":100,"bytes":6000},)"
        R"("dropped":{"packets":0,"bytes":0},"queued":{"packets":1,"bytes":60}}})");
    EXPECT_EQ(reply["pairs"][2]["text"], "acme");
    EXPECT_EQ(reply["pairs"][2]["down"]["sent"]["packets"], 400);
    EXPECT_EQ(reply["pairs"][2]["up"]["sent"]["packets"], 50);
    EXPECT_EQ(reply["pairs"][3]["text"], "10.0.0.77");
    EXPECT_TRUE(reply["pairs"][3]["down"].is_null());
  }
}

TEST(ControlHandler, ShowsTheLargestOfBothWaysTogether) {
  FakeDaemon daemon;
  add_the_other_way(daemon);
  daemon.flows_of["eth1/ingress/clients"][2].sent.packets = 1'000'000;
  const Json reply = ask_both(daemon, "clients", 1);
  ASSERT_EQ(reply["pairs"].size(), 1u);
  EXPECT_EQ(reply["pairs"][0]["text"], "10.0.0.77");
}

TEST(ControlHandler, KeepsTheAddressesOfInstancesApart) {
  FakeDaemon daemon;
  add_pattern(daemon);
  const std::size_t first = daemon.status_now.shapes.size() - 2;
  for (std::size_t i : {first, first + 1}) {
    ShapeStatistics back = daemon.status_now.shapes[i];
    back.direction = back.config.direction = Direction::ingress;
    back.config.classes[0].key = {.source_address = true};
    daemon.status_now.shapes.push_back(back);
  }
  PatternStatistics back = daemon.status_now.patterns[0];
  back.sum.direction = back.sum.config.direction = Direction::ingress;
  back.sum.config.classes[0].key = {.source_address = true};
  daemon.status_now.patterns.push_back(back);
  daemon.flows_of["veth1/ingress/tenants"] = {{ipv4_key("10.1.0.2", nullptr), kNoPlan, {1, 100}, {}, {}}};
  daemon.flows_of["veth2/ingress/tenants"] = {{ipv4_key("10.1.0.2", nullptr), kNoPlan, {2, 200}, {}, {}}};
  const Json reply = ask_both(daemon, "veth*/egress/tenants");
  EXPECT_EQ(reply["classes"][1]["name"], "veth*/ingress/tenants");
  ASSERT_EQ(reply["pairs"].size(), 4u);
  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(reply["pairs"][i]["interface"], i == 0 ? "veth2" : "veth1");
    EXPECT_EQ(reply["pairs"][i]["text"], "10.1.0.2");
    EXPECT_EQ(reply["pairs"][i]["up"]["sent"]["packets"], 2 - i);
  }
}

TEST(ControlHandler, SaysWhyThereIsNoOtherWay) {
  FakeDaemon daemon;
  add_pattern(daemon);
  EXPECT_EQ(
      error_message(ask_both(daemon, "tenants")),
      "veth*/egress/tenants has no other way: there is no class \"veth*/ingress/tenants\", and no other one "
      "of that name with key = \"src\"");
  EXPECT_EQ(
      error_message(ask_both(daemon, "clients")),
      "eth0/egress/clients and eth1/ingress/clients do not go together: they have key = \"dst\" and key = "
      "\"dst\", expected one by destination and one by source, alike in all else");
  EXPECT_EQ(error_message(ask_both(daemon, "dns")),
            "eth0/egress/dns is a bypass class, its packets are not told apart by flow");
  EXPECT_THAT(error_message(ask_both(daemon, "video")),
              testing::HasSubstr("expected the source or the destination"));
  EXPECT_EQ(error_code(ask_both(daemon, "video")), kErrorUnknownClass);
  EXPECT_THAT(error_message(ask_both(daemon, "client")), testing::HasSubstr("did you mean \"clients\"?"));
  EXPECT_EQ(error_message(ask(R"({"command":"flows","both":true})", daemon)),
            "the request has no member \"class\"");
}

TEST(ControlHandler, FindsAClassByItsNameAloneWhereThatIsUnique) {
  FakeDaemon daemon;
  const Json reply = ask_flows(daemon, "video");
  EXPECT_EQ(reply["flows"][0]["text"], "10.0.0.1 → 10.0.0.2 udp 5000→53");
  EXPECT_EQ(
      reply["flows"][0]["key"].dump(),
      R"({"source":"10.0.0.1","destination":"10.0.0.2","protocol":17,"source_port":5000,"destination_port":53})");
}

TEST(ControlHandler, ListsTheCandidatesOfAnAmbiguousClass) {
  FakeDaemon daemon;
  const Json reply = ask_flows(daemon, "clients");
  EXPECT_EQ(error_code(reply), kErrorAmbiguousClass);
  EXPECT_EQ(error_message(reply), "class \"clients\" may be any of:");
  EXPECT_THAT(reply["error"]["details"], ElementsAre("eth0/egress/clients", "eth1/ingress/clients"));
  EXPECT_TRUE(daemon.queries.empty());
}

TEST(ControlHandler, TakesTheInstancesOfAPatternTogetherByTheNameOfTheClassAlone) {
  for (const char* name : {"tenants", "veth*/egress/tenants"}) {
    FakeDaemon daemon;
    add_pattern(daemon);
    const Json reply = ask_flows(daemon, name);
    EXPECT_EQ(reply["classes"].dump(),
              R"([{"name":"veth*/egress/tenants","bypass":false,"has_plans":false,"flows":3}])");
    ASSERT_EQ(reply["flows"].size(), 4u);  // the fake daemon has the same two for each
    EXPECT_EQ(reply["flows"][0]["class"], "veth1/egress/tenants");
    EXPECT_EQ(reply["flows"][1]["class"], "veth2/egress/tenants");
    ASSERT_EQ(daemon.queries.size(), 2u);
    EXPECT_EQ(daemon.queries[0].interface, "veth1");
    EXPECT_EQ(daemon.queries[1].interface, "veth2");
  }
}

TEST(ControlHandler, FindsTheClassOfOneInstance) {
  FakeDaemon daemon;
  add_pattern(daemon);
  const Json reply = ask_flows(daemon, "veth2/egress/tenants");
  EXPECT_EQ(reply["classes"][0]["name"], "veth2/egress/tenants");
  ASSERT_EQ(daemon.queries.size(), 1u);
  EXPECT_EQ(daemon.queries[0].interface, "veth2");
}

TEST(ControlHandler, AClassOfAPatternAndOneOfAShapeByTheSameNameAreTwo) {
  FakeDaemon daemon;
  add_pattern(daemon);
  for (ShapeStatistics* shape :
       {&daemon.status_now.shapes[2], &daemon.status_now.shapes[3], &daemon.status_now.patterns[0].sum})
    shape->config.classes[0].name = "video";
  const Json reply = ask_flows(daemon, "video");
  EXPECT_EQ(error_code(reply), kErrorAmbiguousClass);
  EXPECT_THAT(reply["error"]["details"], ElementsAre("eth1/ingress/video", "veth*/egress/video"));
}

TEST(ControlHandler, AClassOfAPatternWithoutInterfacesHasNoFlows) {
  FakeDaemon daemon;
  add_pattern(daemon);
  daemon.status_now.shapes.resize(2);
  const Json reply = ask_flows(daemon, "tenants");
  EXPECT_EQ(reply["classes"].size(), 1u);
  EXPECT_TRUE(reply["flows"].empty());
  EXPECT_THAT(error_message(ask(R"({"command":"capture","class":"tenants"})", daemon)),
              HasSubstr("veth*/egress/tenants is a class of a pattern that no interface matches now"));
}

TEST(ControlHandler, RefusesACaptureOfAllInstancesAndNamesWhatToWrite) {
  FakeDaemon daemon;
  add_pattern(daemon);
  const Json reply = ask(R"({"command":"capture","class":"tenants"})", daemon);
  EXPECT_EQ(error_code(reply), "refused");
  EXPECT_EQ(error_message(reply),
            "no capture: veth*/egress/tenants is the class of all interfaces that match, and a trace is of "
            "one: write "
            "veth1/egress/tenants, or that of another interface");
  EXPECT_EQ(ask(R"({"command":"capture","class":"veth2/egress/tenants"})", daemon)["class"],
            "veth2/egress/tenants");
  ASSERT_EQ(daemon.capture_queries.size(), 1u);
  EXPECT_EQ(daemon.capture_queries[0].interface, "veth2");
}

TEST(ControlHandler, ListsAPatternOnceAmongTheClasses) {
  FakeDaemon daemon;
  add_pattern(daemon);
  EXPECT_THAT(ask_flows(daemon, "tenant/")["error"]["details"],
              ElementsAre("eth0/egress/dns", "eth0/egress/clients", "eth1/ingress/clients",
                          "eth1/ingress/video", "veth*/egress/tenants"));
}

TEST(ControlHandler, ProposesTheNearestClassAndListsAll) {
  FakeDaemon daemon;
  const Json reply = ask_flows(daemon, "vdieo");
  EXPECT_EQ(error_code(reply), kErrorUnknownClass);
  EXPECT_EQ(error_message(reply), "no class \"vdieo\", did you mean \"video\"? The classes are:");
  EXPECT_THAT(reply["error"]["details"], ElementsAre("eth0/egress/dns", "eth0/egress/clients",
                                                     "eth1/ingress/clients", "eth1/ingress/video"));
  EXPECT_EQ(error_message(ask_flows(daemon, "eth0/egres/dns")),
            "no class \"eth0/egres/dns\", did you mean \"eth0/egress/dns\"? The classes are:");
  EXPECT_EQ(error_message(ask_flows(daemon, "zzzzzz")), "no class \"zzzzzz\", the classes are:");
}

TEST(ControlHandler, SaysWhenThereIsNoClassAtAll) {
  FakeDaemon daemon;
  daemon.status_now.shapes.clear();
  EXPECT_EQ(error_message(ask_flows(daemon, "dns")), "no class \"dns\": no class is configured");
}

TEST(ControlHandler, MergesTheFlowsOfAllClassesLargestFirst) {
  FakeDaemon daemon;
  const Json reply = ask(R"({"command":"flows","limit":3})", daemon);
  EXPECT_EQ(reply["classes"].size(), 4);
  std::vector<std::string> order;
  for (const Json& flow : reply["flows"])
    order.push_back(flow["class"].get<std::string>() + " " + flow["text"].get<std::string>());
  EXPECT_THAT(order, ElementsAre("eth0/egress/clients → 10.0.0.3", "eth1/ingress/clients → 10.0.0.3",
                                 "eth0/egress/clients → 10.0.0.2"));
}

TEST(ControlHandler, ABypassClassHasNoFlows) {
  FakeDaemon daemon;
  const Json reply = ask_flows(daemon, "dns");
  EXPECT_EQ(reply["classes"].dump(),
            R"([{"name":"eth0/egress/dns","bypass":true,"has_plans":false,"flows":0}])");
  EXPECT_TRUE(reply["flows"].empty());
  EXPECT_TRUE(daemon.queries.empty());
}

TEST(ControlHandler, AsksForANameWhenThereAreManyClasses) {
  FakeDaemon daemon;
  ClassConfig config = daemon.status_now.shapes[0].config.classes[1];
  for (int i = 0; i < 20; ++i) {
    config.name = "c" + std::to_string(i);
    daemon.status_now.shapes[0].config.classes.push_back(config);
  }
  const Json reply = ask(R"({"command":"flows"})", daemon);
  EXPECT_EQ(error_code(reply), kErrorAmbiguousClass);
  EXPECT_EQ(reply["error"]["details"].size(), 24);
}

TEST(ControlHandler, AClassThatWentBetweenTwoLooksIsUnknown) {
  FakeDaemon daemon;
  daemon.flows_of.erase("video");
  EXPECT_EQ(error_code(ask_flows(daemon, "video")), kErrorUnknownClass);
}

TEST(ControlHandler, TheLongestListOfFlowsStaysBelowThreeMebibytes) {
  FakeDaemon daemon;
  FlowStatistics flow;
  flow.key.source.fill(0xff);
  flow.key.destination.fill(0xff);
  flow.key.source_port = flow.key.destination_port = 65'535;
  flow.key.protocol = 253;
  flow.key.vlan.fill(0xff);
  constexpr std::uint64_t kYearsOfFullSpeed = 1ull << 52;
  flow.sent = flow.dropped = flow.queued = {kYearsOfFullSpeed, kYearsOfFullSpeed};
  daemon.flows_of["video"].assign(kMaxFlowLimit, flow);
  daemon.status_now.shapes[1].config.classes[1].key.vlan = true;
  const std::string reply =
      handle_request(R"({"command":"flows","class":"video","limit":4096})", daemon).line;
  EXPECT_EQ(Json::parse(reply)["flows"].size(), kMaxFlowLimit);
  EXPECT_LT(reply.size(), 3 * 1024 * 1024);
}

TEST(ControlHandler, RepliesToInvalidUtf8InNamesWithReplacements) {
  FakeDaemon daemon;
  daemon.status_now.config_path = "/etc/\xff.toml";
  EXPECT_EQ(ask(R"({"command":"version"})", daemon)["config"], "/etc/\xef\xbf\xbd.toml");
}

TEST(ControlHandler, RepliesWhenTheDaemonThrows) {
  class Broken : public FakeDaemon {
    DaemonStatus status() override { throw std::runtime_error("out of order"); }
  } daemon;
  const Json reply = ask(R"({"command":"show"})", daemon);
  EXPECT_EQ(error_code(reply), kErrorInternal);
  EXPECT_EQ(error_message(reply), "out of order");
}

struct BadRequest {
  const char* name;
  std::string line;
  std::string message;
};

class BadRequests : public testing::TestWithParam<BadRequest> {};

TEST_P(BadRequests, GetAnErrorReply) {
  FakeDaemon daemon;
  const Json reply = ask(GetParam().line, daemon);
  EXPECT_EQ(error_code(reply), kErrorBadRequest);
  EXPECT_EQ(error_message(reply), GetParam().message);
  EXPECT_EQ(daemon.reloads, 0);
  EXPECT_TRUE(daemon.queries.empty());
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

INSTANTIATE_TEST_SUITE_P(
    ControlHandler, BadRequests,
    testing::Values(
        BadRequest{"Empty", "", "the request is not JSON: see byte 1"},
        BadRequest{"NotJson", "show", "the request is not JSON: see byte 1"},
        BadRequest{"Unfinished", R"({"command":"show")", "the request is not JSON: see byte 18"},
        BadRequest{"TwoObjects", R"({"command":"reload"}{"command":"reload"})",
                   "the request is not JSON: see byte 21"},
        BadRequest{"Array", R"(["show"])", "the request is not a JSON object"},
        BadRequest{"Null", "null", "the request is not a JSON object"},
        BadRequest{"NoCommand", "{}", "the request has no member \"command\""},
        BadRequest{"CommandIsNumber", R"({"command":1})", "member \"command\" is not a string"},
        BadRequest{"UnknownCommand", R"({"command":"halt"})",
                   "unknown command \"halt\", expected " EVERY_COMMAND ""},
        BadRequest{"EmptyCommand", R"({"command":""})", "unknown command \"\", expected " EVERY_COMMAND ""},
        BadRequest{"UnknownMember", R"({"command":"reload","fast":true})",
                   "unknown member \"fast\" in the request"},
        BadRequest{"ClassIsList", R"({"command":"flows","class":["dns"]})",
                   "member \"class\" is not a string"},
        BadRequest{"LimitZero", R"({"command":"flows","limit":0})",
                   "member \"limit\" is not a whole number from 1 to 4096"},
        BadRequest{"LimitNegative", R"({"command":"flows","limit":-1})",
                   "member \"limit\" is not a whole number from 1 to 4096"},
        BadRequest{"LimitFraction", R"({"command":"flows","limit":1.5})",
                   "member \"limit\" is not a whole number from 1 to 4096"},
        BadRequest{"LimitTooLarge", R"({"command":"flows","limit":4097})",
                   "member \"limit\" is not a whole number from 1 to 4096"},
        BadRequest{"LimitBeyond64Bits", R"({"command":"flows","limit":99999999999999999999})",
                   "member \"limit\" is not a whole number from 1 to 4096"},
        BadRequest{"LimitOutOfRange", R"({"command":"flows","limit":1e999})",
                   "the request holds a number out of range"},
        BadRequest{"LimitText", R"({"command":"flows","limit":"5"})",
                   "member \"limit\" is not a whole number from 1 to 4096"},
        BadRequest{"NestedDeeply", R"({"command":)" + nested(30'000) + "}",
                   "the request is nested too deeply"},
        BadRequest{"NestedWithoutEnd", std::string(60'000, '['), "the request is nested too deeply"},
        BadRequest{"InvalidUtf8", "{\"command\":\"sho\xc3\x28\"}", "the request is not JSON: see byte 17"},
        BadRequest{"LongCommand", R"({"command":")" + std::string(60'000, 'x') + R"("})",
                   "unknown command \"" + std::string(80, 'x') + "...\", expected " EVERY_COMMAND ""},
        BadRequest{"ZeroByte", std::string("{\"command\":\"show\"}\0", 19),
                   "the request is not JSON: see byte 19"}),
    [](const auto& test) { return std::string(test.param.name); });

// Whatever bytes come, there is one reply line of JSON with the schema in it.
TEST(ControlHandler, SurvivesMutatedRequests) {
  const std::vector<std::string> seeds = {
      R"({"command":"show"})",
      R"({"command":"flows","class":"eth0/egress/clients","limit":100})",
      R"({"command":"plan","class":"eth0/egress/clients","member":"10.0.0.5","plan":null})",
      R"({"command":"reload"})",
      R"({"command":"flows","class":"\u00e9\ud83d\ude00","limit":1e5})",
      R"([[{"a":[1,-2.5e3,null,true,"\\"]}]])"};
  const std::string interesting = "{}[]\",:\\0123456789eE+-.untrfals/ \t\r\xff\xc3\xed\x80\0";
  std::mt19937 random(20'240);
  FakeDaemon daemon;
  for (int round = 0; round < 20'000; ++round) {
    std::string line = seeds[random() % seeds.size()];
    for (unsigned mutations = 1 + random() % 6; mutations > 0; --mutations) {
      const std::size_t position = random() % (line.size() + 1);
      const char byte =
          random() % 2 ? interesting[random() % interesting.size()] : static_cast<char>(random());
      switch (random() % 4) {
        case 0:
          line.insert(position, 1, byte);
          break;
        case 1:
          if (position < line.size()) line[position] = byte;
          break;
        case 2:
          line.erase(position, random() % 8);
          break;
        default:
          line.insert(position, line.substr(random() % (line.size() + 1), random() % 16));
      }
    }
    SCOPED_TRACE(line);
    ask(line, daemon);
    if (HasFailure()) return;
    daemon.queries.clear();
  }
}

TEST(ControlHandler, StartsACaptureOfAClassWithTheEventsAskedFor) {
  FakeDaemon daemon;
  const Reply reply = handle_request(
      R"({"command":"capture","class":"eth0/egress/clients","events":["dropped","received"]})", daemon);
  ASSERT_NE(reply.stream, nullptr);
  const Json json = Json::parse(reply.line);
  EXPECT_EQ(json.at("class"), "eth0/egress/clients");
  EXPECT_EQ(json.at("events"), Json({"received", "dropped"}));
  EXPECT_EQ(json.at("format"), "pcapng");
  ASSERT_EQ(daemon.capture_queries.size(), 1u);
  const CaptureQuery& query = daemon.capture_queries[0];
  EXPECT_EQ(query.interface, "eth0");
  EXPECT_EQ(query.direction, Direction::egress);
  EXPECT_EQ(query.class_name, "clients");
  EXPECT_EQ(query.events, (PacketEventSet{true, false, true}));
}

TEST(ControlHandler, CapturesAllEventsUnlessSomeAreNamed) {
  FakeDaemon daemon;
  ask(R"({"command":"capture","class":"dns"})", daemon);
  EXPECT_EQ(daemon.capture_queries.at(0).events, (PacketEventSet{true, true, true}));
}

TEST(ControlHandler, RefusesACaptureOfNoClassOrOfSeveral) {
  FakeDaemon daemon;
  EXPECT_EQ(error_code(ask(R"({"command":"capture"})", daemon)), "bad_request");
  EXPECT_EQ(error_code(ask(R"({"command":"capture","class":"dnss"})", daemon)), "unknown_class");
  EXPECT_EQ(error_code(ask(R"({"command":"capture","class":"clients"})", daemon)), "ambiguous_class");
  EXPECT_TRUE(daemon.capture_queries.empty());
}

TEST(ControlHandler, RefusesEventsThatThereAreNot) {
  for (const char* events : {"[]", "\"sent\"", "[\"lost\"]", "[1]", "[null,\"sent\"]", "{}"}) {
    FakeDaemon daemon;
    const Json reply =
        ask(R"({"command":"capture","class":"dns","events":)" + std::string(events) + "}", daemon);
    EXPECT_EQ(error_code(reply), "bad_request") << events;
    EXPECT_THAT(error_message(reply), HasSubstr(R"("received" "sent" "dropped")"));
    EXPECT_TRUE(daemon.capture_queries.empty());
  }
}

TEST(ControlHandler, SaysWhyTheDaemonCapturesNot) {
  FakeDaemon daemon;
  daemon.capture_refusal = "4 captures run already";
  const Json reply = ask(R"({"command":"capture","class":"dns"})", daemon);
  EXPECT_EQ(error_code(reply), "refused");
  EXPECT_EQ(error_message(reply), "no capture: 4 captures run already");
}

}  // namespace
}  // namespace headgate
