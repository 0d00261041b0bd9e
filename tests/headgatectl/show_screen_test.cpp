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
