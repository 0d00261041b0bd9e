// Policed classes, by way of the shaper: what passes, in which order, with which header, and what a change leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "core/packet_pool.hpp"
#include "core/traffic_class.hpp"
#include "support/packet_builder.hpp"
#include "support/policed_classes.hpp"
#include "support/shaper_harness.hpp"

namespace headgate {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr std::uint8_t kLowPriority = 8;  // cs1

std::vector<std::uint32_t> serials(const std::vector<Departure>& departures) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(departures.size());
  for (const Departure& each : departures) numbers.push_back(each.packet.serial);
  return numbers;
}

// Puts a packet in class `index`, keyed by its flow number.
Shaper::Reclassify into(const std::vector<ClassConfig>& classes, ClassIndex index) {
  return [&classes, index](ArrivingPacket& packet) {
    packet.class_index = index;
    if (index == kUnmatched || classes[index].bypass) return;
    packet.key = numbered_key(identity_of(packet.frame).flow);
    packet.flow_hash = hash_key(packet.key, class_hash_seed(classes[index].name, 1));
  };
}

void change_to(ShaperHarness& shaper, std::vector<ClassConfig> classes, ClassIndex index = 0,
               const TreeConfig& tree = {}) {
  shaper.classes = classes;
  shaper.shaper.reconfigure(std::move(classes), into(shaper.classes, index), shaper.now, {}, tree);
  expect_law(shaper.statistics());
}

std::uint64_t policed(ShaperHarness& shaper, ClassIndex index = 0) {
  return dropped_for(shaper.class_statistics(index), DropReason::policed).packets;
}

TEST(Policing, LetsPassAtOnceWhatConformsAndDropsTheRest) {
  ShaperHarness shaper({policed_class("a", packets_per_second(10), {.packets = 3})});
  for (int i = 0; i < 5; ++i) shaper.arrive(1);
  EXPECT_EQ(policed(shaper), 2u);
  EXPECT_THAT(serials(shaper.release()), ElementsAre(0, 1, 2));
  shaper.now += milliseconds(100);
  for (int i = 0; i < 3; ++i) shaper.arrive(1);
  const auto departures = shaper.release();
  EXPECT_THAT(serials(departures), ElementsAre(5));
  EXPECT_EQ(departures[0].ideal, shaper.now);
  EXPECT_EQ(policed(shaper), 4u);
  EXPECT_EQ(shaper.class_statistics().sent.packets, 4u);
}

TEST(Policing, GivesEachKeyItsOwnLimit) {
  ShaperHarness shaper({policed_class("a", fixed_window(2, seconds(10)))});
  for (const std::uint32_t flow : {1, 2, 1, 2, 1, 2, 3}) shaper.arrive(flow);
  EXPECT_THAT(serials(shaper.release()), UnorderedElementsAre(0, 1, 2, 3, 6));
  EXPECT_EQ(shaper.class_statistics().flows, 3u);
}

// What a key has had in a window is remembered as long as that matters, however soon idle flows go.
TEST(Policing, ForgetsNoKeyToItsAdvantage) {
  ShaperHarness shaper({policed_class("a", fixed_window(1, seconds(100)))}, {.idle = milliseconds(1)});
  shaper.now = kTestStart + (seconds(100) - kTestStart.time_since_epoch() % seconds(100));
  shaper.arrive(1);
  shaper.release();
  shaper.now += seconds(99);
  shaper.statistics();
  EXPECT_EQ(shaper.class_statistics().flows, 1u);
  shaper.arrive(1);
  EXPECT_EQ(policed(shaper), 1u);
  shaper.now += seconds(1) + kMaxCatchUp;
  shaper.statistics();
  EXPECT_EQ(shaper.class_statistics().flows, 0u);
  shaper.arrive(1);
  EXPECT_EQ(policed(shaper), 1u);
}

