#include "core/shaper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "support/packet_builder.hpp"
#include "support/shaper_harness.hpp"

namespace headgate {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

std::vector<Duration> times(const std::vector<Departure>& departures) {
  std::vector<Duration> since_start;
  since_start.reserve(departures.size());
  for (const Departure& each : departures) since_start.push_back(each.released - kTestStart);
  return since_start;
}

std::vector<std::uint32_t> flows(const std::vector<Departure>& departures) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(departures.size());
  for (const Departure& each : departures) numbers.push_back(each.packet.flow);
  return numbers;
}

TEST(Shaper, SendsEachFlowAtItsOwnRate) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000))});
  for (int i = 0; i < 3; ++i) {
    for (const std::uint32_t flow : {1, 2}) shaper.arrive(flow);
  }
  const auto departures = shaper.run();
  EXPECT_THAT(times(departures), ElementsAre(milliseconds(0), milliseconds(0), milliseconds(1),
                                             milliseconds(1), milliseconds(2), milliseconds(2)));
  EXPECT_THAT(flows(departures), ElementsAre(1, 2, 1, 2, 1, 2));
}

TEST(Shaper, KnowsExactlyWhenTheNextPacketIsDue) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(3))});
  EXPECT_FALSE(shaper.shaper.next_release());
  shaper.arrive(1);
  shaper.arrive(1);
  EXPECT_EQ(shaper.shaper.next_release(), kTestStart);
  EXPECT_EQ(shaper.release().size(), 1u);
  const Instant due = kTestStart + Duration(333'333'334);
  EXPECT_EQ(shaper.shaper.next_release(), due);
  shaper.now = due - Duration(1);
  EXPECT_TRUE(shaper.release().empty());
  shaper.now = due;
  EXPECT_EQ(shaper.release().size(), 1u);
  EXPECT_FALSE(shaper.shaper.next_release());
}

TEST(Shaper, ReleasesInOrderOfIdealTimeAndNoMoreThanAskedFor) {
  ShaperHarness shaper(
      {shaped_class("slow", packets_per_second(100)), shaped_class("fast", packets_per_second(250))});
  for (int i = 0; i < 3; ++i) {
    shaper.arrive(1, 100, 0);
    shaper.arrive(2, 100, 1);
  }
  shaper.now += milliseconds(9);
  EXPECT_THAT(flows(shaper.release(3)), ElementsAre(1, 2, 2));
  EXPECT_THAT(flows(shaper.release()), ElementsAre(2));
  EXPECT_THAT(flows(shaper.run()), ElementsAre(1, 1));
}

TEST(Shaper, ReturnsFramesUnchangedWithTheirTagPutBack) {
  ShaperHarness shaper({shaped_class("all", packets_per_second(1000), {.packets = 1000})});
  for (const std::size_t size : {60, 200, 260, 1514, 9014}) {
    PacketBuilder builder;
    builder.ipv4("10.0.0.1", "10.0.0.2").udp(1, 2).frame_size(size);
    const std::vector<std::byte> frame = builder.build();
    ArrivingPacket packet;
    packet.frame = frame;
    packet.arrival = shaper.now;
    packet.charged_bytes = static_cast<std::uint32_t>(size + 4);
    packet.class_index = 0;
    packet.vlan_tpid = 0x8100;
    packet.vlan_tci = 0x2007;
    shaper.admit({&packet, 1});
    shaper.now += seconds(1);
    std::array<DuePacket, 1> due;
    ASSERT_EQ(shaper.shaper.release(shaper.now, due), 1u);
    EXPECT_EQ(due[0].length, size + 4);
    EXPECT_EQ(stored_frame(shaper.shaper, due[0]), builder.frame_size(size + 4).vlan(0x2007).build());
    shaper.shaper.complete_sent(due, shaper.now);
  }
}

TEST(Shaper, DropsWhatOverflowsAQueueOfPackets) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000), {.packets = 3})});
  for (int i = 0; i < 10; ++i) shaper.arrive(1);
  EXPECT_EQ(shaper.run().size(), 4u);  // one may leave at once, three wait
  const ClassStatistics statistics = shaper.class_statistics();
  EXPECT_EQ(statistics.received.packets, 10u);
  EXPECT_EQ(statistics.sent, (Count{4, 400}));
  EXPECT_EQ(dropped_for(statistics, DropReason::queue_full), (Count{6, 600}));
}

