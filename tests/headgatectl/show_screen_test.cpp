#include "show_screen.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "control/fake_daemon.hpp"
#include "control/statistics_json.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

Json show(FakeDaemon& daemon) {
  return Json::parse(handle_request(R"({"command":"show"})", daemon).line);
}

TEST(ShowScreen, ShowsShapesWithTheirClasses) {
  FakeDaemon daemon;
  EXPECT_EQ(show_screen(show(daemon), {}, {}, {}),
            R"(headgated 0.1.0, process 1234, up 2 h 13 min, /etc/headgate/headgate.toml

eth0 egress  diverting by tcx
  CLASS            RATE  FLOWS  RECEIVED   SENT  DROPPED  QUEUED      P50      P99     MAX
  dns            bypass      -        50     50        0       0        -        -       -
  clients       1000pps     20     60.0k  20.0k    39.9k     100  97.0 ms  99.5 ms  100 ms
    dropped: queue_full 39.9k, send_failed 3
  (unmatched)  unshaped      -      1000   1000        0       0        -        -       -
  total               -      -     61.0k  21.1k    39.9k     100        -        -       -
    lost before headgate received them: 3 packets in the capture ring, 0 at the divert device
    passed unshaped by the dead-man switch: 7 packets in 1.50 s, open 2 times
    control traffic, never shaped: 40 packets
    passed unshaped, with tunnel metadata or decrypted by IPsec: 5 packets
    dropped, for another program sent them on the divert device: 2 packets

eth1 ingress  not diverting, traffic is not shaped: the interface is down
  CLASS                  RATE  FLOWS  RECEIVED  SENT  DROPPED  QUEUED  P50  P99  MAX
  clients             1000pps      0         0     0        0       0    -    -    -
  video        5000pps 20mbit      2         0     0        0       0    -    -    -
  (unmatched)        unshaped      -         0     0        0       0    -    -    -
  total                     -      -         0     0        0       0    -    -    -
)");
}

Json plan(const char* name, const char* rate, std::uint64_t members) {
  return {{"name", name}, {"rate", {rate}}, {"members", members}};
}

TEST(ShowScreen, SaysHowManyMembersThePlansOfAClassHave) {
  FakeDaemon daemon;
  Json reply = show(daemon);
  Json& plans = reply["shapes"][0]["classes"][1]["plans"];
  plans = {plan("gold", "10mbit", 50'000), plan("silver", "2mbit", 49'999)};
  EXPECT_NE(show_screen(reply, {}, {}, {})
                .find("\n    plans: gold 10mbit 50 000 members, silver 2mbit 49 999 members\n    dropped: "),
            std::string::npos);
  plans = Json::array({plan("gold", "10mbit", 1)});
  EXPECT_NE(show_screen(reply, {}, {}, {}).find("\n    plans: gold 10mbit 1 member\n"), std::string::npos);
  plans = Json::array({plan("acme", "10mbit", 3)});
  plans[0]["together"] = true;
  EXPECT_NE(show_screen(reply, {}, {}, {}).find("\n    plans: acme 10mbit 3 members together\n"),
            std::string::npos);
  plans[0]["budget"] = "uplink";
  EXPECT_NE(show_screen(reply, {}, {}, {}).find("\n    plans: acme budget uplink 3 members together\n"),
            std::string::npos);
  plans = Json::array();
  EXPECT_EQ(show_screen(reply, {}, {}, {}).find("plans"), std::string::npos);
}

TEST(ShowScreen, NamesSoManyPlansAsFitOnALine) {
  FakeDaemon daemon;
  Json reply = show(daemon);
  Json& plans = reply["shapes"][0]["classes"][1]["plans"];
  for (int i = 0; i < 16; ++i) plans.push_back(plan("a", "1mbit", 7));
  EXPECT_NE(
      show_screen(reply, {}, {}, {}).find("\n    plans: a 1mbit 7 members, a 1mbit 7 members and 14 more\n"),
      std::string::npos);
  for (Json& one : plans) one.erase("members");
  EXPECT_NE(
      show_screen(reply, {}, {}, {}).find("\n    plans: a 1mbit, a 1mbit, a 1mbit, a 1mbit and 12 more\n"),
      std::string::npos);
  plans[0] = plan("x", "1mbit", 7);
  plans[0]["name"] = std::string(64, 'x');
  EXPECT_NE(show_screen(reply, {}, {}, {}).find("x 1mbit 7 members and 15 more\n"), std::string::npos);
}

