#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "core/shaper.hpp"
#include "support/shaper_harness.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

std::vector<Duration> times(const std::vector<Departure>& departures) {
  std::vector<Duration> since_start;
  since_start.reserve(departures.size());
  for (const Departure& each : departures) since_start.push_back(each.released - kTestStart);
  return since_start;
}

std::vector<std::uint32_t> serials(const std::vector<Departure>& departures) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(departures.size());
  for (const Departure& each : departures) numbers.push_back(each.packet.serial);
  return numbers;
}

// Puts a packet in class `index`, keyed by its flow number modulo `flows`.
Shaper::Reclassify into(const std::vector<ClassConfig>& classes, ClassIndex index,
                        std::uint32_t flows = UINT32_MAX) {
  return [&classes, index, flows](ArrivingPacket& packet) {
    packet.class_index = index;
    if (index == kUnmatched || classes[index].bypass) return;
    packet.key = numbered_key(identity_of(packet.frame).flow % flows);
    packet.flow_hash = hash_key(packet.key, class_hash_seed(classes[index].name, 1));
  };
}

// A reconfiguration that must leave every packet where it is.
Shaper::Reclassify nobody() {
  return [](ArrivingPacket&) { ADD_FAILURE() << "a packet was classified again"; };
}

void reconfigure(ShaperHarness& shaper, std::vector<ClassConfig> classes,
                 const Shaper::Reclassify& classify) {
  shaper.classes = classes;
  shaper.shaper.reconfigure(std::move(classes), classify, shaper.now);
  expect_law(shaper.statistics());
}

ClassConfig bypass_class(std::string name) {
  ClassConfig config = shaped_class(std::move(name), {});
  config.bypass = true;
  return config;
}

ClassConfig keyed_anew(ClassConfig config) {
  config.key.source_address = !config.key.source_address;
  return config;
}

TEST(ShaperReconfigure, AppliesANewRateFromTheNextPacketOn) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(100))});
  for (int i = 0; i < 5; ++i) shaper.arrive(1);
  shaper.run(kTestStart + milliseconds(12));
  reconfigure(shaper, {shaped_class("clients", packets_per_second(1000))}, nobody());
  // The packet due at 20 ms was paid for by the one before it.
  EXPECT_THAT(times(shaper.run()), ElementsAre(milliseconds(20), milliseconds(21), milliseconds(22)));
}

TEST(ShaperReconfigure, GoesOverToAnotherKindOfRateWithoutABurst) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(100))});
  shaper.arrive(1);
  shaper.run();
  reconfigure(shaper, {shaped_class("clients", bits_per_second(8'000'000))}, nobody());
  shaper.arrive(1, 1000);
  shaper.arrive(1, 1000);
  EXPECT_THAT(times(shaper.run()), ElementsAre(milliseconds(10), milliseconds(11)));
}

TEST(ShaperReconfigure, AppliesANewCapacityToWhatArrivesNext) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1), {.packets = 10})});
  for (int i = 0; i < 11; ++i) shaper.arrive(1);
  reconfigure(shaper, {shaped_class("clients", packets_per_second(1), {.packets = 2})}, nobody());
  shaper.arrive(1);
  EXPECT_EQ(shaper.class_statistics().queued.packets, 11u);
  EXPECT_EQ(dropped_for(shaper.class_statistics(), DropReason::queue_full).packets, 1u);
}

TEST(ShaperReconfigure, KeepsFlowsQueuesAndCountersOfAClassThatMoves) {
  const ClassConfig first = shaped_class("first", packets_per_second(10));
  const ClassConfig second = shaped_class("second", packets_per_second(10));
  const ClassConfig third = shaped_class("third", packets_per_second(10));
  ShaperHarness shaper({first, second});
  shaper.arrive(7, 100, 1);
  shaper.arrive(7, 100, 1);
  shaper.run(kTestStart);
  reconfigure(shaper, {second, third, first}, nobody());
  shaper.arrive(7, 100, 0);
  EXPECT_EQ(shaper.class_statistics(0).name, "second");
  EXPECT_EQ(shaper.class_statistics(0).received.packets, 3u);
  EXPECT_EQ(shaper.class_statistics(0).flows, 1u);
  std::array<DuePacket, 2> due;
  shaper.now += milliseconds(100);
  ASSERT_EQ(shaper.shaper.release(shaper.now, due), 1u);
  EXPECT_EQ(due[0].class_index, 0);
  shaper.shaper.complete_sent(std::span(due).first(1), shaper.now);
  EXPECT_THAT(times(shaper.run()), ElementsAre(milliseconds(200)));
}