TEST(Policing, StandsOutsideOfTheLinksTree) {
  ShaperHarness shaper(
      {policed_class("a", packets_per_second(10), {.packets = 50}), shaped_class("b", {}, {.packets = 1000})},
      {}, {.rate = BitRate{8'000}, .groups = {}});
  for (int i = 0; i < 3; ++i) shaper.arrive(1, 100, 1);
  for (int i = 0; i < 50; ++i) shaper.arrive(1, 1000, 0);
  shaper.release();
  EXPECT_EQ(shaper.class_statistics(0).sent.packets, 50u);
  EXPECT_EQ(shaper.class_statistics(1).sent.packets, 1u);
}

// Says of each packet whether it was dropped.
class Drops : public DropObserver {
 public:
  void dropped(const ArrivingPacket&, DropReason reason) override { note(reason); }
  void dropped(ClassIndex, std::span<const std::span<const std::byte>>, DropReason reason) override {
    note(reason);
  }
  bool take() { return std::exchange(dropped_, false); }

 private:
  void note(DropReason reason) {
    EXPECT_EQ(reason, DropReason::policed);
    dropped_ = true;
  }
  bool dropped_ = false;
};

// Naive references: exact, and of one key, that is never forgotten.
struct BucketReference {
  // Virtual scheduling, in parts of which a nanosecond has as many as the rate has units a second.
  bool allows(std::uint64_t n, Instant at) {
    const Int128 now = nanoseconds_of(at) * rate;
    const Int128 second = 1'000'000'000;
    if (next - (n < burst ? Int128{burst - n} * second : 0) > now) return false;
    next = (now - next >= rate ? now : next) + Int128{n} * second;
    return true;
  }
  std::uint64_t rate;
  std::uint64_t burst;
  Int128 next = -(Int128{1} << 90);
};

struct WindowReference {
  bool allows(std::uint64_t n, Instant at) {
    const std::int64_t now = at.time_since_epoch().count();
    const std::int64_t length = window.length.count();
    const std::int64_t number = now / length;
    Int128 level = Int128{passed[number] + n} * length;
    if (limiter == Limiter::sliding_window) level += Int128{passed[number - 1]} * (length - now % length);
    if (level > Int128{*window.packets} * length) return false;
    passed[number] += n;
    return true;
  }
  Limiter limiter;
  WindowConfig window;
  std::map<std::int64_t, std::uint64_t> passed;  // by window
};

// A million events of 50 keys, in batches or one by one, arriving in order and not, after pauses and jumps of the clock, while
// idle flows are forgotten all the time.
template <typename Reference>
void judge_a_million(const ClassConfig& config, const Reference& fresh) {
  const std::vector<ClassConfig> classes{config};
  LoneShaper shaper({.idle = microseconds(500)}, classes, kTestStart);
  Drops drops;
  shaper.shaper.observe_drops(&drops);
  NumberedPackets packets;
  std::mt19937_64 random(11);
  std::map<std::uint32_t, Reference> references;
  std::array<DuePacket, 4> due;
  Instant now = kTestStart;
  Instant latest = now;
  std::uint64_t passed = 0;
  std::uint32_t last_serial = 0;
  for (std::uint32_t i = 1; i <= 1'000'000; ++i) {
    now += Duration(random() % 200'000);
    if (random() % 2'000 == 0) now += Duration(random() % 5'000'000'000);
    if (random() % 200'000 == 0) now += hours(24 * 365);
    const std::uint32_t flow = static_cast<std::uint32_t>(random() % 50);
    ArrivingPacket packet = packets.make(classes, 0, {flow, i}, 100, now - Duration(random() % 20'000'000));
    packet.charged_packets = static_cast<std::uint16_t>(1 + random() % 3);
    latest = std::max(latest, std::max(packet.arrival, now - kMaxCatchUp));
    Reference& reference = references.try_emplace(flow, fresh).first->second;
    const bool expected = reference.allows(packet.charged_packets, latest);
    shaper.admit(std::span(&packet, 1), now);
    ASSERT_EQ(!drops.take(), expected) << i;
    passed += expected ? 1 : 0;
    packets.clear();
    const std::size_t count = shaper.release(now, due);
    ASSERT_EQ(count, expected ? 1u : 0u) << "what conforms leaves at once";
    if (count == 0) continue;
    const std::uint32_t serial = identity_of(shaper, due[0]).serial;
    ASSERT_GT(serial, last_serial);
    last_serial = serial;
    shaper.complete_sent(std::span(due).first(count), now);
  }
  const ShaperStatistics statistics = shaper.statistics(now);
  expect_law(statistics);
  EXPECT_GT(passed, 50'000u);
  EXPECT_LT(passed, 950'000u);
}

TEST(Policing, ABucketJudgesAMillionPacketsAsItsReference) {
  judge_a_million(policed_class("a", packets_per_second(77), {.packets = 20}), BucketReference{77, 20});
}

TEST(Policing, AFixedWindowJudgesAMillionPacketsAsItsReference) {
  const PoliceConfig police = fixed_window(41, milliseconds(333));
  judge_a_million(policed_class("a", police), WindowReference{police.limiter, police.window, {}});
}

TEST(Policing, ASlidingWindowJudgesAMillionPacketsAsItsReference) {
  const PoliceConfig police = sliding_window(41, milliseconds(333));
  judge_a_million(policed_class("a", police), WindowReference{police.limiter, police.window, {}});
}

// Remarking.

unsigned header_sum(std::span<const std::byte> header) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < header.size(); i += 2)
    sum += std::to_integer<unsigned>(header[i]) << 8 | std::to_integer<unsigned>(header[i + 1]);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

// With the payload of a frame of so many bytes.
std::vector<std::byte> ip_frame(unsigned version, unsigned ecn, unsigned tags, std::size_t bytes) {
  PacketBuilder builder;
  for (unsigned i = 0; i < tags; ++i) builder.vlan(static_cast<std::uint16_t>(5 + i));
  if (version == 4)
    builder.ipv4("10.0.0.1", "10.0.0.2");
  else
    builder.ipv6("2001:db8::1", "2001:db8::2");
  std::vector<std::byte> frame = builder.udp(1, 2).frame_size(bytes).build();
  set_traffic_class(frame, static_cast<std::uint8_t>(46 << 2 | ecn));
  return frame;
}

class Remarking : public testing::Test {
 protected:
  // One conforms, all after it exceed.
  explicit Remarking(ShaperLimits limits = {})
      : classes_{policed_class("a", fixed_window(1, hours(1)), kLowPriority)},
        limits_(limits),
        shaper_(limits, classes_, kTestStart) {}

  void admit(std::span<const std::byte> frame, Shaper::Frames frames = Shaper::Frames::copied,
             std::uint16_t tpid = 0) {
    ArrivingPacket packet;
    packet.frame = frame;
    packet.arrival = kTestStart;
    packet.key = numbered_key(1);
    packet.flow_hash = hash_key(packet.key, class_hash_seed("a", 1));
    packet.charged_bytes = static_cast<std::uint32_t>(frame.size());
    packet.class_index = 0;
    packet.vlan_tpid = tpid;
    packet.vlan_tci = 9;
    shaper_.admit(std::span(&packet, 1), kTestStart, frames);
  }
  std::size_t release() { return shaper_.release(kTestStart, due_); }
  std::vector<std::byte> frame(std::size_t i) { return stored_frame(shaper_, due_[i]); }
  ClassStatistics statistics() {
    expect_law(shaper_.statistics(kTestStart));
    return shaper_.statistics(kTestStart).classes[0];
  }

  std::vector<ClassConfig> classes_;
  ShaperLimits limits_;
  LoneShaper shaper_;
  std::array<DuePacket, 64> due_;
};

TEST_F(Remarking, ChangesTheCodePointAloneAndTheChecksumWithIt) {
  admit(ip_frame(4, 0, 0, 100));
  ASSERT_EQ(release(), 1u);
  EXPECT_EQ(frame(0), ip_frame(4, 0, 0, 100)) << "what conforms stays as it is";
  shaper_.complete_sent(std::span(due_).first(1), kTestStart);
  std::uint64_t remarked = 0;
  for (const unsigned version : {4U, 6U}) {
    for (unsigned ecn = 0; ecn < 4; ++ecn) {
      for (unsigned tags = 0; tags <= 2; ++tags) {
        for (const std::size_t bytes : {100U, 1514U}) {
          for (const auto frames : {Shaper::Frames::copied, Shaper::Frames::lent}) {
            const std::vector<std::byte> before = ip_frame(version, ecn, tags, bytes);
            std::vector<std::byte> slot = before;
            admit(slot, frames);
            ASSERT_EQ(release(), 1u);
            const std::vector<std::byte> after = frame(0);
            EXPECT_EQ(slot, before) << "the capture slot is not ours to write to";
            EXPECT_EQ(traffic_class_of(after), kLowPriority << 2 | ecn);
            std::vector<std::byte> expected = before;
            set_traffic_class(expected, static_cast<std::uint8_t>(kLowPriority << 2 | ecn));
            EXPECT_EQ(after, expected);
            if (version == 4) {
              EXPECT_EQ(header_sum(std::span(after).subspan(14 + 4 * std::size_t{tags}, 20)), 0xffffu);
            }
            shaper_.complete_sent(std::span(due_).first(1), kTestStart);
            ++remarked;
          }
        }
      }
    }
  }
  EXPECT_EQ(statistics().remarked.packets, remarked);
  EXPECT_EQ(statistics().sent.packets, remarked + 1);
}

// Also of one that then has more tags than are looked behind.
TEST_F(Remarking, FindsTheHeaderOfAFrameThatGetsItsTagBack) {
  admit(ip_frame(4, 1, 0, 100));
  std::vector<std::vector<std::byte>> slots;
  for (unsigned tags = 0; tags <= 2; ++tags) {
    slots.push_back(ip_frame(4, 1, tags, 100));
    admit(slots.back(), Shaper::Frames::lent, 0x88a8);
  }
  ASSERT_EQ(release(), 4u);
  for (unsigned tags = 0; tags <= 2; ++tags) {
    const std::vector<std::byte> after = frame(1 + tags);
    std::vector<std::byte> expected = slots[tags];
    set_dscp(expected, kLowPriority);
    const std::byte tag[] = {std::byte{0x88}, std::byte{0xa8}, std::byte{0}, std::byte{9}};
    expected.insert(expected.begin() + 12, std::begin(tag), std::end(tag));
    EXPECT_EQ(after, expected);
    EXPECT_EQ(header_sum(std::span(after).subspan(18 + 4 * std::size_t{tags}, 20)), 0xffffu);
  }
  shaper_.complete_sent(std::span(due_).first(4), kTestStart);
}

TEST_F(Remarking, KeepsTheOrderOfAFlow) {
  std::vector<std::vector<std::byte>> frames;
  for (unsigned i = 0; i < 20; ++i) {
    frames.push_back(ip_frame(4, 0, 0, 60 + i));
    admit(frames.back());
  }
  ASSERT_EQ(release(), 20u);
  for (unsigned i = 0; i < 20; ++i) EXPECT_EQ(frame(i).size(), 60 + i);
  shaper_.complete_sent(std::span(due_).first(20), kTestStart);
}

TEST_F(Remarking, DropsWhatHasNoCodePoint) {
  const std::vector<std::byte> arp(60, std::byte{8});
  admit(arp);
  admit(arp);
  const ClassStatistics counted = statistics();
  EXPECT_EQ(counted.queued.packets, 1u);
  EXPECT_EQ(dropped_for(counted, DropReason::policed).packets, 1u);
  EXPECT_EQ(counted.remarked.packets, 0u);
}

TEST_F(Remarking, CountsWhatIsSentAlone) {
  const std::vector<std::byte> slot = ip_frame(6, 0, 0, 100);
  for (int i = 0; i < 5; ++i) admit(slot);
  ASSERT_EQ(release(), 5u);
  EXPECT_EQ(statistics().remarked.packets, 4u);
  shaper_.complete_dropped(std::span(due_).subspan(3, 2), DropReason::send_failed);
  shaper_.complete_sent(std::span(due_).first(3), kTestStart);
  EXPECT_EQ(statistics().remarked.packets, 2u);
  admit(slot);
  shaper_.shaper.drop_all(DropReason::stop);
  EXPECT_EQ(statistics().remarked, (Count{2, 200}));
}

class RemarkingBehindAPrefix : public Remarking {
 protected:
  RemarkingBehindAPrefix() : Remarking({.frame_prefix = 20}) {}
};

TEST_F(RemarkingBehindAPrefix, LeavesThePrefixAlone) {
  std::vector<std::byte> slot(20, std::byte{0x45});
  for (const std::byte byte : ip_frame(4, 2, 0, 1000)) slot.push_back(byte);
  for (int i = 0; i < 2; ++i) admit(std::span(slot).subspan(20), Shaper::Frames::lent);
  ASSERT_EQ(release(), 2u);
  const std::vector<std::byte> after = frame(1);
  EXPECT_TRUE(std::equal(slot.begin(), slot.begin() + 20, after.begin()));
  EXPECT_EQ(traffic_class_of(std::span(after).subspan(20)), kLowPriority << 2 | 2);
  shaper_.complete_sent(std::span(due_).first(2), kTestStart);
}

// What is full.

TEST(Policing, DropsNewKeysWhenNoRecordIsFree) {
  ShaperHarness shaper({policed_class("a", fixed_window(2, hours(1)))}, {.max_flows = 2});
  for (const std::uint32_t flow : {1, 2, 3, 1}) shaper.arrive(flow);
  EXPECT_THAT(serials(shaper.release()), ElementsAre(0, 1, 3));
  EXPECT_EQ(dropped_for(shaper.class_statistics(), DropReason::flow_table_full).packets, 1u);
}

TEST(Policing, ChargesNothingForWhatFindsNoMemory) {
  ShaperHarness shaper({policed_class("a", fixed_window(3, hours(1)))},
                       {.memory = DataSize{2 * PacketPool::kChunkBytes}});
  for (int i = 0; i < 4; ++i) shaper.arrive(1);
  EXPECT_EQ(dropped_for(shaper.class_statistics(), DropReason::pool_full).packets, 2u);
  shaper.release();
  for (int i = 0; i < 2; ++i) shaper.arrive(1);
  EXPECT_EQ(policed(shaper), 1u);
}

TEST(Policing, IsDueAgainAfterAPause) {
  ShaperHarness shaper({policed_class("a", fixed_window(3, hours(1)))});
  for (int i = 0; i < 3; ++i) shaper.arrive(1);
  shaper.shaper.shaper.suspend();
  EXPECT_TRUE(shaper.release().empty());
  shaper.now += seconds(1);
  shaper.shaper.shaper.resume(shaper.now);
  EXPECT_THAT(serials(shaper.release()), ElementsAre(0, 1, 2));
}

// Changes at run time.

TEST(PolicingChange, AShapedClassThatIsPolicedLetsItsQueueGoInOrder) {
  ShaperHarness shaper({shaped_class("a", packets_per_second(1))});
  for (int i = 0; i < 5; ++i) shaper.arrive(1);
  shaper.release();
  shaper.now += milliseconds(10);
  change_to(shaper, {policed_class("a", fixed_window(6, hours(100'000)))});
  for (int i = 0; i < 5; ++i) shaper.arrive(1);
  // Four from the queue count towards the six.
  EXPECT_THAT(serials(shaper.release()), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(policed(shaper), 3u);
}

TEST(PolicingChange, APolicedClassThatIsShapedLosesNothing) {
  ShaperHarness shaper({policed_class("a", fixed_window(6, hours(1)))});
  for (int i = 0; i < 5; ++i) shaper.arrive(1);
  change_to(shaper, {shaped_class("a", packets_per_second(10))});
  for (int i = 0; i < 5; ++i) shaper.arrive(1);
  EXPECT_THAT(serials(shaper.run()), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(policed(shaper), 0u);
}

TEST(PolicingChange, GoesToAndFromATree) {
  const TreeConfig link{.rate = BitRate{8'000'000}, .groups = {}};
  ShaperHarness shaper({shaped_class("a", {}, {.packets = 1000})}, {}, link);
  for (int i = 0; i < 20; ++i) shaper.arrive(1);
  change_to(shaper, {policed_class("a", packets_per_second(1), {.packets = 100})}, 0, link);
  for (int i = 0; i < 5; ++i) shaper.arrive(1);
  EXPECT_EQ(shaper.release().size(), 25u);
  for (int i = 0; i < 5; ++i) shaper.arrive(1);
  change_to(shaper, {shaped_class("a", {}, {.packets = 1000})}, 0, link);
  EXPECT_EQ(shaper.run().size(), 5u);
}

TEST(PolicingChange, WhatAKeyHasHadStaysUnderANewLimit) {
  ShaperHarness shaper({policed_class("a", fixed_window(5, hours(100'000)))});
  for (int i = 0; i < 4; ++i) shaper.arrive(1);
  change_to(shaper, {policed_class("a", fixed_window(6, hours(100'000)))});
  for (int i = 0; i < 4; ++i) shaper.arrive(1);
  EXPECT_EQ(policed(shaper), 2u);
  EXPECT_THAT(serials(shaper.release()), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(shaper.class_statistics().flows, 1u);
}

TEST(PolicingChange, WhatAKeyHasHadStaysUnderANewRate) {
  ShaperHarness shaper({policed_class("a", packets_per_second(10), {.packets = 5})});
  for (int i = 0; i < 5; ++i) shaper.arrive(1);
  change_to(shaper, {policed_class("a", packets_per_second(100), {.packets = 2})});
  shaper.arrive(1);
  EXPECT_EQ(policed(shaper), 1u);
  shaper.now += milliseconds(510);
  for (int i = 0; i < 3; ++i) shaper.arrive(1);
  EXPECT_EQ(policed(shaper), 2u);
  EXPECT_EQ(shaper.release().size(), 7u);
}

TEST(PolicingChange, AnotherLimiterBeginsAnewAndIsCharged) {
  ShaperHarness shaper({policed_class("a", fixed_window(5, hours(1)))});
  for (int i = 0; i < 5; ++i) shaper.arrive(1);
  change_to(shaper, {policed_class("a", packets_per_second(10), {.packets = 8})});
  for (int i = 0; i < 5; ++i) shaper.arrive(1);
  EXPECT_EQ(policed(shaper), 2u);
  EXPECT_THAT(serials(shaper.release()), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

// Random traffic, and every kind of change at any time: the law holds, and flows keep their order.
TEST(PolicingChange, KeepsTheLawAndTheOrderWhateverChanges) {
  const std::vector<ClassConfig> kinds = {
      policed_class("a", packets_per_second(500), {.packets = 10}),
      policed_class("a", bits_per_second(500'000), {}),
      policed_class("a", fixed_window(20, milliseconds(50))),
      policed_class("a", fixed_window(30, milliseconds(20)), kLowPriority),
      policed_class("a", fixed_window(DataSize{9000}, milliseconds(50))),
      policed_class("a", sliding_window(20, milliseconds(50))),
      shaped_class("a", packets_per_second(300)),
      shaped_class("a", bits_per_second(2'000'000), {.packets = 10}),
      shaped_class("b", packets_per_second(300)),
      policed_class("b", sliding_window(20, milliseconds(50))),
  };
  const TreeConfig link{.rate = BitRate{1'000'000}, .groups = {}};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    ShaperHarness shaper({kinds[random() % kinds.size()]});
    std::map<std::uint32_t, std::uint32_t> last;
    const auto look_at = [&](const std::vector<Departure>& departures) {
      for (const Departure& each : departures) {
        const auto [before, first] = last.try_emplace(each.packet.flow, each.packet.serial);
        if (first) continue;
        EXPECT_GT(each.packet.serial, before->second);
        before->second = each.packet.serial;
      }
    };
    for (int step = 0; step < 400; ++step) {
      shaper.now += microseconds(random() % 3'000);
      for (std::uint32_t packets = random() % 6; packets > 0; --packets)
        shaper.arrive(random() % 5, 60 + random() % 400);
      if (random() % 2 == 0) look_at(shaper.release());
      if (random() % 10 == 0)
        change_to(shaper, {kinds[random() % kinds.size()]}, 0, random() % 2 == 0 ? link : TreeConfig{});
    }
    look_at(shaper.run());
    const ShaperStatistics end = shaper.statistics();
    EXPECT_EQ(end.queued.packets, 0u);
    EXPECT_LE(end.classes[0].remarked.packets, end.classes[0].sent.packets);
  }
}

}  // namespace
}  // namespace headgate