TEST(Shaper, DropsWhatOverflowsAQueueOfBytes) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000), {.bytes = DataSize{1000}})});
  shaper.arrive(1, 1400);  // need not wait
  shaper.arrive(1, 1001);
  shaper.arrive(1, 600);
  shaper.arrive(1, 401);
  shaper.arrive(1, 400);
  EXPECT_EQ(shaper.class_statistics().queued, (Count{3, 2400}));
  EXPECT_EQ(dropped_for(shaper.class_statistics(), DropReason::queue_full), (Count{2, 1402}));
}

TEST(Shaper, DropsWhatWouldWaitLongerThanTheQueueAllows) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000), {.time = milliseconds(5)})});
  for (int i = 0; i < 10; ++i) shaper.arrive(1);
  EXPECT_THAT(times(shaper.run()), ElementsAre(milliseconds(0), milliseconds(1), milliseconds(2),
                                               milliseconds(3), milliseconds(4), milliseconds(5)));
}

TEST(Shaper, AppliesEveryCapacityThatIsSet) {
  const QueueCapacity capacity{.packets = 4, .bytes = DataSize{1000}, .time = milliseconds(5)};
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000), capacity)});
  for (int i = 0; i < 9; ++i) {
    shaper.arrive(1, 100);  // packets decide: 1 + 4
    shaper.arrive(2, 400);  // bytes decide: 1 + 2
  }
  EXPECT_EQ(shaper.class_statistics().queued.packets, 5u + 3u);
}

TEST(Shaper, LetsABurstThroughAQueueThatIsShorter) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000), {.packets = 1}, {.packets = 5})});
  std::vector<PacketIdentity> batch;
  batch.reserve(10);
  for (std::uint32_t i = 0; i < 10; ++i) batch.push_back({1, i});
  shaper.arrive_in_batch(batch);
  EXPECT_THAT(times(shaper.run()), ElementsAre(milliseconds(0), milliseconds(0), milliseconds(0),
                                               milliseconds(0), milliseconds(0), milliseconds(1)));
}

TEST(Shaper, DropsNothingBecauseItWokeLate) {
  // A packet a millisecond, each captured in time, all admitted together 9 ms later.
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000), {.packets = 1})});
  std::vector<ArrivingPacket> batch;
  batch.reserve(10);
  for (int i = 0; i < 10; ++i) batch.push_back(shaper.make(1, 100, kTestStart + i * milliseconds(1)));
  shaper.now += milliseconds(9);
  shaper.admit(batch);
  const auto departures = shaper.release();
  ASSERT_EQ(departures.size(), 10u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(departures[i].ideal, kTestStart + i * milliseconds(1));
}

TEST(Shaper, KeepsItsScheduleWhenItWakesLate) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000))});
  for (int i = 0; i < 20; ++i) shaper.arrive(1);
  shaper.run(kTestStart);
  shaper.now = kTestStart + milliseconds(11);  // the first of those that wait is 10 ms late
  EXPECT_EQ(shaper.release().size(), 11u);
  EXPECT_EQ(shaper.shaper.next_release(), kTestStart + milliseconds(12));
  EXPECT_EQ(shaper.run().back().released, kTestStart + milliseconds(19));
}

TEST(Shaper, CatchesUpTenMillisecondsAtMost) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000))});
  for (int i = 0; i < 50; ++i) shaper.arrive(1);
  shaper.run(kTestStart);
  shaper.now = kTestStart + milliseconds(1000);
  EXPECT_EQ(shaper.release().size(), 11u);  // 990 ms to 1000 ms
  EXPECT_EQ(shaper.shaper.next_release(), kTestStart + milliseconds(1001));
}

TEST(Shaper, BoundsTheQueueAlsoAfterALongStall) {
  // A second of packets at the very rate, admitted together: the schedule has shifted, so most find no room.
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000), {.packets = 20})});
  std::vector<ArrivingPacket> batch;
  batch.reserve(1000);
  for (int i = 0; i < 1000; ++i) batch.push_back(shaper.make(1, 100, kTestStart + i * milliseconds(1)));
  shaper.now += seconds(1);
  shaper.admit(batch);
  const auto at_once = shaper.release();
  EXPECT_EQ(at_once.size(), 11u);
  EXPECT_LE(shaper.class_statistics().queued.packets, 20u);
}