TEST(ShaperReconfigure, AdmitsPacketsOfARemovedClassAgainInOrderOfArrival) {
  ShaperHarness shaper({shaped_class("old", packets_per_second(1))});
  for (int i = 0; i < 3; ++i) {
    for (const std::uint32_t flow : {1, 2, 3}) shaper.arrive(flow);
    shaper.now += milliseconds(1);
  }
  const std::vector<ClassConfig> after{shaped_class("new", packets_per_second(1000), {.packets = 2})};
  reconfigure(shaper, after, into(after, 0, 1));  // all in one flow, beyond its capacity
  EXPECT_EQ(shaper.statistics().received.packets, 9u);
  EXPECT_EQ(shaper.class_statistics().received.packets, 9u);
  const auto departures = shaper.run();
  EXPECT_THAT(serials(departures), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  for (std::size_t i = 0; i < departures.size(); ++i) {
    EXPECT_EQ(departures[i].released, kTestStart + milliseconds(3) + i * milliseconds(1));
  }
}

TEST(ShaperReconfigure, KeepsTheTotalsOfARemovedClass) {
  ShaperHarness shaper({shaped_class("old", packets_per_second(1), {.packets = 2}), bypass_class("rest")});
  for (int i = 0; i < 5; ++i) shaper.arrive(1);
  shaper.run(kTestStart);
  const std::vector<ClassConfig> after{shaped_class("new", packets_per_second(1)), bypass_class("rest")};
  reconfigure(shaper, after, into(after, 0));
  const ShaperStatistics statistics = shaper.statistics();
  EXPECT_EQ(statistics.received.packets, 5u);
  EXPECT_EQ(statistics.sent.packets, 1u);
  EXPECT_EQ(total(statistics.dropped).packets, 2u);
  EXPECT_EQ(statistics.queued.packets, 2u);
  EXPECT_EQ(statistics.classes[0].name, "new");
  EXPECT_EQ(statistics.classes[0].received.packets, 2u);
}

TEST(ShaperReconfigure, CountsAPacketOfAClassKeyedAnewOnce) {
  const ClassConfig before = shaped_class("clients", packets_per_second(1000));
  ShaperHarness shaper({before});
  for (const std::uint32_t flow : {1, 2, 1, 2}) shaper.arrive(flow);
  shaper.run(kTestStart);
  const std::vector<ClassConfig> after{keyed_anew(before)};
  reconfigure(shaper, after, into(after, 0, 1));
  EXPECT_EQ(shaper.class_statistics().received.packets, 4u);
  EXPECT_EQ(shaper.class_statistics().sent.packets, 2u);
  EXPECT_EQ(shaper.class_statistics().flows, 1u);
  EXPECT_THAT(serials(shaper.run()), ElementsAre(2, 3));
}

TEST(ShaperReconfigure, SendsAtOnceWhatNoShapedClassTakes) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1))});
  for (int i = 0; i < 4; ++i) shaper.arrive(1);
  shaper.run(kTestStart);
  shaper.now += milliseconds(100);
  const std::vector<ClassConfig> after{bypass_class("clients")};
  reconfigure(shaper, after, [&](ArrivingPacket& packet) {
    packet.class_index = identity_of(packet.frame).serial == 3 ? kUnmatched : ClassIndex{0};
  });
  EXPECT_EQ(shaper.shaper.next_release(), shaper.now);
  std::array<DuePacket, 8> due;
  ASSERT_EQ(shaper.shaper.release(shaper.now, due), 3u);
  EXPECT_EQ(due[0].class_index, 0);
  EXPECT_EQ(due[2].class_index, kUnmatched);
  shaper.shaper.complete_sent(std::span(due).first(3), shaper.now);
  const ShaperStatistics statistics = shaper.statistics();
  expect_law(statistics);
  EXPECT_EQ(statistics.sent.packets, 4u);
  EXPECT_EQ(statistics.classes[0].sent.packets, 3u);
  EXPECT_EQ(statistics.classes[0].flows, 0u);
  EXPECT_EQ(statistics.unmatched.packets, 1u);
  EXPECT_FALSE(shaper.shaper.next_release());
}

TEST(ShaperReconfigure, TakesPacketsThatWereDueAtOnceBackWhenAClassWantsThem) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1))});
  for (int i = 0; i < 3; ++i) shaper.arrive(1);
  reconfigure(shaper, {}, into({}, kUnmatched));
  const std::vector<ClassConfig> after{shaped_class("clients", packets_per_second(1000))};
  reconfigure(shaper, after, into(after, 0));
  EXPECT_THAT(times(shaper.run()), ElementsAre(milliseconds(0), milliseconds(1), milliseconds(2)));
  EXPECT_EQ(shaper.statistics().unmatched, Count{});
}

