#include "pipeline/wire_charge.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "support/packet_builder.hpp"

namespace headgate {
namespace {

constexpr std::uint8_t kNeedsChecksum = 1;
constexpr std::uint8_t kTcp4 = 1;
constexpr std::uint8_t kUdpSegments = 5;

struct Header {
  std::uint8_t flags = 0;
  std::uint8_t gso_type = 0;
  std::uint16_t header_length = 0;
  std::uint16_t gso_size = 0;
  std::uint16_t checksum_start = 0;
  std::uint16_t checksum_offset = 0;
};

// A frame with its virtio header in front, as a packet socket gives it.
class Super {
 public:
  Super(const Header& header, const std::vector<std::byte>& frame) : memory_(sizeof header + frame.size()) {
    std::memcpy(memory_.data(), &header, sizeof header);
    std::memcpy(memory_.data() + sizeof header, frame.data(), frame.size());
  }
  CapturedFrame captured() const {
    CapturedFrame captured;
    captured.frame = std::span(memory_).subspan(sizeof(Header));
    captured.wire_length = static_cast<std::uint32_t>(captured.frame.size());
    captured.prefix_bytes = sizeof(Header);
    return captured;
  }

 private:
  std::vector<std::byte> memory_;
};

std::vector<std::byte> tcp_frame(std::uint32_t payload) {
  return PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").tcp(4000, 80).payload(payload).build();
}
constexpr std::uint32_t kTcpHeaders = 14 + 20 + 20;

TEST(WireCharge, CountsAnOrdinaryFrameAsItIs) {
  const auto frame = tcp_frame(100);
  CapturedFrame captured;
  captured.frame = frame;
  captured.wire_length = 1000;  // clipped: it was longer on the wire
  EXPECT_EQ(wire_charge(captured), (Count{1, 1000}));
  captured.vlan_tpid = 0x8100;
  EXPECT_EQ(wire_charge(captured), (Count{1, 1004}));
}

TEST(WireCharge, CountsAFrameWithAnEmptyVirtioHeaderAsItIs) {
  const Super super({}, tcp_frame(100));
  EXPECT_EQ(wire_charge(super.captured()), (Count{1, kTcpHeaders + 100}));
}

TEST(WireCharge, CountsEachSegmentOfATcpSuperPacketWithItsHeaders) {
  const Super super({.flags = kNeedsChecksum, .gso_type = kTcp4, .gso_size = 1000, .checksum_start = 34},
                    tcp_frame(3500));
  EXPECT_EQ(wire_charge(super.captured()), (Count{4, 3500 + 4 * kTcpHeaders}));
}

TEST(WireCharge, CountsAPayloadOfWholeSegmentsWithoutAnotherOne) {
  const Super super({.flags = kNeedsChecksum, .gso_type = kTcp4, .gso_size = 1000, .checksum_start = 34},
                    tcp_frame(3000));
  EXPECT_EQ(wire_charge(super.captured()), (Count{3, 3000 + 3 * kTcpHeaders}));
}

TEST(WireCharge, CountsTheTagOfEachSegment) {
  const Super super({.flags = kNeedsChecksum, .gso_type = kTcp4, .gso_size = 1000, .checksum_start = 34 + 4},
                    tcp_frame(3000));
  CapturedFrame captured = super.captured();
  captured.vlan_tpid = 0x8100;
  EXPECT_EQ(wire_charge(captured), (Count{3, 3000 + 3 * (kTcpHeaders + 4)}));
}

TEST(WireCharge, KnowsTheHeaderOfUdpSegments) {
  const auto frame = PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(4000, 80).payload(2500).build();
  const Super super(
      {.flags = kNeedsChecksum, .gso_type = kUdpSegments, .gso_size = 1000, .checksum_start = 34}, frame);
  EXPECT_EQ(wire_charge(super.captured()), (Count{3, 2500 + 3 * (14 + 20 + 8)}));
}

TEST(WireCharge, IsSaneForAHeaderThatPointsOutsideTheFrame) {
  const Super super({.gso_type = kTcp4, .gso_size = 1, .checksum_start = 0xffff}, tcp_frame(10));
  const Count charge = wire_charge(super.captured());
  EXPECT_EQ(charge.packets, 1u);
  EXPECT_EQ(charge.bytes, kTcpHeaders + 10);
}

}  // namespace
}  // namespace headgate
