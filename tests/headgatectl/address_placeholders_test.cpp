#include "address_placeholders.hpp"

#include <gtest/gtest.h>

namespace headgate {
namespace {

std::string replaced(std::string_view text) {
  return AddressPlaceholders().replace(text);
}

TEST(AddressPlaceholders, TakesThePlaceOfAddressesOfEachKind) {
  EXPECT_EQ(replaced("10.0.0.1, 2001:db8::1 and 02:00:00:00:00:01."), "ipv4-1, ipv6-1 and mac-1.");
  EXPECT_EQ(replaced("src = [\"10.0.0.1\"]"), "src = [\"ipv4-1\"]");
  EXPECT_EQ(replaced("host10.0.0.1"), "hostipv4-1");
}

TEST(AddressPlaceholders, GivesTheSameAddressTheSamePlaceholderInAllTexts) {
  AddressPlaceholders placeholders;
  EXPECT_EQ(placeholders.replace("10.0.0.1 10.0.0.2 10.0.0.1"), "ipv4-1 ipv4-2 ipv4-1");
  EXPECT_EQ(placeholders.replace("10.0.0.2 10.0.0.3"), "ipv4-2 ipv4-3");
  EXPECT_EQ(placeholders.addresses(), 3);
}

TEST(AddressPlaceholders, KnowsTheWaysToWriteOneAddress) {
  EXPECT_EQ(replaced("2001:db8:0:0::1 2001:DB8::1 2001:0db8::0001"), "ipv6-1 ipv6-1 ipv6-1");
  EXPECT_EQ(replaced("::ffff:10.0.0.1 10.0.0.1"), "ipv4-1 ipv4-1");
  EXPECT_EQ(replaced("02:0a:00:00:00:01 2:A:0:0:0:1 02-0A-00-00-00-01 enx020a00000001"),
            "mac-1 mac-1 mac-1 enxmac-1");
}

TEST(AddressPlaceholders, KeepsTheLengthOfNetworksAndWhatStandsAround) {
  EXPECT_EQ(replaced("10.0.0.0/8 10.0.0.0/24 2001:db8::/32"), "ipv4-1/8 ipv4-1/24 ipv6-1/32");
  EXPECT_EQ(replaced("[2001:db8::1]:53 10.0.0.1:53"), "[ipv6-1]:53 ipv4-1:53");
  EXPECT_EQ(replaced("fe80::1%eth0: refused"), "ipv6-1%eth0: refused");
  EXPECT_EQ(replaced("2001:db8::1: refused"), "ipv6-1: refused");
  EXPECT_EQ(replaced("02:00:00:00:00:01: refused"), "mac-1: refused");
}

TEST(AddressPlaceholders, TakesNetworksCutShortAndLongHardwareAddresses) {
  EXPECT_EQ(replaced("src net 10.1 or dst net 192.168.7/24"), "src net ipv4-1 or dst net ipv4-2/24");
  EXPECT_EQ(replaced("80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:00:00:01"), "mac-1");
}

TEST(AddressPlaceholders, LeavesWhatSaysNothingOfAHost) {
  for (const char* text : {"0.0.0.0/0 ::/0", "12:34:56.789012", "2026-11-30 09:00:00", "std::string",
                           "Linux 6.1.0-25-amd64", "headgate 0.1.0", "rate = \"20mbit\"", "af41", "0x10/0xff",
                           "eth0/egress/dns", "1.5 ms", "10.0.0", "a:b", "dead"})
    EXPECT_EQ(replaced(text), text);
}

}  // namespace
}  // namespace headgate