TEST(Shaper, CountsByHowMuchAScheduleShiftsBeyondTheCatchUp) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000))});
  for (int i = 0; i < 50; ++i) shaper.arrive(1);
  shaper.run(kTestStart);
  shaper.now = kTestStart + milliseconds(11);  // the first that waits is 10 ms late: caught up
  shaper.release(1);
  EXPECT_EQ(shaper.statistics().shifts, ScheduleShifts{});
  shaper.now = kTestStart + milliseconds(1000);  // the next was due at 2 ms, and leaves as of 990 ms
  shaper.release();
  EXPECT_EQ(shaper.statistics().shifts, (ScheduleShifts{.times = 1, .total = milliseconds(988)}));
}

TEST(Shaper, CountsAShiftAlsoWhenAdmissionFindsIt) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000), {.packets = 1})});
  shaper.arrive(1);
  shaper.run();
  const std::vector<ArrivingPacket> batch{shaper.make(1, 100, kTestStart + milliseconds(1)),
                                          shaper.make(1, 100, kTestStart + milliseconds(40))};
  shaper.now = kTestStart + milliseconds(40);
  shaper.admit(batch);  // to have room for the second, the first leaves as of 30 ms
  EXPECT_EQ(shaper.class_statistics().queued.packets, 2u);
  EXPECT_EQ(shaper.statistics().shifts, (ScheduleShifts{.times = 1, .total = milliseconds(29)}));
  shaper.release();
  EXPECT_EQ(shaper.statistics().shifts.times, 1u);
}

TEST(Shaper, SaysOfAPacketThatWasReadTooLateThatItWasStarved) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000), {.packets = 2})});
  std::vector<ArrivingPacket> batch;
  for (int i = 0; i < 10; ++i) {
    batch.push_back(shaper.make(1, 100, shaper.now));
    batch.back().late = i % 2 == 1;
  }
  shaper.admit(batch);
  const ClassStatistics statistics = shaper.class_statistics();
  EXPECT_EQ(statistics.queued.packets, 3u) << "late or not, what finds room is queued";
  EXPECT_EQ(dropped_for(statistics, DropReason::starved), (Count{4, 400}));
  EXPECT_EQ(dropped_for(statistics, DropReason::queue_full), (Count{3, 300}));
}

TEST(Shaper, SendsAPacketCapturedBeforeTheLastDepartureAtOnce) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000))});
  shaper.arrive(1);
  shaper.arrive(1);
  shaper.now += milliseconds(1);
  EXPECT_EQ(shaper.release().size(), 2u);
  const ArrivingPacket old = shaper.make(2, 100, kTestStart + microseconds(500));
  shaper.admit({&old, 1});
  EXPECT_LT(*shaper.shaper.next_release(), shaper.now);
  EXPECT_THAT(flows(shaper.release()), ElementsAre(2));
}

TEST(Shaper, DropsAPacketOfANewFlowWhenTheTableIsFull) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000))}, {.max_flows = 10});
  for (std::uint32_t flow = 0; flow < 10; ++flow) shaper.arrive(flow);
  for (std::uint32_t flow = 100; flow < 10'000; ++flow) shaper.arrive(flow);
  for (std::uint32_t flow = 0; flow < 10; ++flow) shaper.arrive(flow);
  const ClassStatistics statistics = shaper.class_statistics();
  EXPECT_EQ(statistics.flows, 10u);
  EXPECT_EQ(dropped_for(statistics, DropReason::flow_table_full).packets, 9'900u);
  EXPECT_EQ(statistics.queued.packets, 20u);
  EXPECT_EQ(shaper.run().size(), 20u);
}

TEST(Shaper, TakesTheRecordsOfIdleFlowsForNewOnes) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000))},
                       {.max_flows = 10, .idle = seconds(60)});
  for (std::uint32_t flow = 0; flow < 10; ++flow) shaper.arrive(flow);
  shaper.run();
  shaper.now += seconds(60);
  for (std::uint32_t flow = 100; flow < 110; ++flow) shaper.arrive(flow);
  EXPECT_EQ(shaper.class_statistics().flows, 10u);
  EXPECT_EQ(shaper.run().size(), 10u);
}