// One that is well: it has its share.
BudgetStatistics some_budget() {
  using namespace std::chrono_literals;
  BudgetConfig config{.name = "uplink",
                      .terms = {{100'000'000}, {1'000'000}, 8, 2s},
                      .redis = "10.0.0.1:6379",
                      .password_file = "/etc/headgate/redis-password"};
  return {.config = config,
          .interface = "eth0",
          .want = {128'000'000},
          .rate = BitRate{42'400'000},
          .ends_in = 1900ms,
          .answered_ago = 100ms,
          .told = BudgetStatistics::Told{
              .share = {42'400'000}, .used = {99'000'000}, .hosts = 3, .bound = "share", .agreed = true}};
}

std::string budget_screen(const BudgetStatistics& budget) {
  FakeDaemon daemon;
  daemon.status_now.budgets = {budget};
  const std::string screen = show_screen(show(daemon), {}, {}, {});
  return screen.substr(std::min(screen.find("\nbudget "), screen.size()));
}

TEST(ShowScreen, SaysWhatThisHostHasOfABudgetAndWhy) {
  BudgetStatistics budget = some_budget();
  const std::string head = "\nbudget uplink  eth0 egress  42.4 Mbit/s of 100 Mbit/s, wants 128 Mbit/s: ";
  const std::string times = "; lease ends in 1.90 s, answered 100 ms ago\n";
  EXPECT_EQ(budget_screen(budget), head + "its share among 3 hosts (max-min)" + times);
  budget.told->bound = "others";
  EXPECT_EQ(budget_screen(budget),
            head + "what the others leave, among 3 hosts, until they have given back" + times);
  budget.told->bound = "learning";
  EXPECT_EQ(budget_screen(budget),
            head + "learning: for one lease Redis cannot know what was granted before" + times);
  budget.told->bound = "hosts";
  EXPECT_EQ(budget_screen(budget), head + "the floor: more hosts than hosts = 8" + times);
  budget.told->bound = "old";
  EXPECT_EQ(budget_screen(budget), head + "no grant: Redis has a newer request of this host" + times);
  budget.told->bound = "want";
  budget.told->hosts = 1;
  EXPECT_EQ(budget_screen(budget), head + "all that it wants, among 1 host" + times);
}

TEST(ShowScreen, SaysThatTheHostsOfABudgetDisagree) {
  BudgetStatistics budget = some_budget();
  budget.told->agreed = false;
  EXPECT_NE(
      budget_screen(budget).find(
          " ago\n    the hosts' files say different rates, floors, hosts or leases: the strictest hold\n"),
      std::string::npos);
}

TEST(ShowScreen, SaysThatThereWasNoAnswerWhileALeaseGoesOn) {
  BudgetStatistics budget = some_budget();
  budget.trouble = "Redis at 10.0.0.1:6379: no answer within 500000 us";
  EXPECT_NE(budget_screen(budget).find("; lease ends in 1.90 s, answered 100 ms ago: Redis at 10.0.0.1:6379: "
                                       "no answer within 500000 us\n"),
            std::string::npos);
}

