#include "config/match_expression.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "support/packet_builder.hpp"

namespace headgate {
namespace {

std::unique_ptr<PacketMatcher> compiled(const std::string& expression) {
  std::string error;
  auto matcher = compile_match(expression, error);
  EXPECT_EQ(error, "") << expression;
  return matcher;
}

std::string error_of(const std::string& expression) {
  std::string error;
  EXPECT_EQ(compile_match(expression, error), nullptr) << expression;
  return error;
}

bool matches(const std::string& expression, const std::vector<std::byte>& frame) {
  return compiled(expression)->matches(frame);
}

const std::vector<std::byte> kDnsQuery =
    PacketBuilder().ipv4("10.1.2.3", "192.0.2.1").udp(4000, 53).payload(40).build();
const std::vector<std::byte> kDnsQueryV6 =
    PacketBuilder().ipv6("2001:db8::1", "2001:db8::2").udp(4000, 53).payload(40).build();
const std::vector<std::byte> kWeb = PacketBuilder().ipv4("10.1.2.3", "192.0.2.1").tcp(4000, 443).build();

TEST(MatchExpression, MatchesAsTcpdumpDoes) {
  EXPECT_TRUE(matches("udp port 53", kDnsQuery));
  EXPECT_TRUE(matches("udp port 53", kDnsQueryV6));
  EXPECT_FALSE(matches("udp port 53", kWeb));
  EXPECT_TRUE(matches("net 10.0.0.0/8 and not udp", kWeb));
  EXPECT_FALSE(matches("net 10.0.0.0/8 and not udp", kDnsQuery));
  EXPECT_TRUE(matches("ip6", kDnsQueryV6));
  EXPECT_FALSE(matches("ip6", kDnsQuery));
}

TEST(MatchExpression, DoesNotMatchPortsOfLaterFragments) {
  const auto later =
      PacketBuilder().ipv4("10.1.2.3", "192.0.2.1").protocol(17).fragment(1480, false).payload(64).build();
  EXPECT_FALSE(matches("udp port 53", later));
  EXPECT_TRUE(matches("udp", later));
}

TEST(MatchExpression, MatchesNothingInAFrameThatIsCutShort) {
  const auto matcher = compiled("udp port 53");
  for (std::size_t length = 0; length < 14 + 20 + 4; ++length) {
    EXPECT_FALSE(matcher->matches(std::span(kDnsQuery).first(length))) << length;
  }
}

TEST(MatchExpression, TakesWhatPcapFilterTakes) {
  for (const auto* expression : {"ip",
                                 "host 10.0.0.1 or 10.0.0.2",
                                 "src net 10.1.0.0/16",
                                 "net 10",
                                 "net 10.0.0.0 mask 255.0.0.0",
                                 "portrange 6000-6008",
                                 "tcp portrange 6000-6008 or udp src portrange 1-2",
                                 "tcp dst port 80 or 443",
                                 "port domain or ntp",
                                 "ip proto 50",
                                 "ip proto \\icmp",
                                 "ether host 00:11:22:33:44:55",
                                 "ether src 00-11-22-33-44-55",
                                 "ether dst 0011.2233.4455",
                                 "ip6 host 2001:db8::1",
                                 "host fe80::dead:beef",
                                 "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
                                 "icmp[icmptype] = icmp-echo",
                                 "len > 100",
                                 "greater 1000 and less 1400",
                                 "ip[8] < 5",
                                 "multicast",
                                 "ether broadcast",
                                 "not (tcp port 22)",
                                 "!(udp and port 53) && ip",
                                 "ip6 protochain 6",
                                 "igmp or pim",
                                 "ether proto 0x0800",
                                 "ip[0] & 0xf != 5",
                                 "udp[4:2] >= 100",
                                 "sctp",
                                 "esp",
                                 "ah",
                                 "icmp6",
                                 "dst host 192.0.2.1 and tcp port http",
                                 "(src 10.0.0.1 or src 10.0.0.2)",
                                 "net 2001:db8::/32"}) {
    compiled(expression);
  }
}

TEST(MatchExpression, RefusesVlanWithAHintAtTheKey) {
  EXPECT_THAT(error_of("vlan 5 and udp"), testing::HasSubstr("put \"vlan\" in the key"));
  EXPECT_THAT(error_of("udp and not(vlan)"), testing::HasSubstr("put \"vlan\" in the key"));
}

TEST(MatchExpression, RefusesTheDirectionKeywords) {
  EXPECT_THAT(error_of("inbound"), testing::HasSubstr("packets of its direction only"));
  EXPECT_THAT(error_of("outbound and tcp"), testing::HasSubstr("packets of its direction only"));
}

TEST(MatchExpression, NeverAsksTheResolver) {
  for (const auto* expression :
       {"host example.com", "example.com", "src printer", "net mynet", "dst host a-b.example",
        "tcp port 80 and host www.example.org", "port 53 or src example.com", "ip6 host localhost",
        "host 10.0.0.1 or example.com", "gateway router7", "host 10.0.0.1-10.0.0.5", "host 1.2.3.4.5",
        "src 60-70", "host example.com:80", "tcp-x.example"}) {
    EXPECT_THAT(error_of(expression), testing::HasSubstr("nor an address")) << expression;
  }
}

TEST(MatchExpression, SuggestsTheWordThatWasMeant) {
  EXPECT_EQ(error_of("udp prot 53"),
            "\"prot\" is neither a word of pcap-filter(7) nor an address: did you mean \"port\"?");
  EXPECT_EQ(error_of("hots 10.0.0.1"),
            "\"hots\" is neither a word of pcap-filter(7) nor an address: did you mean \"host\"?");
}

TEST(MatchExpression, SaysWhatLibpcapFinds) {
  EXPECT_EQ(error_of("udp port"), "\"udp port\": syntax error, expected an expression of pcap-filter(7)");
  EXPECT_EQ(error_of("arp and ip"), "\"arp and ip\" can match no packet");
  EXPECT_THAT(error_of("net 10.0.0.1/8"), testing::HasSubstr("non-network bits set"));
}

TEST(MatchExpression, IsBoundedInLength) {
  std::string expression = "host 10.0.0.1";
  while (expression.size() < 2030) expression += " or 10.1.1.1";
  EXPECT_LE(expression.size(), 2048U);
  EXPECT_TRUE(compiled(expression)->matches(PacketBuilder().ipv4("10.1.1.1", "10.9.9.9").udp(1, 2).build()));
  expression += " or 10.0.0.2";
  EXPECT_THAT(error_of(expression), testing::HasSubstr("expected at most 2048"));
}

TEST(MatchExpression, MatchesTheSameWithoutTheOptimiser) {
  std::string expression = "port 1";
  for (int port = 2; port <= 120; ++port) expression += " or " + std::to_string(port);  // > 3000 instructions
  const auto matcher = compiled(expression);
  EXPECT_TRUE(matcher->matches(kDnsQuery));
  EXPECT_TRUE(matcher->matches(kDnsQueryV6));
  EXPECT_FALSE(matcher->matches(kWeb));
}

TEST(MatchExpression, MayBeRunByTwoThreadsAtOnce) {
  const auto matcher = compiled("udp port 53");
  const auto count_matches = [&](int& count) {
    for (int i = 0; i < 1000; ++i)
      count += (matcher->matches(kDnsQuery) ? 1 : 0) + (matcher->matches(kWeb) ? 1 : 0);
  };
  int first = 0;
  int second = 0;
  std::thread other(count_matches, std::ref(first));
  count_matches(second);
  other.join();
  EXPECT_EQ(first, 1000);
  EXPECT_EQ(second, 1000);
}

}  // namespace
}  // namespace headgate