TEST(Shaper, ForgetsIdleFlowsWhenAskedForStatisticsAndNothingElseHappens) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000))}, {.idle = seconds(60)});
  for (std::uint32_t flow = 0; flow < 5000; ++flow) shaper.arrive(flow);
  shaper.run();
  EXPECT_EQ(shaper.class_statistics().flows, 5000u);
  shaper.now += seconds(60);
  EXPECT_EQ(shaper.class_statistics().flows, 0u);
}

TEST(Shaper, ForgetsIdleFlowsWhileOthersGoOn) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1'000'000))}, {.idle = seconds(60)});
  NumberedPackets packets;
  const auto arrive = [&](std::uint32_t flow) {
    const ArrivingPacket packet = packets.make(shaper.classes, 0, {flow, 0}, 100, shaper.now);
    shaper.shaper.admit({&packet, 1}, shaper.now);
    packets.clear();
    shaper.release();
  };
  for (std::uint32_t flow = 0; flow < 1000; ++flow) arrive(flow);
  shaper.now += seconds(60);
  for (int i = 0; i < 1000; ++i) arrive(1);  // each looks at one record at least
  std::size_t records = 0;
  std::optional<std::uint32_t> from = 0;
  while (from) from = shaper.shaper.visit_flows(0, *from, 100, [&](const FlowStatistics&) { ++records; });
  EXPECT_EQ(records, 1u);
}

TEST(Shaper, GivesAForgottenFlowNoAdvantage) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1))}, {.idle = milliseconds(1)});
  shaper.arrive(1);
  shaper.run();
  shaper.now += milliseconds(500);
  EXPECT_EQ(shaper.class_statistics().flows, 1u);  // idle, but its next packet has to wait yet
  shaper.arrive(1);
  EXPECT_EQ(shaper.run().back().released, kTestStart + seconds(1));
}

// 16 chunks of packet memory; a packet of 100 bytes takes one.
ShaperLimits small_memory() {
  return {.memory = DataSize{16 * 256}};
}

TEST(Shaper, MakesTheLongestQueuePayWhenMemoryIsShort) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1))}, small_memory());
  for (int i = 0; i < 12; ++i) shaper.arrive(1);
  for (int i = 0; i < 4; ++i) shaper.arrive(2);
  shaper.arrive(3);
  shaper.arrive(4);
  std::map<std::uint32_t, FlowStatistics> by_flow;
  shaper.shaper.visit_flows(0, 0, 100,
                            [&](const FlowStatistics& each) { by_flow[flow_number(each.key)] = each; });
  EXPECT_EQ(by_flow[1].queued.packets, 10u);
  EXPECT_EQ(by_flow[1].dropped.packets, 2u);
  EXPECT_EQ(by_flow[2].queued.packets, 4u);
  EXPECT_EQ(by_flow[3].queued.packets, 1u);
  EXPECT_EQ(by_flow[4].queued.packets, 1u);
  EXPECT_EQ(dropped_for(shaper.class_statistics(), DropReason::pool_full).packets, 2u);
}

TEST(Shaper, TakesFromTheEndOfTheLongestQueue) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1))}, small_memory());
  for (int i = 0; i < 16; ++i) shaper.arrive(1);
  shaper.arrive(2);
  std::vector<std::uint32_t> serials;
  for (const Departure& each : shaper.run()) {
    if (each.packet.flow == 1) serials.push_back(each.packet.serial);
  }
  EXPECT_THAT(serials, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14));
}

TEST(Shaper, MakesAPacketPayWhoseOwnQueueIsTheLongest) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1))}, small_memory());
  shaper.arrive(2);
  for (int i = 0; i < 100; ++i) shaper.arrive(1);
  std::map<std::uint32_t, FlowStatistics> by_flow;
  shaper.shaper.visit_flows(0, 0, 100,
                            [&](const FlowStatistics& each) { by_flow[flow_number(each.key)] = each; });
  EXPECT_EQ(by_flow[1].queued.packets, 15u);
  EXPECT_EQ(by_flow[1].dropped.packets, 85u);
  EXPECT_EQ(by_flow[2].queued.packets, 1u);
}