TEST(ShowScreen, SaysThatAHostIsCutOffFromABudget) {
  BudgetStatistics budget = some_budget();
  budget.ends_in.reset();
  budget.rate = BitRate{1'000'000};
  budget.trouble = "Redis at 10.0.0.1:6379: cannot connect: Connection refused";
  EXPECT_EQ(budget_screen(budget),
            "\nbudget uplink  eth0 egress  1.00 Mbit/s of 100 Mbit/s, wants 128 Mbit/s: cut off, the floor, "
            "answered 100 ms ago: Redis at 10.0.0.1:6379: cannot connect: Connection refused\n");
  budget.config.on_loss = OnLoss::hold;
  EXPECT_NE(budget_screen(budget).find(": cut off, on_loss = \"hold\", answered"), std::string::npos);
  budget.config.on_loss = OnLoss::open;
  budget.rate.reset();
  EXPECT_NE(
      budget_screen(budget).find("  no limit of 100 Mbit/s, wants 128 Mbit/s: cut off, on_loss = \"open\", "),
      std::string::npos);
  budget = some_budget();
  budget.ends_in.reset();
  budget.answered_ago.reset();
  budget.told.reset();
  EXPECT_NE(budget_screen(budget).find(": cut off, the floor, no answer yet\n"), std::string::npos);
}

TEST(ShowScreen, NamesTheBudgetInPlaceOfARate) {
  const Json of_class = {{"rate", {"1mbit"}}, {"ceiling", "5mbit"}, {"budget", "uplink"}};
  EXPECT_EQ(limits_text(of_class), "<=5mbit budget uplink");
  const Json fair = {{"rate", Json::array()}, {"fair", true}, {"ceiling", "1mbit"}, {"budget", "uplink"}};
  EXPECT_EQ(limits_text(fair), "fair budget uplink");
  EXPECT_EQ(limits_text({{"name", "office"}, {"ceiling", "1mbit"}, {"budget", "uplink"}}), "budget uplink");
  EXPECT_EQ(link_limit({{"rate", "1mbit"}, {"budget", "uplink"}}), "budget uplink");
  EXPECT_EQ(link_limit({{"rate", "1mbit"}, {"budget", nullptr}}), "1mbit");
  EXPECT_EQ(link_limit({{"rate", nullptr}}), "");
}

TEST(ShowScreen, SaysWhatIsNotAsByDefault) {
  FakeDaemon daemon;
  ShapeConfig& config = daemon.status_now.shapes[0].config;
  config.forward_to = "eth1";
  config.segmentation = Segmentation::whole;
  config.capture = CaptureMethod::pcap;
  config.precision = Precision::high;
  config.workers = 2;
  config.overhead = -14;
  config.mpu = 64;
  config.control_limit = {PacketRate{500}, std::nullopt};
  EXPECT_NE(show_screen(show(daemon), {}, {}, {})
                .find("eth0 to eth1  diverting by tcx, super-packets whole, captured by pcap, precision "
                      "high, 2 workers, overhead -14 bytes, mpu 64 bytes, control limit 500pps\n"),
            std::string::npos);
}

TEST(ShowScreen, CountsBytes) {
  FakeDaemon daemon;
  daemon.status_now.shapes.pop_back();
  EXPECT_EQ(show_screen(show(daemon), {}, {true}, {}),
            R"(headgated 0.1.0, process 1234, up 2 h 13 min, /etc/headgate/headgate.toml

eth0 egress  diverting by tcx
  CLASS            RATE  FLOWS  RECEIVED     SENT  DROPPED  QUEUED      P50      P99     MAX
  dns            bypass      -    5000 B   5000 B      0 B     0 B        -        -       -
  clients       1000pps     20   3.60 MB  1.20 MB  2.39 MB  6000 B  97.0 ms  99.5 ms  100 ms
    dropped: queue_full 2.39 MB, send_failed 180 B
  (unmatched)  unshaped      -   64.0 kB  64.0 kB      0 B     0 B        -        -       -
  total               -      -   3.67 MB  1.27 MB  2.39 MB  6000 B        -        -       -
    lost before headgate received them: 3 packets in the capture ring, 0 at the divert device
    passed unshaped by the dead-man switch: 7 packets in 1.50 s, open 2 times
    control traffic, never shaped: 3200 B
    passed unshaped, with tunnel metadata or decrypted by IPsec: 700 B
    dropped, for another program sent them on the divert device: 180 B
)");
}

