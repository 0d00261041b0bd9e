// Rates that are leased: what they do to what waits, how they end, and what is told of demand.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/classifier.hpp"
#include "support/shaper_harness.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMegabit = 1'000'000;
constexpr std::size_t kBytes = 1250;  // 10 000 bits

Rate megabits(std::uint64_t count) {
  return {.packets = {}, .bits = BitRate{count * kMegabit}};
}

ClassConfig bucket_class(std::string name, const Rate& rate) {
  ClassConfig config = shaped_class(std::move(name), rate, {.packets = 100'000});
  config.key = {};
  return config;
}

class LeaseHarness : public ShaperHarness {
 public:
  explicit LeaseHarness(std::vector<ClassConfig> configs, const TreeConfig& tree = {})
      : ShaperHarness(std::move(configs), {}, tree) {}

  void lease(const RatePlace& place, const Rate& rate, Instant until, const Rate& after) {
    shaper.shaper.lease({.place = place,
                         .rate = rate,
                         .until = until,
                         .after = after,
                         .serial = ++serial,
                         .in_force = in_force},
                        now);
  }

  void fill(ClassIndex index, std::size_t packets) {
    for (std::size_t i = 0; i < packets; ++i) {
      ArrivingPacket packet = make(0, kBytes, now, index);
      if (classes[index].key == KeySpec{}) {
        packet.key = {};
        packet.flow_hash = hash_key({}, class_hash_seed(classes[index].name, 0));
      }
      shaper.shaper.gather(packet);
      admit({&packet, 1});
    }
  }

  // As a worker does: leases end before anything is released. Returns the bits that were sent.
  std::uint64_t run_for(Duration time) {
    const Instant end = now + time;
    std::uint64_t bits = 0;
    while (const auto next = shaper.next_release()) {
      if (*next > end) break;
      now = std::max(now, *next);
      shaper.schedule.end_leases(now);
      bits += release().size() * kBytes * 8;
    }
    now = end;
    return bits;
  }

  const RatePlace bucket{.kind = RatePlace::Kind::bucket, .class_index = 0};
  const RatePlace link{};
  std::shared_ptr<std::atomic<std::uint64_t>> in_force = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::uint64_t serial = 0;
};

// Of a second at so many megabits, within two packets.
void expect_megabits(std::uint64_t bits, double expected) {
  EXPECT_NEAR(static_cast<double>(bits), expected * 1e6, 2 * kBytes * 8);
}

TEST(LeasedRates, ABucketGoesAtTheLeasedRateUntilTheTimeIsOver) {
  LeaseHarness shaper({bucket_class("all", megabits(1))});
  shaper.fill(0, 2'500);
  expect_megabits(shaper.run_for(seconds(1)), 1);
  shaper.lease(shaper.bucket, megabits(20), shaper.now + seconds(1), megabits(1));
  EXPECT_EQ(*shaper.in_force, 1u);
  expect_megabits(shaper.run_for(milliseconds(10)), 0.02);  // the packet whose turn is next keeps its time
  expect_megabits(shaper.run_for(milliseconds(990)), 19.8);
  expect_megabits(shaper.run_for(seconds(1)), 1);
}

TEST(LeasedRates, TheNextLeaseTakesThePlaceOfTheOneBefore) {
  LeaseHarness shaper({bucket_class("all", megabits(1))});
  shaper.fill(0, 2'500);
  shaper.lease(shaper.bucket, megabits(20), shaper.now + milliseconds(500), megabits(1));
  shaper.lease(shaper.bucket, megabits(10), shaper.now + seconds(2), megabits(1));
  expect_megabits(shaper.run_for(seconds(1)), 10);
  expect_megabits(shaper.run_for(seconds(1)), 10);
}

TEST(LeasedRates, OneThatComesWhenItsTimeIsOverGivesWhatIsAfterIt) {
  LeaseHarness shaper({bucket_class("all", megabits(5))});
  shaper.fill(0, 2'500);
  shaper.run_for(seconds(1));
  shaper.lease(shaper.bucket, megabits(50), shaper.now, megabits(2));
  expect_megabits(shaper.run_for(seconds(1)), 2);
}

TEST(LeasedRates, AWorkerThatWasStoppedDoesNotSendByWhatIsOver) {
  LeaseHarness shaper({bucket_class("all", megabits(1))});
  shaper.fill(0, 2'500);
  shaper.lease(shaper.bucket, megabits(100), shaper.now + milliseconds(100), megabits(1));
  shaper.run_for(milliseconds(50));
  shaper.now += seconds(10);
  // What may be caught up, at the rate that holds now, and the packet whose turn was next.
  EXPECT_LE(shaper.run_for(Duration::zero()), 2 * kBytes * 8);
  expect_megabits(shaper.run_for(seconds(1)), 1);
}

TEST(LeasedRates, OfALinkAndAGroup) {
  TreeConfig tree{.rate = BitRate{10 * kMegabit}, .groups = {{.name = "group", .place = {}}}};
  tree.groups[0].place.ceiling = BitRate{2 * kMegabit};
  ClassConfig inside = bucket_class("inside", {});
  inside.place.parent = "group";
  LeaseHarness shaper({inside, bucket_class("outside", {})}, tree);
  for (const ClassIndex index : {0, 1}) shaper.fill(index, 7'000);
  shaper.run_for(seconds(1));
  const Count inside_before = shaper.class_statistics(0).sent;
  const RatePlace group{.kind = RatePlace::Kind::group, .group = 0};
  shaper.lease(shaper.link, megabits(40), shaper.now + seconds(1), megabits(10));
  shaper.lease(group, megabits(5), shaper.now + seconds(1), megabits(2));
  expect_megabits(shaper.run_for(seconds(1)), 40);
  const Count inside_after = shaper.class_statistics(0).sent;
  EXPECT_NEAR(static_cast<double>(inside_after.bytes - inside_before.bytes) * 8, 5e6, 4 * kBytes * 8);
  expect_megabits(shaper.run_for(seconds(1)), 10);
}

TEST(LeasedRates, OfTheCeilingOfAClass) {
  ClassConfig config = bucket_class("capped", {});
  config.place.ceiling = BitRate{2 * kMegabit};
  LeaseHarness shaper({config}, {.rate = BitRate{100 * kMegabit}, .groups = {}});
  shaper.fill(0, 2'000);
  const RatePlace ceiling{.kind = RatePlace::Kind::ceiling, .class_index = 0};
  shaper.lease(ceiling, megabits(10), shaper.now + seconds(1), megabits(2));
  EXPECT_EQ(shaper.shaper.shaper.demand(ceiling).received.packets, 2'000u);
  expect_megabits(shaper.run_for(seconds(1)), 10);
  expect_megabits(shaper.run_for(seconds(1)), 2);
}

TEST(LeasedRates, OfAPlanWhoseMembersAreTogether) {
  ClassConfig config = bucket_class("customers", megabits(1));
  config.key.destination_address = true;
  PlanConfig plan{.name = "gold", .rate = megabits(2), .together = true};
  plan.queue.packets = 100'000;
  config.plans = {plan};
  config.members.members = std::make_shared<const std::vector<Member>>(
      std::vector<Member>{{{.address = numbered_key(0).destination, .length = 128}, 0}});
  LeaseHarness shaper({config});
  shaper.fill(0, 2'500);
  const RatePlace gold{.kind = RatePlace::Kind::plan, .class_index = 0, .plan = 0};
  EXPECT_EQ(shaper.shaper.shaper.demand(gold).received, (Cost{2'500, 2'500 * kBytes}));
  EXPECT_EQ(shaper.shaper.shaper.demand(gold).queued, shaper.shaper.shaper.demand(gold).received);
  shaper.lease(gold, megabits(10), shaper.now + seconds(1), megabits(2));
  expect_megabits(shaper.run_for(seconds(1)), 10);
  expect_megabits(shaper.run_for(seconds(1)), 2);
}

TEST(LeasedRates, AClassThatWaitsForItsCeilingGoesOnAtOnceWhenThatRises) {
  TreeConfig tree{.rate = BitRate{100 * kMegabit}, .groups = {{.name = "group", .place = {}}}};
  tree.groups[0].place.ceiling = BitRate{1'000};  // a packet in ten seconds
  ClassConfig inside = bucket_class("inside", {});
  inside.place.parent = "group";
  LeaseHarness shaper({inside}, tree);
  shaper.fill(0, 1'000);
  shaper.run_for(seconds(1));
  const RatePlace group{.kind = RatePlace::Kind::group, .group = 0};
  shaper.lease(group, megabits(1), shaper.now + seconds(60), {.packets = {}, .bits = BitRate{1'000}});
  expect_megabits(shaper.run_for(seconds(1)), 1);
}

TEST(LeasedRates, AReconfigurationEndsThem) {
  LeaseHarness shaper({bucket_class("all", megabits(1))});
  shaper.fill(0, 2'500);
  shaper.lease(shaper.bucket, megabits(20), shaper.now + seconds(60), megabits(1));
  shaper.run_for(seconds(1));
  shaper.shaper.reconfigure(
      shaper.classes, [](ArrivingPacket& packet) { packet.class_index = kUnmatched; }, shaper.now);
  expect_megabits(shaper.run_for(seconds(1)), 1);
}

TEST(LeasedRates, DemandIsWhatCameAndWhatWaits) {
  TreeConfig tree{.rate = BitRate{10 * kMegabit}, .groups = {{.name = "group", .place = {}}}};
  tree.groups[0].place.ceiling = BitRate{2 * kMegabit};
  ClassConfig inside = bucket_class("inside", {});
  inside.place.parent = "group";
  inside.link_layer.overhead = 50;
  LeaseHarness shaper({inside, bucket_class("outside", {})}, tree);
  shaper.fill(0, 3);
  shaper.fill(1, 2);
  const RatePlace group{.kind = RatePlace::Kind::group, .group = 0};
  EXPECT_EQ(shaper.shaper.shaper.demand(group),
            (RateDemand{.received = {3, 3 * (kBytes + 50)}, .queued = {3, 3 * (kBytes + 50)}}));
  EXPECT_EQ(shaper.shaper.shaper.demand(shaper.link).received, (Cost{5, 3 * (kBytes + 50) + 2 * kBytes}));
  EXPECT_EQ(shaper.shaper.shaper.demand(shaper.bucket).received.packets, 3u);
  shaper.run_for(seconds(1));
  EXPECT_EQ(shaper.shaper.shaper.demand(shaper.link).queued, Cost{});
  EXPECT_EQ(shaper.shaper.shaper.demand(shaper.link).received.packets, 5u);
}

// Of a bucket and of a link: whatever is leased when, in no stretch between two changes is more sent than the rate allows, and
// two packets.
TEST(LeasedRates, NeverMoreThanTheRate) {
  std::mt19937 random(11);
  for (int run = 0; run < 10; ++run) {
    const bool of_link = run % 2 == 0;
    const TreeConfig tree = of_link ? TreeConfig{.rate = BitRate{kMegabit}, .groups = {}} : TreeConfig{};
    LeaseHarness shaper({bucket_class("all", of_link ? Rate{} : megabits(1))}, tree);
    const RatePlace place = of_link ? shaper.link : shaper.bucket;
    shaper.fill(0, 2'000);
    for (int step = 0; step < 10; ++step) {
      const std::uint64_t rate = 1 + random() % 50;
      const Duration time = milliseconds(1 + random() % 200);
      const Duration lasts = milliseconds(1 + random() % 200);
      shaper.lease(place, megabits(rate), shaper.now + lasts, megabits(1));
      const Duration at_rate = std::min(time, lasts);
      const std::uint64_t bits = shaper.run_for(time);
      const auto allowed = static_cast<double>(at_rate.count()) * 1e-3 * static_cast<double>(rate) +
                           static_cast<double>((time - at_rate).count()) * 1e-3;
      ASSERT_LE(static_cast<double>(bits), allowed + 3 * kBytes * 8) << "run " << run << " step " << step;
    }
  }
}

// With a burst, in pulses, so that the rate goes down while the burst is used up and up again behind it.
TEST(LeasedRates, NoChangeGivesABurstBack) {
  constexpr std::uint64_t kBurstPackets = 50;
  std::mt19937 random(12);
  for (int run = 0; run < 20; ++run) {
    ClassConfig config = bucket_class("all", megabits(1));
    config.burst.bytes = DataSize{kBurstPackets * kBytes};
    LeaseHarness shaper({config});
    double allowed = kBurstPackets * kBytes * 8;
    double sent = 0;
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t rate = 1 + random() % 20;
      const Duration time = milliseconds(1 + random() % 20);
      shaper.lease(shaper.bucket, megabits(rate), shaper.now + seconds(60), megabits(1));
      if (random() % 2 == 0) shaper.fill(0, random() % 60);
      sent += static_cast<double>(shaper.run_for(time));
      allowed += static_cast<double>(time.count()) * 1e-3 * static_cast<double>(rate);
      ASSERT_LE(sent, allowed + 2 * kBytes * 8) << "run " << run << " step " << step;
    }
  }
}

// A reload ends the lease, and the next one comes soon.
TEST(LeasedRates, NoReconfigurationGivesABurstBack) {
  constexpr std::uint64_t kBurstPackets = 50;
  ClassConfig config = bucket_class("all", megabits(1));
  config.budget = "all";
  config.burst.bytes = DataSize{kBurstPackets * kBytes};
  LeaseHarness shaper({config});
  double allowed = kBurstPackets * kBytes * 8;
  double sent = 0;
  for (int step = 0; step < 20; ++step) {
    shaper.lease(shaper.bucket, megabits(20), shaper.now + seconds(60), megabits(1));
    shaper.fill(0, 60);
    sent += static_cast<double>(shaper.run_for(milliseconds(10)));
    allowed += 0.01 * 20e6;
    config.queue.packets = 100'000 - static_cast<std::uint32_t>(step) - 1;
    shaper.shaper.reconfigure(
        {config}, [](ArrivingPacket&) {}, shaper.now);
    shaper.classes = {config};
    ASSERT_LE(sent, allowed + 2 * kBytes * 8) << "step " << step;
  }
  EXPECT_GE(sent, allowed - 2 * kBytes * 8);
}

// A link that swings between two rates sends what these give, and a packet for all swings together, not one for each.
TEST(LeasedRates, NoSwingOfALinkGivesAPacketAway) {
  LeaseHarness shaper({bucket_class("all", {})}, {.rate = BitRate{kMegabit}, .groups = {}});
  shaper.fill(0, 3'000);
  double sent = 0;
  double allowed = 0;
  for (int swing = 0; swing < 200; ++swing) {
    const std::uint64_t rate = swing % 2 == 0 ? 2 : 10;
    shaper.lease(shaper.link, megabits(rate), shaper.now + seconds(60), megabits(1));
    const Duration time = milliseconds(7);
    sent += static_cast<double>(shaper.run_for(time));
    allowed += static_cast<double>(time.count()) * 1e-3 * static_cast<double>(rate);
  }
  EXPECT_LE(sent, allowed + 3 * kBytes * 8);
  EXPECT_GE(sent, allowed - 3 * kBytes * 8);
}

}  // namespace
}  // namespace headgate