TEST(ShaperReconfigure, GivesThePastOfAPacketNoCatchUpInItsNewBucket) {
  ShaperHarness shaper({shaped_class("old", packets_per_second(1))});
  for (int i = 0; i < 100; ++i) shaper.arrive(1);
  shaper.run(kTestStart + seconds(5));
  const std::vector<ClassConfig> after{shaped_class("new", packets_per_second(1000))};
  reconfigure(shaper, after, into(after, 0));
  shaper.release();
  EXPECT_EQ(shaper.statistics().sent.packets, 6u + 1u);
}

TEST(ShaperReconfigure, FreesTheRecordsOfARemovedClass) {
  ShaperHarness shaper({shaped_class("old", packets_per_second(1))}, {.max_flows = 4});
  for (std::uint32_t flow = 0; flow < 4; ++flow) shaper.arrive(flow);
  const std::vector<ClassConfig> after{shaped_class("new", packets_per_second(1))};
  reconfigure(shaper, after, into(after, 0));
  EXPECT_EQ(shaper.class_statistics().flows, 4u);
  EXPECT_EQ(shaper.class_statistics().queued.packets, 4u);
}

TEST(ShaperReconfigure, DropsOnlyForWantOfAFlowRecord) {
  const ClassConfig before = shaped_class("clients", packets_per_second(1));
  ShaperHarness shaper({before}, {.max_flows = 2});
  for (int i = 0; i < 6; ++i) shaper.arrive(1);
  const std::vector<ClassConfig> after{keyed_anew(before)};
  reconfigure(shaper, after, [&](ArrivingPacket& packet) {
    packet.class_index = 0;
    packet.key = numbered_key(identity_of(packet.frame).serial % 3);
    packet.flow_hash = hash_key(packet.key, class_hash_seed("clients", 1));
  });
  EXPECT_EQ(shaper.class_statistics().queued.packets, 4u);
  EXPECT_EQ(dropped_for(shaper.class_statistics(), DropReason::flow_table_full).packets, 2u);
}

TEST(ShaperReconfigure, GivesBackAllMemory) {
  ShaperHarness shaper({shaped_class("old", packets_per_second(1), {.packets = 1000})},
                       {.memory = DataSize{64 * 256}});
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 100; ++i) shaper.arrive(1, 100, 0);
    EXPECT_EQ(shaper.statistics().queued.packets, 64u);
    const std::vector<ClassConfig> after{
        shaped_class("round" + std::to_string(round), packets_per_second(1), {.packets = 1000})};
    reconfigure(shaper, after, into(after, 0));
    EXPECT_EQ(shaper.release_all(10).size(), 64u);
  }
}

TEST(ShaperReconfigure, ChangesNothingUntilAPreparedChangeIsPutInForce) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1000)), bypass_class("rest")});
  for (int i = 0; i < 4; ++i) shaper.arrive(1);
  const std::vector<ClassConfig> after{shaped_class("new", packets_per_second(1000)),
                                       shaped_class("clients", packets_per_second(500))};
  const auto change = shaper.shaper.shaper.prepare(after);
  EXPECT_NE(shaper.shaper.shaper.prepare({shaped_class("never", packets_per_second(1))}), nullptr);
  EXPECT_EQ(shaper.statistics().classes.size(), 2u);
  EXPECT_EQ(shaper.class_statistics(0).name, "clients");
  for (int i = 0; i < 2; ++i) shaper.arrive(2);  // the worker goes on meanwhile
  shaper.classes = after;
  shaper.shaper.shaper.reconfigure(*change, nobody(), shaper.now);
  expect_law(shaper.statistics());
  EXPECT_EQ(shaper.class_statistics(0).name, "new");
  EXPECT_EQ(shaper.class_statistics(1).name, "clients");
  EXPECT_EQ(shaper.class_statistics(1).queued.packets, 6u);
  EXPECT_EQ(shaper.run().size(), 6u);
}

TEST(ShaperReconfigure, KeepsAFlowInOrderWhosePacketsWereStampedOutOfOrder) {
  ShaperHarness shaper({shaped_class("old", packets_per_second(1))});
  std::vector<ArrivingPacket> batch;
  batch.reserve(4);
  for (const int microsecond : {5, 3, 4, 1}) {
    batch.push_back(shaper.make(1, 100, kTestStart + std::chrono::microseconds(microsecond)));
  }
  shaper.now += milliseconds(1);
  shaper.admit(batch);
  const std::vector<ClassConfig> after{shaped_class("new", packets_per_second(1000))};
  reconfigure(shaper, after, into(after, 0));
  EXPECT_THAT(serials(shaper.run()), ElementsAre(0, 1, 2, 3));
}

