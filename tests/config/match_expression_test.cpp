#include "config/match_expression.hpp"

#include "config/match_vocabulary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "support/packet_builder.hpp"

namespace headgate {
namespace {

std::shared_ptr<const PacketMatcher> compiled(const std::string& expression) {
  const CompiledMatch match = compile_match(expression);
  EXPECT_EQ(match.error, "") << expression;
  return match.matcher;
}

std::string error_of(const std::string& expression) {
  const CompiledMatch match = compile_match(expression);
  EXPECT_EQ(match.matcher, nullptr) << expression;
  return match.error;
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

constexpr std::size_t kEndOfPorts = 14 + 20 + 4;

TEST(MatchExpression, MatchesNothingInAFrameThatIsCutShortBeforeWhatItAsksFor) {
  const auto matcher = compiled("udp port 53");
  for (std::size_t length = 0; length <= kDnsQuery.size(); ++length) {
    EXPECT_EQ(matcher->matches(std::span(kDnsQuery).first(length)), length >= kEndOfPorts) << length;
  }
}

TEST(MatchExpression, DoesNotTurnACutFrameIntoAMatchByNegation) {
  std::string many = "not tcp port 53";
  for (int port = 1000; port < 1040; ++port) many += " and not tcp port " + std::to_string(port);
  for (const std::string& expression : {std::string("not tcp port 53"), many}) {
    const auto matcher = compiled(expression);
    for (std::size_t length = 0; length <= kWeb.size(); ++length) {
      EXPECT_EQ(matcher->matches(std::span(kWeb).first(length)), length >= kEndOfPorts) << length;
    }
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

TEST(MatchExpression, IsCompiledInPartsWhereItIsLong) {
  std::string hosts = "host 10.0.0.1";
  std::string ranges = "portrange 1000-1005";
  for (int i = 2; i <= 100; ++i) {
    hosts += " or 10.0.0." + std::to_string(i);
    ranges += " or " + std::to_string(1000 + 10 * i) + "-" + std::to_string(1005 + 10 * i);
  }
  EXPECT_EQ(compile_match("host 10.0.0.1 or 10.0.0.2").programs, 1U);
  EXPECT_EQ(compile_match(hosts).programs, 7U) << "16 hosts each";
  EXPECT_EQ(compile_match(ranges).programs, 13U)
      << "8 ranges each, for 16 come to more than 1000 instructions";
  EXPECT_EQ(compile_match("not udp and (" + hosts + ")").programs, 8U);
  EXPECT_EQ(compile_match("mpls or " + hosts).programs, 1U) << "mpls moves what the hosts are looked for in";
}

TEST(MatchExpression, MatchesTheSameInParts) {
  std::string expression = "port 1";
  for (int port = 2; port <= 120; ++port) expression += " or " + std::to_string(port);
  const auto matcher = compiled(expression);
  EXPECT_TRUE(matcher->matches(kDnsQuery));
  EXPECT_TRUE(matcher->matches(kDnsQueryV6));
  EXPECT_FALSE(matcher->matches(kWeb));
}

TEST(MatchExpression, MatchesTheSameWithoutTheOptimiser) {
  std::string expression = "port 1";
  for (int port = 2; port <= 60; ++port) expression += " or " + std::to_string(port);  // > 3000 instructions
  const CompiledMatch match = compile_match(expression + " or mpls");  // which cannot be taken apart
  ASSERT_EQ(match.error, "");
  EXPECT_EQ(match.programs, 1U);
  EXPECT_TRUE(match.matcher->matches(kDnsQuery));
  EXPECT_TRUE(match.matcher->matches(kDnsQueryV6));
  EXPECT_FALSE(match.matcher->matches(kWeb));
}

TEST(MatchExpression, SaysWhetherItCanEverMatch) {
  for (const auto* expression :
       {"arp", "rarp", "mpls", "mpls 1024", "pppoes", "pppoed", "stp", "atalk", "ipx", "netbeui", "decnet",
        "iso", "ether proto 0x88cc", "arp host 10.0.0.1", "arp or rarp", "arp and host 10.0.0.1",
        "not ip and not ip6", "len < 100 and arp", "pppoes and host 10.0.0.1"}) {
    EXPECT_TRUE(compile_match(expression).never) << expression;
  }
  for (const auto* expression :
       {"ip", "ip6", "host 10.0.0.1", "arp or host 10.0.0.1", "not arp", "not (arp or rarp)",
        "ether proto 0x0800", "ether proto \\ip6", "ether broadcast", "multicast", "len > 2000",
        "ether[12:2] = 0x86dd", "ip6 protochain 6", "ether[14] = 0x45", "ether[ether[14]] = 4",
        "net 10.0.0.0/8"}) {
    EXPECT_FALSE(compile_match(expression).never) << expression;
  }
}

TEST(MatchExpression, SaysThatALongOneCanNeverMatch) {
  std::string hosts = "arp host 10.0.0.1";
  for (int i = 2; i <= 60; ++i) hosts += " or 10.0.0." + std::to_string(i);
  EXPECT_GT(compile_match(hosts).programs, 1U);
  EXPECT_TRUE(compile_match(hosts).never);
  EXPECT_TRUE(compile_match("rarp and (" + hosts + ")").never);
  EXPECT_FALSE(compile_match(hosts + " or ip").never);
}

std::vector<std::string> control_in(const std::string& expression) {
  const CompiledMatch match = compile_match(expression);
  EXPECT_EQ(match.error, "") << expression;
  return match.control;
}

TEST(MatchExpression, SaysWhichControlProtocolsItNames) {
  using testing::ElementsAre;
  EXPECT_THAT(control_in("igmp"), ElementsAre("IGMP"));
  EXPECT_THAT(control_in("ip proto 2 or esp"), ElementsAre("IGMP"));
  EXPECT_THAT(control_in("igmp or icmp or udp"), ElementsAre("IGMP"));
  EXPECT_THAT(control_in("vrrp"), ElementsAre("VRRP"));
  EXPECT_THAT(control_in("ip proto 112 and dst host 224.0.0.18"), ElementsAre("VRRP"));
  EXPECT_THAT(control_in("ip6 proto 112"), ElementsAre("VRRP"));
  EXPECT_THAT(control_in("udp port 67"), ElementsAre("DHCP"));
  EXPECT_THAT(control_in("udp dst port 68"), ElementsAre("DHCP"));
  EXPECT_THAT(control_in("udp port 53 or port 67 or 68"), ElementsAre("DHCP"));
  EXPECT_THAT(control_in("src host 10.1.2.3 and udp dst port 67"), ElementsAre("DHCP"));
  EXPECT_THAT(control_in("net 10.0.0.0/8 and portrange 67-68"), ElementsAre("DHCP"));
  EXPECT_THAT(control_in("udp port 546"), ElementsAre("DHCPv6"));
  EXPECT_THAT(control_in("ip6 and udp dst port 547"), ElementsAre("DHCPv6"));
  EXPECT_THAT(control_in("icmp6[icmp6type] = icmp6-neighborsolicit"), ElementsAre("neighbour discovery"));
  EXPECT_THAT(control_in("icmp6[0] = 131"), ElementsAre("MLD"));
  EXPECT_THAT(control_in("icmp6[0] = 128 or icmp6[0] = 135"), ElementsAre("neighbour discovery"));
  EXPECT_THAT(control_in("icmp6[0] >= 133 and icmp6[0] <= 137"),
              ElementsAre("router discovery", "neighbour discovery", "ICMPv6 redirects"));
  EXPECT_THAT(control_in("host fe80::5 and icmp6[0] = 134"), ElementsAre("router discovery"));
}

TEST(MatchExpression, NamesNoControlProtocolThatItTakesAmongOthers) {
  for (const auto* expression :
       {"ip", "udp", "icmp6", "icmp", "net 10.0.0.0/8", "portrange 1-1023", "not tcp", "not port 66",
        "udp port 53", "host 10.0.0.1", "multicast", "src port 67 or tcp", "not udp port 67", "ip6",
        "icmp6[0] = 128", "ip proto 50"}) {
    EXPECT_THAT(control_in(expression), testing::IsEmpty()) << expression;
  }
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

TEST(MatchExpression, TellsWhatNeedsAnEthernetHeader) {
  for (const char* none : {"", "udp port 53", "ip broadcast or ip6 multicast",
                           "ip multicast and tcp[tcpflags] & tcp-syn != 0", "ip[0] & 0xf != 5"})
    EXPECT_EQ(ethernet_word(none), "") << none;
  EXPECT_EQ(ethernet_word("udp and ether host 02:00:00:00:00:01"), "ether");
  EXPECT_EQ(ethernet_word("not(ether[0] & 1 = 0)"), "ether");
  EXPECT_EQ(ethernet_word("link multicast"), "link");
  EXPECT_EQ(ethernet_word("ip and broadcast"), "broadcast");
  EXPECT_EQ(ethernet_word("(ip)||(multicast)"), "multicast");
}

}  // namespace
}  // namespace headgate
