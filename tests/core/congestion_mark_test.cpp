#include "core/congestion_mark.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/packet_builder.hpp"

namespace headgate {
namespace {

std::vector<std::byte> ipv4(unsigned traffic_class) {
  std::vector<std::byte> frame = PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(1, 2).build();
  frame[15] = std::byte(traffic_class);
  frame[24] = frame[25] = std::byte{};
  unsigned sum = 0;
  for (std::size_t i = 14; i < 34; i += 2)
    sum += std::to_integer<unsigned>(frame[i]) << 8 | std::to_integer<unsigned>(frame[i + 1]);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  frame[24] = std::byte(~sum >> 8 & 0xff);
  frame[25] = std::byte(~sum & 0xff);
  return frame;
}

std::vector<std::byte> ipv6(unsigned traffic_class) {
  std::vector<std::byte> frame = PacketBuilder().ipv6("2001:db8::1", "2001:db8::2").udp(1, 2).build();
  frame[14] = std::byte(0x60 | traffic_class >> 4);
  frame[15] = std::byte((traffic_class & 0xf) << 4 | 0x7);
  return frame;
}

std::vector<std::byte> tagged(std::vector<std::byte> frame, unsigned tags) {
  for (unsigned i = 0; i < tags; ++i) {
    const std::byte tag[] = {std::byte{0x81}, std::byte{0x00}, std::byte{0x00}, std::byte{0x05}};
    frame.insert(frame.begin() + 12, std::begin(tag), std::end(tag));
  }
  return frame;
}

TEST(CongestionMark, ReadsWhatTheHeaderSays) {
  for (unsigned ecn = 0; ecn < 4; ++ecn) {
    for (unsigned tags = 0; tags <= 2; ++tags) {
      EXPECT_EQ(ecn_of(tagged(ipv4(0xb8 | ecn), tags)), static_cast<Ecn>(ecn));
      EXPECT_EQ(ecn_of(tagged(ipv6(0xb8 | ecn), tags)), static_cast<Ecn>(ecn));
    }
  }
}

// Marking gives what one gets by writing the header anew.
TEST(CongestionMark, MarksAndBringsTheChecksumUpToDate) {
  for (unsigned ecn = 1; ecn < 3; ++ecn) {
    for (unsigned dscp = 0; dscp < 64; ++dscp) {
      for (unsigned tags = 0; tags <= 2; ++tags) {
        std::vector<std::byte> frame = tagged(ipv4(dscp << 2 | ecn), tags);
        mark_congestion(frame);
        EXPECT_EQ(frame, tagged(ipv4(dscp << 2 | 3), tags));
        frame = tagged(ipv6(dscp << 2 | ecn), tags);
        mark_congestion(frame);
        EXPECT_EQ(frame, tagged(ipv6(dscp << 2 | 3), tags));
      }
    }
  }
}

TEST(CongestionMark, WhatIsNoIpPacketOrTooShortIsNotCapable) {
  std::vector<std::byte> frame = ipv4(0x02);
  for (std::size_t length = 0; length < 34; ++length)
    EXPECT_EQ(ecn_of(std::span<const std::byte>(frame).first(length)), Ecn::not_capable) << length;
  frame[12] = std::byte{0x08};
  frame[13] = std::byte{0x06};
  EXPECT_EQ(ecn_of(frame), Ecn::not_capable);
  frame = ipv4(0x02);
  frame[14] = std::byte{0x65};
  EXPECT_EQ(ecn_of(frame), Ecn::not_capable);
}

}  // namespace
}  // namespace headgate