TEST(ShaperReconfigure, LeavesTheOtherShapesOfItsScheduleAlone) {
  const std::vector<ClassConfig> classes{shaped_class("clients", packets_per_second(10))};
  ShaperHarness shaper(classes);
  Shaper other({}, classes, shaper.shaper.memory);
  shaper.shaper.schedule.add(other);
  NumberedPackets packets;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const ArrivingPacket packet = packets.make(classes, 0, {1, i}, 100, shaper.now);
    other.admit({&packet, 1}, shaper.now);
  }
  for (int i = 0; i < 3; ++i) shaper.arrive(1);
  const std::vector<ClassConfig> after{shaped_class("new", packets_per_second(1000))};
  reconfigure(shaper, after, into(after, 0));
  EXPECT_THAT(times(shaper.run()), ElementsAre(milliseconds(0), milliseconds(0), milliseconds(1),
                                               milliseconds(2), milliseconds(100), milliseconds(200)));
  EXPECT_EQ(other.statistics(shaper.now).sent.packets, 3u);
  shaper.shaper.schedule.remove(other);
}

// Classes come, go, move, are renamed and keyed anew while packets flow. A flow's packets belong to the class
// of its number, under whatever name, or to none.
class Reloading {
 public:
  explicit Reloading(std::uint32_t seed) : random_(seed), shaper_(random_classes()) {}

  void run() {
    for (int step = 0; step < 100; ++step) {
      admit_some();
      if (random_() % 8 == 0) shaper_.shaper.shaper.suspend();
      if (random_() % 2) note(shaper_.release(1 + random_() % 50));
      shaper_.now += Duration(random_() % 5'000'000);
      if (random_() % 8 == 0) {
        reconfigure(shaper_, random_classes(), [this](ArrivingPacket& packet) { classify(packet); });
      }
      shaper_.shaper.shaper.resume(shaper_.now);
    }
    note(shaper_.run());
    const ShaperStatistics statistics = shaper_.statistics();
    EXPECT_EQ(departed_ + unshaped_, serial_);
    EXPECT_EQ(statistics.received.packets, serial_);
    EXPECT_EQ(statistics.sent.packets, serial_);
    EXPECT_EQ(statistics.queued, Count{});
    EXPECT_GT(departed_, unshaped_ / 10);
  }

 private:
  static constexpr std::uint32_t kNumbers = 5;

  std::vector<ClassConfig> random_classes() {
    std::vector<std::uint32_t> numbers(kNumbers);
    for (std::uint32_t i = 0; i < kNumbers; ++i) numbers[i] = i;
    std::shuffle(numbers.begin(), numbers.end(), random_);
    numbers.resize(random_() % (kNumbers + 1));
    std::vector<ClassConfig> classes;
    for (const std::uint32_t number : numbers) {
      const std::string name = std::to_string(number) + (random_() % 2 ? "" : " renamed");
      classes.push_back(random_() % 4 == 0
                            ? bypass_class(name)
                            : shaped_class(name, packets_per_second(1 + random_() % 5000), {}));
      classes.back().key.source_address = random_() % 2;
    }
    return classes;
  }

  void classify(ArrivingPacket& packet) {
    const std::uint32_t flow = identity_of(packet.frame).flow;
    packet.class_index = kUnmatched;
    for (ClassIndex index = 0; index < shaper_.classes.size(); ++index) {
      const ClassConfig& config = shaper_.classes[index];
      if (config.name[0] != static_cast<char>('0' + flow % kNumbers)) continue;
      packet.class_index = index;
      packet.key = numbered_key(config.key.source_address ? flow : 0);
      packet.flow_hash = hash_key(packet.key, class_hash_seed(config.name, 1));
    }
  }

  void admit_some() {
    std::vector<ArrivingPacket> batch;
    NumberedPackets packets;
    for (int i = 0; i < 20; ++i) {
      ArrivingPacket packet =
          packets.make({shaped_class("any", {})}, 0, {static_cast<std::uint32_t>(random_() % 20), serial_++},
                       60 + random_() % 300, shaper_.now);
      classify(packet);
      if (packet.class_index == kUnmatched || shaper_.classes[packet.class_index].bypass) {
        const Count count{1, packet.charged_bytes};
        shaper_.shaper.count_unshaped(packet.class_index, count, count, {});
        ++unshaped_;
      } else {
        batch.push_back(packet);
      }
    }
    shaper_.admit(batch);
  }

