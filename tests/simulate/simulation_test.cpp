// Departures that one can compute by hand.
#include "simulation.hpp"

#include <gtest/gtest.h>

#include "support/manual_clock.hpp"
#include "support/simulated_shape.hpp"

namespace headgate {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr char kClients[] = R"(
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "clients"
  match = "udp"
  key   = "dst"
  rate  = "1000pps"
  queue = "3p"
)";

PacketBuilder udp_to(const std::string& destination, std::size_t bytes = 125) {
  return PacketBuilder().ipv4("10.0.0.1", destination).udp(1000, 53).frame_size(bytes);
}

std::vector<Instant> after(Instant start, const std::vector<Duration>& times) {
  std::vector<Instant> instants;
  instants.reserve(times.size());
  for (const Duration time : times) instants.push_back(start + time);
  return instants;
}

TEST(Simulation, SpacesAFlowByAMillisecondAndDropsWhatTheQueueHasNoRoomFor) {
  SimulatedShape shape(kClients, kTestStart);
  ListedTraffic traffic;
  for (int i = 0; i < 6; ++i) traffic.add(kTestStart, udp_to("10.0.0.2"));
  traffic.add(kTestStart + microseconds(1500), udp_to("10.0.0.2"));
  shape.run(traffic);
  // The first leaves at once, three wait, two are dropped; at 1.5 ms two still wait, and one more has room.
  EXPECT_EQ(shape.events.departures_of(0),
            after(kTestStart, {{}, milliseconds(1), milliseconds(2), milliseconds(3), milliseconds(4)}));
  ASSERT_EQ(shape.events.drops.size(), 2U);
  EXPECT_EQ(shape.events.drops[0].reason, DropReason::queue_full);
  EXPECT_EQ(shape.events.drops[0].at, kTestStart);
  EXPECT_EQ(shape.summary->classes[0].delays.longest(), milliseconds(3));
  EXPECT_EQ(shape.summary->duration, milliseconds(4));
}

TEST(Simulation, GivesEachFlowABucketOfItsOwnAndTellsThemApart) {
  SimulatedShape shape(kClients, kTestStart);
  ListedTraffic traffic;
  for (const char* to : {"10.0.0.2", "10.0.0.3", "10.0.0.2", "10.0.0.2"}) traffic.add(kTestStart, udp_to(to));
  shape.run(traffic);
  ASSERT_EQ(shape.summary->flows.size(), 2U);
  EXPECT_EQ(shape.summary->name_of(shape.summary->flows[0]), "→ 10.0.0.2");
  EXPECT_EQ(shape.summary->flows[0].delays.longest(), milliseconds(2));
  EXPECT_EQ(shape.summary->flows[1].delays.longest(), Duration::zero());
  EXPECT_DOUBLE_EQ(shape.summary->classes[0].fairness.value(), 16.0 / (2 * 10));  // (3+1)^2 / 2(3^2+1^2)
  EXPECT_EQ(shape.summary->gaps[0].count(), 2U);
  EXPECT_EQ(shape.summary->gaps[0].longest(), milliseconds(1));
}

TEST(Simulation, GivesAPlanWhoseMembersAreTogetherOneBucketAndItsName) {
  SimulatedShape shape(std::string(kClients) + R"(
    [[shape.class.plan]]
    name = "acme"
    rate = "500pps"
    together = true
    members = ["10.0.0.2", "10.0.0.3"]
)",
                       kTestStart);
  ListedTraffic traffic;
  for (const char* to : {"10.0.0.2", "10.0.0.3", "10.0.0.4"}) traffic.add(kTestStart, udp_to(to));
  shape.run(traffic);
  ASSERT_EQ(shape.summary->flows.size(), 2U);
  EXPECT_EQ(shape.summary->name_of(shape.summary->flows[0]), "acme");
  EXPECT_EQ(shape.summary->flows[0].sent.packets, 2U);
  EXPECT_EQ(shape.summary->flows[0].delays.longest(), milliseconds(2));
  EXPECT_EQ(shape.summary->name_of(shape.summary->flows[1]), "→ 10.0.0.4");
}

TEST(Simulation, WhatNoClassTakesPassesAtOnceAndIsCounted) {
  SimulatedShape shape(kClients, kTestStart);
  ListedTraffic traffic;
  traffic.add(kTestStart, PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").tcp(1, 2).frame_size(100));
  traffic.add(kTestStart, PacketBuilder().arp("10.0.0.1", "10.0.0.2"));
  shape.run(traffic);
  EXPECT_EQ(shape.summary->counted.unmatched.packets, 2U);
  EXPECT_EQ(shape.events.departures_of(kUnmatched), after(kTestStart, {{}, {}}));
}

TEST(Simulation, ControlTrafficWithinItsLimitIsInNoOtherCount) {
  SimulatedShape shape(kClients, kTestStart);
  ListedTraffic traffic;
  traffic.add(kTestStart, PacketBuilder().ipv4("0.0.0.0", "255.255.255.255").udp(68, 67).frame_size(300));
  shape.run(traffic);
  EXPECT_EQ(shape.summary->control_traffic, (Count{1, 300}));
  EXPECT_EQ(shape.summary->counted.received, Count{});
}

// A link of 10 Mbit/s sends 1250 bytes in a millisecond. Both classes have a queue: the voice goes first.
TEST(Simulation, ATreeSendsByPriorityAtTheRateOfTheLink) {
  SimulatedShape shape(R"(
[[shape]]
interface = "eth0"
rate      = "10mbit"
  [[shape.class]]
  name     = "voice"
  match    = "udp port 5060"
  priority = 0
  [[shape.class]]
  name     = "rest"
  match    = "udp"
)",
                       kTestStart);
  ListedTraffic traffic;
  const auto voice = PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(1000, 5060).frame_size(1250);
  for (int i = 0; i < 3; ++i) traffic.add(kTestStart, udp_to("10.0.0.2", 1250));
  traffic.add(kTestStart + microseconds(500), voice);
  traffic.add(kTestStart + microseconds(500), voice);
  shape.run(traffic);
  EXPECT_EQ(shape.events.departures_of(0), after(kTestStart, {milliseconds(1), milliseconds(2)}));
  EXPECT_EQ(shape.events.departures_of(1), after(kTestStart, {{}, milliseconds(3), milliseconds(4)}));
}