TEST(Shaper, NeverTakesTheOnlyPacketOfAnotherFlow) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1))}, small_memory());
  for (std::uint32_t flow = 0; flow < 100; ++flow) shaper.arrive(flow);
  EXPECT_EQ(shaper.class_statistics().queued.packets, 16u);
  EXPECT_EQ(dropped_for(shaper.class_statistics(), DropReason::pool_full).packets, 84u);
  EXPECT_EQ(shaper.run().size(), 16u);
}

TEST(Shaper, DropsAFrameLargerThanAllMemoryAndSparesTheOthers) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1))}, small_memory());
  for (int i = 0; i < 16; ++i) shaper.arrive(1);
  shaper.arrive(2, 9000);
  EXPECT_EQ(shaper.class_statistics().queued.packets, 16u);
  EXPECT_EQ(dropped_for(shaper.class_statistics(), DropReason::pool_full), (Count{1, 9000}));
}

TEST(Shaper, CountsReleasedPacketsAsQueuedUntilItHearsWhatBecameOfThem) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1'000'000))});
  for (std::uint32_t flow = 0; flow < 3; ++flow) shaper.arrive(flow);
  std::array<DuePacket, 3> due;
  ASSERT_EQ(shaper.shaper.release(shaper.now, due), 3u);
  EXPECT_EQ(shaper.class_statistics().queued.packets, 3u);
  shaper.shaper.complete_sent(std::span(due).first(1), shaper.now);
  shaper.shaper.complete_dropped(std::span(due).subspan(1, 1), DropReason::send_failed);
  shaper.shaper.complete_dropped(std::span(due).subspan(2, 1), DropReason::stop);
  const ClassStatistics statistics = shaper.class_statistics();
  EXPECT_EQ(statistics.sent.packets, 1u);
  EXPECT_EQ(dropped_for(statistics, DropReason::send_failed).packets, 1u);
  EXPECT_EQ(dropped_for(statistics, DropReason::stop).packets, 1u);
  EXPECT_EQ(statistics.queued.packets, 0u);
}

TEST(Shaper, CountsWhatItNeverSees) {
  ClassConfig bypass = shaped_class("bypass", {});
  bypass.bypass = true;
  ShaperHarness shaper({bypass, shaped_class("clients", packets_per_second(1000))});
  shaper.shaper.count_unshaped(0, {10, 1000}, {9, 900}, {1, 100});
  shaper.shaper.count_unshaped(kUnmatched, {5, 500}, {5, 500}, {});
  shaper.shaper.count_dropped(1, {2, 3000}, DropReason::clipped);
  shaper.shaper.count_dropped(kUnmatched, {1, 1500}, DropReason::clipped);
  const ShaperStatistics statistics = shaper.statistics();
  expect_law(statistics);
  EXPECT_EQ(statistics.received, (Count{18, 6000}));
  EXPECT_EQ(statistics.unmatched, (Count{6, 2000}));
  EXPECT_EQ(statistics.classes[0].sent, (Count{9, 900}));
  EXPECT_EQ(dropped_for(statistics.classes[0], DropReason::send_failed), (Count{1, 100}));
  EXPECT_EQ(dropped_for(statistics.classes[1], DropReason::clipped), (Count{2, 3000}));
}

TEST(Shaper, CountsBeyondThirtyTwoBits) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(kMaxPacketRate.packets), {})});
  constexpr int kPackets = 70'000;
  for (int i = 0; i < kPackets; ++i) {
    ArrivingPacket packet = shaper.make(1, 100, shaper.now);
    packet.charged_packets = 65'535;
    packet.charged_bytes = 70'000;
    shaper.shaper.admit({&packet, 1}, shaper.now);
    std::array<DuePacket, 1> due;
    ASSERT_EQ(shaper.shaper.release(shaper.now, due), 1u);
    shaper.shaper.complete_sent(due, shaper.now);
    shaper.now += milliseconds(1);
  }
  expect_law(shaper.statistics());
  const Count expected{65'535ULL * kPackets, 70'000ULL * kPackets};
  EXPECT_GT(expected.packets, std::uint64_t{1} << 32);
  EXPECT_GT(expected.bytes, std::uint64_t{1} << 32);
  EXPECT_EQ(shaper.class_statistics().received, expected);
  EXPECT_EQ(shaper.class_statistics().sent, expected);
  shaper.shaper.visit_flows(0, 0, 10, [&](const FlowStatistics& flow) { EXPECT_EQ(flow.sent, expected); });
}

