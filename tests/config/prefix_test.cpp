#include "config/prefix.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headgate {
namespace {

Prefix prefix(std::string_view text) {
  Prefix prefix;
  EXPECT_EQ(read_prefix(text, prefix).error, "");
  return prefix;
}

TEST(Prefix, OfAnIpv4NetworkStandsAmongTheMappedAddresses) {
  const Prefix network = prefix("10.1.2.0/23");
  EXPECT_EQ(network.address,
            (std::array<std::uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 0}));
  EXPECT_EQ(network.length, 96 + 23);
  EXPECT_TRUE(is_ipv4(network));
}

TEST(Prefix, OfAnIpv6NetworkHasItsOwnLength) {
  const Prefix network = prefix("2001:db8::/33");
  EXPECT_EQ(network.address, (std::array<std::uint8_t, 16>{0x20, 0x01, 0x0d, 0xb8}));
  EXPECT_EQ(network.length, 33);
  EXPECT_FALSE(is_ipv4(network));
  EXPECT_FALSE(is_ipv4(prefix("::/0")));
}

TEST(Prefix, IsWrittenAsItWasRead) {
  for (const char* text : {"0.0.0.0/0", "10.0.0.0/8", "10.0.0.1", "::/0", "2001:db8::/32", "2001:db8::1"})
    EXPECT_EQ(to_text(prefix(text)), text);
  EXPECT_EQ(to_text(prefix("10.0.0.1/32")), "10.0.0.1");
}

TEST(Prefix, IsCutToTheNetworkAroundIt) {
  EXPECT_EQ(to_text(cut_to(prefix("10.1.2.3").address, 96 + 23)), "10.1.2.0/23");
  EXPECT_EQ(to_text(cut_to(prefix("2001:db8:ffff::1").address, 33)), "2001:db8:8000::/33");
}

TEST(Prefix, RefusesWhatTheGrammarOfNetworksRefuses) {
  Prefix unchanged = prefix("10.0.0.1");
  EXPECT_THAT(read_prefix("10.0.0.1/8", unchanged).error, testing::HasSubstr("did you mean \"10.0.0.0/8\"?"));
  EXPECT_THAT(read_prefix("gold", unchanged).error, testing::HasSubstr("is not a network"));
  EXPECT_EQ(unchanged, prefix("10.0.0.1"));
}

}  // namespace
}  // namespace headgate
