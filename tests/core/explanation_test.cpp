// What the shaper says would become of a packet is what becomes of it.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "support/packet_builder.hpp"
#include "support/policed_classes.hpp"
#include "support/shaper_harness.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;

FlowOutlook outlook_of(ShaperHarness& shaper, std::uint32_t flow, std::size_t bytes = 100,
                       ClassIndex index = 0) {
  return shaper.shaper.shaper.explain(shaper.make(flow, bytes, shaper.now, index), shaper.now);
}

TEST(Explanation, TellsOfAFlowThatIsNew) {
  ShaperHarness shaper({shaped_class("a", packets_per_second(10))});
  const FlowOutlook outlook = outlook_of(shaper, 1);
  EXPECT_FALSE(outlook.known);
  EXPECT_EQ(outlook.fate, Fate::leaves);
  EXPECT_EQ(outlook.held_by, HeldBy::nothing);
  EXPECT_EQ(outlook.bucket_opens_in, Duration::zero());
  EXPECT_EQ(shaper.class_statistics().flows, 0U) << "it was made a record";
}

TEST(Explanation, TellsHowLongAPacketWaitsBehindOthersAndForWhichRate) {
  ClassConfig config = shaped_class("a", packets_per_second(10));
  ShaperHarness shaper({config});
  for (int i = 0; i < 3; ++i) shaper.arrive(1);
  shaper.release();
  const FlowOutlook outlook = outlook_of(shaper, 1);
  EXPECT_TRUE(outlook.known);
  EXPECT_EQ(outlook.sent.packets, 1U);
  EXPECT_EQ(outlook.queued, (Count{2, 200}));
  EXPECT_EQ(outlook.fate, Fate::waits);
  EXPECT_EQ(outlook.wait, milliseconds(300));
  EXPECT_TRUE(outlook.wait_is_exact);
  EXPECT_EQ(outlook.bucket_opens_in, milliseconds(100));
  EXPECT_EQ(outlook.held_by, HeldBy::packet_rate);
}

