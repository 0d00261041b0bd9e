// What waits when classes change, with flows shared by several shapers. Order is that of the sending host.
#include "pipeline/reconfiguration.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "pipeline/frame_prefix.hpp"
#include "pipeline/part_of_flow.hpp"
#include "support/fake_packet_io.hpp"
#include "support/lone_shaper.hpp"
#include "support/packet_builder.hpp"

namespace headgate {
namespace {

using std::chrono::seconds;

constexpr std::size_t kParts = 4;
constexpr int kHosts = 20;
constexpr int kPackets = 400;

std::shared_ptr<const Classifier> classifier_of(ClassConfig config) {
  std::vector<std::unique_ptr<PacketMatcher>> matchers(1);
  return std::make_shared<const Classifier>(std::vector{std::move(config)}, std::move(matchers), 1);
}

ClassConfig one_bucket() {
  ClassConfig config{.name = "all", .rate = {.packets = PacketRate{10}}};
  config.queue.packets = 10'000;
  return config;
}

ClassConfig by_destination() {
  ClassConfig config = one_bucket();
  config.key.destination_address = true;
  return config;
}

ClassConfig free_class() {
  return {.name = "all", .bypass = true};
}

class SharedFlows : public testing::Test {
 protected:
  void start_with(const ClassConfig& config) {
    classifier_ = classifier_of(config);
    make_shapers({});
  }

  void make_shapers(const ShaperLimits& limits) {
    for (std::size_t i = 0; i < kParts; ++i)
      shapers_.push_back(std::make_unique<LoneShaper>(limits, classifier_->classes(), clock_.now()));
  }

  void arrive(int number) {
    const Frame frame = PacketBuilder()
                            .ipv4("10.0.0.1", "10.0.1." + std::to_string(number % kHosts))
                            .udp(static_cast<std::uint16_t>(number), 5000)
                            .payload(18)
                            .build();
    ArrivingPacket packet{.frame = frame, .arrival = clock_.now(), .charged_bytes = 60};
    classifier_->classify(packet);
    shapers_[part_of_flow(packet.flow_hash, kParts)]->admit({&packet, 1}, clock_.now());
    clock_.advance(Duration(1));
  }

  void change_to(const ClassConfig& config) { change_to(classifier_of(config)); }
  void change_to(std::shared_ptr<const Classifier> classifier) {
    classifier_ = std::move(classifier);
    std::vector<Reconfiguration::Part> parts;
    for (const auto& shaper : shapers_)
      parts.push_back({.change = shaper->shaper.prepare(classifier_->classes()), .waiter = nullptr});
    Reconfiguration reconfiguration(classifier_, std::move(parts));
    for (std::size_t i = 0; i < kParts; ++i)
      reconfiguration.put_in_force(i, shapers_[i]->shaper, clock_.now());
    for (std::size_t i = 0; i < kParts; ++i) reconfiguration.take_in(i, shapers_[i]->shaper, clock_.now());
  }

  // What leaves, by shaper: packets' numbers by destination.
  using Numbers = std::map<int, std::vector<int>>;
  std::vector<Numbers> leave() {
    std::vector<Numbers> left(kParts);
    for (std::size_t i = 0; i < kParts; ++i) {
      std::array<DuePacket, 8> due;
      while (const std::size_t count = shapers_[i]->release_all(due, clock_.now())) {
        for (std::size_t j = 0; j < count; ++j) note(left[i], *shapers_[i], due[j]);
        shapers_[i]->complete_sent(std::span(due).first(count), clock_.now());
      }
      const ShaperStatistics all = shapers_[i]->statistics(clock_.now());
      EXPECT_EQ(all.received, all.sent) << "shaper " << i;
      received_ += all.received.packets;
    }
    EXPECT_EQ(received_, std::uint64_t{kPackets});
    return left;
  }

  static void note(Numbers& numbers, const LoneShaper& shaper, const DuePacket& packet) {
    std::array<std::span<const std::byte>, kMaxFrameParts> parts;
    shaper.frame_parts(packet, parts);
    const auto byte = [&parts](std::size_t at) { return static_cast<int>(parts[0][at]); };
    numbers[byte(33)].push_back(byte(34) << 8 | byte(35));
  }

  // Every destination's packets by one shaper, all of them and in order.
  static void expect_whole_and_in_order(const std::vector<Numbers>& left) {
    for (int host = 0; host < kHosts; ++host) {
      std::vector<int> expected;
      for (int number = host; number < kPackets; number += kHosts) expected.push_back(number);
      int found = 0;
      for (const Numbers& by_host : left) {
        const auto numbers = by_host.find(host);
        if (numbers == by_host.end()) continue;
        ++found;
        EXPECT_EQ(numbers->second, expected) << "host " << host;
      }
      EXPECT_EQ(found, 1) << "host " << host;
    }
  }