TEST(Shaper, ReportsDelaysFromArrivalToDeparture) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000))});
  for (int i = 0; i < 5; ++i) shaper.arrive(1);
  shaper.run();
  const DelaySummary delay = shaper.class_statistics().delay;
  EXPECT_EQ(delay.max, milliseconds(4));
  EXPECT_GE(delay.p50, milliseconds(2));
  EXPECT_LE(delay.p50, microseconds(2048));  // where its bucket ends
}

TEST(Shaper, HandsOutEverythingAtAStopInOrderWithinEachFlow) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1))});
  for (int i = 0; i < 20; ++i) {
    for (std::uint32_t flow = 0; flow < 5; ++flow) shaper.arrive(flow);
  }
  shaper.run(kTestStart);
  const auto departures = shaper.release_all(7);
  EXPECT_EQ(departures.size(), 95u);
  std::map<std::uint32_t, std::uint32_t> last;
  for (const Departure& each : departures) {
    if (last.contains(each.packet.flow)) {
      EXPECT_GT(each.packet.serial, last[each.packet.flow]);
    }
    last[each.packet.flow] = each.packet.serial;
  }
  EXPECT_EQ(shaper.class_statistics().queued.packets, 0u);
  EXPECT_FALSE(shaper.shaper.next_release());
}

TEST(Shaper, ShowsTheFlowsOfAClassInSmallSteps) {
  ShaperHarness shaper({shaped_class("a", packets_per_second(1)), shaped_class("b", packets_per_second(1))});
  for (std::uint32_t flow = 0; flow < 100; ++flow) {
    for (std::uint32_t i = 0; i <= flow % 3; ++i) shaper.arrive(flow, 100, flow % 2);
  }
  shaper.run(kTestStart);
  std::map<std::uint32_t, FlowStatistics> seen;
  std::optional<std::uint32_t> from = 0;
  int steps = 0;
  while (from) {
    std::size_t visited = 0;
    from = shaper.shaper.visit_flows(1, *from, 7, [&](const FlowStatistics& flow) {
      ++visited;
      seen[flow_number(flow.key)] = flow;
    });
    EXPECT_LE(visited, 7u);
    ++steps;
  }
  EXPECT_EQ(steps, 15);
  EXPECT_EQ(seen.size(), 50u);
  for (const auto& [flow, statistics] : seen) {
    EXPECT_EQ(flow % 2, 1u);
    EXPECT_EQ(statistics.sent, (Count{1, 100}));
    EXPECT_EQ(statistics.queued.packets, flow % 3);
  }
}

TEST(Shaper, SendsThreePacketsASecondForADayWithoutDrift) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(3), {.packets = 2})});
  NumberedPackets packets;
  Instant last{};
  std::uint32_t sent = 0;
  while (sent <= 3 * 86'400) {
    // Kept full: a packet comes for each that goes, released up to a millisecond late.
    for (int i = 0; i < 2; ++i) {
      const ArrivingPacket packet = packets.make(shaper.classes, 0, {1, sent}, 100, shaper.now);
      shaper.shaper.admit({&packet, 1}, shaper.now);
    }
    packets.clear();
    std::array<DuePacket, 4> due;
    const std::size_t count = shaper.shaper.release(shaper.now, due);
    shaper.shaper.complete_sent(std::span(due).first(count), shaper.now);
    if (count > 0) last = due[count - 1].ideal;
    sent += static_cast<std::uint32_t>(count);
    shaper.now = *shaper.shaper.next_release() + microseconds(sent % 1000);
  }
  EXPECT_EQ(last, kTestStart + std::chrono::hours(24));
}

}  // namespace
}  // namespace headgate
