#include "metrics_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "control/control_handler.hpp"
#include "control/fake_daemon.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

Json show(FakeDaemon& daemon) {
  return Json::parse(handle_request(metrics_request().dump(), daemon).line);
}

std::string text_of(const Json& reply) {
  return metrics_text(reply, MetricsFormat::prometheus);
}

// By name with labels. Each of them once.
std::map<std::string, double> samples_of(const std::string& text) {
  std::map<std::string, double> samples;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    const std::size_t space = line.rfind(' ');
    EXPECT_TRUE(samples.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second) << line;
  }
  return samples;
}

std::map<std::string, double> samples(FakeDaemon& daemon) {
  return samples_of(text_of(show(daemon)));
}

constexpr char kClients[] = R"(interface="eth0",direction="egress",class="clients")";

std::string of(const std::string& name, const std::string& labels) {
  return name + "{" + labels + "}";
}

TEST(MetricsText, HasWhatEachClassCounted) {
  FakeDaemon daemon;
  auto found = samples(daemon);
  EXPECT_EQ(found.at("headgate_up"), 1);
  EXPECT_EQ(found.at(of("headgate_build_info", "version=\"0.1.0\"")), 1);
  EXPECT_EQ(found.at("headgate_uptime_seconds"), 7980.25);
  EXPECT_EQ(found.at(of("headgate_packets_received_total", kClients)), 60'000);
  EXPECT_EQ(found.at(of("headgate_bytes_sent_total", kClients)), 1'200'000);
  EXPECT_EQ(found.at(of("headgate_dropped_packets_total", kClients + std::string(",reason=\"queue_full\""))),
            39'897);
  EXPECT_EQ(found.at(of("headgate_dropped_packets_total", kClients + std::string(",reason=\"policed\""))), 0);
  EXPECT_EQ(found.at(of("headgate_queued_packets", kClients)), 100);
  EXPECT_EQ(found.at(of("headgate_flows", kClients)), 20);
  EXPECT_EQ(found.at(of("headgate_class_rate_packets_per_second", kClients)), 1000);
  EXPECT_EQ(found.count(of("headgate_class_rate_bytes_per_second", kClients)), 0u);
}

TEST(MetricsText, HasWhatThisHostHasOfABudget) {
  using namespace std::chrono_literals;
  FakeDaemon daemon;
  BudgetStatistics budget{
      .config = {.name = "uplink",
                 .terms = {{100'000'000}, {1'000'000}, 8, 2s},
                 .redis = "10.0.0.1:6379",
                 .password_file = "/etc/headgate/redis-password"},
      .interface = "eth0",
      .want = {128'000'000},
      .rate = BitRate{40'000'000},
      .ends_in = 1900ms,
      .answered_ago = 100ms,
      .told = BudgetStatistics::Told{
          .share = {48'000'000}, .used = {96'000'000}, .hosts = 3, .bound = "others", .agreed = true}};
  daemon.status_now.budgets = {budget};
  const std::string labels = R"(interface="eth0",direction="egress",budget="uplink")";
  auto found = samples(daemon);
  EXPECT_EQ(found.at(of("headgate_budget_rate_bytes_per_second", labels)), 5'000'000);
  EXPECT_EQ(found.at(of("headgate_budget_want_bytes_per_second", labels)), 16'000'000);
  EXPECT_EQ(found.at(of("headgate_budget_share_bytes_per_second", labels)), 6'000'000);
  EXPECT_EQ(found.at(of("headgate_budget_used_bytes_per_second", labels)), 12'000'000);
  EXPECT_EQ(found.at(of("headgate_budget_hosts", labels)), 3);
  EXPECT_EQ(found.at(of("headgate_budget_cut_off", labels)), 0);
  EXPECT_EQ(found.at(of("headgate_budget_answer_age_seconds", labels)), 0.1);
  EXPECT_EQ(found.at(of("headgate_budget_total_bytes_per_second", labels)), 12'500'000);
  EXPECT_EQ(found.at(of("headgate_budget_floor_bytes_per_second", labels)), 125'000);
  EXPECT_EQ(found.at(of("headgate_budget_disagreement", labels)), 0);

  daemon.status_now.budgets[0].told->agreed = false;
  daemon.status_now.budgets[0].trouble = "Redis at 10.0.0.1:6379: cannot connect: Connection refused";
  EXPECT_EQ(samples(daemon).at(of("headgate_budget_disagreement", labels)), 1);
  EXPECT_EQ(text_of(show(daemon)).find("10.0.0.1"), std::string::npos);
}

TEST(MetricsText, SaysThatAHostIsCutOffFromABudget) {
  using namespace std::chrono_literals;
  FakeDaemon daemon;
  daemon.status_now.budgets = {{.config = {.name = "uplink",
                                           .terms = {{100'000'000}, {1'000'000}, 8, 2s},
                                           .on_loss = OnLoss::open,
                                           .redis = "unix:/run/redis/redis.sock"},
                                .interface = "eth0"}};
  const std::string labels = R"(interface="eth0",direction="egress",budget="uplink")";
  auto found = samples(daemon);
  EXPECT_EQ(found.at(of("headgate_budget_cut_off", labels)), 1);
  for (const char* absent :
       {"headgate_budget_rate_bytes_per_second", "headgate_budget_share_bytes_per_second",
        "headgate_budget_hosts", "headgate_budget_answer_age_seconds"})
    EXPECT_EQ(found.count(of(absent, labels)), 0u) << absent;
}

TEST(MetricsText, HasWhatEachInterfaceCounted) {
  FakeDaemon daemon;
  daemon.status_now.shapes[0].starved = true;
  daemon.status_now.shapes[0].config.rate = BitRate{100'000'000};
  auto found = samples(daemon);
  const std::string eth0 = R"(interface="eth0",direction="egress")",
                    eth1 = R"(interface="eth1",direction="ingress")";
  EXPECT_EQ(found.at(of("headgate_open", eth0)), 0);
  EXPECT_EQ(found.at(of("headgate_open", eth1)), 1);
  EXPECT_EQ(found.at(of("headgate_troubled", eth0)), 0);
  EXPECT_EQ(found.at(of("headgate_troubled", eth1)), 1);
  EXPECT_EQ(found.at(of("headgate_starved", eth0)), 1);
  EXPECT_EQ(found.at(of("headgate_starved", eth1)), 0);
  EXPECT_EQ(found.at(of("headgate_link_rate_bytes_per_second", eth0)), 12'500'000);
  EXPECT_EQ(found.at(of("headgate_lost_packets_total", eth0 + R"(,place="ring")")), 3);
  EXPECT_EQ(found.at(of("headgate_unshaped_packets_total", eth0)), 7);
  EXPECT_EQ(found.at(of("headgate_open_seconds_total", eth0)), 1.5);
  EXPECT_EQ(found.at(of("headgate_interface_packets_received_total", eth0)), 61'050);
}

TEST(MetricsText, HistogramsAreCumulative) {
  FakeDaemon daemon;
  auto found = samples(daemon);
  const auto bucket = [&](const std::string& bound) {
    return found.at(of("headgate_delay_seconds_bucket", kClients + (",le=\"" + bound + "\"")));
  };
  EXPECT_EQ(bucket("3.2e-05"), 0);
  EXPECT_EQ(bucket("6.4e-05"), 10);
  EXPECT_EQ(bucket("0.065536"), 100);
  EXPECT_EQ(bucket("8.388608"), 19'990);
  EXPECT_EQ(bucket("+Inf"), 20'000);
  EXPECT_EQ(found.at(of("headgate_delay_seconds_count", kClients)), 20'000);
  EXPECT_EQ(found.at(of("headgate_delay_seconds_sum", kClients)), 1940.5);
}

TEST(MetricsText, OfABypassOnlyWhatItHas) {
  FakeDaemon daemon;
  std::vector<std::string> names;
  for (const auto& [name, value] : samples(daemon))
    if (name.find("class=\"dns\"") != std::string::npos) names.push_back(name.substr(0, name.find('{')));
  EXPECT_EQ(names, (std::vector<std::string>{"headgate_bytes_received_total", "headgate_bytes_sent_total",
                                             "headgate_class_info", "headgate_packets_received_total",
                                             "headgate_packets_sent_total"}));
}

TEST(MetricsText, CountsTheInterfacesOfAPatternTogether) {
  FakeDaemon daemon;
  add_pattern(daemon);
  const Json all = Json::parse(handle_request(R"({"command":"show"})", daemon).line);
  EXPECT_EQ(text_of(all), text_of(show(daemon)));
  auto found = samples(daemon);
  const std::string pattern = R"(interface="veth*",direction="egress")";
  EXPECT_EQ(found.at(of("headgate_packets_received_total", pattern + R"(,class="tenants")")), 75);
  EXPECT_EQ(found.at(of("headgate_interface_packets_received_total", pattern)), 75);
  EXPECT_EQ(found.at(of("headgate_pattern_interfaces", pattern)), 2);
  EXPECT_EQ(found.at(of("headgate_pattern_diverting_interfaces", pattern)), 1);
  EXPECT_EQ(found.at(of("headgate_pattern_refused_interfaces", pattern)), 1);
  EXPECT_EQ(found.at(of("headgate_open", pattern)), 1);
  for (const auto& [name, value] : found) EXPECT_EQ(name.find("veth1"), std::string::npos) << name;
}

TEST(MetricsText, APatternWithoutInterfacesIsNotOpen) {
  FakeDaemon daemon;
  add_pattern(daemon);
  daemon.status_now.patterns[0].interfaces.clear();
  daemon.status_now.patterns[0].diverting = 0;
  EXPECT_EQ(samples(daemon).at(of("headgate_open", R"(interface="veth*",direction="egress")")), 0);
}

TEST(MetricsText, EachFamilyStandsTogetherAndIsDescribedOnce) {
  FakeDaemon daemon;
  add_pattern(daemon);
  std::set<std::string> described;
  std::string family;
  std::istringstream lines(text_of(show(daemon)));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(described.insert(family).second) << family;
    } else if (line.starts_with("# TYPE ")) {
      EXPECT_EQ(line.substr(7, line.find(' ', 7) - 7), family);
    } else {
      EXPECT_TRUE(line.starts_with(family)) << line;
    }
  }
}

TEST(MetricsText, BearsOddNames) {
  FakeDaemon daemon;
  daemon.status_now.shapes[0].interface = "a\"b\\c\xff";
  daemon.status_now.shapes[1].interface = "a\"b\\c\xfe";
  daemon.status_now.shapes[1].direction = Direction::egress;
  const std::string text = text_of(show(daemon));
  const auto found = samples_of(text);
  EXPECT_EQ(found.count(R"(headgate_open{interface="a\"b\\c)"
                        "\xef\xbf\xbd"
                        R"(",direction="egress"})"),
            1u)
      << text;
}

TEST(MetricsText, LeavesOutAndCountsWhatIsTooMuch) {
  FakeDaemon daemon;
  ShapeStatistics shape = daemon.status_now.shapes[1];
  shape.config.classes.resize(1);
  shape.shaper.classes.resize(1);
  daemon.status_now.shapes.clear();
  for (std::size_t i = 0; i < kMostMeasuredClasses + 7; ++i) {
    shape.interface = "eth" + std::to_string(i);
    daemon.status_now.shapes.push_back(shape);
  }
  const std::string text = text_of(show(daemon));
  const auto found = samples_of(text);
  EXPECT_EQ(found.at("headgate_omitted_classes"), 7);
  EXPECT_EQ(
      std::count_if(found.begin(), found.end(),
                    [](const auto& sample) { return sample.first.starts_with("headgate_class_info{"); }),
      static_cast<std::ptrdiff_t>(kMostMeasuredClasses));
  EXPECT_LT(text.size(), 10'000'000u);
}

TEST(MetricsText, DoesWithoutWhatAnOlderDaemonDoesNotSay) {
  FakeDaemon daemon;
  Json reply = show(daemon);
  reply.erase("delay_bounds_us");
  for (Json& shape : reply["shapes"]) {
    shape.erase("starved");
    for (Json& one : shape["classes"]) one.erase("delays");
  }
  const std::string text = text_of(reply);
  EXPECT_EQ(text.find("headgate_delay_seconds"), std::string::npos);
  EXPECT_EQ(text.find("headgate_starved"), std::string::npos);
  EXPECT_NE(text.find("headgate_packets_sent_total"), std::string::npos);
}

TEST(MetricsText, WithoutADaemonSaysSo) {
  EXPECT_EQ(metrics_text_without_daemon(MetricsFormat::prometheus),
            "# HELP headgate_up 1 while a headgated answers.\n# TYPE headgate_up gauge\nheadgate_up 0\n");
}

}  // namespace
}  // namespace headgate