TEST(ShowScreen, FoldsTheInstancesOfAPattern) {
  FakeDaemon daemon;
  add_pattern(daemon);
  daemon.status_now.shapes.erase(daemon.status_now.shapes.begin(), daemon.status_now.shapes.begin() + 2);
  EXPECT_EQ(show_screen(show(daemon), {}, {}, {}),
            R"(headgated 0.1.0, process 1234, up 2 h 13 min, /etc/headgate/headgate.toml

veth* egress  2 interfaces, 1 of them diverting by tcx: veth2: the interface is down; veth-odd: cannot be shaped: it has no frames
  CLASS            RATE  FLOWS  RECEIVED  SENT  DROPPED  QUEUED  P50  P99  MAX
  tenants        500pps      3        75    75        0       0    -    -    -
  (unmatched)  unshaped      -         0     0        0       0    -    -    -
  total               -      -        75    75        0       0    -    -    -
)");
}

TEST(ShowScreen, ShowsEachInstanceBelowItsPatternWhenAllAreWanted) {
  FakeDaemon daemon;
  add_pattern(daemon);
  const std::string screen = show_screen(show(daemon), {}, {.all = true}, {});
  const auto of_pattern = screen.find("\nveth* egress  2 interfaces");
  const auto of_first = screen.find("\nveth1 egress  diverting by tcx\n");
  const auto of_second =
      screen.find("\nveth2 egress  not diverting, traffic is not shaped: the interface is down\n");
  EXPECT_LT(screen.find("\neth1 ingress"), of_pattern);
  EXPECT_LT(of_pattern, of_first);
  EXPECT_LT(of_first, of_second);
  EXPECT_NE(of_second, std::string::npos);
}

TEST(ShowScreen, SaysHowManyInterfacesOfAPatternAreDiverting) {
  FakeDaemon daemon;
  add_pattern(daemon);
  daemon.status_now.patterns[0].sum.state.clear();
  const auto says = [&daemon](const std::string& heading) {
    return show_screen(show(daemon), {}, {}, {}).find("\nveth* egress  " + heading + "\n") !=
           std::string::npos;
  };
  PatternStatistics& pattern = daemon.status_now.patterns[0];
  pattern.diverting = 2;
  EXPECT_TRUE(says("2 interfaces, all diverting by tcx"));
  pattern.diverting = 0;
  EXPECT_TRUE(says("2 interfaces, none diverting, traffic is not shaped"));
  pattern.interfaces.pop_back();
  EXPECT_TRUE(says("1 interface, none diverting, traffic is not shaped"));
  pattern.diverting = 1;
  EXPECT_TRUE(says("1 interface, diverting by tcx"));
  pattern.interfaces.clear();
  EXPECT_TRUE(says("no interface matches"));
}

