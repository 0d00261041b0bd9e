#include "core/header_parser.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "support/packet_builder.hpp"

namespace headgate {
namespace {

using Frame = std::vector<std::byte>;

std::array<std::uint8_t, 16> ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d};
}

PacketBuilder from_v4() {
  return PacketBuilder().ipv4("10.1.2.3", "192.168.4.5");
}
PacketBuilder from_v6() {
  return PacketBuilder().ipv6("fc00::1", "fc00::2");
}

TEST(HeaderParser, ReadsAddressesPortsAndMacs) {
  const ParsedHeaders headers =
      parse_headers(from_v4().macs({2, 1, 1, 1, 1, 1}, {2, 2, 2, 2, 2, 2}).udp(4000, 53).payload(18).build());
  EXPECT_EQ(headers.network, NetworkProtocol::ipv4);
  EXPECT_EQ(headers.source, ipv4(10, 1, 2, 3));
  EXPECT_EQ(headers.destination, ipv4(192, 168, 4, 5));
  EXPECT_EQ(headers.protocol, 17);
  EXPECT_TRUE(headers.has_ports);
  EXPECT_EQ(headers.source_port, 4000);
  EXPECT_EQ(headers.destination_port, 53);
  EXPECT_EQ(headers.source_mac, (MacAddress{2, 1, 1, 1, 1, 1}));
  EXPECT_EQ(headers.destination_mac, (MacAddress{2, 2, 2, 2, 2, 2}));
  EXPECT_FALSE(headers.fragment);
  EXPECT_FALSE(headers.control);
  EXPECT_EQ(headers.outer_vlan, 0);
}

