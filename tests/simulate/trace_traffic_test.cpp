#include "trace_traffic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include <filesystem>
#include <fstream>

#include "control/pcapng_writer.hpp"
#include "support/packet_builder.hpp"

namespace headgate {
namespace {

class TraceTrafficTest : public testing::Test {
 protected:
  ~TraceTrafficTest() override { std::filesystem::remove(path_); }

  struct Frame {
    std::int64_t nanoseconds;
    std::vector<std::byte> bytes;
    std::uint32_t length = 0;  // 0: that of the bytes
  };

  void write(int link_type, const std::vector<Frame>& frames) {
    pcap_t* const dead = pcap_open_dead_with_tstamp_precision(link_type, 262'144, PCAP_TSTAMP_PRECISION_NANO);
    pcap_dumper_t* const dumper = pcap_dump_open(dead, path_.c_str());
    for (const Frame& frame : frames) {
      const pcap_pkthdr header{
          .ts = {.tv_sec = frame.nanoseconds / 1'000'000'000, .tv_usec = frame.nanoseconds % 1'000'000'000},
          .caplen = static_cast<bpf_u_int32>(frame.bytes.size()),
          .len = frame.length != 0 ? frame.length : static_cast<bpf_u_int32>(frame.bytes.size())};
      pcap_dump(reinterpret_cast<u_char*>(dumper), &header,
                reinterpret_cast<const u_char*>(frame.bytes.data()));
    }
    pcap_dump_close(dumper);
    pcap_close(dead);
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("trace-" + std::to_string(getpid()) + ".pcap")).string();
  const std::vector<std::byte> frame_ =
      PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(1, 2).frame_size(200).build();
};

constexpr std::int64_t kTime = 1'700'000'000'123'456'789;

TEST_F(TraceTrafficTest, TimesAndLengthsAreThoseOfTheTrace) {
  write(DLT_EN10MB, {{kTime, frame_},
                     {kTime + 5, std::vector(frame_.begin(), frame_.begin() + 60), 200},
                     {kTime + 3, frame_}});
  TraceTraffic trace(path_);
  EXPECT_EQ(trace.start(), Instant{Duration(kTime)});
  const OfferedPacket* packet = trace.next();
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->at, Instant{Duration(kTime)});
  EXPECT_TRUE(std::equal(packet->frame.begin(), packet->frame.end(), frame_.begin(), frame_.end()));
  packet = trace.next();
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->length, 200U);
  EXPECT_EQ(packet->frame.size(), 60U);
  packet = trace.next();
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->at, Instant{Duration(kTime + 5)});  // time does not go back
  EXPECT_EQ(trace.next(), nullptr);
  EXPECT_THAT(trace.notes(),
              testing::ElementsAre(testing::HasSubstr("1 packets of the trace were captured in part"),
                                   testing::HasSubstr("stamped earlier")));
}

TEST_F(TraceTrafficTest, APacketWithoutALinkHeaderGetsOneThatDoesNotCount) {
  write(DLT_RAW, {{kTime, std::vector(frame_.begin() + 14, frame_.end())}});
  TraceTraffic trace(path_);
  const OfferedPacket* const packet = trace.next();
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->link_header, LinkHeader::none);
  EXPECT_EQ(packet->length, 200U);
  EXPECT_EQ(packet->frame[12], std::byte{0x08});
  EXPECT_TRUE(std::equal(packet->frame.begin() + 14, packet->frame.end(), frame_.begin() + 14, frame_.end()));
}

TEST_F(TraceTrafficTest, LinuxCookedIsMadeEthernet) {
  std::vector<std::byte> cooked(14, std::byte{0});
  cooked.insert(cooked.end(), frame_.begin() + 12, frame_.end());
  write(DLT_LINUX_SLL, {{kTime, cooked}});
  TraceTraffic trace(path_);
  const OfferedPacket* const packet = trace.next();
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->link_header, LinkHeader::ethernet);
  EXPECT_TRUE(std::equal(packet->frame.begin() + 12, packet->frame.end(), frame_.begin() + 12, frame_.end()));
}

TEST_F(TraceTrafficTest, AFilterTakesOnlyWhatMatches) {
  write(DLT_EN10MB, {{kTime, frame_}, {kTime + 1, PacketBuilder().arp("10.0.0.1", "10.0.0.2").build()}});
  TraceTraffic trace(path_, "arp");
  EXPECT_EQ(trace.start(), Instant{Duration(kTime + 1)});
  EXPECT_NE(trace.next(), nullptr);
  EXPECT_EQ(trace.next(), nullptr);
  EXPECT_THROW(TraceTraffic(path_, "no such filter"), std::runtime_error);
}

TEST_F(TraceTrafficTest, ReadsPcapng) {
  std::string bytes;
  PcapngWriter writer(bytes);
  writer.section_header("test");
  writer.interface("eth0", "");
  writer.packet(0, kTime, frame_, 300, "");
  std::ofstream(path_, std::ios::binary) << bytes;
  TraceTraffic trace(path_);
  const OfferedPacket* const packet = trace.next();
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->at, Instant{Duration(kTime)});
  EXPECT_EQ(packet->length, 300U);
}

TEST_F(TraceTrafficTest, WhatIsNoTraceIsRefusedWithItsName) {
  const auto message_of = [&] {
    try {
      TraceTraffic trace(path_);
      return std::string();
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(message_of(), testing::HasSubstr(path_));
  std::ofstream(path_) << "this is no trace at all, but some words";
  EXPECT_THAT(message_of(), testing::HasSubstr(path_));
  write(DLT_IEEE802_11, {});
  EXPECT_THAT(message_of(), testing::HasSubstr("expected Ethernet, raw IP"));
  write(DLT_EN10MB, {});
  EXPECT_EQ(message_of(), "");
  EXPECT_FALSE(TraceTraffic(path_).start().has_value());
}

}  // namespace
}  // namespace headgate
