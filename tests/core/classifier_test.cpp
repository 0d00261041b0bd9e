#include "core/classifier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <set>
#include <vector>

#include "core/packet_notes.hpp"
#include "support/packet_builder.hpp"

namespace headgate {
namespace {

using Frame = std::vector<std::byte>;

KeySpec five_tuple() {
  return {.source_address = true, .destination_address = true, .ports = true};
}

FlowKey key_of(const KeySpec& spec, const PacketBuilder& builder) {
  return make_key(spec, parse_headers(builder.build()));
}

std::array<std::uint8_t, 16> ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d};
}

const PacketBuilder kV4 = PacketBuilder().ipv4("10.1.2.3", "192.168.205.77").udp(4000, 53);
const PacketBuilder kV6 =
    PacketBuilder().ipv6("2001:db8:1:2:3:4:5:6", "fc00:ffff:ffff:ffff:ffff::2").tcp(5000, 80);

TEST(MakeKey, IsEmptyForAKeyOfTheWholeClass) {
  EXPECT_EQ(key_of({}, kV4), FlowKey{});
  EXPECT_EQ(key_of({}, kV6), FlowKey{});
}

TEST(MakeKey, HoldsTheFieldsThatAreAskedForAndNoOther) {
  FlowKey destination;
  destination.destination = ipv4(192, 168, 205, 77);
  EXPECT_EQ(key_of({.destination_address = true}, kV4), destination);
  FlowKey source;
  source.source = ipv4(10, 1, 2, 3);
  EXPECT_EQ(key_of({.source_address = true}, kV4), source);
  FlowKey all;
  all.source = ipv4(10, 1, 2, 3);
  all.destination = ipv4(192, 168, 205, 77);
  all.protocol = 17;
  all.source_port = 4000;
  all.destination_port = 53;
  EXPECT_EQ(key_of(five_tuple(), kV4), all);
}

