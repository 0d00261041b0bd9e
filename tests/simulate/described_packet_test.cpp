#include "described_packet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/header_parser.hpp"
#include "support/packet_builder.hpp"
#include "traffic_grammar.hpp"

namespace headgate {
namespace {

std::vector<std::byte> frame_of(std::string_view text) {
  return read_packet(text).frame;
}

std::array<std::uint8_t, 4> ipv4_of(const std::array<std::uint8_t, 16>& address) {
  return {address[12], address[13], address[14], address[15]};
}

TEST(DescribedPacket, IsWhatItsWordsSay) {
  const DescribedPacket packet =
      read_packet("src 10.0.0.5 dst 1.1.1.1 udp sport 1000 dport 53 200b dscp ef vlan 7 mark 0x10");
  EXPECT_EQ(packet.length, 200U);
  EXPECT_EQ(packet.mark, 0x10U);
  const ParsedHeaders headers = parse_headers(packet.frame);
  EXPECT_EQ(headers.network, NetworkProtocol::ipv4);
  EXPECT_EQ(headers.protocol, 17);
  EXPECT_EQ(headers.source_port, 1000);
  EXPECT_EQ(headers.destination_port, 53);
  EXPECT_EQ(headers.dscp, 46);
  EXPECT_EQ(headers.outer_vlan, 7);
  EXPECT_EQ(ipv4_of(headers.source), (std::array<std::uint8_t, 4>{10, 0, 0, 5}));
  EXPECT_EQ(ipv4_of(headers.destination), (std::array<std::uint8_t, 4>{1, 1, 1, 1}));
}

TEST(DescribedPacket, MayBeSaidInAnyOrderAndAsTraffic) {
  const auto frame = frame_of("src 10.0.0.5 dst 1.1.1.1 tcp sport 1000 dport 53 100b");
  EXPECT_EQ(frame_of("100b dport 53 sport 1000 tcp dst 1.1.1.1 src 10.0.0.5"), frame);
  EXPECT_EQ(frame_of("src 10.0.0.5:1000 dst 1.1.1.1:53 tcp 100b"), frame);
  EXPECT_EQ(frame_of("tcp 10.0.0.5:1000>1.1.1.1:53 100b"), frame);
}

TEST(DescribedPacket, HasDefaultsForWhatIsLeftOut) {
  const DescribedPacket packet = read_packet("dst 1.1.1.1");
  const ParsedHeaders headers = parse_headers(packet.frame);
  EXPECT_EQ(packet.length, 64U);
  EXPECT_EQ(headers.protocol, 17);
  EXPECT_EQ(headers.source_port, 40'000);
  EXPECT_EQ(headers.destination_port, 9);
  EXPECT_EQ(ipv4_of(headers.source), (std::array<std::uint8_t, 4>{192, 0, 2, 1}));
  EXPECT_EQ(read_packet("src 2001:db8::5 tcp vlan 7").length, 14U + 4 + 40 + 20);
  const ParsedHeaders ping = parse_headers(frame_of("icmp dst 2001:db8::5"));
  EXPECT_EQ(ping.network, NetworkProtocol::ipv6);
  EXPECT_EQ(ping.protocol, 58);
}

struct Wrong {
  const char* text;
  std::size_t column;
  const char* words;
};

class WrongPacket : public testing::TestWithParam<Wrong> {};

TEST_P(WrongPacket, IsRefusedWithItsColumnAndWhatWasExpected) {
  try {
    read_packet(GetParam().text);
    FAIL() << "read: " << GetParam().text;
  } catch (const TrafficError& error) {
    EXPECT_EQ(error.column, GetParam().column) << error.what();
    EXPECT_THAT(error.what(), testing::HasSubstr(GetParam().words));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Texts, WrongPacket,
    testing::Values(Wrong{"", 1, "the packet has no address"}, Wrong{"udp dport 53", 1, "has no address"},
                    Wrong{"src", 4, "the packet ends here; expected the source address"},
                    Wrong{"src 10.0.0", 5, "\"10.0.0\" is no address"},
                    Wrong{"src 10.0.0.5 dprot 53", 14, "did you mean \"dport\"?"},
                    Wrong{"src 10.0.0.5 dport http", 20, "a whole number from 0 to 65535"},
                    Wrong{"src 10.0.0.5 dport 65536", 20, "a whole number from 0 to 65535"},
                    Wrong{"src 10.0.0.5:7 sport 8", 22, "expected it once"},
                    Wrong{"src 10.0.0.5 dst ::1", 18, "of one family"},
                    Wrong{"10.0.0.5>::1 udp", 10, "of one family"},
                    Wrong{"icmp src 10.0.0.5 dport 7", 25, "icmp has no ports"},
                    Wrong{"src 10.0.0.5:7 icmp", 1, "icmp has no ports"},
                    Wrong{"src 10.0.0.5 20b", 14, "less than its headers; expected at least 42b"},
                    Wrong{"src 10.0.0.5 vlan 0", 19, "from 1 to 4094"},
                    Wrong{"src 10.0.0.5 dscp nope", 19, "nope"}));

}  // namespace
}  // namespace headgate
