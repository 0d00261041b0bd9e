#include "vocabulary/network_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace headgate {
namespace {

using Range = AddressRange<Ipv4Number>;

constexpr Ipv4Number kLastIpv4 = 0xffffffff;
constexpr Ipv6Number kLastIpv6 = ~Ipv6Number{0};

TEST(AddressRanges, HoldTheirEndsAndNothingBeside) {
  const AddressRanges<Ipv4Number> ranges({{30, 39}, {10, 19}, {50, 50}});
  for (const Ipv4Number inside : {10, 15, 19, 30, 39, 50}) EXPECT_TRUE(ranges.contains(inside)) << inside;
  for (const Ipv4Number outside : {0, 9, 20, 29, 40, 49, 51})
    EXPECT_FALSE(ranges.contains(outside)) << outside;
  EXPECT_FALSE(ranges.contains(kLastIpv4));
}

TEST(AddressRanges, WithoutARangeHoldNothing) {
  const AddressRanges<Ipv4Number> none({});
  EXPECT_FALSE(none.contains(0));
  EXPECT_FALSE(none.contains(kLastIpv4));
}

TEST(AddressRanges, ReachFromTheFirstAddressToTheLast) {
  const AddressRanges<Ipv4Number> ends({{0, 0}, {kLastIpv4, kLastIpv4}});
  EXPECT_TRUE(ends.contains(0));
  EXPECT_TRUE(ends.contains(kLastIpv4));
  EXPECT_FALSE(ends.contains(1));
  EXPECT_FALSE(ends.contains(kLastIpv4 - 1));
  const AddressRanges<Ipv6Number> all({{0, kLastIpv6}, {kLastIpv6, kLastIpv6}});
  EXPECT_TRUE(all.contains(0));
  EXPECT_TRUE(all.contains(kLastIpv6));
}

TEST(AddressRanges, AreEqualWhereTheirAddressesAre) {
  const AddressRanges<Ipv4Number> whole({{0, 255}});
  EXPECT_EQ(AddressRanges<Ipv4Number>({{128, 255}, {0, 127}}), whole) << "in halves";
  EXPECT_EQ(AddressRanges<Ipv4Number>({{16, 31}, {0, 255}, {0, 255}}), whole) << "and parts of it again";
  EXPECT_NE(AddressRanges<Ipv4Number>({{0, 126}, {128, 255}}), whole);
}

TEST(AddressRanges, HoldWhatAnyOfManyNetworksHolds) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Range> networks;
    for (std::size_t count = random() % 60; count > 0; --count) {
      const Ipv4Number host = (1u << random() % 10) - 1;
      const Ipv4Number first = random() % 4096 & ~host;
      networks.push_back({first, first | host});
    }
    const AddressRanges<Ipv4Number> ranges(networks);
    for (Ipv4Number address = 0; address < 5000; ++address) {
      bool expected = false;
      for (const Range& network : networks) expected |= network.first <= address && address <= network.last;
      ASSERT_EQ(ranges.contains(address), expected) << address;
    }
  }
}

TEST(NetworkSet, ComparesByNetworksAndTexts) {
  const Networks ten{.ipv4 = {{0x0a000000, 0x0affffff}}, .ipv6 = {}};
  const NetworkSet set(ten, {"10.0.0.0/8"});
  EXPECT_EQ(set, NetworkSet(ten, {"10.0.0.0/8"}));
  EXPECT_NE(set, NetworkSet(ten, {"/etc/headgate/clients"}));
  EXPECT_NE(set, NetworkSet({.ipv4 = {{0x0b000000, 0x0bffffff}}, .ipv6 = {}}, {"10.0.0.0/8"}));
  EXPECT_EQ(set.texts(), std::vector<std::string>{"10.0.0.0/8"});
}

}  // namespace
}  // namespace headgate
