#include "core/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/packet_pool.hpp"
#include "support/lone_shaper.hpp"
#include "support/shaper_harness.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

// Shapes in one schedule, in virtual time. The law is checked after every step.
class ScheduleTest : public testing::Test {
 protected:
  struct Shape {
    Shape(const ShaperLimits& limits, std::vector<ClassConfig> class_configs, MemorySource& memory)
        : classes(std::move(class_configs)), shaper(limits, classes, memory) {}
    std::vector<ClassConfig> classes;
    Shaper shaper;
  };
  struct Sent {
    ShapeNumber shape;
    std::uint32_t serial;
    bool operator==(const Sent&) const = default;
  };

  ~ScheduleTest() override {
    for (Shape& shape : shapes_) {
      if (shape.shaper.number() == kNoShape) continue;
      shape.shaper.drop_all(DropReason::stop);
      schedule_.remove(shape.shaper);
    }
  }

  Shape& add(ClassConfig config, const ShaperLimits& limits = {}) {
    Shape& shape = shapes_.emplace_back(limits, std::vector{std::move(config)}, memory_);
    schedule_.add(shape.shaper);
    return shape;
  }

  void arrive(Shape& shape, std::uint32_t flow, std::size_t bytes = 100) {
    const ArrivingPacket packet = packets_.make(shape.classes, 0, {flow, serial_++}, bytes, now_);
    shape.shaper.admit({&packet, 1}, now_);
    packets_.clear();
    expect_laws();
  }

  std::vector<Sent> release(std::size_t at_most = 1000) {
    std::vector<DuePacket> due(at_most);
    due.resize(schedule_.release(now_, due));
    return complete(due);
  }
  std::vector<Sent> complete(std::span<const DuePacket> due) {
    std::vector<Sent> sent;
    sent.reserve(due.size());
    for (const DuePacket& packet : due) sent.push_back({packet.shape, identity_of(schedule_, packet).serial});
    expect_laws();
    schedule_.complete_sent(due, now_);
    expect_laws();
    return sent;
  }
  std::vector<Sent> run() {
    std::vector<Sent> all;
    while (const auto next = schedule_.next_release()) {
      now_ = std::max(now_, *next);
      const std::vector<Sent> sent = release();
      EXPECT_FALSE(sent.empty());
      if (sent.empty()) break;
      all.insert(all.end(), sent.begin(), sent.end());
    }
    return all;
  }

  ShaperStatistics statistics(Shape& shape) { return shape.shaper.statistics(now_); }
  std::uint64_t queued(Shape& shape) { return statistics(shape).queued.packets; }
  std::uint64_t dropped(Shape& shape, DropReason reason) {
    return dropped_for(statistics(shape).classes[0], reason).packets;
  }
  void expect_laws() {
    for (Shape& shape : shapes_) expect_law(shape.shaper.statistics(now_));
  }

