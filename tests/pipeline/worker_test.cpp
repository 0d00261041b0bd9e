#include "pipeline/worker.hpp"

#include "pipeline/worker_fixture.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Test;

using WorkerTest = WorkerFixture;

TEST_F(WorkerTest, SendsEachPacketAtItsTime) {
  TestShape& shape = add_shape(class_of(1000));
  const Instant start = clock.now();
  for (int i = 0; i < 3; ++i) shape.source.add(frame_to(1));
  run();
  ASSERT_EQ(shape.sink.departures.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(shape.sink.departures[i].at, start + i * milliseconds(1));
  expect_law(shape, clock.now());
}

TEST_F(WorkerTest, GivesAllSlotsBack) {
  TestShape& shape = add_shape(class_of(1000));
  for (int i = 0; i < 200; ++i) shape.source.add(frame_to(1));
  run();
  EXPECT_EQ(shape.sink.departures.size(), 200u);
  EXPECT_EQ(shape.source.slots_out(), 0u);
}

TEST_F(WorkerTest, SendsEachShapesPacketsByItsOwnSink) {
  TestShape& first = add_shape(class_of(1000));
  TestShape& second = add_shape(class_of(1000));
  const Instant start = clock.now();
  for (int i = 0; i < 3; ++i) {
    first.source.add(frame_to(1, 20));
    second.source.add(frame_to(2, 30));
  }
  run();
  ASSERT_EQ(first.sink.departures.size(), 3u);
  ASSERT_EQ(second.sink.departures.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(first.sink.departures[i].at, start + i * milliseconds(1));
    EXPECT_EQ(second.sink.departures[i].at, start + i * milliseconds(1));
    EXPECT_EQ(first.sink.departures[i].frame, frame_to(1, 20));
    EXPECT_EQ(second.sink.departures[i].frame, frame_to(2, 30));
  }
}

TEST_F(WorkerTest, AFloodOfOneShapeLeavesTheOtherItsTurn) {
  TestShape& flooded = add_shape(class_of(1000), {}, 100'000);
  TestShape& quiet = add_shape(class_of(1000));
  for (int i = 0; i < 10'000; ++i) flooded.source.add(frame_to(1));
  quiet.source.add(frame_to(2));
  int rounds = 0;
  std::size_t rounds_until_sent = 0;
  flooded.sink.after_send = [&] { ++rounds; };
  quiet.sink.after_send = [&] { rounds_until_sent = static_cast<std::size_t>(rounds); };
  run();
  EXPECT_EQ(quiet.sink.departures.size(), 1u);
  EXPECT_LE(rounds_until_sent, 2u);
}

TEST_F(WorkerTest, UnshapedFramesGoOnAtOnce) {
  TestShape& shape = add_shape(free_class());
  const Instant start = clock.now();
  for (int i = 0; i < 100; ++i) shape.source.add(frame_to(1, 18 + i));
  run();
  ASSERT_EQ(shape.sink.departures.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(shape.sink.departures[i].at, start);
    EXPECT_EQ(shape.sink.departures[i].frame, frame_to(1, 18 + i));
  }
  expect_law(shape, clock.now());
}

TEST_F(WorkerTest, PutsAStrippedTagBack) {
  TestShape& shape = add_shape(free_class());
  shape.source.add(frame_to(1), 0, 0x8100, 5);
  run();
  ASSERT_EQ(shape.sink.departures.size(), 1u);
  const Frame& sent = shape.sink.departures[0].frame;
  ASSERT_EQ(sent.size(), frame_to(1).size() + 4);
  EXPECT_EQ(sent[12], std::byte{0x81});
  EXPECT_EQ(sent[15], std::byte{5});
  EXPECT_TRUE(std::equal(sent.begin() + 16, sent.end(), frame_to(1).begin() + 12));
}

TEST_F(WorkerTest, NeverSendsAClippedFrame) {
  TestShape& shape = add_shape(free_class());
  shape.source.add(frame_to(1), 100);
  run();
  EXPECT_TRUE(shape.sink.departures.empty());
  EXPECT_EQ(dropped(shape, DropReason::clipped), 1u);
  expect_law(shape, clock.now());
}

TEST_F(WorkerTest, ARefusedSendIsADropAndHoldsUpNobody) {
  TestShape& refused = add_shape(class_of(1000));
  TestShape& other = add_shape(class_of(1000));
  refused.sink.refuse = [](const Frame& frame) { return frame == frame_to(3); };
  const Instant start = clock.now();
  for (int i = 0; i < 3; ++i) {
    refused.source.add(frame_to(3));
    refused.source.add(frame_to(2));
    other.source.add(frame_to(4));
  }
  run();
  EXPECT_EQ(dropped(refused, DropReason::send_failed), 3u);
  ASSERT_EQ(refused.sink.departures.size(), 3u);
  ASSERT_EQ(other.sink.departures.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(refused.sink.departures[i].at, start + i * milliseconds(1));
    EXPECT_EQ(other.sink.departures[i].at, start + i * milliseconds(1));
  }
  expect_law(refused, clock.now());
}

TEST_F(WorkerTest, WhatWaitedWhileYoungerPacketsPassedIsDropped) {
  TestShape& shape = add_shape(class_of(10));
  TestShape& other = add_shape(class_of(10));
  for (int i = 0; i < 5; ++i) {
    shape.source.add(frame_to(1));
    other.source.add(frame_to(1));
  }
  // The thread stops for a second: the switch opens, and packets pass.
  bool stopped = false;
  waiter.before_sleep = [&](std::optional<Instant>) {
    if (std::exchange(stopped, true)) return;
    EXPECT_EQ(shape.sink.departures.size(), 1u);
    clock.advance(seconds(1));
    for (int i = 0; i < 100; ++i) shape.source.add(frame_to(2));
    shape.dead_man_switch.unread = seconds(1);
    shape.dead_man_switch.let_pass = true;
  };
  const int resets = shape.dead_man_switch.resets;
  run();
  EXPECT_EQ(shape.sink.departures.size(), 1u);
  EXPECT_EQ(dropped(shape, DropReason::overtaken), 104u);
  EXPECT_GT(shape.dead_man_switch.resets, resets);
  EXPECT_EQ(other.sink.departures.size(), 5u);  // nothing passed there
  expect_law(shape, clock.now());
}

TEST_F(WorkerTest, WhatWaitsIsDroppedAlsoWhereTheBatchEndsBeforeItHasComeToThatShape) {
  TestShape& flooded = add_shape(class_of(1000), {}, 100'000);
  TestShape& shape = add_shape(class_of(10));
  for (int i = 0; i < 5; ++i) shape.source.add(frame_to(1));
  bool stopped = false;
  waiter.before_sleep = [&](std::optional<Instant>) {
    if (std::exchange(stopped, true)) return;
    EXPECT_EQ(shape.sink.departures.size(), 1u);
    clock.advance(seconds(1));
    for (int i = 0; i < 200; ++i) flooded.source.add(frame_to(2));
    shape.source.add(frame_to(1));
    shape.dead_man_switch.unread = seconds(1);
    shape.dead_man_switch.let_pass = true;
  };
  run();
  EXPECT_EQ(shape.sink.departures.size(), 1u);
  EXPECT_EQ(dropped(shape, DropReason::overtaken), 5u);
  EXPECT_EQ(flooded.sink.departures.size(), 200u);
  expect_law(shape, clock.now());
}

// A shape of two parts, both at one worker.
class TwoPartsTest : public WorkerFixture {
 protected:
  struct Part {
    explicit Part(TwoPartsTest& test) : sink(test.clock), shaper({}, {test.config}, test.memory) {}
    FakePacketSource source{1024, SlotsReturn::in_any_order};
    RecordingSink sink;
    Shaper shaper;
    PacketTaps taps;
    HandOff to_the_other{128};
    std::optional<Port> port;
  };

  void make(const ClassConfig& class_config) {
    config = class_config;
    for (auto& part : parts) part.emplace(*this);
    classifier = classifier_of({config});
    watch.emplace(dead_man_switch, std::vector{watched(0), watched(1)});
    for (std::size_t own = 0; own < 2; ++own) {
      Part& part = *parts[own];
      Part& other = *parts[1 - own];
      std::vector<std::optional<PortPeer>> peers(2);
      peers[1 - own].emplace(PortPeer{
          .to = part.to_the_other, .from = other.to_the_other, .source = other.source, .waiter = waiter});
      part.port.emplace(PortOptions{.source = part.source,
                                    .sink = part.sink,
                                    .shaper = part.shaper,
                                    .taps = part.taps,
                                    .watch = *watch,
                                    .classifier = classifier,
                                    .part = own,
                                    .peers = std::move(peers)},
                        clock);
      worker.schedule().add(part.shaper);
      worker.add_port(*part.port);
    }
  }
  ~TwoPartsTest() override {
    for (auto& part : parts) {
      worker.remove_port(*part->port);
      part->shaper.drop_all(DropReason::stop);
      worker.schedule().remove(part->shaper);
    }
  }
  ShapeWatch::Watched watched(std::size_t part) {
    return {.source = parts[part]->source,
            .health = worker.health(),
            .waiter = waiter,
            .inputs = {&parts[1 - part]->to_the_other}};
  }

  // As the first part would: what was read now, and lies in the ring.
  void hand_over(const Frame& frame) {
    std::array<CapturedFrame, 1> captured;
    parts[0]->source.add(frame);
    ASSERT_EQ(parts[0]->source.receive(captured), 1u);
    ArrivingPacket packet{.frame = captured[0].frame,
                          .arrival = clock.now(),
                          .charged_bytes = captured[0].wire_length,
                          .charged_packets = 1};
    classifier->classify(packet);
    *parts[0]->to_the_other.stage() = {.packet = packet, .slot = captured[0].slot};
    parts[0]->to_the_other.publish();
  }

  std::size_t sent() const { return parts[0]->sink.departures.size() + parts[1]->sink.departures.size(); }
  std::uint64_t dropped(DropReason reason) {
    std::uint64_t sum = 0;
    for (auto& part : parts)
      sum += part->shaper.statistics(clock.now()).dropped[static_cast<std::size_t>(reason)].packets;
    return sum;
  }

  ClassConfig config;
  FakeDeadManSwitch dead_man_switch;
  std::shared_ptr<const Classifier> classifier;
  std::optional<ShapeWatch> watch;
  std::array<std::optional<Part>, 2> parts;
};

TEST_F(TwoPartsTest, APartWithoutFramesDropsWhatWaitsWhenTheOtherFindsOut) {
  make(class_of(10));
  for (int i = 0; i < 40; ++i) parts[0]->source.add(frame_to(i % 20));
  bool stopped = false;
  waiter.before_sleep = [&](std::optional<Instant>) {
    if (std::exchange(stopped, true)) return;
    EXPECT_EQ(sent(), 20u) << "the first of each flow";
    EXPECT_FALSE(parts[1]->sink.departures.empty());
    clock.advance(seconds(1));
    parts[0]->source.add(frame_to(1));
    dead_man_switch.unread = seconds(1);
    dead_man_switch.let_pass = true;
  };
  const int resets = dead_man_switch.resets;
  run();
  EXPECT_EQ(sent(), 20u);
  EXPECT_EQ(dropped(DropReason::overtaken), 21u);
  EXPECT_GT(dead_man_switch.resets, resets);
}

TEST_F(TwoPartsTest, WhatLayInARingThroughAnOpeningIsDropped) {
  make(class_of(10));
  parts[0]->source.add(frame_to(1));
  waiter.on_idle = [&, stopped = false]() mutable {
    if (std::exchange(stopped, true)) return worker.stop();
    hand_over(frame_to(2));
    clock.advance(seconds(1));
    dead_man_switch.unread = seconds(1);
    dead_man_switch.let_pass = true;
    parts[0]->source.add(frame_to(1));
  };
  worker.run();
  EXPECT_EQ(sent(), 1u);
  EXPECT_EQ(dropped(DropReason::overtaken), 2u);
}

TEST_F(TwoPartsTest, WhatLayInARingForWantOfProcessorTimeIsStarvedWhereItOverflows) {
  make(class_of(10, 2));
  waiter.on_idle = [&, handed_over = false]() mutable {
    if (std::exchange(handed_over, true)) return worker.stop();
    for (int i = 0; i < 10; ++i) hand_over(frame_to(1));
    clock.advance(milliseconds(50));
  };
  const std::uint64_t late_times = worker.health().late_times;
  worker.run();
  EXPECT_GT(dropped(DropReason::starved), 0u);
  EXPECT_EQ(dropped(DropReason::queue_full), 0u);
  EXPECT_GT(worker.health().late_times, late_times);
}

TEST_F(WorkerTest, WhatComesAfterAnOpeningIsShaped) {
  TestShape& shape = add_shape(class_of(10));
  shape.source.add(frame_to(1));
  shape.dead_man_switch.unread = seconds(1);
  shape.dead_man_switch.let_pass = true;
  bool came = false;
  waiter.on_idle = [&] {
    if (std::exchange(came, true)) return worker.stop();
    shape.source.add(frame_to(1, 40));
  };
  worker.run();
  ASSERT_EQ(shape.sink.departures.size(), 1u);
  EXPECT_EQ(shape.sink.departures[0].frame, frame_to(1, 40));
  EXPECT_EQ(dropped(shape, DropReason::overtaken), 1u);
}

TEST_F(WorkerTest, AnOpeningInWhichNothingPassedDropsNothing) {
  TestShape& shape = add_shape(class_of(10));
  shape.dead_man_switch.unread = seconds(1);
  for (int i = 0; i < 5; ++i) shape.source.add(frame_to(1));
  run();
  EXPECT_EQ(shape.sink.departures.size(), 5u);
  EXPECT_EQ(dropped(shape, DropReason::overtaken), 0u);
}

TEST_F(WorkerTest, WhatOverflowsForWantOfProcessorTimeIsStarved) {
  TestShape& shape = add_shape(class_of(10, 2));
  shape.dead_man_switch.unread = milliseconds(90);  // since the first of these frames came
  for (int i = 0; i < 10; ++i) shape.source.add(frame_to(1));
  run();
  EXPECT_GT(dropped(shape, DropReason::starved), 0u);
  EXPECT_EQ(dropped(shape, DropReason::queue_full), 0u);
  expect_law(shape, clock.now());
}

TEST_F(WorkerTest, WhatComesLongAfterALostPacketIsNotLate) {
  TestShape& shape = add_shape(class_of(10, 2));
  shape.dead_man_switch.unread = milliseconds(90);  // since the lost one
  shape.source.frames_waited = milliseconds(1);
  for (int i = 0; i < 10; ++i) shape.source.add(frame_to(1));
  run();
  EXPECT_EQ(dropped(shape, DropReason::starved), 0u);
  EXPECT_GT(dropped(shape, DropReason::queue_full), 0u);
}

TEST_F(WorkerTest, WhatFindsQueuesFullOfLatePacketsIsStarvedToo) {
  TestShape& shape = add_shape(class_of(10, 2));
  const auto overflow = [&] {
    for (int i = 0; i < 10; ++i) shape.source.add(frame_to(1));
  };
  shape.dead_man_switch.unread = milliseconds(300);
  overflow();
  waiter.before_sleep = [&, sleeps = 0](std::optional<Instant>) mutable {
    ++sleeps;
    if (sleeps == 1) {
      overflow();
    } else if (sleeps == 2) {
      EXPECT_EQ(dropped(shape, DropReason::queue_full), 0u);
      clock.advance(milliseconds(300));
      overflow();
    }
  };
  run();
  EXPECT_GT(dropped(shape, DropReason::starved), 10u);
  EXPECT_GT(dropped(shape, DropReason::queue_full), 0u);
}

TEST_F(WorkerTest, WhatOverflowsInTimeIsQueueFull) {
  TestShape& shape = add_shape(class_of(10, 2));
  shape.dead_man_switch.unread = kMaxCatchUp;
  for (int i = 0; i < 10; ++i) shape.source.add(frame_to(1));
  run();
  EXPECT_EQ(dropped(shape, DropReason::starved), 0u);
  EXPECT_GT(dropped(shape, DropReason::queue_full), 0u);
}

TEST_F(WorkerTest, ReadingResetsTheSwitch) {
  TestShape& shape = add_shape(class_of(1000));
  shape.source.add(frame_to(1));
  shape.dead_man_switch.unread = milliseconds(1);
  run();
  EXPECT_EQ(shape.dead_man_switch.unread.load(), Duration::zero());
}

TEST_F(WorkerTest, APacketLostBeforeTheSourceDoesNotKeepTheSwitchArmed) {
  TestShape& shape = add_shape(class_of(1000));
  shape.dead_man_switch.unread = seconds(1);
  worker.ask([&](Instant) { shape.port->look_at_switch(); });
  EXPECT_EQ(shape.dead_man_switch.unread.load(), Duration::zero());
}

TEST_F(WorkerTest, ASourceThatFailsEndsItsPortAlone) {
  TestShape& broken = add_shape(class_of(1000));
  TestShape& sound = add_shape(class_of(1000));
  broken.source.fail = true;
  sound.source.add(frame_to(1));
  run();
  EXPECT_TRUE(broken.port->failed());
  EXPECT_THROW(std::rethrow_exception(broken.port->failure()), std::runtime_error);
  EXPECT_EQ(sound.sink.departures.size(), 1u);
  EXPECT_EQ(waiter.sources, std::vector<Arrivals*>{&sound.source});
}

TEST_F(WorkerTest, AtAnEndWhatWasDivertedIsTakenOver) {
  TestShape& shape = add_shape(class_of(10));
  bool ended = false;
  for (int i = 0; i < 200; ++i) shape.source.add(frame_to(1));
  worker.ask([&](Instant) {
    shape.port->begin_end([&] {
      ended = true;
      worker.stop();
    });
  });
  worker.run();
  EXPECT_TRUE(ended);
  EXPECT_EQ(shape.source.slots_out(), 0u);
  const ShaperStatistics statistics = shape.shaper.statistics(clock.now());
  EXPECT_EQ(statistics.received.packets, 200u);
  EXPECT_EQ(statistics.queued.packets + statistics.sent.packets, 200u);
}

TEST_F(WorkerTest, SendsTheRestUnpacedUntilItGivesUp) {
  TestShape& shape = add_shape(class_of(10));
  for (int i = 0; i < 200; ++i) shape.source.add(frame_to(1));
  waiter.before_sleep = [this](std::optional<Instant>) { worker.stop(); };
  worker.run();
  const Instant now = clock.now();
  shape.sink.after_send = [this] { clock.advance(seconds(1)); };  // a batch a second
  EXPECT_FALSE(worker.send_some(*shape.port, now + milliseconds(1500)));
  const std::uint64_t given_up = dropped(shape, DropReason::stop);
  EXPECT_EQ(shape.sink.departures.size(), 1u + 2 * Port::kBatch);
  EXPECT_EQ(given_up, 199u - 2 * Port::kBatch);
  expect_law(shape, clock.now());
}

TEST_F(WorkerTest, SendsTheRestInPiecesInOrder) {
  constexpr std::size_t kPackets = 2500;
  TestShape& shape = add_shape(class_of(10, kPackets), {}, kPackets);
  for (std::size_t i = 0; i < kPackets; ++i) shape.source.add(frame_to(1, 18 + i % 1000));
  waiter.before_sleep = [this](std::optional<Instant>) { worker.stop(); };
  worker.run();
  const std::size_t paced = shape.sink.departures.size();
  std::size_t pieces = 0;
  std::size_t before = paced;
  for (bool more = true; more; ++pieces) {
    more = worker.send_some(*shape.port, clock.now() + seconds(1));
    EXPECT_LE(shape.sink.departures.size() - before, 16 * Port::kBatch);
    before = shape.sink.departures.size();
  }
  EXPECT_EQ(pieces, 3u);
  ASSERT_EQ(shape.sink.departures.size(), kPackets);
  const std::size_t headers = shape.sink.departures[0].frame.size() - 18;
  for (std::size_t i = 0; i < kPackets; ++i)
    ASSERT_EQ(shape.sink.departures[i].frame.size(), headers + 18 + i % 1000) << i;
  expect_law(shape, clock.now());
}

TEST_F(WorkerTest, NewClassesHoldFromTheNextPacketOn) {
  TestShape& shape = add_shape(class_of(10));
  shape.source.add(frame_to(1, 20));
  shape.source.add(frame_to(1, 21));
  std::vector<Reconfiguration::Part> parts;
  parts.push_back({.change = shape.shaper.prepare({free_class()}), .waiter = &waiter});
  Reconfiguration reconfiguration(classifier_of({free_class()}), std::move(parts));
  std::future<void> done = reconfiguration.done();
  const Instant start = clock.now();
  bool begun = false;
  waiter.before_sleep = [&](std::optional<Instant>) {
    if (std::exchange(begun, true)) return;
    worker.expect_run();
    worker.ask([&](Instant) { shape.port->begin(reconfiguration); });
    shape.source.add(frame_to(1, 22));
  };
  worker.expect_run();
  run();
  EXPECT_EQ(done.wait_for(Duration::zero()), std::future_status::ready);
  ASSERT_EQ(shape.sink.departures.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(shape.sink.departures[i].frame, frame_to(1, 20 + i));
  EXPECT_LT(shape.sink.departures[2].at - start, milliseconds(200));
}

// Everybody 10 a second; of a plan that nobody has yet 1000.
ClassConfig class_with_plan() {
  ClassConfig config = class_of(10);
  config.plans.resize(1);
  config.plans[0].name = "gold";
  config.plans[0].rate.packets = PacketRate{1000};
  return config;
}

// Host `host` of frame_to() has the plan now.
MemberUpdateOf gold(Shaper& shaper, std::uint8_t host) {
  Shaper::MemberUpdate update;
  update.member.prefix = {.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 1, host},
                          .length = 128};
  update.member.plan = 0;
  return {&shaper, 0, std::move(update)};
}

TEST_F(WorkerTest, AChangeOfAMemberHoldsForTheNextPacket) {
  TestShape& shape = add_shape(class_with_plan());
  worker.expect_run();
  worker.change_member(gold(shape.shaper, 1));
  for (const int host : {1, 1, 2, 2}) shape.source.add(frame_to(host));
  run();
  ASSERT_EQ(shape.sink.departures.size(), 4u);
  const Instant start = shape.sink.departures[0].at;
  EXPECT_EQ(shape.sink.departures[2].frame, frame_to(1));
  EXPECT_EQ(shape.sink.departures[2].at - start, milliseconds(1));
  EXPECT_EQ(shape.sink.departures[3].at - start, milliseconds(100));
}

TEST_F(WorkerTest, AllChangesOfMembersAreInForceBeforeWhatIsAskedForLater) {
  TestShape& shape = add_shape(class_with_plan());
  worker.expect_run();
  for (std::uint8_t host = 1; host <= 60; ++host) worker.change_member(gold(shape.shaper, host));
  std::uint64_t members = 0;
  worker.ask([&](Instant now) { members = shape.shaper.statistics(now).classes[0].members[0]; });
  run();
  EXPECT_EQ(members, 60u);
}

TEST_F(WorkerTest, AFloodOfChangesOfMembersLetsPacketsThrough) {
  TestShape& shape = add_shape(class_with_plan());
  worker.expect_run();
  for (std::uint8_t host = 1; host <= 60; ++host) worker.change_member(gold(shape.shaper, host));
  shape.source.add(frame_to(1));
  std::uint64_t members = 0;
  shape.sink.after_send = [&] { members = shape.shaper.statistics(clock.now()).classes[0].members[0]; };
  run();
  EXPECT_GT(members, 0u);
  EXPECT_LT(members, 60u);
  EXPECT_EQ(shape.shaper.statistics(clock.now()).classes[0].members[0], 60u);
}

TEST_F(WorkerTest, ARequestThatFailsTellsWhoAsked) {
  std::future<void> done = worker.ask([](Instant) { throw std::runtime_error("no"); });
  EXPECT_THROW(done.get(), std::runtime_error);
}

TEST_F(WorkerTest, ARequestIsNotWaitedForBeyondItsPatience) {
  worker.expect_run();  // and nobody runs
  EXPECT_FALSE(worker.call([](Instant) {}, milliseconds(1)));
}

TEST_F(WorkerTest, RestsWhenARealTimeThreadHasHadTheProcessorForLong) {
  TestShape& shape = add_shape(class_of(1'000'000));
  worker.set_real_time();
  waiter.time_taken = [this] { return clock.now().time_since_epoch(); };
  int rests = 0;
  clock.on_sleep = [&] { ++rests; };
  for (int i = 0; i < 1000; ++i) shape.source.add(frame_to(1));
  shape.sink.after_send = [this] { clock.advance(milliseconds(1)); };
  run();
  EXPECT_GT(rests, 0);
}

}  // namespace
}  // namespace headgate
