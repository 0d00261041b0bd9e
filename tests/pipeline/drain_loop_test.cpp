#include "pipeline/drain_loop.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include "support/fake_packet_io.hpp"
#include "support/packet_builder.hpp"

namespace headgate {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::shared_ptr<const Classifier> classifier_of(std::vector<ClassConfig> classes) {
  std::vector<std::unique_ptr<PacketMatcher>> matchers(classes.size());
  return std::make_shared<const Classifier>(std::move(classes), std::move(matchers), 1);
}

ClassConfig shaped(std::uint64_t packets_per_second, std::uint64_t capacity = 100) {
  ClassConfig config{.name = "all", .rate = {.packets = PacketRate{packets_per_second}}};
  config.key.destination_address = true;
  config.queue.packets = capacity;
  return config;
}

Frame frame_to(int host, int number = 0) {
  return PacketBuilder()
      .ipv4("10.0.0.1", "10.0.1." + std::to_string(host))
      .udp(1000, static_cast<std::uint16_t>(2000 + number))
      .payload(18)
      .build();
}

// Runs a drain loop on this thread in virtual time. Frames are put in as the capture loop would.
class DrainLoopTest : public testing::Test {
 protected:
  void use(std::vector<ClassConfig> classes) {
    classifier_ = classifier_of(classes);
    shaper_.emplace(ShaperLimits{}, classes, clock_.now());
    loop_.emplace(std::vector<DrainInput>{{hand_off_, source_}}, sink_, waiter_, clock_, *shaper_,
                  classifier_);
  }

  void hand_over(Frame frame, bool clipped = false, std::uint16_t vlan_tpid = 0, std::uint16_t vlan_tci = 0) {
    source_.add(std::move(frame), 0, vlan_tpid, vlan_tci);
    CapturedFrame captured;
    ASSERT_EQ(source_.receive({&captured, 1}), 1u);
    HandOffEntry* entry = hand_off_.stage();
    *entry = HandOffEntry{.packet = {.frame = captured.frame,
                                     .arrival = clock_.now(),
                                     .charged_bytes = captured.wire_length,
                                     .vlan_tpid = vlan_tpid,
                                     .vlan_tci = vlan_tci},
                          .slot = captured.slot,
                          .clipped = clipped};
    classifier_->classify(entry->packet);
    hand_off_.publish();
  }

  void hand_over(HandOffEntry::Kind kind, Reconfiguration* reconfiguration = nullptr) {
    *hand_off_.stage() = HandOffEntry{.kind = kind, .reconfiguration = reconfiguration};
    hand_off_.publish();
  }

  // Runs the loop; each time it has nothing queued and would sleep without a deadline, the next step runs;
  // after the last one the end is handed over.
  void run(std::vector<std::function<void()>> steps = {}) {
    std::size_t next = 0;
    waiter_.on_idle = [&] {
      if (next == steps.size()) return hand_over(HandOffEntry::Kind::end);
      steps[next++]();
    };
    loop_->run();
    EXPECT_EQ(source_.slots_out(), 0u) << "every capture slot must be given back";
    expect_law();
  }

  void expect_law() {
    const ShaperStatistics all = shaper_->statistics(clock_.now());
    EXPECT_EQ(all.received.packets, all.sent.packets + total(all.dropped).packets + all.queued.packets);
    EXPECT_EQ(all.received.bytes, all.sent.bytes + total(all.dropped).bytes + all.queued.bytes);
  }

  Count dropped(DropReason reason) {
    return shaper_->statistics(clock_.now()).dropped[static_cast<std::size_t>(reason)];
  }