TEST(ShowScreen, ShowsTheRatesOfAPattern) {
  FakeDaemon daemon;
  add_pattern(daemon);
  daemon.status_now.shapes.clear();
  const Json before = show(daemon);
  for (Count* count : {&daemon.status_now.patterns[0].sum.shaper.sent,
                       &daemon.status_now.patterns[0].sum.shaper.classes[0].sent})
    *count += Count{200, 20'000};
  daemon.status_now.uptime += std::chrono::seconds(2);
  EXPECT_NE(show_screen(show(daemon), before, {}, {}).find("100 pps"), std::string::npos);
}

TEST(ShowScreen, ShowsWhatADaemonWithoutPatternsSays) {
  FakeDaemon daemon;
  Json reply = show(daemon);
  const std::string screen = show_screen(reply, {}, {}, {});
  reply.erase("patterns");
  for (Json& shape : reply["shapes"]) shape.erase("pattern");
  EXPECT_EQ(show_screen(reply, reply, {}, {}), screen);
}

TEST(ShowScreen, ShowsRatesBetweenTwoLooks) {
  FakeDaemon daemon;
  daemon.status_now.shapes.pop_back();
  const Json before = show(daemon);
  ShapeStatistics& eth0 = daemon.status_now.shapes[0];
  eth0.lost_ring = 0;
  eth0.unshaped = {};
  eth0.hooks = {};
  for (Count* count : {&eth0.shaper.classes[1].received, &eth0.shaper.classes[1].sent, &eth0.shaper.received,
                       &eth0.shaper.sent}) {
    *count += Count{2'000, 120'000};
  }
  daemon.status_now.uptime += std::chrono::seconds(2);
  EXPECT_EQ(show_screen(show(daemon), before, {}, {}),
            R"(headgated 0.1.0, process 1234, up 2 h 13 min, /etc/headgate/headgate.toml

eth0 egress  diverting by tcx
  CLASS            RATE  FLOWS  RECEIVED   SENT       NOW  DROPPED  QUEUED      P50      P99     MAX
  dns            bypass      -        50     50     0 pps        0       0        -        -       -
  clients       1000pps     20     62.0k  22.0k  1000 pps    39.9k     100  97.0 ms  99.5 ms  100 ms
    dropped: queue_full 39.9k, send_failed 3
  (unmatched)  unshaped      -      1000   1000     0 pps        0       0        -        -       -
  total               -      -     63.0k  23.1k  1000 pps    39.9k     100        -        -       -
)");
}

TEST(ShowScreen, ShowsNoRatesAcrossARestart) {
  FakeDaemon daemon;
  const Json before = show(daemon);
  daemon.status_now.pid = 4321;
  const Json after = show(daemon);
  EXPECT_EQ(show_screen(after, before, {}, {}), show_screen(after, {}, {}, {}));
}

TEST(ShowScreen, ShowsWhatNoClassAccountsForAsOther) {
  FakeDaemon daemon;
  daemon.status_now.shapes.pop_back();
  daemon.status_now.shapes[0].shaper.received += Count{30, 3'000};
  daemon.status_now.shapes[0].shaper.sent += Count{30, 3'000};
  EXPECT_NE(
      show_screen(show(daemon), {}, {}, {})
          .find(
              "  (other)             -      -        30     30        0       0        -        -       -\n"),
      std::string::npos);
}

TEST(ShowScreen, SaysWhatTheKernelLacksAndWhatIsLessForAShape) {
  FakeDaemon daemon;
  daemon.status_now.kernel_lacks = {"TCX (Linux 6.6): divert = \"auto\" is \"clsact\""};
  daemon.status_now.shapes[0].limits = {"shaped packets lose their mark"};
  const std::string screen = show_screen(show(daemon), {}, {}, {});
  EXPECT_NE(screen.find("\nThis kernel lacks TCX (Linux 6.6): divert = \"auto\" is \"clsact\".\n"),
            std::string::npos);
  EXPECT_NE(screen.find("\n    shaped packets lose their mark\n"), std::string::npos) << screen;
}

TEST(ShowScreen, DrawsTheTreeOfALink) {
  FakeDaemon daemon;
  ShapeStatistics& eth0 = daemon.status_now.shapes[0];
  daemon.status_now.shapes.pop_back();
  eth0.lost_ring = 0;
  eth0.unshaped = {};
  eth0.hooks = {};
  eth0.config.rate = BitRate{100'000'000};
  eth0.config.groups = {{.name = "inner", .place = {.parent = "guests"}},
                        {.name = "guests", .place = {.ceiling = BitRate{20'000'000}}}};
  ClassConfig office{.name = "office", .guarantee = BitRate{40'000'000}, .fair = true};
  ClassConfig guest{.name = "guest", .rate = {.bits = BitRate{5'000'000}}, .place = {.parent = "inner"}};
  eth0.config.classes = {eth0.config.classes[0], guest, office};
  ClassStatistics guest_counts{"guest", 3, {100, 100'000}, {90, 90'000}, {}, {10, 10'000}, {}};
  guest_counts.held_by = "guests";
  ClassStatistics office_counts{"office", 7, {600, 600'000}, {590, 590'000}, {}, {7, 7'000}, {}};
  office_counts.dropped[static_cast<std::size_t>(DropReason::aqm)] = {3, 3'000};
  office_counts.guaranteed = {400, 400'000};
  office_counts.marked = {5, 5'000};
  eth0.shaper.classes = {eth0.shaper.classes[0], guest_counts, office_counts};
  eth0.shaper.received = {1'750, 769'000};
  eth0.shaper.sent = {1'730, 749'000};
  eth0.shaper.dropped = office_counts.dropped;
  eth0.shaper.queued = {17, 17'000};
  EXPECT_EQ(show_screen(show(daemon), {}, {}, {}),
            R"(headgated 0.1.0, process 1234, up 2 h 13 min, /etc/headgate/headgate.toml

eth0 egress  diverting by tcx
  CLASS                 RATE  FLOWS  RECEIVED  SENT  DROPPED  QUEUED  P50  P99  MAX
  dns                 bypass      -        50    50        0       0    -    -    -
  link               100mbit     10       700   680        3      17    -    -    -
    office     fair >=40mbit      7       600   590        3       7    -    -    -
      borrowed 190, marked 5
      dropped: aqm 3
    guests          <=20mbit      3       100    90        0      10    -    -    -
      inner                -      3       100    90        0      10    -    -    -
        guest          5mbit      3       100    90        0      10    -    -    -
          held back by guests
  (unmatched)       unshaped      -      1000  1000        0       0    -    -    -
  total                    -      -      1750  1730        3      17    -    -    -
)");
}

// They stand outside of the link, beside what is never shaped.
TEST(ShowScreen, ShowsWhatPolicedClassesRemarkedAndDropped) {
  FakeDaemon daemon;
  ShapeStatistics& eth0 = daemon.status_now.shapes[0];
  daemon.status_now.shapes.pop_back();
  eth0.lost_ring = 0;
  eth0.unshaped = {};
  eth0.hooks = {};
  eth0.config.rate = BitRate{100'000'000};
  ClassConfig bucket{.name = "bucket", .rate = {.bits = BitRate{5'000'000}}, .action = ClassAction::police};
  ClassConfig window{.name = "window", .action = ClassAction::police};
  window.police = {.limiter = Limiter::fixed_window,
                   .window = {.packets = 5000, .bytes = {}, .length = std::chrono::hours(1)},
                   .exceed_dscp = {}};
  eth0.config.classes = {bucket, window};
  ClassStatistics bucket_counts{"bucket", 3, {100, 100'000}, {100, 100'000}, {}, {}, {}};
  bucket_counts.remarked = {20, 20'000};
  ClassStatistics window_counts{"window", 1, {600, 600'000}, {590, 590'000}, {}, {}, {}};
  window_counts.dropped[static_cast<std::size_t>(DropReason::policed)] = {10, 10'000};
  eth0.shaper = {};
  eth0.shaper.classes = {bucket_counts, window_counts};
  eth0.shaper.received = {700, 700'000};
  eth0.shaper.sent = {690, 690'000};
  eth0.shaper.dropped = window_counts.dropped;
  EXPECT_EQ(show_screen(show(daemon), {}, {}, {}),
            R"(headgated 0.1.0, process 1234, up 2 h 13 min, /etc/headgate/headgate.toml

eth0 egress  diverting by tcx
  CLASS                          RATE  FLOWS  RECEIVED  SENT  DROPPED  QUEUED  P50  P99  MAX
  bucket                5mbit policed      3       100   100        0       0    -    -    -
    remarked 20
  window       5000p in 3600s policed      1       600   590       10       0    -    -    -
    dropped: policed 10
  link                        100mbit      0         0     0        0       0    -    -    -
  (unmatched)                unshaped      -         0     0        0       0    -    -    -
  total                             -      -       700   690       10       0    -    -    -
)");
}

TEST(ShowScreen, SaysThatItShapesNothing) {
  FakeDaemon daemon;
  daemon.status_now.shapes.clear();
  daemon.status_now.config_path.clear();
  EXPECT_EQ(show_screen(show(daemon), {}, {}, {}),
            "headgated 0.1.0, process 1234, up 2 h 13 min, configured on its command line\n"
            "It shapes nothing: its configuration has no [[shape]].\n");
}

}  // namespace
}  // namespace headgate