TEST(HeaderParser, ReadsIpv6) {
  const ParsedHeaders headers = parse_headers(from_v6().tcp(5000, 80).build());
  EXPECT_EQ(headers.network, NetworkProtocol::ipv6);
  EXPECT_EQ(headers.source,
            (std::array<std::uint8_t, 16>{0xfc, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(headers.protocol, 6);
  EXPECT_EQ(headers.source_port, 5000);
  EXPECT_EQ(headers.destination_port, 80);
}

TEST(HeaderParser, ReadsTheDscpOfBothFamiliesAlsoBehindTags) {
  for (std::uint8_t dscp = 0; dscp < 64; ++dscp) {
    EXPECT_EQ(parse_headers(from_v4().dscp(dscp).udp(1, 2).build()).dscp, dscp);
    EXPECT_EQ(parse_headers(from_v6().dscp(dscp).udp(1, 2).build()).dscp, dscp);
    EXPECT_EQ(parse_headers(from_v6().vlan(7).vlan(8).dscp(dscp).udp(1, 2).build()).dscp, dscp);
  }
  Frame congested = from_v4().dscp(46).udp(1, 2).build();
  congested[15] |= std::byte{3};
  EXPECT_EQ(parse_headers(congested).dscp, 46) << "the two bits of ECN are no part of it";
}

TEST(HeaderParser, SkipsIpv4Options) {
  const ParsedHeaders headers = parse_headers(from_v4().ipv4_options(10).tcp(5000, 80).build());
  EXPECT_EQ(headers.source_port, 5000);
  EXPECT_EQ(headers.destination_port, 80);
}

TEST(HeaderParser, SkipsIpv6ExtensionHeaders) {
  const ParsedHeaders headers = parse_headers(
      from_v6().hop_by_hop_options().destination_options().routing_header().sctp(9, 10).payload(4).build());
  EXPECT_EQ(headers.protocol, 132);
  EXPECT_TRUE(headers.has_ports);
  EXPECT_EQ(headers.destination_port, 10);
}

TEST(HeaderParser, KeysAllFragmentsOfAnIpv4DatagramAlike) {
  const ParsedHeaders first = parse_headers(from_v4().udp(4000, 53).payload(72).fragment(0, true).build());
  const ParsedHeaders middle = parse_headers(from_v4().protocol(17).payload(80).fragment(80, true).build());
  const ParsedHeaders last = parse_headers(from_v4().protocol(17).payload(8).fragment(160, false).build());
  for (const ParsedHeaders& headers : {first, middle, last}) {
    EXPECT_TRUE(headers.fragment);
    EXPECT_FALSE(headers.has_ports);
    EXPECT_EQ(headers.source_port, 0);
    EXPECT_EQ(headers.destination_port, 0);
    EXPECT_EQ(headers.protocol, 17);
  }
}

TEST(HeaderParser, KeysAllFragmentsOfAnIpv6DatagramAlike) {
  // Options behind the fragment header are in the first fragment alone, so their type is what all have in
  // common.
  const ParsedHeaders first =
      parse_headers(from_v6().fragment(0, true).destination_options().udp(4000, 53).payload(72).build());
  const ParsedHeaders last = parse_headers(from_v6().fragment(88, false).protocol(60).payload(8).build());
  for (const ParsedHeaders& headers : {first, last}) {
    EXPECT_TRUE(headers.fragment);
    EXPECT_FALSE(headers.has_ports);
    EXPECT_EQ(headers.protocol, 60);
  }
}

TEST(HeaderParser, TakesAnAtomicFragmentForAWholeDatagram) {
  const ParsedHeaders headers = parse_headers(from_v6().fragment(0, false).udp(4000, 53).build());
  EXPECT_FALSE(headers.fragment);
  EXPECT_EQ(headers.destination_port, 53);
}

TEST(HeaderParser, FindsPortsOfEveryProtocolThatHasThem) {
  for (const int protocol : {6, 17, 33, 132, 136}) {
    const ParsedHeaders headers =
        parse_headers(from_v4().protocol(static_cast<std::uint8_t>(protocol)).payload({1, 2, 3, 4}).build());
    EXPECT_TRUE(headers.has_ports) << protocol;
    EXPECT_EQ(headers.source_port, 0x0102) << protocol;
    EXPECT_EQ(headers.destination_port, 0x0304) << protocol;
  }
  for (const int protocol : {1, 2, 47, 50}) {
    const ParsedHeaders headers =
        parse_headers(from_v4().protocol(static_cast<std::uint8_t>(protocol)).payload({1, 2, 3, 4}).build());
    EXPECT_FALSE(headers.has_ports) << protocol;
    EXPECT_EQ(headers.protocol, protocol);
  }
}

TEST(HeaderParser, TakesNoPortsFromThePaddingOfTheFrame) {
  Frame frame = from_v4().protocol(17).build();  // an IP packet without a transport header
  frame.resize(60, std::byte{0xee});
  const ParsedHeaders headers = parse_headers(frame);
  EXPECT_EQ(headers.network, NetworkProtocol::ipv4);
  EXPECT_FALSE(headers.has_ports);
}

TEST(HeaderParser, ReadsPastALengthOfZeroAsInSuperPackets) {
  Frame v4 = from_v4().tcp(5000, 80).payload(100).build();
  v4[16] = v4[17] = std::byte{0};
  EXPECT_EQ(parse_headers(v4).destination_port, 80);
  Frame v6 = from_v6().tcp(5000, 80).payload(100).build();
  v6[18] = v6[19] = std::byte{0};
  EXPECT_EQ(parse_headers(v6).destination_port, 80);
}

TEST(HeaderParser, KnowsControlTraffic) {
  for (int type = 128; type < 144; ++type) {
    const ParsedHeaders headers = parse_headers(from_v6().icmpv6(static_cast<std::uint8_t>(type)).build());
    EXPECT_EQ(headers.control, (type >= 130 && type <= 137) || type == 143) << type;
  }
  EXPECT_TRUE(parse_headers(from_v6().hop_by_hop_options().icmpv6(135).build()).control);
  EXPECT_TRUE(parse_headers(from_v4().udp(68, 67).build()).control);
  EXPECT_TRUE(parse_headers(from_v4().udp(67, 68).build()).control);
  EXPECT_TRUE(parse_headers(from_v6().udp(546, 547).build()).control);
  EXPECT_TRUE(parse_headers(from_v6().udp(547, 546).build()).control);
  EXPECT_TRUE(parse_headers(from_v6().hop_by_hop_options().icmpv6(143).build()).control);
  EXPECT_TRUE(parse_headers(from_v4().protocol(2).payload(8).build()).control);
  EXPECT_TRUE(parse_headers(from_v4().ipv4_options(1).protocol(2).payload(8).build()).control);
  for (PacketBuilder builder : {from_v4(), from_v6()})
    EXPECT_TRUE(parse_headers(builder.protocol(112).payload(8).build()).control);
}

TEST(HeaderParser, TakesNothingElseForControlTraffic) {
  EXPECT_FALSE(parse_headers(from_v4().udp(67, 4000).build()).control);
  EXPECT_FALSE(parse_headers(from_v4().udp(546, 547).build()).control);
  EXPECT_FALSE(parse_headers(from_v6().udp(68, 67).build()).control);
  EXPECT_FALSE(parse_headers(from_v4().tcp(68, 67).build()).control);
  EXPECT_FALSE(parse_headers(from_v4().icmp_echo().build()).control);
  EXPECT_FALSE(parse_headers(from_v4().protocol(58).payload({135, 0, 0, 0}).build()).control);
  EXPECT_FALSE(parse_headers(from_v6().protocol(2).payload(8).build()).control);
  EXPECT_FALSE(parse_headers(from_v4().protocol(112).payload(80).fragment(0, true).build()).control);
  EXPECT_FALSE(parse_headers(from_v4().protocol(2).payload(80).fragment(80, false).build()).control);
}

TEST(HeaderParser, ReportsTagsInsideTheFrameAndTheStrippedOneBeforeThem) {
  PacketBuilder builder = from_v4().udp(1, 2);
  EXPECT_EQ(parse_headers(builder.build(), true, 0xe007).outer_vlan, 7);
  builder.vlan(5);
  const ParsedHeaders one = parse_headers(builder.build());
  EXPECT_EQ(one.outer_vlan, 5);
  EXPECT_EQ(one.inner_vlan, 0);
  EXPECT_EQ(one.tag_bytes, 4);
  EXPECT_EQ(one.destination_port, 2);
  const ParsedHeaders stripped = parse_headers(builder.build(), true, 7);
  EXPECT_EQ(stripped.outer_vlan, 7);
  EXPECT_EQ(stripped.inner_vlan, 5);
  const ParsedHeaders two = parse_headers(builder.vlan(6, 0x88a8).build());
  EXPECT_EQ(two.outer_vlan, 5);
  EXPECT_EQ(two.inner_vlan, 6);
  EXPECT_EQ(two.tag_bytes, 8);
  EXPECT_EQ(two.destination_port, 2);
  EXPECT_EQ(parse_headers(builder.build(), true, 7).network, NetworkProtocol::other);
  EXPECT_EQ(parse_headers(from_v4().udp(1, 2).vlan(5, 0x9100).build()).network, NetworkProtocol::other);
}

TEST(HeaderParser, TakesAPriorityTagForNoVlan) {
  const ParsedHeaders headers = parse_headers(from_v4().vlan(0x6000).vlan(9).udp(1, 2).build());
  EXPECT_EQ(headers.outer_vlan, 9);
  EXPECT_EQ(headers.inner_vlan, 0);
}

TEST(HeaderParser, ReadsNoNetworkHeaderOfOtherFrames) {
  const ParsedHeaders arp = parse_headers(PacketBuilder().arp("10.0.0.1", "10.0.0.2").build());
  EXPECT_EQ(arp.network, NetworkProtocol::other);
  EXPECT_NE(arp.source_mac, MacAddress{});
  EXPECT_EQ(parse_headers(PacketBuilder().ether_type(0x0842).payload(100).build()).network,
            NetworkProtocol::other);
}

TEST(HeaderParser, RefusesAnIpHeaderThatContradictsItself) {
  Frame wrong_version = from_v4().udp(1, 2).build();
  wrong_version[14] = std::byte{0x65};
  EXPECT_EQ(parse_headers(wrong_version).network, NetworkProtocol::other);
  Frame short_header = from_v4().udp(1, 2).build();
  short_header[14] = std::byte{0x44};
  EXPECT_EQ(parse_headers(short_header).network, NetworkProtocol::other);
}

// On a block of memory of exactly its size, so that the address sanitizer sees a read past the end.
ParsedHeaders parse_exactly(std::span<const std::byte> bytes) {
  const auto copy = std::make_unique<std::byte[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return parse_headers({copy.get(), bytes.size()});
}

std::vector<Frame> sample_frames() {
  return {from_v4().udp(1, 2).payload(10).build(),
          from_v4().ipv4_options(10).tcp(1, 2).build(),
          from_v4().vlan(1).vlan(2).vlan(3).icmp_echo().build(),
          from_v6().hop_by_hop_options().routing_header().destination_options().udp(546, 547).build(),
          from_v6().fragment(0, false).icmpv6(135).payload(20).build(),
          from_v6().fragment(1480, true).protocol(17).payload(20).build(),
          PacketBuilder().arp("10.0.0.1", "10.0.0.2").build()};
}

TEST(HeaderParser, NeverReadsPastTheEndOfATruncatedFrame) {
  for (const Frame& frame : sample_frames()) {
    for (std::size_t length = 0; length <= frame.size(); ++length) {
      const ParsedHeaders headers = parse_exactly(std::span(frame).first(length));
      if (length < 14 + 20) {
        EXPECT_EQ(headers.network, NetworkProtocol::other);
      }
    }
  }
}

TEST(HeaderParser, NeverReadsPastTheEndOfABrokenFrame) {
  std::mt19937 random(11);
  const std::vector<Frame> samples = sample_frames();
  std::size_t parsed = 0;
  for (int i = 0; i < 200'000; ++i) {
    Frame frame = samples[random() % samples.size()];
    for (auto changes = random() % 6; changes > 0; --changes) {
      frame[12 + random() % (frame.size() - 12)] = std::byte(random());
    }
    frame.resize(random() % (frame.size() + 1));
    parsed += parse_exactly(frame).network != NetworkProtocol::other;
  }
  EXPECT_GT(parsed, 20'000u);  // the changes leave enough that parsing goes deep
}

TEST(HeaderParser, NeverReadsPastTheEndOfRandomBytes) {
  std::mt19937 random(12);
  for (int i = 0; i < 100'000; ++i) {
    Frame frame(random() % 120);
    for (std::byte& byte : frame) byte = std::byte(random());
    if (frame.size() > 14) {
      frame[12] = std::byte{0x86};
      frame[13] = std::byte{0xdd};
      frame[14] = std::byte{0x60};
    }
    const ParsedHeaders headers = parse_exactly(frame);
    EXPECT_EQ(headers.network == NetworkProtocol::ipv6, frame.size() >= 54);
  }
}

TEST(HeaderParser, GivesUpOnEndlessTagsAndExtensionHeaders) {
  PacketBuilder tags = from_v4().udp(1, 2);
  for (int i = 0; i < kMaxTags; ++i) tags.vlan(3);
  EXPECT_EQ(parse_headers(tags.build()).network, NetworkProtocol::ipv4);
  EXPECT_EQ(parse_headers(tags.vlan(3).build()).network, NetworkProtocol::other);
  PacketBuilder extensions = from_v6().udp(1, 2);
  for (int i = 0; i < kMaxExtensionHeaders; ++i) extensions.destination_options();
  EXPECT_TRUE(parse_headers(extensions.build()).has_ports);
  EXPECT_FALSE(parse_headers(extensions.destination_options().build()).has_ports);
}

}  // namespace
}  // namespace headgate