  ManualClock clock_;
  FakePacketSource source_;
  RecordingSink sink_{clock_};
  FakeWaiter waiter_{clock_};
  HandOff hand_off_{2048};
  std::shared_ptr<const Classifier> classifier_;
  std::optional<Shaper> shaper_;
  std::optional<DrainLoop> loop_;
};

TEST_F(DrainLoopTest, SendsABackloggedFlowEvenlySpaced) {
  use({shaped(1000)});
  for (int i = 0; i < 5; ++i) hand_over(frame_to(1, i));
  run();
  ASSERT_EQ(sink_.departures.size(), 5u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(sink_.departures[i].at, kTestStart + i * milliseconds(1));
    EXPECT_EQ(sink_.departures[i].frame, frame_to(1, i));
  }
}

TEST_F(DrainLoopTest, SleepsOncePerDueInstantAndNeverForATick) {
  use({shaped(1000)});
  for (int i = 0; i < 5; ++i) hand_over(frame_to(1, i));
  std::vector<std::optional<Instant>> deadlines;
  waiter_.before_sleep = [&](std::optional<Instant> deadline) { deadlines.push_back(deadline); };
  run();
  std::vector<std::optional<Instant>> expected;
  for (int i = 1; i < 5; ++i) expected.emplace_back(kTestStart + i * milliseconds(1));
  expected.emplace_back(std::nullopt);
  EXPECT_EQ(deadlines, expected);
}

TEST_F(DrainLoopTest, DropsAndCountsWhatOverflowsABucket) {
  use({shaped(1000, 3)});
  for (int i = 0; i < 10; ++i) hand_over(frame_to(1, i));
  run();
  EXPECT_EQ(sink_.departures.size() + dropped(DropReason::queue_full).packets, 10u);
  EXPECT_GE(dropped(DropReason::queue_full).packets, 6u);
}

TEST_F(DrainLoopTest, SendsUnshapedPacketsAtOnceFromTheirSlots) {
  ClassConfig bypass{.name = "free", .bypass = true};
  use({bypass});
  hand_over(frame_to(1));
  hand_over(PacketBuilder().arp("10.0.0.1", "10.0.0.2").build());
  run();
  ASSERT_EQ(sink_.departures.size(), 2u);
  EXPECT_EQ(sink_.departures[0].at, kTestStart);
  const ShaperStatistics all = shaper_->statistics(clock_.now());
  EXPECT_EQ(all.classes[0].sent.packets, 1u);
  EXPECT_EQ(all.unmatched.packets, 1u);
  EXPECT_EQ(all.sent.packets, 2u);
}

Frame large_frame(int number) {
  return PacketBuilder()
      .ipv4("10.0.0.1", "10.0.1.1")
      .udp(1, 2)
      .payload(60'000, static_cast<std::uint8_t>(number))
      .build();
}

TEST_F(DrainLoopTest, LargeFramesThatWaitOutliveTheirSlots) {
  use({shaped(1000)});
  for (int i = 0; i < 3; ++i) hand_over(large_frame(i));
  std::vector<std::size_t> slots_out;
  waiter_.before_sleep = [&](std::optional<Instant>) { slots_out.push_back(source_.slots_out()); };
  run();
  EXPECT_EQ(slots_out, (std::vector<std::size_t>{0, 0, 0})) << "none waits a millisecond for its frame";
  ASSERT_EQ(sink_.departures.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sink_.departures[i].at, kTestStart + i * milliseconds(1));
    EXPECT_TRUE(sink_.departures[i].frame == large_frame(i));
  }
}

TEST_F(DrainLoopTest, LargeFramesThatLeaveSoonStayInTheirSlots) {
  use({shaped(10'000)});
  for (int i = 0; i < 3; ++i) hand_over(large_frame(i));
  std::vector<std::size_t> slots_out;
  waiter_.before_sleep = [&](std::optional<Instant>) { slots_out.push_back(source_.slots_out()); };
  run();
  EXPECT_EQ(slots_out, (std::vector<std::size_t>{3, 3, 0}));
  ASSERT_EQ(sink_.departures.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sink_.departures[i].at, kTestStart + i * microseconds(100));
    EXPECT_TRUE(sink_.departures[i].frame == large_frame(i));
  }
}

TEST_F(DrainLoopTest, LargeFramesLeaveRoomForTheSlotsOfTheNextBatch) {
  use({shaped(10'000, 1000)});
  for (int i = 0; i < 300; ++i) hand_over(large_frame(i));
  std::size_t most_out_when_asleep = 0;
  waiter_.before_sleep = [&](std::optional<Instant>) {
    most_out_when_asleep = std::max(most_out_when_asleep, source_.slots_out());
  };
  run();
  EXPECT_LT(most_out_when_asleep, 300u);
  ASSERT_EQ(sink_.departures.size(), 300u);
  for (int i = 0; i < 300; ++i) EXPECT_TRUE(sink_.departures[i].frame == large_frame(i));
}

TEST_F(DrainLoopTest, LargeFramesInTheirSlotsOutliveTheEnd) {
  use({shaped(10'000)});
  for (int i = 0; i < 3; ++i) hand_over(large_frame(i));
  hand_over(HandOffEntry::Kind::end);
  run();  // checks that all slots are given back
  EXPECT_EQ(sink_.departures.size(), 1u);
  EXPECT_EQ(shaper_->statistics(clock_.now()).queued.packets, 2u);
  EXPECT_FALSE(shaper_->lends());
}

TEST_F(DrainLoopTest, PutsAStrippedTagBackBehindTheMacAddresses) {
  const Frame tagged = PacketBuilder().vlan(5).ipv4("10.0.0.1", "10.0.0.2").udp(1, 2).payload(18).build();
  Frame untagged = tagged;
  untagged.erase(untagged.begin() + 12, untagged.begin() + 16);
  for (const bool bypass : {true, false}) {
    sink_.departures.clear();
    ClassConfig one = bypass ? ClassConfig{.name = "all", .bypass = true} : shaped(1000);
    use({one});
    hand_over(untagged, false, 0x8100, 5);
    run();
    ASSERT_EQ(sink_.departures.size(), 1u);
    EXPECT_EQ(sink_.departures[0].frame, tagged) << "bypass: " << bypass;
  }
}

TEST_F(DrainLoopTest, NeverForwardsAClippedFrame) {
  use({shaped(1000)});
  hand_over(frame_to(1), true);
  run();
  EXPECT_TRUE(sink_.departures.empty());
  EXPECT_EQ(dropped(DropReason::clipped).packets, 1u);
}

TEST_F(DrainLoopTest, CountsWhatTheKernelRefuses) {
  ClassConfig free{.name = "free", .match = "", .bypass = true};
  use({shaped(1000)});
  sink_.refuse = [](const Frame& frame) { return frame == frame_to(1, 1); };
  for (int i = 0; i < 3; ++i) hand_over(frame_to(1, i));
  run();
  EXPECT_EQ(sink_.departures.size(), 2u);
  EXPECT_EQ(dropped(DropReason::send_failed).packets, 1u);

  use({free});
  hand_over(frame_to(1, 1));
  run();
  EXPECT_EQ(dropped(DropReason::send_failed).packets, 1u);
}

TEST_F(DrainLoopTest, ALateWakeUpIsNoRateError) {
  use({shaped(1000)});
  for (int i = 0; i < 6; ++i) hand_over(frame_to(1, i));
  bool late = false;
  waiter_.before_sleep = [&](std::optional<Instant> deadline) {
    if (deadline && !std::exchange(late, true)) clock_.set(*deadline + microseconds(2500));
  };
  run();
  ASSERT_EQ(sink_.departures.size(), 6u);
  EXPECT_EQ(sink_.departures[3].at, kTestStart + microseconds(3500))
      << "three are sent at once after the late wake-up";
  EXPECT_EQ(sink_.departures[4].at, kTestStart + milliseconds(4));
  EXPECT_EQ(sink_.departures[5].at, kTestStart + milliseconds(5));
}

TEST_F(DrainLoopTest, ARealTimeThreadThatNeverLeavesTheProcessorRestsBetweenStretches) {
  // A second's worth of packets; how long the loop slept other than for a deadline, and when the last one left.
  const auto slept = [this](int percent_taken, bool real_time) {
    use({shaped(1000, 1000)});
    if (real_time) loop_->set_real_time();
    for (int i = 0; i < 1000; ++i) hand_over(frame_to(1, i));
    const Instant start = clock_.now();
    int rests = 0;
    clock_.on_sleep = [&rests] { ++rests; };
    waiter_.time_taken = [this, start, percent_taken] {
      return (clock_.now() - start) * percent_taken / 100;
    };
    run();
    EXPECT_GE(sink_.departures.back().at, start + milliseconds(999));
    EXPECT_LE(sink_.departures.back().at, start + milliseconds(1000)) << "a rest is no rate error";
    return rests;
  };
  const int rests = slept(99, true);
  EXPECT_GE(rests, 80);  // of 650 us: at least 5 % of the second
  EXPECT_LE(rests, 100);
  EXPECT_EQ(slept(90, true), 0);
  EXPECT_EQ(slept(99, false), 0);
}

TEST_F(DrainLoopTest, PublishesWhenTheNextPacketIsDue) {
  use({shaped(1000)});
  for (int i = 0; i < 3; ++i) hand_over(frame_to(1, i));
  std::vector<std::int64_t> published;
  waiter_.before_sleep = [&](auto) { published.push_back(loop_->health().next_due); };
  run();
  const std::int64_t start = kTestStart.time_since_epoch().count();
  EXPECT_EQ(published,
            (std::vector<std::int64_t>{start + 1'000'000, start + 2'000'000, DrainHealth::kNothingDue}));
}

TEST_F(DrainLoopTest, OnEndKeepsWhatIsQueuedUnlessToldToSendIt) {
  use({shaped(1)});
  for (int i = 0; i < 50; ++i) hand_over(frame_to(1, i));
  hand_over(HandOffEntry::Kind::end);
  run();
  EXPECT_EQ(sink_.departures.size(), 1u);
  EXPECT_EQ(shaper_->statistics(clock_.now()).queued.packets, 49u);
}

TEST_F(DrainLoopTest, OnEndSendsWhatIsQueuedWithoutWaiting) {
  use({shaped(1)});
  loop_->send_rest_at_end(true);
  for (int i = 0; i < 50; ++i) hand_over(frame_to(1, i));
  hand_over(HandOffEntry::Kind::end);
  run();
  ASSERT_EQ(sink_.departures.size(), 50u);
  EXPECT_EQ(sink_.departures.back().at, kTestStart);
  EXPECT_EQ(sink_.departures.back().frame, frame_to(1, 49));
}

TEST_F(DrainLoopTest, OnEndCountsWhatCannotBeSentInTwoSeconds) {
  use({shaped(1, 1000)});
  loop_->send_rest_at_end(true);
  for (int i = 0; i < 500; ++i) hand_over(frame_to(1, i % 100));
  hand_over(HandOffEntry::Kind::end);
  sink_.after_send = [this] { clock_.advance(seconds(1)); };
  run();
  EXPECT_GT(dropped(DropReason::stop).packets, 0u);
  EXPECT_EQ(sink_.departures.size() + dropped(DropReason::stop).packets, 500u);
}

TEST_F(DrainLoopTest, NewClassesTakeEffectBehindThePacketsOfTheOldOnes) {
  use({shaped(1000)});
  Reconfiguration reconfiguration(classifier_of({shaped(100)}));
  std::future<void> done = reconfiguration.done();
  hand_over(frame_to(1, 0));
  hand_over(frame_to(1, 1));
  hand_over(HandOffEntry::Kind::reconfiguration, &reconfiguration);
  hand_over(frame_to(1, 2));
  hand_over(frame_to(1, 3));
  run();
  EXPECT_EQ(done.wait_for(seconds(0)), std::future_status::ready);
  ASSERT_EQ(sink_.departures.size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(sink_.departures[i].frame, frame_to(1, i)) << "order within the flow";
  EXPECT_EQ(sink_.departures[3].at - sink_.departures[2].at, milliseconds(10));
}

// What a capture of one class sees: what happened to which frame.
class DrainLoopTapTest : public DrainLoopTest {
 protected:
  struct Seen {
    PacketEvent event;
    DropReason reason;
    Instant at;
    Frame frame;
  };

  void tap(const std::string& class_name = "all", PacketEventSet events = {true, true, true}) {
    tap_ = std::make_shared<PacketTap>(class_name, events);
    ASSERT_TRUE(taps_.add(tap_, classifier_->classes()));
    loop_->observe(&taps_);
  }

  std::vector<Seen> seen() {
    std::vector<Seen> all;
    while (const auto packet = tap_->peek()) {
      all.push_back(
          {packet->event, packet->reason, packet->at, {packet->frame.begin(), packet->frame.end()}});
      tap_->pop();
    }
    return all;
  }

  // Counts what was seen and compares it with the counters of the shaper.
  std::vector<Seen> seen_as_counted() {
    std::vector<Seen> all = seen();
    std::uint64_t received = 0, sent = 0;
    std::array<std::uint64_t, kDropReasonCount> drops{};
    for (const Seen& one : all) {
      if (one.event == PacketEvent::received) ++received;
      if (one.event == PacketEvent::sent) ++sent;
      if (one.event == PacketEvent::dropped) ++drops[static_cast<std::size_t>(one.reason)];
    }
    const ClassStatistics counted = shaper_->statistics(clock_.now()).classes.at(0);
    EXPECT_EQ(received, counted.received.packets);
    EXPECT_EQ(sent, counted.sent.packets);
    for (std::size_t i = 0; i < kDropReasonCount; ++i)
      EXPECT_EQ(drops[i], counted.dropped[i].packets) << kDropReasonNames[i];
    return all;
  }

  PacketTaps taps_;
  std::shared_ptr<PacketTap> tap_;
};

TEST_F(DrainLoopTapTest, SeesEachPacketComeAndGoInTime) {
  use({shaped(1000)});
  tap();
  for (int i = 0; i < 2; ++i) hand_over(frame_to(1, i));
  run();
  const auto all = seen_as_counted();
  ASSERT_EQ(all.size(), 4u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(all[i].event, PacketEvent::received);
    EXPECT_EQ(all[i].at, kTestStart);
    EXPECT_EQ(all[i].frame, frame_to(1, i));
    EXPECT_EQ(all[2 + i].event, PacketEvent::sent);
    EXPECT_EQ(all[2 + i].at, kTestStart + i * milliseconds(1));
    EXPECT_EQ(all[2 + i].frame, frame_to(1, i));
  }
}

TEST_F(DrainLoopTapTest, SeesEveryReasonForADrop) {
  use({shaped(1, 2)});
  tap();
  loop_->send_rest_at_end(true);
  sink_.refuse = [](const Frame& frame) { return frame == frame_to(2); };
  // Too slow to send the rest at the end.
  sink_.after_send = [this] {
    if (hand_off_.empty()) clock_.advance(seconds(3));
  };
  run({[this] { hand_over(frame_to(2)); }, [this] { hand_over(frame_to(3), true); },
       [this] {
         for (int i = 0; i < 5; ++i) hand_over(frame_to(1, i));
         for (int host = 10; host < 140; ++host) {
           for (int i = 0; i < 2; ++i) hand_over(frame_to(host, i));
         }
         hand_over(HandOffEntry::Kind::end);
       }});
  seen_as_counted();
  for (const DropReason reason :
       {DropReason::queue_full, DropReason::clipped, DropReason::send_failed, DropReason::stop})
    EXPECT_GT(dropped(reason).packets, 0u) << name_of(reason);
}

TEST_F(DrainLoopTapTest, SeesWhatMemoryCannotHold) {
  classifier_ = classifier_of({shaped(1)});
  shaper_.emplace(ShaperLimits{.memory = DataSize{8 * 256}, .max_flows = 12}, classifier_->classes(),
                  clock_.now());
  loop_.emplace(std::vector<DrainInput>{{hand_off_, source_}}, sink_, waiter_, clock_, *shaper_, classifier_);
  tap();
  hand_over(HandOffEntry::Kind::end);
  run();
  loop_.emplace(std::vector<DrainInput>{{hand_off_, source_}}, sink_, waiter_, clock_, *shaper_, classifier_);
  loop_->observe(&taps_);
  for (int i = 0; i < 8; ++i) hand_over(frame_to(1, i));
  for (int host = 2; host < 20; ++host) hand_over(frame_to(host));
  hand_over(HandOffEntry::Kind::end);
  run();
  const auto all = seen_as_counted();
  EXPECT_GT(dropped(DropReason::pool_full).packets, 0u);
  EXPECT_GT(dropped(DropReason::flow_table_full).packets, 0u);
  // The longest queue lost its last packets, in whole.
  const bool queued_one = std::any_of(all.begin(), all.end(), [](const Seen& one) {
    return one.reason == DropReason::pool_full && one.frame == frame_to(1, 7);
  });
  EXPECT_TRUE(queued_one);
}

TEST_F(DrainLoopTapTest, SeesABypassClassAndPutsATagBack) {
  const Frame tagged = PacketBuilder().vlan(5).ipv4("10.0.0.1", "10.0.0.2").udp(1, 2).payload(18).build();
  Frame untagged = tagged;
  untagged.erase(untagged.begin() + 12, untagged.begin() + 16);
  for (const bool bypass : {true, false}) {
    use({bypass ? ClassConfig{.name = "all", .bypass = true} : shaped(1000)});
    taps_ = PacketTaps();
    tap();
    hand_over(untagged, false, 0x8100, 5);
    run();
    const auto all = seen_as_counted();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].frame, tagged) << "bypass: " << bypass;
    EXPECT_EQ(all[1].frame, tagged) << "bypass: " << bypass;
  }
}

TEST_F(DrainLoopTapTest, SeesOnlyTheEventsOfItsClass) {
  ClassConfig free{.name = "free", .bypass = true};
  use({free, shaped(1000)});
  tap("all");
  hand_over(frame_to(1));  // the first class takes it
  hand_over(PacketBuilder().arp("10.0.0.1", "10.0.0.2").build());
  run();
  EXPECT_TRUE(seen().empty());

  use({shaped(1000)});
  taps_ = PacketTaps();
  tap("all", {false, true, false});
  hand_over(frame_to(1));
  run();
  const auto all = seen();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].event, PacketEvent::sent);
}

TEST_F(DrainLoopTapTest, FollowsItsClassThroughAReloadAndEndsWithIt) {
  use({shaped(1000)});
  tap();
  ClassConfig first{.name = "other", .bypass = true};
  std::vector<std::unique_ptr<PacketMatcher>> matchers(2);
  struct Nothing : PacketMatcher {
    bool matches(std::span<const std::byte>) const override { return false; }
  };
  matchers[0] = std::make_unique<Nothing>();
  Reconfiguration moved(
      std::make_shared<const Classifier>(std::vector{first, shaped(1000)}, std::move(matchers), 1));
  Reconfiguration gone(classifier_of({first}));
  run({[&] {
         hand_over(HandOffEntry::Kind::reconfiguration, &moved);
         classifier_ = moved.classifier();
         hand_over(frame_to(1));
       },
       [&] {
         EXPECT_EQ(seen().size(), 2u) << "its index is another, its name the same";
         EXPECT_FALSE(tap_->ended());
         hand_over(HandOffEntry::Kind::reconfiguration, &gone);
         classifier_ = gone.classifier();
         hand_over(frame_to(1));
       }});
  EXPECT_TRUE(tap_->ended());
  EXPECT_TRUE(seen().empty());
}

TEST_F(DrainLoopTapTest, ThereMayBeSomeAtOnceAndOthersStay) {
  use({shaped(1000)});
  std::vector<std::shared_ptr<PacketTap>> all;
  for (std::size_t i = 0; i < PacketTaps::kMost; ++i) {
    all.push_back(std::make_shared<PacketTap>("all", PacketEventSet{true, false, false}));
    EXPECT_TRUE(taps_.add(all.back(), classifier_->classes()));
  }
  EXPECT_FALSE(taps_.add(std::make_shared<PacketTap>("all", PacketEventSet{}), classifier_->classes()));
  taps_.remove(*all.front());
  EXPECT_FALSE(taps_.add(std::make_shared<PacketTap>("none", PacketEventSet{}), classifier_->classes()));
  loop_->observe(&taps_);
  hand_over(frame_to(1));
  run();
  EXPECT_FALSE(all.front()->peek());
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_TRUE(all[i]->peek());
}

TEST_F(DrainLoopTest, AnswersRequestsOnlyUntilItsEnd) {
  use({shaped(1000)});
  std::thread drain([this] {
    waiter_.on_idle = [] { std::this_thread::yield(); };
    loop_->run();
  });
  bool ran = false;
  EXPECT_TRUE(loop_->call([&ran](Shaper&, PacketSink&, Instant) { ran = true; }, seconds(60)));
  EXPECT_TRUE(ran);
  hand_over(HandOffEntry::Kind::end);
  drain.join();
  EXPECT_FALSE(loop_->call([](Shaper&, PacketSink&, Instant) { FAIL(); }, seconds(60)));
}

TEST_F(DrainLoopTest, PassesOnWhatARequestThrows) {
  use({shaped(1000)});
  std::thread drain([this] {
    waiter_.on_idle = [] { std::this_thread::yield(); };
    loop_->run();
  });
  EXPECT_THROW(
      loop_->call([](Shaper&, PacketSink&, Instant) { throw std::runtime_error("no"); }, seconds(60)),
      std::runtime_error);
  hand_over(HandOffEntry::Kind::end);
  drain.join();
}

// Drain thread 0 of two: what both capture loops hand to it.
class OneOfTwoDrainLoopsTest : public testing::Test {
 protected:
  OneOfTwoDrainLoopsTest() {
    waiter_.on_idle = [this] {
      if (next_step_ == steps_.size()) return hand_over_ends();
      steps_[next_step_++]();
    };
  }

  void hand_over(std::size_t from, Frame frame) {
    sources_[from].add(std::move(frame));
    CapturedFrame captured;
    ASSERT_EQ(sources_[from].receive({&captured, 1}), 1u);
    HandOffEntry* entry = hand_offs_[from].stage();
    *entry = HandOffEntry{
        .packet = {.frame = captured.frame, .arrival = clock_.now(), .charged_bytes = captured.wire_length},
        .slot = captured.slot};
    classifier_->classify(entry->packet);
    hand_offs_[from].publish();
  }
  void hand_over(std::size_t from, HandOffEntry::Kind kind, Reconfiguration* reconfiguration = nullptr) {
    *hand_offs_[from].stage() = HandOffEntry{.kind = kind, .reconfiguration = reconfiguration};
    hand_offs_[from].publish();
  }
  void hand_over_ends() {
    for (std::size_t from : {0U, 1U}) hand_over(from, HandOffEntry::Kind::end);
  }

  void run(std::vector<std::function<void()>> steps = {}) {
    steps_ = std::move(steps);
    loop_.run();
    for (FakePacketSource& source : sources_) EXPECT_EQ(source.slots_out(), 0u);
  }

  // The other drain thread goes this step, too.
  static void other_ends(Reconfiguration& reconfiguration, Reconfiguration::Step step) {
    reconfiguration.end(step);
  }

  ManualClock clock_;
  std::array<FakePacketSource, 2> sources_;
  std::array<HandOff, 2> hand_offs_{HandOff{2048}, HandOff{2048}};
  RecordingSink sink_{clock_};
  FakeWaiter waiter_{clock_};
  std::shared_ptr<const Classifier> classifier_ = classifier_of({shaped(1000)});
  Shaper shaper_{ShaperLimits{}, {shaped(1000)}, clock_.now()};
  DrainLoop loop_{{{hand_offs_[0], sources_[0]}, {hand_offs_[1], sources_[1]}},
                  sink_,
                  waiter_,
                  clock_,
                  shaper_,
                  classifier_};
  std::vector<std::function<void()>> steps_;
  std::size_t next_step_ = 0;
};

TEST_F(OneOfTwoDrainLoopsTest, TakesFromBothAndGivesEachItsSlotsBack) {
  for (int i = 0; i < 100; ++i) {
    hand_over(0, frame_to(1, i));
    hand_over(1, frame_to(2, i));
  }
  run();
  EXPECT_EQ(sink_.departures.size(), 200u);
  EXPECT_EQ(shaper_.statistics(clock_.now()).received.packets, 200u);
}

TEST_F(OneOfTwoDrainLoopsTest, EndsWhenBothHaveEnded) {
  bool other_ended = false;
  hand_over(0, HandOffEntry::Kind::end);
  waiter_.on_idle = [&] {
    EXPECT_FALSE(loop_.ended());
    other_ended = true;
    hand_over(1, frame_to(1));
    hand_over(1, HandOffEntry::Kind::end);
  };
  loop_.run();
  EXPECT_TRUE(other_ended);
  EXPECT_EQ(shaper_.statistics(clock_.now()).received.packets, 1u);
}

TEST_F(OneOfTwoDrainLoopsTest, PutsNewClassesInForceWhenBothHaveShownThemAndAllThreadsStand) {
  using Step = Reconfiguration::Step;
  ClassConfig renamed = shaped(1000);
  renamed.name = "renamed";
  Reconfiguration reconfiguration(classifier_of({renamed}), {nullptr, nullptr});
  std::future<void> done = reconfiguration.done();
  const auto name_in_force = [this] { return shaper_.statistics(clock_.now()).classes[0].name; };
  const auto received = [this] { return shaper_.statistics(clock_.now()).received.packets; };
  hand_over(0, HandOffEntry::Kind::reconfiguration, &reconfiguration);
  hand_over(0, frame_to(1, 1));  // by the new classes
  hand_over(1, frame_to(2, 0));  // by the old ones
  run({[&] {
         EXPECT_EQ(received(), 1u) << "reads no further where the new classes were shown";
         EXPECT_EQ(name_in_force(), "all");
         hand_over(1, HandOffEntry::Kind::reconfiguration, &reconfiguration);
       },
       [&] {
         EXPECT_EQ(name_in_force(), "all") << "the other thread still takes packets of the old classes";
         other_ends(reconfiguration, Step::stand);
       },
       [&] {
         EXPECT_EQ(name_in_force(), "renamed");
         EXPECT_EQ(received(), 1u) << "the other thread may still hold what belongs here";
         other_ends(reconfiguration, Step::put_in_force);
       },
       [&] {
         EXPECT_EQ(received(), 2u);
         EXPECT_EQ(done.wait_for(seconds(0)), std::future_status::timeout);
         other_ends(reconfiguration, Step::take_in);
         EXPECT_EQ(done.wait_for(seconds(0)), std::future_status::ready);
       }});
}

TEST_F(OneOfTwoDrainLoopsTest, DoesNotWaitForACaptureThreadThatHasEnded) {
  Reconfiguration reconfiguration(classifier_of({shaped(100)}), {nullptr, nullptr});
  for (const auto step :
       {Reconfiguration::Step::stand, Reconfiguration::Step::put_in_force, Reconfiguration::Step::take_in})
    other_ends(reconfiguration, step);
  std::future<void> done = reconfiguration.done();
  hand_over(0, HandOffEntry::Kind::end);
  hand_over(1, HandOffEntry::Kind::reconfiguration, &reconfiguration);
  hand_over(1, HandOffEntry::Kind::end);
  loop_.run();
  EXPECT_EQ(done.wait_for(seconds(0)), std::future_status::ready);
}

TEST_F(OneOfTwoDrainLoopsTest, SendsAtOnceWhatANewClassDoesNotShapeAnyMore) {
  using Step = Reconfiguration::Step;
  Reconfiguration reconfiguration(classifier_of({{.name = "all", .bypass = true}}), {nullptr, nullptr});
  for (int i = 0; i < 100; ++i) hand_over(0, frame_to(1, i));
  for (std::size_t from : {0U, 1U}) hand_over(from, HandOffEntry::Kind::reconfiguration, &reconfiguration);
  other_ends(reconfiguration, Step::stand);
  std::size_t sent = 0;
  bool others_wait = false;
  waiter_.before_sleep = [&](auto) {
    if (!std::exchange(others_wait, true)) sent = sink_.departures.size();
  };
  run({[&] {
    other_ends(reconfiguration, Step::put_in_force);
    other_ends(reconfiguration, Step::take_in);
  }});
  EXPECT_EQ(sent, 100u) << "before any thread sends what comes behind it";
}

}  // namespace
}  // namespace headgate