// 1 Mbit/s and a burst of 500 bytes: two of 250 conform at once, then one more each 2 ms.
TEST(Simulation, APolicedClassDelaysNothingAndDropsWhatExceeds) {
  SimulatedShape shape(R"(
[[shape]]
interface = "eth0"
  [[shape.class]]
  name   = "api"
  action = "police"
  rate   = "1mbit"
  burst  = "500b"
)",
                       kTestStart);
  ListedTraffic traffic;
  for (const int time : {0, 0, 0, 1, 2, 2})
    traffic.add(kTestStart + milliseconds(time), udp_to("10.0.0.2", 250));
  shape.run(traffic);
  EXPECT_EQ(shape.events.departures_of(0), after(kTestStart, {{}, {}, milliseconds(2)}));
  EXPECT_EQ(shape.events.drops.size(), 3U);
  EXPECT_EQ(shape.events.drops[0].reason, DropReason::policed);
  EXPECT_EQ(shape.summary->classes[0].delays.longest(), Duration::zero());
}

// A packet of 1514 bytes takes a millisecond, and a turn. Ten of one flow come before one of another, which leaves second all the same.
TEST(Simulation, FlowsOfAFairClassTakeTurns) {
  SimulatedShape shape(R"(
[[shape]]
interface = "eth0"
rate      = "12112kbit"
  [[shape.class]]
  name = "all"
  fair = true
)",
                       kTestStart);
  ListedTraffic traffic;
  for (int i = 0; i < 10; ++i) traffic.add(kTestStart, udp_to("10.0.0.2", 1514));
  traffic.add(kTestStart + microseconds(100), udp_to("10.0.0.3", 1514));
  shape.run(traffic);
  ASSERT_EQ(shape.events.departures.size(), 11U);
  EXPECT_EQ(shape.events.departures[1].packet.arrival, kTestStart + microseconds(100));
  EXPECT_EQ(shape.events.departures[1].at, kTestStart + milliseconds(1));
}

TEST(Simulation, AMemberOfAPlanHasThePlansRate) {
  SimulatedShape shape(R"(
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "customers"
  key  = "dst"
  rate = "1000pps"
    [[shape.class.plan]]
    name    = "gold"
    rate    = "2000pps"
    members = ["10.0.0.5"]
)",
                       kTestStart);
  ListedTraffic traffic;
  for (const char* to : {"10.0.0.5", "10.0.0.6", "10.0.0.5", "10.0.0.6"}) traffic.add(kTestStart, udp_to(to));
  shape.run(traffic);
  EXPECT_EQ(shape.events.departures_of(0), after(kTestStart, {{}, {}, microseconds(500), milliseconds(1)}));
}

TEST(Simulation, WithAnEndWhatWaitsThenIsQueued) {
  SimulatedShape shape(kClients, kTestStart);
  ListedTraffic traffic;
  for (int i = 0; i < 3; ++i) traffic.add(kTestStart, udp_to("10.0.0.2"));
  traffic.add(kTestStart + milliseconds(2), udp_to("10.0.0.2"));
  shape.run(traffic, microseconds(1500));
  EXPECT_EQ(shape.summary->counted.received.packets, 3U);
  EXPECT_EQ(shape.summary->counted.sent.packets, 2U);
  EXPECT_EQ(shape.summary->counted.queued.packets, 1U);
  EXPECT_EQ(shape.summary->flows[0].queued().packets, 1U);
  EXPECT_EQ(shape.summary->duration, microseconds(1500));
}

TEST(Simulation, AFrameThatIsThereInPartCountsWhole) {
  SimulatedShape shape(kClients, kTestStart);
  class Cut : public ListedTraffic {
   public:
    const OfferedPacket* next() override {
      const OfferedPacket* const packet = ListedTraffic::next();
      if (packet == nullptr) return nullptr;
      cut_ = *packet;
      cut_.frame = cut_.frame.first(60);
      return &cut_;
    }

   private:
    OfferedPacket cut_;
  } traffic;
  traffic.add(kTestStart, udp_to("10.0.0.2", 1500));
  shape.run(traffic);
  EXPECT_EQ(shape.summary->classes[0].counted.sent, (Count{1, 1500}));
  EXPECT_EQ(shape.events.departures[0].packet.captured, 60U);
}

TEST(Simulation, ATagIsNoPartOfWhatAClassMatchesButOfWhatCounts) {
  SimulatedShape shape(kClients, kTestStart);
  ListedTraffic traffic;
  traffic.add(kTestStart, udp_to("10.0.0.2", 125).vlan(7));
  shape.run(traffic);
  EXPECT_EQ(shape.summary->classes[0].counted.sent, (Count{1, 125}));
}

}  // namespace
}  // namespace headgate
