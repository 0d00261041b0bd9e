#include "core/member_table.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <random>
#include <vector>

namespace headgate {
namespace {

MemberTable::Address ipv4(unsigned a, unsigned b, unsigned c, unsigned d) {
  return {0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0xff,
          0xff,
          static_cast<std::uint8_t>(a),
          static_cast<std::uint8_t>(b),
          static_cast<std::uint8_t>(c),
          static_cast<std::uint8_t>(d)};
}
Prefix network(const MemberTable::Address& address, int ipv4_bits) {
  return cut_to(address, static_cast<std::uint8_t>(kIpv4PrefixBits + ipv4_bits));
}

TEST(MemberTable, TheSmallestNetworkWins) {
  MemberTable table;
  EXPECT_EQ(table.plan_of(ipv4(10, 0, 0, 5)), kNoPlan);
  const std::vector<Member> members = {{network(ipv4(10, 0, 0, 0), 8), 0},
                                       {network(ipv4(10, 0, 0, 0), 24), 1},
                                       {network(ipv4(10, 0, 0, 5), 32), 2}};
  table = MemberTable(members, 3, 10);
  EXPECT_EQ(table.plan_of(ipv4(10, 0, 0, 5)), 2);
  EXPECT_EQ(table.plan_of(ipv4(10, 0, 0, 6)), 1);
  EXPECT_EQ(table.plan_of(ipv4(10, 0, 1, 5)), 0);
  EXPECT_EQ(table.plan_of(ipv4(11, 0, 0, 5)), kNoPlan);
  table.put({network(ipv4(10, 0, 0, 5), 32), kNoPlan});
  EXPECT_EQ(table.plan_of(ipv4(10, 0, 0, 5)), 1);
  EXPECT_EQ(table.counts(), (std::vector<std::uint32_t>{1, 1, 0}));
}

TEST(MemberTable, AnIpv6NetworkHasNoIpv4Address) {
  const std::vector<Member> members = {{Prefix{.address = {}, .length = 0}, 0}};
  const MemberTable table(members, 1, 10);
  EXPECT_EQ(table.plan_of(MemberTable::Address{0x20, 0x01, 0x0d, 0xb8}), 0);
  EXPECT_EQ(table.plan_of(ipv4(10, 0, 0, 5)), kNoPlan);
}

TEST(MemberTable, EveryLengthCutsItsBits) {
  MemberTable::Address ones;
  ones.fill(0xff);
  for (unsigned length = 0; length <= 128; ++length) {
    const Prefix prefix = cut_to(ones, static_cast<std::uint8_t>(length));
    unsigned set = 0;
    for (const std::uint8_t byte : prefix.address) set += static_cast<unsigned>(std::popcount(byte));
    EXPECT_EQ(set, length);
  }
}

// As an ordered map of all networks says, which is asked for every length.
TEST(MemberTable, AgreesWithAMapThroughRandomChanges) {
  constexpr std::size_t kRoom = 300;
  constexpr std::size_t kPlans = 7;
  std::mt19937 random(20);
  const auto up_to = [&random](unsigned most) {
    return std::uniform_int_distribution<unsigned>(0, most)(random);
  };
  const auto address = [&] {
    MemberTable::Address bytes = ipv4(10, 0, up_to(3), up_to(255));
    if (up_to(1) == 0) {
      bytes.fill(0);
      bytes[0] = 0x20;
      bytes[15] = static_cast<std::uint8_t>(up_to(255));
    }
    return bytes;
  };
  MemberTable table({}, kPlans, kRoom);
  std::map<Prefix, PlanNumber> expected;
  const auto plan_of = [&expected](const MemberTable::Address& wanted) {
    for (int length = 128; length >= 0; --length) {
      const Prefix prefix = cut_to(wanted, static_cast<std::uint8_t>(length));
      const auto found = expected.find(prefix);
      const bool family = is_ipv4({wanted, 128}) == is_ipv4(prefix);
      if (found != expected.end() && family) return found->second;
    }
    return kNoPlan;
  };
  for (int step = 0; step < 20'000; ++step) {
    const unsigned bits = up_to(3) == 0 ? up_to(32) : 32;
    const Prefix prefix = cut_to(address(), static_cast<std::uint8_t>(kIpv4PrefixBits + bits));
    const bool out = up_to(2) == 0 || expected.size() == kRoom;
    const PlanNumber plan = out ? kNoPlan : static_cast<PlanNumber>(up_to(kPlans - 1));
    table.put({prefix, plan});
    if (out) {
      expected.erase(prefix);
    } else {
      expected[prefix] = plan;
    }
    ASSERT_EQ(table.size(), expected.size());
    for (int i = 0; i < 5; ++i) {
      const MemberTable::Address wanted = address();
      ASSERT_EQ(table.plan_of(wanted), plan_of(wanted));
    }
  }
  std::vector<std::uint32_t> counts(kPlans);
  for (const auto& [prefix, plan] : expected) ++counts[plan];
  EXPECT_EQ(table.counts(), counts);
}

}  // namespace
}  // namespace headgate