TEST(MakeKey, CutsAddressesToTheirPrefixByFamily) {
  const KeySpec spec{.destination_address = true, .destination_prefix_v4 = 20, .destination_prefix_v6 = 60};
  EXPECT_EQ(key_of(spec, kV4).destination, ipv4(192, 168, 192, 0));
  EXPECT_EQ(
      key_of(spec, kV6).destination,
      (std::array<std::uint8_t, 16>{0xfc, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(MakeKey, KeepsTheFamiliesApartAtPrefixZero) {
  const KeySpec spec{.source_address = true, .source_prefix_v4 = 0, .source_prefix_v6 = 0};
  EXPECT_EQ(key_of(spec, kV4).source, ipv4(0, 0, 0, 0));
  EXPECT_EQ(key_of(spec, kV6).source, (std::array<std::uint8_t, 16>{}));
}

TEST(MakeKey, PutsMacAddressesInThePlaceOfAddresses) {
  PacketBuilder builder = kV4;
  builder.macs({2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13});
  const FlowKey key = key_of({.source_mac = true, .destination_mac = true}, builder);
  EXPECT_EQ(key.source, (std::array<std::uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(key.destination,
            (std::array<std::uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 9, 10, 11, 12, 13}));
}

TEST(MakeKey, HoldsTwoVlanIdentifiers) {
  PacketBuilder builder = kV4;
  builder.vlan(0xabc).vlan(0x123);
  EXPECT_EQ(key_of({.vlan = true}, builder).vlan, (std::array<std::uint8_t, 3>{0xab, 0xc1, 0x23}));
}

TEST(MakeKey, TellsTheSameAddressInTwoVlansApart) {
  const KeySpec spec{.destination_address = true, .vlan = true};
  EXPECT_NE(make_key(spec, parse_headers(kV4.build(), true, 5)),
            make_key(spec, parse_headers(kV4.build(), true, 6)));
}

TEST(MakeKey, IsTheSameForAllFragmentsOfADatagram) {
  PacketBuilder first =
      PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(4000, 53).payload(72).fragment(0, true);
  PacketBuilder last =
      PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").protocol(17).payload(80).fragment(80, false);
  EXPECT_EQ(key_of(five_tuple(), first), key_of(five_tuple(), last));
}

TEST(HashKey, DependsOnEveryBitOfTheKeyOnTheClassAndOnTheSeed) {
  const std::uint64_t seed = class_hash_seed("clients", 99);
  std::set<std::uint32_t> hashes{hash_key(FlowKey{}, seed)};
  for (std::size_t bit = 0; bit < 8 * sizeof(FlowKey); ++bit) {
    std::array<std::uint8_t, sizeof(FlowKey)> bytes{};
    bytes[bit / 8] = static_cast<std::uint8_t>(1u << bit % 8);
    hashes.insert(hash_key(std::bit_cast<FlowKey>(bytes), seed));
  }
  hashes.insert(hash_key(FlowKey{}, class_hash_seed("servers", 99)));
  hashes.insert(hash_key(FlowKey{}, class_hash_seed("clients", 100)));
  EXPECT_EQ(hashes.size(), 8 * sizeof(FlowKey) + 3);
}

TEST(HashKey, SpreadsConsecutiveAddressesEvenly) {
  constexpr std::size_t kPlaces = 1024;
  constexpr std::size_t kKeys = 64 * kPlaces;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    std::vector<std::size_t> counts(kPlaces);
    FlowKey key;
    for (std::size_t i = 0; i < kKeys; ++i) {
      key.destination[15] = static_cast<std::uint8_t>(i);
      key.destination[14] = static_cast<std::uint8_t>(i >> 8);
      ++counts[hash_key(key, class_hash_seed("clients", seed)) / (0x1'0000'0000 / kPlaces)];
    }
    double chi_squared = 0;
    for (const std::size_t count : counts) {
      const double excess = static_cast<double>(count) - 64;
      chi_squared += excess * excess / 64;
    }
    // 1023 degrees of freedom: mean 1023, standard deviation 45. Five deviations either way.
    EXPECT_GT(chi_squared, 1023 - 5 * 45);
    EXPECT_LT(chi_squared, 1023 + 5 * 45);
  }
}

// Matches by a function and keeps the frame it was shown.
class FunctionMatcher : public PacketMatcher {
 public:
  explicit FunctionMatcher(std::function<bool(std::span<const std::byte>)> function)
      : function_(std::move(function)) {}
  bool matches(std::span<const std::byte> frame) const override { return function_(frame); }

 private:
  std::function<bool(std::span<const std::byte>)> function_;
};

std::unique_ptr<PacketMatcher> longer_than(std::size_t bytes) {
  return std::make_unique<FunctionMatcher>(
      [bytes](std::span<const std::byte> frame) { return frame.size() > bytes; });
}

ClassConfig named(std::string name, KeySpec key = {}) {
  ClassConfig config;
  config.name = std::move(name);
  config.key = key;
  return config;
}

std::vector<std::unique_ptr<PacketMatcher>> matchers(std::unique_ptr<PacketMatcher> first,
                                                     std::unique_ptr<PacketMatcher> second = nullptr) {
  std::vector<std::unique_ptr<PacketMatcher>> both;
  both.push_back(std::move(first));
  both.push_back(std::move(second));
  return both;
}

ArrivingPacket classified(const Classifier& classifier, const Frame& frame, std::uint16_t stripped_tci = 0) {
  ArrivingPacket packet;
  packet.frame = frame;
  packet.vlan_tpid = stripped_tci ? 0x8100 : 0;
  packet.vlan_tci = stripped_tci;
  classifier.classify(packet);
  return packet;
}

TEST(Classifier, GivesAPacketToTheFirstClassThatMatches) {
  const Classifier classifier({named("long"), named("rest")}, matchers(longer_than(100)), 1);
  EXPECT_EQ(classified(classifier, PacketBuilder(kV4).frame_size(101).build()).class_index, 0);
  EXPECT_EQ(classified(classifier, PacketBuilder(kV4).frame_size(100).build()).class_index, 1);
}

TEST(Classifier, LeavesAPacketUnmatchedWhenNoClassTakesIt) {
  const Classifier classifier({named("long"), named("longer")}, matchers(longer_than(100), longer_than(200)),
                              1);
  EXPECT_EQ(classified(classifier, PacketBuilder(kV4).frame_size(100).build()).class_index, kUnmatched);
  EXPECT_TRUE(classifier.unshaped(kUnmatched));
  EXPECT_FALSE(classifier.unshaped(0));
}

TEST(Classifier, MatchesOnlyIpv4AndIpv6) {
  const Classifier classifier({named("all"), named("rest")}, matchers(nullptr), 1);
  EXPECT_EQ(classified(classifier, PacketBuilder().arp("10.0.0.1", "10.0.0.2").build()).class_index,
            kUnmatched);
  EXPECT_EQ(classified(classifier, PacketBuilder().ether_type(0x0842).payload(60).build()).class_index,
            kUnmatched);
  EXPECT_EQ(classified(classifier, kV6.build()).class_index, 0);
}

const Frame kSolicitation = PacketBuilder().ipv6("fe80::1", "fe80::2").icmpv6(135).payload(16).build();

ClassConfig with_control(std::string name) {
  ClassConfig config = named(std::move(name));
  config.control = true;
  return config;
}

TEST(Classifier, GivesControlTrafficToAClassThatWantsItBeforeAnyOther) {
  const Classifier classifier({named("all"), with_control("control")}, matchers(nullptr), 1);
  EXPECT_EQ(classified(classifier, kSolicitation).class_index, 1);
  EXPECT_EQ(classified(classifier, kV6.build()).class_index, 0);
}

TEST(Classifier, TakesControlTrafficAsAnyOtherWhereNoClassWantsIt) {
  // The kernel lets it go on within its limit; what comes is beyond it.
  const Classifier classifier({named("long"), named("rest")}, matchers(longer_than(1000)), 1);
  EXPECT_EQ(classified(classifier, kSolicitation).class_index, 1);
}

TEST(Classifier, LeavesControlTrafficThatNoClassWantsUnmatchedWithinItsLimit) {
  const Classifier classifier({named("all"), with_control("long")}, matchers(nullptr, longer_than(1000)), 1,
                              {PacketRate{10}, std::nullopt});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(classified(classifier, kSolicitation).class_index, kUnmatched) << i;
  EXPECT_EQ(classified(classifier, kSolicitation).class_index, 0);
  const Classifier unlimited({named("all"), with_control("long")}, matchers(nullptr, longer_than(1000)), 1,
                             Rate{});
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(classified(unlimited, kSolicitation).class_index, kUnmatched);
}

TEST(Classifier, ShowsMatchersTheFrameWithoutTheTagsInsideIt) {
  Frame seen;
  const Classifier classifier(
      {named("all"), named("rest")},
      matchers(std::make_unique<FunctionMatcher>([&](std::span<const std::byte> frame) {
        seen.assign(frame.begin(), frame.end());
        return true;
      })),
      1);
  const Frame plain = PacketBuilder(kV4).payload(300).build();
  classified(classifier, plain);
  EXPECT_EQ(seen, plain);
  classified(classifier, PacketBuilder(kV4).payload(300).vlan(7).vlan(8, 0x88a8).build());
  EXPECT_EQ(seen, plain);
}

TEST(Classifier, CopesWithATaggedFrameLongerThanAnyItCanCopy) {
  const Classifier classifier({named("long"), named("rest")}, matchers(longer_than(65'000)), 1);
  PacketBuilder builder = PacketBuilder().vlan(7).ipv4("10.0.0.1", "10.0.0.2").udp(1, 2).payload(70'000);
  EXPECT_EQ(classified(classifier, builder.build()).class_index, 0);
}

Networks networks_v4(Ipv4Number first, Ipv4Number last) {
  return {.ipv4 = {{first, last}}, .ipv6 = {}};
}

NetworkSelector selector(Networks networks) {
  return {std::make_shared<const NetworkSet>(std::move(networks), std::vector<std::string>{})};
}

constexpr Ipv4Number k10Slash8 = 0x0a000000;

ClassIndex class_of(const ClassConfig& config, PacketBuilder builder) {
  const Classifier classifier({config, named("rest")}, matchers(nullptr), 1);
  return classified(classifier, builder.build()).class_index;
}

TEST(Classifier, SelectsByDscp) {
  ClassConfig voice = named("voice");
  voice.selectors.dscp = std::uint64_t{1} << 46 | std::uint64_t{1} << 63;
  EXPECT_EQ(class_of(voice, PacketBuilder(kV4).dscp(46)), 0);
  EXPECT_EQ(class_of(voice, PacketBuilder(kV6).dscp(63)), 0);
  EXPECT_EQ(class_of(voice, PacketBuilder(kV6).vlan(7).dscp(46)), 0);
  EXPECT_EQ(class_of(voice, PacketBuilder(kV4)), 1);
  EXPECT_EQ(class_of(voice, PacketBuilder(kV4).dscp(45)), 1);
}

TEST(Classifier, SelectsByTheNetworksOfEachSide) {
  ClassConfig source = named("source");
  source.selectors.source = selector(networks_v4(k10Slash8, k10Slash8 | 0xffffff));
  EXPECT_EQ(class_of(source, PacketBuilder().ipv4("10.255.255.255", "11.0.0.1")), 0);
  EXPECT_EQ(class_of(source, PacketBuilder().vlan(5).ipv4("10.0.0.0", "11.0.0.1")), 0);
  EXPECT_EQ(class_of(source, PacketBuilder().ipv4("11.0.0.1", "10.0.0.1")), 1);
  ClassConfig destination = named("destination");
  destination.selectors.destination = source.selectors.source;
  EXPECT_EQ(class_of(destination, PacketBuilder().ipv4("11.0.0.1", "10.0.0.1")), 0);
  EXPECT_EQ(class_of(destination, PacketBuilder().ipv4("10.0.0.1", "11.0.0.1")), 1);
}

TEST(Classifier, KeepsTheFamiliesOfNetworksApart) {
  ClassConfig all_v6 = named("all v6");
  all_v6.selectors.source = selector({.ipv4 = {}, .ipv6 = {{0, ~Ipv6Number{0}}}});
  EXPECT_EQ(class_of(all_v6, kV6), 0);
  EXPECT_EQ(class_of(all_v6, kV4), 1);
  ClassConfig all_v4 = named("all v4");
  all_v4.selectors.source = selector(networks_v4(0, ~Ipv4Number{0}));
  EXPECT_EQ(class_of(all_v4, kV4), 0);
  EXPECT_EQ(class_of(all_v4, kV6), 1);
  EXPECT_EQ(class_of(all_v4, PacketBuilder().ipv6("::ffff:10.0.0.1", "::1")), 1);
}

TEST(Classifier, WantsAllSelectorsAndTheMatch) {
  ClassConfig all = named("all");
  all.selectors.dscp = std::uint64_t{1} << 46;
  all.selectors.source = selector(networks_v4(k10Slash8, k10Slash8 | 0xffffff));
  all.selectors.destination = selector(networks_v4(0xc0a8cd4d, 0xc0a8cd4d));  // 192.168.205.77
  const Classifier classifier({all, named("rest")}, matchers(longer_than(100)), 1);
  const PacketBuilder right = PacketBuilder(kV4).dscp(46).frame_size(200);
  const auto index = [&](PacketBuilder builder) {
    return classified(classifier, builder.build()).class_index;
  };
  EXPECT_EQ(index(right), 0);
  EXPECT_EQ(index(PacketBuilder(right).dscp(0)), 1);
  EXPECT_EQ(index(PacketBuilder(right).frame_size(100)), 1);
  EXPECT_EQ(index(PacketBuilder(right).ipv4("11.1.2.3", "192.168.205.77")), 1);
  EXPECT_EQ(index(PacketBuilder(right).ipv4("10.1.2.3", "192.168.205.78")), 1);
}

TEST(Classifier, SaysWhatEachClassSaysUpToTheOneThatTakes) {
  ClassConfig source = named("source"), destination = named("destination"), dscp = named("dscp");
  source.selectors.source = selector(networks_v4(k10Slash8 + 0x1000000, k10Slash8 + 0x1ffffff));
  destination.selectors.destination = source.selectors.source;
  dscp.selectors.dscp = std::uint64_t{1} << 46;
  ClassConfig mark = named("mark"), cgroup = named("cgroup");
  mark.selectors.marks = {{.value = 7}};
  cgroup.selectors.cgroups = {"system.slice"};
  std::vector<std::unique_ptr<PacketMatcher>> all(8);
  all[5] = longer_than(1000);
  const Classifier classifier(
      {source, destination, dscp, mark, cgroup, named("long"), named("rest"), named("behind")},
      std::move(all), 1);
  const Frame frame = kV4.build();
  ArrivingPacket packet{.frame = frame};
  const auto explained = classifier.explain(packet);
  const std::vector<ClassVerdict> expected = {
      ClassVerdict::source, ClassVerdict::destination, ClassVerdict::dscp, ClassVerdict::mark,
      ClassVerdict::cgroup, ClassVerdict::match,       ClassVerdict::takes};
  EXPECT_EQ(explained.verdicts, expected);
  EXPECT_EQ(packet.class_index, 6);
  EXPECT_EQ(packet.flow_hash, classified(classifier, frame).flow_hash);
  const Frame arp = PacketBuilder().arp("10.0.0.1", "10.0.0.2").build();
  packet.frame = arp;
  EXPECT_FALSE(classifier.explain(packet).is_ip);
  EXPECT_EQ(packet.class_index, kUnmatched);
}

TEST(Classifier, ExplainsControlTrafficAndChargesNothing) {
  const Classifier classifier({named("all"), with_control("long")}, matchers(nullptr, longer_than(1000)), 1,
                              {PacketRate{10}, std::nullopt});
  ArrivingPacket packet{.frame = kSolicitation};
  for (int i = 0; i < 20; ++i) {
    const auto explained = classifier.explain(packet);
    EXPECT_TRUE(explained.keeps_control_limit);
    EXPECT_EQ(explained.verdicts, (std::vector{ClassVerdict::control, ClassVerdict::match}));
    EXPECT_EQ(packet.class_index, kUnmatched);
  }
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(classified(classifier, kSolicitation).class_index, kUnmatched) << "it was charged for nothing";
  const auto beyond = classifier.explain(packet);
  EXPECT_FALSE(beyond.keeps_control_limit);
  EXPECT_EQ(beyond.verdicts, std::vector{ClassVerdict::takes});
  EXPECT_EQ(packet.class_index, 0);
}

TEST(Classifier, SelectsNothingThatIsNotIpAndNothingByAnEmptySet) {
  ClassConfig best_effort = named("best effort");
  best_effort.selectors.dscp = 1;
  EXPECT_EQ(class_of(best_effort, PacketBuilder().arp("10.0.0.1", "10.0.0.2")), kUnmatched);
  ClassConfig empty = named("empty");
  empty.selectors.source = selector({});
  EXPECT_EQ(class_of(empty, kV4), 1);
  EXPECT_EQ(class_of(empty, kV6), 1);
}

TEST(Classifier, GivesControlTrafficToAClassOnlyWhereItsSelectorsTakeIt) {
  ClassConfig control = with_control("control");
  control.selectors.dscp = std::uint64_t{1} << 48;
  const Classifier classifier({control, named("rest")}, matchers(nullptr), 1);
  const PacketBuilder solicitation = PacketBuilder().ipv6("fe80::1", "fe80::2").icmpv6(135).payload(16);
  EXPECT_EQ(classified(classifier, PacketBuilder(solicitation).dscp(48).build()).class_index, 0);
  EXPECT_EQ(classified(classifier, solicitation.build()).class_index, kUnmatched);
}

// As it comes by a back end that tells what is noted beside a packet, or with a shorter prefix.
ArrivingPacket noted(Frame& memory, std::uint32_t mark, std::size_t prefix_bytes = sizeof(PacketNotes) + 10) {
  const Frame frame = kV4.build();
  memory.assign(prefix_bytes, std::byte{0xee});
  const PacketNotes notes{.mark = mark, .priority = 5};
  if (prefix_bytes > sizeof notes) std::memcpy(memory.data(), &notes, sizeof notes);
  memory.insert(memory.end(), frame.begin(), frame.end());
  return {.frame = std::span<const std::byte>(memory).subspan(prefix_bytes),
          .prefix_bytes = static_cast<std::uint8_t>(prefix_bytes)};
}

TEST(Classifier, SelectsByAnyOfItsMarks) {
  ClassConfig marked = named("marked");
  marked.selectors.marks = {{.value = 0x10, .mask = 0xff}, {.value = 0}};
  const Classifier classifier({marked, named("rest")}, matchers(nullptr), 1);
  Frame memory;
  const auto index = [&](std::uint32_t mark) {
    ArrivingPacket packet = noted(memory, mark);
    classifier.classify(packet);
    return packet.class_index;
  };
  EXPECT_EQ(index(0x10), 0);
  EXPECT_EQ(index(0xffff'ff10), 0);
  EXPECT_EQ(index(0), 0);
  EXPECT_EQ(index(0x11), 1);
  EXPECT_EQ(index(0x100), 1);
}

TEST(Classifier, TakesAMarkThatIsNotNotedForZero) {
  ClassConfig marked = named("marked");
  marked.selectors.marks = {{.value = 0}};
  const Classifier classifier({marked, named("rest")}, matchers(nullptr), 1);
  for (const std::size_t prefix : {0, 10}) {
    Frame memory;
    ArrivingPacket packet = noted(memory, 7, prefix);
    classifier.classify(packet);
    EXPECT_EQ(packet.class_index, 0) << prefix;
  }
}

std::shared_ptr<const CgroupPlace> place(const std::string& path, unsigned number, Instant since = {}) {
  return std::make_shared<const CgroupPlace>(CgroupPlace{.path = path, .number = number, .since = since});
}

TEST(Classifier, SelectsByAnyOfItsCgroups) {
  ClassConfig one = named("one"), two = named("two");
  one.selectors.cgroups = {"a", "b"};
  two.selectors.cgroups = {"c"};
  const Classifier classifier({one, two, named("rest")}, Classifier::Matchers(3), 1, kDefaultControlLimit,
                              {place("a", 31), place("b", 0), place("c", 4), place("of no class", 5)});
  EXPECT_EQ(classifier.cgroup_bits(0), 0x8000'0001);
  EXPECT_EQ(classifier.cgroup_bits(1), 0x10U);
  EXPECT_EQ(classifier.cgroup_bits(2), 0U);
  const Frame frame = kV4.build();
  const auto index = [&](std::uint32_t cgroups) {
    ArrivingPacket packet{.frame = frame, .cgroups = cgroups};
    classifier.classify(packet);
    return packet.class_index;
  };
  EXPECT_EQ(index(0x8000'0000), 0);
  EXPECT_EQ(index(0x1), 0);
  EXPECT_EQ(index(0x11), 0);
  EXPECT_EQ(index(0x10), 1);
  EXPECT_EQ(index(0x7fff'fffe), 1);
  EXPECT_EQ(index(0x7fff'fffe & ~0x10U), 2);
  EXPECT_EQ(index(0), 2);
}

TEST(Classifier, MindsNoBitFromBeforeItsPlaceWasTheCgroups) {
  const Instant since{Duration(1000)};
  ClassConfig one = named("one");
  one.selectors.cgroups = {"a", "b"};
  const Classifier classifier({one, named("rest")}, Classifier::Matchers(2), 1, kDefaultControlLimit,
                              {place("a", 1, since), place("b", 2)});
  const Frame frame = kV4.build();
  const auto index = [&](std::uint32_t cgroups, Instant arrival) {
    ArrivingPacket packet{.frame = frame, .arrival = arrival, .cgroups = cgroups};
    classifier.classify(packet);
    return packet.class_index;
  };
  EXPECT_EQ(index(0b010, since), 0);
  EXPECT_EQ(index(0b010, since - Duration(1)), 1);
  EXPECT_EQ(index(0b110, since - Duration(1)), 0);
}

TEST(Classifier, KeysAndHashesShapedPacketsByTheirClass) {
  const KeySpec key{.destination_address = true, .vlan = true};
  const Classifier classifier({named("long", key), named("rest", five_tuple())}, matchers(longer_than(100)),
                              17);
  const Frame frame = PacketBuilder(kV4).frame_size(200).build();
  const ArrivingPacket packet = classified(classifier, frame, 0x2005);
  EXPECT_EQ(packet.key, make_key(key, parse_headers(frame, true, 5)));
  EXPECT_EQ(packet.key.vlan, (std::array<std::uint8_t, 3>{0, 0x50, 0}));
  EXPECT_EQ(packet.flow_hash, hash_key(packet.key, class_hash_seed("long", 17)));
}

TEST(Classifier, MakesNoKeyForABypassClass) {
  ClassConfig bypass = named("bypass", five_tuple());
  bypass.bypass = true;
  const Classifier classifier({bypass, named("rest")}, matchers(nullptr), 1);
  const ArrivingPacket packet = classified(classifier, kV4.build());
  EXPECT_EQ(packet.class_index, 0);
  EXPECT_TRUE(classifier.unshaped(0));
  EXPECT_EQ(packet.key, FlowKey{});
}

}  // namespace
}  // namespace headgate