TEST(Explanation, NamesTheLaterOfTwoRates) {
  ShaperHarness shaper({shaped_class("a", {.packets = PacketRate{1000}, .bits = BitRate{8'000}})});
  shaper.arrive(1, 100);
  shaper.release();
  const FlowOutlook outlook = outlook_of(shaper, 1, 100);
  EXPECT_EQ(outlook.wait, milliseconds(100));
  EXPECT_EQ(outlook.held_by, HeldBy::bit_rate);
}

TEST(Explanation, TellsWhyAPacketWouldBeDropped) {
  ShaperHarness shaper({shaped_class("a", packets_per_second(10), {.packets = 1})});
  shaper.arrive(1);
  shaper.release();
  shaper.arrive(1);
  const FlowOutlook outlook = outlook_of(shaper, 1);
  EXPECT_EQ(outlook.fate, Fate::dropped);
  EXPECT_EQ(outlook.reason, DropReason::queue_full);
}

TEST(Explanation, ReckonsWithWhatMayHaveLeftMeanwhile) {
  ShaperHarness shaper({shaped_class("a", packets_per_second(10), {.packets = 2})});
  for (int i = 0; i < 3; ++i) shaper.arrive(1);
  shaper.release();
  shaper.now += milliseconds(100);  // the worker has not looked since
  const FlowOutlook outlook = outlook_of(shaper, 1);
  EXPECT_EQ(outlook.fate, Fate::waits);
  EXPECT_EQ(outlook.wait, milliseconds(200));
}

TEST(Explanation, NamesTheCeilingThatHoldsBack) {
  ClassConfig config = shaped_class("a", {}, {.packets = 10});
  config.place = {.parent = "g", .ceiling = {}};
  const TreeConfig tree{.rate = BitRate{8'000'000},
                        .groups = {{.name = "g", .place = {.ceiling = BitRate{8'000}}}}};
  ShaperHarness shaper({config}, {}, tree);
  EXPECT_EQ(outlook_of(shaper, 1).fate, Fate::leaves);
  shaper.arrive(1, 1000);
  shaper.release();
  const FlowOutlook alone = outlook_of(shaper, 1);
  EXPECT_EQ(alone.fate, Fate::waits);
  EXPECT_EQ(alone.held_by, HeldBy::ceiling);
  EXPECT_EQ(alone.ceiling, "g");
  EXPECT_EQ(alone.ceiling_rate, BitRate{8'000});
  EXPECT_TRUE(alone.wait_is_exact);
  shaper.arrive(1, 1000);
  const FlowOutlook behind = outlook_of(shaper, 1);
  EXPECT_FALSE(behind.wait_is_exact) << "who is next is not known before";
  EXPECT_EQ(behind.ceiling, "g");
}

TEST(Explanation, TellsThePlanOfAFlowThatIsNew) {
  ClassConfig config = shaped_class("a", packets_per_second(10));
  PlanConfig gold{.name = "gold", .rate = packets_per_second(100), .queue = {.packets = 5}};
  config.plans = {gold};
  config.members.members = std::make_shared<const std::vector<Member>>(
      std::vector<Member>{{{.address = numbered_key(7).destination, .length = 128}, 0}});
  ShaperHarness shaper({config});
  EXPECT_EQ(outlook_of(shaper, 7).plan, 0);
  EXPECT_EQ(outlook_of(shaper, 8).plan, kNoPlan);
  for (int i = 0; i < 2; ++i) shaper.arrive(7);
  shaper.release();
  EXPECT_EQ(outlook_of(shaper, 7).wait, milliseconds(20));
}

TEST(Explanation, TellsWhatExceedsAndWhatGoesOnMarked) {
  const PoliceConfig one_packet = fixed_window(1, std::chrono::seconds(10));
  ShaperHarness shaper({policed_class("a", one_packet), policed_class("marked", one_packet, 8)});
  EXPECT_EQ(outlook_of(shaper, 1).fate, Fate::leaves);
  shaper.arrive(1);
  EXPECT_EQ(outlook_of(shaper, 1).fate, Fate::dropped);
  EXPECT_EQ(outlook_of(shaper, 1).reason, DropReason::policed);
  shaper.arrive(1, 100, 1);
  const auto frame = PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(1, 2).build();
  ArrivingPacket packet = shaper.make(1, 100, shaper.now, 1);
  packet.frame = frame;
  EXPECT_EQ(shaper.shaper.shaper.explain(packet, shaper.now).fate, Fate::leaves_marked);
}

// Why the packet that was admitted last was dropped, not others that paid for it.
class LastDrop : public DropObserver {
 public:
  void dropped(const ArrivingPacket&, DropReason reason) override { why = reason; }
  void dropped(ClassIndex, std::span<const std::span<const std::byte>>, DropReason) override {}

  std::optional<DropReason> why;
};

// Random classes, one explained packet after the other, and each admitted then.
class Foretold {
 public:
  explicit Foretold(std::uint32_t seed)
      : random_(seed),
        tree_(random_() % 2 == 0 ? random_tree() : TreeConfig{}),
        shaper_(random_classes(), limits(), tree_) {
    shaper_.shaper.shaper.observe_drops(&drop_);
  }

  void run() {
    for (int step = 0; step < 600 && !testing::Test::HasFailure(); ++step) {
      if (random_() % 3 != 0) advance(Duration(random_() % 30'000'000));
      explain_and_admit();
    }
  }
  std::map<std::string, int> seen;  // how often each fate came

 private:
  std::uint64_t from(std::initializer_list<std::uint64_t> choices) {
    return choices.begin()[random_() % choices.size()];
  }

  TreeConfig random_tree() {
    TreeConfig tree{.groups = {{.name = "g", .place = {.ceiling = BitRate{from({500'000, 10'000'000})}}}}};
    if (random_() % 2 == 0) tree.rate = BitRate{from({800'000, 20'000'000})};
    return tree;
  }

  ClassConfig random_class(const std::string& name) {
    const auto kind = random_() % 4;
    if (kind == 0 && random_() % 2 == 0)
      return policed_class(name, fixed_window(1 + random_() % 5, milliseconds(from({50, 500}))));
    if (kind == 0) return policed_class(name, packets_per_second(from({20, 200})), {.packets = 3});
    QueueCapacity queue{.packets = 1 + random_() % 6};
    Rate rate = kind == 1   ? packets_per_second(from({20, 200}))
                : kind == 2 ? bits_per_second(from({200'000, 2'000'000}))
                            : Rate{.packets = PacketRate{from({20, 200})},
                                   .bits = BitRate{from({200'000, 2'000'000})}};
    ClassConfig config = shaped_class(name, rate, queue);
    if (kind != 3 && random_() % 3 == 0) config.queue.time = milliseconds(from({20, 100}));
    if (rate.packets && random_() % 3 == 0) config.burst.packets = 1 + random_() % 4;
    if (tree_.groups.empty()) return config;
    if (random_() % 2 == 0) config.place.parent = "g";
    if (random_() % 3 == 0) config.place.ceiling = BitRate{from({400'000, 5'000'000})};
    if (random_() % 3 == 0) config.guarantee = BitRate{200'000};
    if (random_() % 2 == 0) {
      config.rate = {};
      config.burst = {};
    }
    return config;
  }

  std::vector<ClassConfig> random_classes() {
    std::vector<ClassConfig> classes;
    for (const char* name : {"a", "b", "c"}) classes.push_back(random_class(name));
    if (random_() % 2 == 0) add_plans(classes[0]);
    return classes;
  }

  static void add_plans(ClassConfig& config) {
    if (config.action == ClassAction::police || config.rate == Rate{}) return;
    config.plans = {{.name = "gold", .rate = packets_per_second(300), .queue = {.packets = 4}}};
    config.members.members = std::make_shared<const std::vector<Member>>(
        std::vector<Member>{{{.address = numbered_key(1).destination, .length = 128}, 0}});
  }

  ShaperLimits limits() {
    return {.memory = DataSize{from({4'000, 1'000'000})},
            .max_flows = static_cast<std::uint32_t>(from({4, 100}))};
  }

  // Awake whenever something may be due.
  void advance(Duration time) {
    const Instant end = shaper_.now + time;
    while (const auto next = shaper_.shaper.next_release()) {
      if (*next > end) break;
      shaper_.now = std::max(shaper_.now, *next);
      for (const Departure& departure : shaper_.release()) check(departure);
    }
    shaper_.now = end;
  }

  void check(const Departure& departure) {
    const auto foretold = foretold_.find(departure.packet.serial);
    if (foretold == foretold_.end()) return;
    EXPECT_EQ(departure.ideal, foretold->second) << departure.packet.serial;
    foretold_.erase(foretold);
  }

  void explain_and_admit() {
    const auto index = static_cast<ClassIndex>(random_() % shaper_.classes.size());
    const auto flow = static_cast<std::uint32_t>(random_() % 6);
    const ArrivingPacket packet = shaper_.make(flow, 600 + random_() % 50, shaper_.now, index);
    const PacketIdentity identity = identity_of(packet.frame);
    const FlowOutlook outlook = shaper_.shaper.shaper.explain(packet, shaper_.now);
    drop_.why.reset();
    shaper_.admit({&packet, 1});
    ++seen[std::string(kFateNames[static_cast<std::size_t>(outlook.fate)])];
    if (outlook.fate == Fate::dropped && outlook.reason != DropReason::too_old) {
      ++seen[std::string(name_of(outlook.reason))];
      EXPECT_EQ(drop_.why, outlook.reason);
      return;
    }
    EXPECT_EQ(drop_.why, std::nullopt);
    if (!outlook.wait_is_exact || outlook.fate == Fate::dropped) return;
    foretold_[identity.serial] = shaper_.now + outlook.wait;
    // What the tree says holds while nothing else comes.
    if (!tree_.groups.empty()) advance(outlook.wait);
  }

  std::mt19937_64 random_;
  TreeConfig tree_;
  LastDrop drop_;
  ShaperHarness shaper_;
  std::map<std::uint32_t, Instant> foretold_;  // by serial number
};

TEST(Explanation, IsWhatAdmissionAndDepartureThenDo) {
  std::map<std::string, int> seen;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Foretold foretold(seed);
    foretold.run();
    for (const auto& [fate, count] : foretold.seen) seen[fate] += count;
    if (testing::Test::HasFailure()) return;
  }
  for (const char* fate :
       {"leaves", "waits", "dropped", "queue_full", "policed", "flow_table_full", "pool_full"})
    EXPECT_GT(seen[fate], 0) << fate << " never came";
}

}  // namespace
}  // namespace headgate