  ManualClock clock_;
  std::shared_ptr<const Classifier> classifier_;
  std::vector<std::unique_ptr<LoneShaper>> shapers_;
  std::uint64_t received_ = 0;
};

TEST_F(SharedFlows, GoToTheShaperOfTheirNewKey) {
  start_with(one_bucket());
  for (int i = 0; i < kPackets; ++i) arrive(i);
  change_to(by_destination());
  std::size_t with_flows = 0;
  for (const auto& shaper : shapers_)
    with_flows += shaper->statistics(clock_.now()).classes[0].flows > 0 ? 1 : 0;
  EXPECT_GT(with_flows, 1u);
  expect_whole_and_in_order(leave());
}

TEST_F(SharedFlows, AllGoToTheOneShaperOfOneBucket) {
  start_with(by_destination());
  for (int i = 0; i < kPackets; ++i) arrive(i);
  change_to(one_bucket());
  std::size_t holding = 0;
  for (const auto& shaper : shapers_) holding += shaper->statistics(clock_.now()).queued.packets > 0 ? 1 : 0;
  EXPECT_EQ(holding, 1u);
  expect_whole_and_in_order(leave());
}

TEST_F(SharedFlows, StayWhereTheyAreWhenNothingButTheRateChanges) {
  start_with(by_destination());
  for (int i = 0; i < kPackets; ++i) arrive(i);
  std::vector<Count> before;
  for (const auto& shaper : shapers_) before.push_back(shaper->statistics(clock_.now()).queued);
  ClassConfig faster = by_destination();
  faster.rate.packets = PacketRate{1000};
  change_to(faster);
  for (std::size_t i = 0; i < kParts; ++i) EXPECT_EQ(shapers_[i]->statistics(clock_.now()).queued, before[i]);
  expect_whole_and_in_order(leave());
}

TEST_F(SharedFlows, AreDueAtOnceWhereTheyAreWhenTheyAreNotShapedAnyMore) {
  start_with(by_destination());
  for (int i = 0; i < kPackets; ++i) arrive(i);
  change_to(free_class());
  for (const auto& shaper : shapers_) {
    if (shaper->statistics(clock_.now()).queued.packets > 0) {
      EXPECT_LE(shaper->next_release(), clock_.now());
    }
  }
  expect_whole_and_in_order(leave());
}

TEST_F(SharedFlows, AreClassifiedAnewByTheMarkAndTheCgroupsThatTheirPacketsCameWith) {
  constexpr int kEach = 30;
  classifier_ = classifier_of(by_destination());
  make_shapers({.frame_prefix = kWholePrefixBytes});
  const auto arrive_with = [this](int host, const PacketNotes& notes, std::uint32_t cgroups) {
    Frame whole(kWholePrefixBytes);
    std::memcpy(whole.data(), &notes, sizeof notes);
    const Frame frame =
        PacketBuilder().ipv4("10.0.0.1", "10.0.1." + std::to_string(host)).udp(1, 5000).payload(18).build();
    whole.insert(whole.end(), frame.begin(), frame.end());
    ArrivingPacket packet{.frame = std::span<const std::byte>(whole).subspan(kWholePrefixBytes),
                          .arrival = clock_.now(),
                          .charged_bytes = 60,
                          .prefix_bytes = kWholePrefixBytes,
                          .cgroups = cgroups};
    classifier_->classify(packet);
    shapers_[part_of_flow(packet.flow_hash, kParts)]->admit({&packet, 1}, clock_.now());
  };
  for (int i = 0; i < kEach; ++i) {
    arrive_with(i, {}, 1U << 5);
    arrive_with(i, {.mark = 7}, 1U << 4);
    arrive_with(i, {.mark = 8}, 0);
  }
  ClassConfig service = one_bucket(), marked = one_bucket(), rest = one_bucket();
  service.name = "service";
  service.selectors.cgroups = {"service"};
  marked.name = "marked";
  marked.selectors.marks = {{.value = 7}};
  const CgroupPlaces places{std::make_shared<const CgroupPlace>(CgroupPlace{.path = "service", .number = 5})};
  change_to(std::make_shared<const Classifier>(std::vector{service, marked, rest}, Classifier::Matchers(3), 1,
                                               kDefaultControlLimit, places));
  std::array<std::uint64_t, 3> queued{};
  for (const auto& shaper : shapers_) {
    const ShaperStatistics all = shaper->statistics(clock_.now());
    for (std::size_t i = 0; i < queued.size(); ++i) queued[i] += all.classes.at(i).queued.packets;
  }
  EXPECT_EQ(queued, (std::array<std::uint64_t, 3>{kEach, kEach, kEach}));
}

TEST_F(SharedFlows, KeepWhatStandsInFrontOfTheirFrames) {
  classifier_ = classifier_of(one_bucket());
  make_shapers({.frame_prefix = 10});
  Frame whole(10, std::byte{0xab});
  const Frame frame = PacketBuilder().ipv4("10.0.0.1", "10.0.1.1").udp(1, 2).payload(18).build();
  whole.insert(whole.end(), frame.begin(), frame.end());
  ArrivingPacket packet{
      .frame = std::span<const std::byte>(whole).subspan(10), .charged_bytes = 60, .prefix_bytes = 10};
  packet.arrival = clock_.now();
  classifier_->classify(packet);
  const std::size_t first = part_of_flow(packet.flow_hash, kParts);
  shapers_[first]->admit({&packet, 1}, clock_.now());
  ClassConfig renamed = one_bucket();
  std::size_t second = first;
  for (int i = 0; second == first; ++i) {  // a class whose one bucket is in another shaper
    renamed.name = "other" + std::to_string(i);
    classifier_of(renamed)->classify(packet);
    second = part_of_flow(packet.flow_hash, kParts);
  }
  change_to(renamed);
  std::array<DuePacket, 1> due;
  ASSERT_EQ(shapers_[second]->release_all(due, clock_.now()), 1u);
  std::array<std::span<const std::byte>, kMaxFrameParts> parts;
  const std::size_t count = shapers_[second]->frame_parts(due[0], parts);
  Frame stored;
  for (const auto& part : std::span(parts).first(count))
    stored.insert(stored.end(), part.begin(), part.end());
  EXPECT_EQ(stored, whole);
  shapers_[second]->complete_sent(due, clock_.now());
}

}  // namespace
}  // namespace headgate