  HeapMemory memory_;
  Instant now_ = kTestStart;
  Schedule schedule_{{.memory = DataSize{64 * 1024 * 1024}, .max_flows = 100'000}, memory_, kTestStart};
  std::list<Shape> shapes_;
  NumberedPackets packets_;
  std::uint32_t serial_ = 0;
};

TEST_F(ScheduleTest, SendsThePacketsOfAllShapesInOrderOfIdealTime) {
  Shape& slow = add(shaped_class("slow", packets_per_second(100)));
  Shape& fast = add(shaped_class("fast", packets_per_second(250)));
  for (int i = 0; i < 3; ++i) {
    arrive(slow, 1);
    arrive(fast, 1);
  }
  // Slow: 0, 2, 4 at 0, 10, 20 ms. Fast: 1, 3, 5 at 0, 4, 8 ms.
  now_ += milliseconds(9);
  EXPECT_THAT(release(3), ElementsAre(Sent{0, 0}, Sent{1, 1}, Sent{1, 3}));
  EXPECT_THAT(release(), ElementsAre(Sent{1, 5}));
  EXPECT_EQ(schedule_.next_release(), kTestStart + milliseconds(10));
  EXPECT_THAT(run(), ElementsAre(Sent{0, 2}, Sent{0, 4}));
}

TEST_F(ScheduleTest, MixesTheFlowsOfShapesThatAreDueAtTheSameTime) {
  Shape& one = add(shaped_class("one", packets_per_second(1000)));
  Shape& other = add(shaped_class("other", packets_per_second(1000)));
  for (int i = 0; i < 3; ++i) {
    arrive(one, 1);
    arrive(other, 1);
  }
  now_ += milliseconds(9);
  EXPECT_THAT(release(), ElementsAre(Sent{0, 0}, Sent{1, 1}, Sent{0, 2}, Sent{1, 3}, Sent{0, 4}, Sent{1, 5}));
}

// 16 chunks of packet memory and 8 flows for all that share it.
ShaperLimits shared_limits() {
  ShaperLimits limits{.memory = DataSize{16 * 256}, .max_flows = 8};
  limits.budget = make_shaper_budget(limits);
  return limits;
}

TEST_F(ScheduleTest, BoundsTheMemoryOfShapersWithOneBudgetTogether) {
  const ShaperLimits limits = shared_limits();
  Shape& one = add(shaped_class("clients", packets_per_second(1), {.packets = 10'000}), limits);
  Shape& other = add(shaped_class("clients", packets_per_second(1), {.packets = 10'000}), limits);
  for (int i = 0; i < 100; ++i) {
    arrive(one, 1);
    arrive(other, 1);
  }
  EXPECT_EQ(queued(one) + queued(other), 16u);
  EXPECT_GE(queued(one), 4u);
  EXPECT_GE(queued(other), 4u);
  EXPECT_EQ(run().size(), 16u);
  for (int i = 0; i < 16; ++i) arrive(other, 1);
  EXPECT_EQ(queued(other), 16u) << "all memory is back";
}

TEST_F(ScheduleTest, ALongQueueOfAnyShaperPaysForAQuietOneWithTheSameBudget) {
  const ShaperLimits limits = shared_limits();
  Shape& flooded = add(shaped_class("clients", packets_per_second(1), {.packets = 10'000}), limits);
  Shape& quiet = add(shaped_class("clients", packets_per_second(1), {.packets = 10'000}), limits);
  for (int i = 0; i < 50; ++i) arrive(flooded, 1);
  EXPECT_EQ(queued(flooded), 16u);
  for (std::uint32_t flow = 1; flow <= 3; ++flow) arrive(quiet, flow);
  EXPECT_EQ(queued(quiet), 3u);
  EXPECT_EQ(dropped(quiet, DropReason::pool_full), 0u);
  EXPECT_EQ(queued(flooded), 13u);
  EXPECT_EQ(dropped(flooded, DropReason::pool_full), 37u);
}

TEST_F(ScheduleTest, ASuspendedShaperPaysLikewise) {
  const ShaperLimits limits = shared_limits();
  Shape& suspended = add(shaped_class("clients", packets_per_second(1), {.packets = 10'000}), limits);
  Shape& quiet = add(shaped_class("clients", packets_per_second(1), {.packets = 10'000}), limits);
  for (int i = 0; i < 16; ++i) arrive(suspended, 1);
  suspended.shaper.suspend();
  for (std::uint32_t flow = 1; flow <= 3; ++flow) arrive(quiet, flow);
  EXPECT_EQ(queued(suspended), 13u);
  suspended.shaper.resume(now_);
  EXPECT_EQ(run().size(), 16u);
}

TEST_F(ScheduleTest, WhatAShaperHeldIsFreeForTheOthersOnceItIsGone) {
  const ShaperLimits limits = shared_limits();
  Shape& goes = add(shaped_class("clients", packets_per_second(1), {.packets = 10'000}), limits);
  Shape& stays = add(shaped_class("clients", packets_per_second(1), {.packets = 10'000}), limits);
  for (std::uint32_t flow = 1; flow <= 8; ++flow) arrive(goes, flow);
  arrive(stays, 1);
  EXPECT_EQ(dropped(stays, DropReason::flow_table_full), 1u);
  goes.shaper.drop_all(DropReason::stop);
  schedule_.remove(goes.shaper);
  for (std::uint32_t flow = 1; flow <= 8; ++flow)
    for (int i = 0; i < 2; ++i) arrive(stays, flow);
  EXPECT_EQ(queued(stays), 16u);
  EXPECT_EQ(dropped(stays, DropReason::flow_table_full), 1u);
}

TEST_F(ScheduleTest, BoundsTheFlowsOfShapersWithOneBudgetTogether) {
  const ShaperLimits limits = shared_limits();
  Shape& one = add(shaped_class("clients", packets_per_second(1)), limits);
  Shape& other = add(shaped_class("clients", packets_per_second(1)), limits);
  for (std::uint32_t flow = 1; flow <= 5; ++flow) {
    arrive(one, flow);
    arrive(other, flow);
  }
  EXPECT_EQ(queued(one) + queued(other), 8u);
  EXPECT_EQ(dropped(one, DropReason::flow_table_full) + dropped(other, DropReason::flow_table_full), 2u);
}

TEST_F(ScheduleTest, FlowsOfAQuietShaperAreForgottenForTheSakeOfAnotherWithTheSameBudget) {
  const ShaperLimits limits = shared_limits();
  Shape& quiet = add(shaped_class("clients", packets_per_second(1)), limits);
  Shape& busy = add(shaped_class("clients", packets_per_second(1)), limits);
  for (std::uint32_t flow = 1; flow <= 8; ++flow) arrive(quiet, flow);
  run();
  now_ += seconds(100);
  // Not by expect_laws(), which asks each shaper and so lets it forget.
  const ArrivingPacket packet = packets_.make(busy.classes, 0, {1, serial_++}, 100, now_);
  busy.shaper.admit({&packet, 1}, now_);
  EXPECT_EQ(queued(busy), 1u);
  packets_.clear();
}

TEST_F(ScheduleTest, BoundsTheMemoryOfEachShapeApart) {
  Shape& flooded = add(shaped_class("clients", packets_per_second(1), {.packets = 10'000}),
                       {.memory = DataSize{16 * 256}});
  Shape& calm = add(shaped_class("clients", packets_per_second(1)), {.memory = DataSize{16 * 256}});
  for (int i = 0; i < 4; ++i) arrive(calm, 7);
  for (std::uint32_t i = 0; i < 1000; ++i) arrive(flooded, i % 3);
  EXPECT_EQ(queued(flooded), 16u);
  EXPECT_EQ(dropped(flooded, DropReason::pool_full), 984u);
  EXPECT_EQ(queued(calm), 4u);
  for (int i = 0; i < 12; ++i) arrive(calm, 8);
  EXPECT_EQ(queued(calm), 16u);
  EXPECT_EQ(total(statistics(calm).dropped), Count{});
}

TEST_F(ScheduleTest, MakesALongQueuePayForItsOwnShapeAlone) {
  Shape& one = add(shaped_class("clients", packets_per_second(1)), {.memory = DataSize{8 * 256}});
  Shape& other = add(shaped_class("clients", packets_per_second(1)), {.memory = DataSize{64 * 256}});
  for (int i = 0; i < 40; ++i) arrive(other, 1);
  for (int i = 0; i < 7; ++i) arrive(one, 1);
  arrive(one, 2);
  arrive(one, 3);  // pays with the last of flow 1
  EXPECT_EQ(queued(other), 40u);
  EXPECT_EQ(queued(one), 8u);
  EXPECT_EQ(dropped(one, DropReason::pool_full), 1u);
}

TEST_F(ScheduleTest, BoundsTheFlowsOfEachShapeApart) {
  Shape& flooded = add(shaped_class("clients", packets_per_second(1)), {.max_flows = 10});
  Shape& calm = add(shaped_class("clients", packets_per_second(1)), {.max_flows = 10});
  for (std::uint32_t flow = 0; flow < 1000; ++flow) arrive(flooded, flow);
  for (std::uint32_t flow = 0; flow < 10; ++flow) arrive(calm, flow);
  EXPECT_EQ(dropped(flooded, DropReason::flow_table_full), 990u);
  EXPECT_EQ(queued(calm), 10u);
}

TEST_F(ScheduleTest, CountsFramesThatAreLentAgainstTheirShape) {
  const std::size_t frame_bytes = 10'000;
  const std::uint64_t frame_memory = PacketPool::chunks_for(frame_bytes) * PacketPool::kChunkBytes;
  Shape& one =
      add(shaped_class("clients", packets_per_second(1)), {.memory = DataSize{2 * frame_memory + 256}});
  Shape& other =
      add(shaped_class("clients", packets_per_second(1)), {.memory = DataSize{2 * frame_memory + 256}});
  NumberedPackets frames;
  const auto lend = [&](Shape& shape, std::uint32_t flow) {
    const ArrivingPacket packet = frames.make(shape.classes, 0, {flow, serial_++}, frame_bytes, now_);
    shape.shaper.admit({&packet, 1}, now_, Shaper::Frames::lent);
    expect_laws();
  };
  for (std::uint32_t flow = 0; flow < 3; ++flow) lend(one, flow);
  lend(other, 0);
  EXPECT_TRUE(schedule_.lends());
  EXPECT_EQ(queued(one), 2u);
  EXPECT_EQ(dropped(one, DropReason::pool_full), 1u);
  EXPECT_EQ(queued(other), 1u);
  schedule_.keep_lent();
  EXPECT_FALSE(schedule_.lends());
  frames.clear();
  EXPECT_EQ(run().size(), 3u);
  lend(one, 8);
  lend(one, 9);
  EXPECT_EQ(queued(one), 2u) << "all memory is back";
  EXPECT_EQ(release().size(), 2u);  // before their frames go
}

TEST_F(ScheduleTest, GivesTheNumberOfARemovedShapeToTheNextOne) {
  Shape& first = add(shaped_class("first", packets_per_second(10)));
  Shape& second = add(shaped_class("second", packets_per_second(10)));
  EXPECT_EQ(first.shaper.number(), 0);
  EXPECT_EQ(second.shaper.number(), 1);
  arrive(first, 1);
  arrive(second, 1);
  arrive(second, 1);
  release();
  schedule_.remove(first.shaper);
  EXPECT_EQ(first.shaper.number(), kNoShape);
  EXPECT_EQ(statistics(first).sent.packets, 1u) << "it may still be asked";
  Shape& third = add(shaped_class("third", packets_per_second(10)));
  EXPECT_EQ(third.shaper.number(), 0);
  arrive(third, 1);
  EXPECT_THAT(run(), ElementsAre(Sent{0, 3}, Sent{1, 2}));
}

TEST_F(ScheduleTest, ARemovedShapeKeepsItsBucketsInTheScheduleThatItComesTo) {
  Shape& shape = add(shaped_class("clients", packets_per_second(10)));
  arrive(shape, 1);
  release();
  schedule_.remove(shape.shaper);
  Schedule other({}, memory_, now_);
  other.add(shape.shaper);
  arrive(shape, 1);
  EXPECT_EQ(other.next_release(), kTestStart + milliseconds(100));
  EXPECT_FALSE(schedule_.next_release());
  shape.shaper.drop_all(DropReason::stop);
  other.remove(shape.shaper);
}

TEST_F(ScheduleTest, NothingOfASuspendedShapeIsDueAndTheOthersGoOn) {
  Shape& one = add(shaped_class("one", packets_per_second(1000)));
  Shape& other = add(shaped_class("other", packets_per_second(1000)));
  for (int i = 0; i < 3; ++i) {
    arrive(one, 1);
    arrive(other, 1);
  }
  one.shaper.suspend();
  EXPECT_THAT(run(), ElementsAre(Sent{1, 1}, Sent{1, 3}, Sent{1, 5}));
  EXPECT_EQ(queued(one), 3u);
  EXPECT_FALSE(schedule_.next_release());
}

TEST_F(ScheduleTest, AResumedShapeGoesOnInOrderWithoutABurst) {
  Shape& shape = add(shaped_class("clients", packets_per_second(1000)));
  for (int i = 0; i < 4; ++i) {
    arrive(shape, 1);
    arrive(shape, 2);
  }
  EXPECT_THAT(release(), ElementsAre(Sent{0, 0}, Sent{0, 1}));
  shape.shaper.suspend();
  now_ += seconds(100);
  shape.shaper.resume(now_);
  EXPECT_EQ(schedule_.next_release(), now_);
  const Instant resumed = now_;
  EXPECT_THAT(run(), ElementsAre(Sent{0, 2}, Sent{0, 3}, Sent{0, 4}, Sent{0, 5}, Sent{0, 6}, Sent{0, 7}));
  EXPECT_EQ(now_, resumed + milliseconds(2));
  EXPECT_EQ(statistics(shape).shifts, ScheduleShifts{})
      << "that it was suspended is no want of processor time";
}

TEST_F(ScheduleTest, AShapeThatIsResumedInTimeKeepsItsSchedule) {
  Shape& shape = add(shaped_class("clients", packets_per_second(100)));
  for (int i = 0; i < 3; ++i) arrive(shape, 1);
  release();
  shape.shaper.suspend();
  now_ += milliseconds(4);
  shape.shaper.resume(now_);
  EXPECT_EQ(schedule_.next_release(), kTestStart + milliseconds(10));
  run();
  EXPECT_EQ(now_, kTestStart + milliseconds(20));
}

TEST_F(ScheduleTest, SendsAfterResumingWhatItsBucketHadLetGoBefore) {
  // 10 packets, each in time, admitted together 9 ms later: all may leave, and nothing has been released yet.
  Shape& shape = add(shaped_class("clients", packets_per_second(1000), {.packets = 1}));
  std::vector<ArrivingPacket> batch;
  batch.reserve(10);
  for (std::uint32_t i = 0; i < 10; ++i)
    batch.push_back(packets_.make(shape.classes, 0, {1, i}, 100, kTestStart + i * milliseconds(1)));
  now_ += milliseconds(9);
  shape.shaper.admit(batch, now_);
  shape.shaper.suspend();
  now_ += seconds(1);
  shape.shaper.resume(now_);
  EXPECT_EQ(release().size(), 10u);
}

TEST_F(ScheduleTest, ASuspendedShapeIsReconfigured) {
  Shape& shape = add(shaped_class("old", packets_per_second(1)));
  for (int i = 0; i < 4; ++i) arrive(shape, 1);
  release();
  shape.shaper.suspend();
  const std::vector<ClassConfig> classes{shaped_class("new", packets_per_second(1000)),
                                         shaped_class("rest", packets_per_second(1000))};
  shape.classes = classes;
  reconfigure(
      shape.shaper, classes,
      [&](ArrivingPacket& packet) {
        packet.class_index = identity_of(packet.frame).serial == 3 ? kUnmatched : ClassIndex{0};
        packet.key = numbered_key(1);
        packet.flow_hash = hash_key(packet.key, class_hash_seed("new", 1));
      },
      now_);
  expect_laws();
  now_ += milliseconds(500);
  EXPECT_FALSE(schedule_.next_release());
  EXPECT_TRUE(release().empty());
  EXPECT_EQ(queued(shape), 3u);
  shape.shaper.resume(now_);
  EXPECT_THAT(run(), ElementsAre(Sent{0, 3}, Sent{0, 1}, Sent{0, 2}));
  EXPECT_EQ(now_, kTestStart + milliseconds(501));
}

TEST_F(ScheduleTest, ReleasesAllOfOneShapeAndLeavesTheOthers) {
  Shape& one = add(shaped_class("one", packets_per_second(1)));
  Shape& other = add(shaped_class("other", packets_per_second(1)));
  for (int i = 0; i < 5; ++i) {
    for (std::uint32_t flow = 0; flow < 3; ++flow) {
      arrive(one, flow);
      arrive(other, flow);
    }
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> serials;
  std::array<DuePacket, 4> due;
  std::size_t released = 0;
  while (const std::size_t count = one.shaper.release_all(due)) {
    for (const DuePacket& packet : std::span(due).first(count)) {
      EXPECT_EQ(packet.shape, 0);
      const PacketIdentity identity = identity_of(schedule_, packet);
      serials[identity.flow].push_back(identity.serial);
    }
    complete(std::span(due).first(count));
    released += count;
  }
  EXPECT_EQ(released, 15u);
  EXPECT_THAT(serials[1], ElementsAre(2, 8, 14, 20, 26));
  EXPECT_EQ(queued(one), 0u);
  EXPECT_EQ(queued(other), 15u);
}

TEST_F(ScheduleTest, GoesOnWithWhatWasNotReleasedWhenItIsResumed) {
  Shape& shape = add(shaped_class("clients", packets_per_second(10)));
  for (int i = 0; i < 6; ++i) {
    arrive(shape, 1);
    arrive(shape, 2);
  }
  release();  // 0 and 1
  std::array<DuePacket, 3> due;
  ASSERT_EQ(shape.shaper.release_all(due), 3u);
  EXPECT_THAT(complete(due), ElementsAre(Sent{0, 2}, Sent{0, 4}, Sent{0, 6}));
  shape.shaper.resume(now_);
  EXPECT_EQ(schedule_.next_release(), kTestStart + milliseconds(100));
  EXPECT_THAT(run(), ElementsAre(Sent{0, 8}, Sent{0, 3}, Sent{0, 10}, Sent{0, 5}, Sent{0, 7}, Sent{0, 9},
                                 Sent{0, 11}));
}

// What a tap would see.
class SeenDrops : public DropObserver {
 public:
  void dropped(const ArrivingPacket& packet, DropReason reason) override {
    serials.push_back(identity_of(packet.frame).serial);
    reasons.push_back(reason);
  }
  void dropped(ClassIndex class_index, std::span<const std::span<const std::byte>> frame,
               DropReason reason) override {
    std::vector<std::byte> whole;
    for (const auto& part : frame) whole.insert(whole.end(), part.begin(), part.end());
    serials.push_back(identity_of(whole).serial);
    reasons.push_back(reason);
    classes.push_back(class_index);
  }
  std::vector<std::uint32_t> serials;
  std::vector<DropReason> reasons;
  std::vector<ClassIndex> classes;
};

TEST_F(ScheduleTest, DropsAllThatIsQueuedOfOneShapeCountedAndShown) {
  Shape& one = add(shaped_class("one", packets_per_second(10)));
  Shape& other = add(shaped_class("other", packets_per_second(10)));
  SeenDrops seen;
  one.shaper.observe_drops(&seen);
  for (int i = 0; i < 3; ++i) {
    arrive(one, 1);
    arrive(one, 2, 1000);
    arrive(other, 1);
  }
  one.shaper.drop_all(DropReason::overtaken);
  expect_laws();
  EXPECT_EQ(queued(one), 0u);
  EXPECT_EQ(dropped_for(statistics(one).classes[0], DropReason::overtaken), (Count{6, 3300}));
  EXPECT_THAT(seen.serials, ElementsAre(0, 3, 6, 1, 4, 7));
  EXPECT_THAT(seen.classes, testing::Each(0));
  EXPECT_THAT(seen.reasons, testing::Each(DropReason::overtaken));
  one.shaper.visit_flows(0, 0, 10, [](const FlowStatistics& flow) {
    EXPECT_EQ(flow.dropped.packets, 3u);
    EXPECT_EQ(flow.queued, Count{});
  });
  EXPECT_EQ(queued(other), 3u);
  arrive(one, 1);  // and it goes on
  EXPECT_EQ(run().size(), 4u);
}

TEST_F(ScheduleTest, DropsWhatIsDueAtOnceToo) {
  Shape& shape = add(shaped_class("clients", packets_per_second(10)));
  for (int i = 0; i < 3; ++i) arrive(shape, 1);
  reconfigure(
      shape.shaper, {}, [](ArrivingPacket& packet) { packet.class_index = kUnmatched; }, now_);
  EXPECT_EQ(schedule_.next_release(), now_);
  shape.shaper.drop_all(DropReason::stop);
  expect_laws();
  EXPECT_EQ(statistics(shape).queued, Count{});
  EXPECT_EQ(statistics(shape).dropped[static_cast<std::size_t>(DropReason::stop)].packets, 3u);
  EXPECT_FALSE(schedule_.next_release());
  EXPECT_TRUE(release().empty());
}

TEST_F(ScheduleTest, ReleasesWhatIsDueAtOnceOfEveryShape) {
  Shape& one = add(shaped_class("one", packets_per_second(10)));
  Shape& other = add(shaped_class("other", packets_per_second(10)));
  for (int i = 0; i < 2; ++i) {
    arrive(one, 1);
    arrive(other, 1);
  }
  const auto unmatched = [](ArrivingPacket& packet) { packet.class_index = kUnmatched; };
  reconfigure(one.shaper, {}, unmatched, now_);
  reconfigure(other.shaper, {}, unmatched, now_);
  EXPECT_THAT(release(3), ElementsAre(Sent{0, 0}, Sent{0, 2}, Sent{1, 1}));
  EXPECT_THAT(release(3), ElementsAre(Sent{1, 3}));
  EXPECT_FALSE(schedule_.next_release());
}

TEST_F(ScheduleTest, FindsTheClassesOfAShapeByName) {
  Shape& shape = add(shaped_class("clients", packets_per_second(10)));
  EXPECT_EQ(shape.shaper.find_class("clients"), 0);
  reconfigure(
      shape.shaper,
      {shaped_class("new", packets_per_second(10)), shaped_class("clients", packets_per_second(10))},
      [](ArrivingPacket&) {}, now_);
  EXPECT_EQ(shape.shaper.find_class("clients"), 1);
  EXPECT_FALSE(shape.shaper.find_class("gone"));
}

}  // namespace
}  // namespace headgate