  void note(const std::vector<Departure>& departures) {
    departed_ += departures.size();
    for (const Departure& each : departures) {
      const auto [known, first] = last_.try_emplace(each.packet.flow, each.packet.serial);
      EXPECT_TRUE(first || known->second < each.packet.serial);
      known->second = each.packet.serial;
    }
  }

  std::mt19937 random_;
  ShaperHarness shaper_;
  std::map<std::uint32_t, std::uint32_t> last_;  // serial by flow
  std::uint64_t unshaped_ = 0;
  std::uint64_t departed_ = 0;
  std::uint32_t serial_ = 0;
};

TEST(ShaperReconfigure, LosesAndReordersNothingWhateverIsChanged) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Reloading(seed).run();
    if (HasFailure()) return;
  }
}

// Two shapers that share the flows of a shape, by whether the flow's number is odd.
class TwoShapers : public testing::Test {
 protected:
  TwoShapers() : one_({config()}), other_({config()}) {}

  static ClassConfig config() { return shaped_class("clients", packets_per_second(10), {.packets = 100}); }

  // What `shaper` gives away at a reconfiguration, each with its frame.
  void move_odd_flows(ShaperHarness& shaper, const std::vector<ClassConfig>& classes) {
    shaper.shaper.reconfigure(classes, into(classes, 0), shaper.now, [this](const ArrivingPacket& packet) {
      if (identity_of(packet.frame).flow % 2 == 0) return false;
      frames_.emplace_back(packet.frame.begin(), packet.frame.end());
      moving_.push_back(packet);
      moving_.back().frame = frames_.back();
      return true;
    });
  }

  std::list<std::vector<std::byte>> frames_;
  std::vector<ArrivingPacket> moving_;
  ShaperHarness one_;
  ShaperHarness other_;
};

TEST_F(TwoShapers, HandOverWhatBelongsToTheOtherInOrderAndCountItOnce) {
  const std::vector<ClassConfig> keyed{keyed_anew(config())};
  for (int i = 0; i < 6; ++i) {
    one_.arrive(2);
    one_.arrive(3);
  }
  move_odd_flows(one_, keyed);
  ASSERT_EQ(moving_.size(), 6u);
  EXPECT_EQ(one_.statistics().received.packets, 6u);
  EXPECT_EQ(one_.statistics().queued.packets, 6u);
  expect_law(one_.statistics());

  reconfigure(other_, keyed, nobody());
  for (const ArrivingPacket& packet : moving_) other_.shaper.readmit(packet, other_.now);
  EXPECT_EQ(other_.statistics().received.packets, 6u);
  EXPECT_EQ(other_.class_statistics().flows, 1u);
  expect_law(other_.statistics());
  const auto left = one_.run();
  const auto moved = other_.run();
  EXPECT_THAT(serials(left), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(serials(moved), ElementsAre(1, 3, 5, 7, 9, 11));
  EXPECT_EQ(moved[1].released - moved[0].released, milliseconds(100)) << "as exact as any flow";
}

TEST_F(TwoShapers, TakeInAboveCapacity) {
  ClassConfig small = keyed_anew(config());
  small.queue.packets = 1;
  for (int i = 0; i < 6; ++i) one_.arrive(3);
  move_odd_flows(one_, {small});
  reconfigure(other_, {small}, nobody());
  for (const ArrivingPacket& packet : moving_) other_.shaper.readmit(packet, other_.now);
  EXPECT_EQ(other_.statistics().queued.packets, 6u);
}

TEST_F(TwoShapers, DropAndCountWhatFindsNoMemoryOrFlow) {
  const std::vector<ClassConfig> keyed{keyed_anew(config())};
  for (int i = 0; i < 6; ++i) one_.arrive(3);
  one_.arrive(5);
  move_odd_flows(one_, keyed);
  ShaperHarness tiny(keyed, ShaperLimits{.memory = DataSize{3 * 256}, .max_flows = 1});
  for (const ArrivingPacket& packet : moving_) tiny.shaper.readmit(packet, tiny.now);
  EXPECT_EQ(tiny.statistics().queued.packets, 3u);
  EXPECT_EQ(dropped_for(tiny.class_statistics(), DropReason::pool_full).packets, 3u);
  EXPECT_EQ(dropped_for(tiny.class_statistics(), DropReason::flow_table_full).packets, 1u);
  expect_law(tiny.statistics());
}

}  // namespace
}  // namespace headgate
