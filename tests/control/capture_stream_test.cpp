#include "control/capture_stream.hpp"

#include <gtest/gtest.h>

#include "support/packet_builder.hpp"
#include "support/pcapng_reader.hpp"

namespace headgate {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr PacketEventSet kAll = {true, true, true};
constexpr Instant kStart{seconds(1000)};
constexpr Duration kToRealTime = seconds(1'700'000'000);

std::vector<std::byte> frame_to(int port) {
  return PacketBuilder()
      .ipv4("10.0.0.1", "10.0.0.2")
      .udp(4000, static_cast<std::uint16_t>(port))
      .payload(40)
      .build();
}

void put(PacketTap& tap, PacketEvent event, Instant at, int port, DropReason reason = {}) {
  const std::vector<std::byte> frame = frame_to(port);
  const std::span<const std::byte> part = frame;
  tap.put(event, reason, at, static_cast<std::uint32_t>(frame.size()), {&part, 1});
}

TEST(CaptureStream, TellsWhatHappenedToEachPacketAndWhenInRealTime) {
  const auto tap = std::make_shared<PacketTap>("dns", kAll);
  CaptureStream stream(tap, "eth0/egress/dns", kToRealTime);
  put(*tap, PacketEvent::received, kStart, 1);
  put(*tap, PacketEvent::sent, kStart + nanoseconds(7), 1);
  put(*tap, PacketEvent::dropped, kStart + nanoseconds(8), 2, DropReason::pool_full);
  std::string out;
  EXPECT_TRUE(stream.read(out));
  const PcapngTrace trace = PcapngReader(out).read();
  ASSERT_EQ(trace.interfaces.size(), 3u);
  ASSERT_EQ(trace.packets.size(), 3u);
  const char* names[] = {"eth0/egress/dns received", "eth0/egress/dns sent", "eth0/egress/dns dropped"};
  const char* comments[] = {"received", "sent", "dropped: pool_full"};
  const std::uint64_t times[] = {0, 7, 8};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(trace.interfaces[trace.packets[i].interface].name, names[i]);
    EXPECT_EQ(trace.packets[i].comment, comments[i]);
    EXPECT_EQ(trace.packets[i].time, 1'700'001'000'000'000'000 + times[i]);
  }
  EXPECT_TRUE(trace.dropped.empty());
}

TEST(CaptureStream, HasBareIpPacketsOfOneInterface) {
  const auto tap = std::make_shared<PacketTap>("dns", kAll, PacketTap::kDefaultMemory, LinkHeader::none);
  CaptureStream stream(tap, "wg0/egress/dns", kToRealTime);
  put(*tap, PacketEvent::received, kStart, 1);
  put(*tap, PacketEvent::sent, kStart, 1);
  std::string out;
  EXPECT_TRUE(stream.read(out));
  const PcapngTrace trace = PcapngReader(out).read();
  ASSERT_EQ(trace.interfaces.size(), 1u);
  EXPECT_EQ(trace.interfaces[0].name, "wg0/egress/dns");
  EXPECT_EQ(trace.interfaces[0].link_type, 101);
  ASSERT_EQ(trace.packets.size(), 2u);
  const std::vector<std::byte> frame = frame_to(1);
  const std::string packet(reinterpret_cast<const char*>(frame.data()) + 14, frame.size() - 14);
  for (const auto& one : trace.packets) {
    EXPECT_EQ(one.frame, packet);
    EXPECT_EQ(one.wire_length, packet.size());
    EXPECT_EQ(one.interface, 0u);
  }
  EXPECT_EQ(trace.packets[1].comment, "sent");
}

TEST(CaptureStream, DeclaresOnlyTheEventsThatWereAskedFor) {
  const auto tap = std::make_shared<PacketTap>("dns", PacketEventSet{false, false, true});
  CaptureStream stream(tap, "eth0/egress/dns", kToRealTime);
  put(*tap, PacketEvent::dropped, kStart, 2, DropReason::queue_full);
  std::string out;
  EXPECT_TRUE(stream.read(out));
  const PcapngTrace trace = PcapngReader(out).read();
  ASSERT_EQ(trace.interfaces.size(), 1u);
  EXPECT_EQ(trace.interfaces[0].name, "eth0/egress/dns dropped");
  EXPECT_EQ(trace.packets.at(0).interface, 0u);
}

TEST(CaptureStream, BeginsWithTheHeaderBeforeAnyPacketComes) {
  const auto tap = std::make_shared<PacketTap>("dns", kAll);
  CaptureStream stream(tap, "eth0/egress/dns", kToRealTime);
  std::string out;
  EXPECT_TRUE(stream.read(out));
  EXPECT_EQ(PcapngReader(out).read().interfaces.size(), 3u);
  out.clear();
  EXPECT_TRUE(stream.read(out));
  EXPECT_EQ(out, "");
}

TEST(CaptureStream, ReadsInPiecesOfBoundedLengthAndLosesNothing) {
  const auto tap = std::make_shared<PacketTap>("dns", kAll);
  CaptureStream stream(tap, "eth0/egress/dns", kToRealTime);
  constexpr int kPackets = 20'000;
  for (int i = 0; i < kPackets; ++i) put(*tap, PacketEvent::sent, kStart, i);
  ASSERT_EQ(tap->missed(), 0u);
  tap->end();
  std::string all;
  for (bool more = true; more;) {
    std::string out;
    more = stream.read(out);
    EXPECT_LT(out.size(), CaptureStream::kReadBytes + 1000);
    all += out;
  }
  const PcapngTrace trace = PcapngReader(all).read();
  ASSERT_EQ(trace.packets.size(), static_cast<std::size_t>(kPackets));
  const std::vector<std::byte> last = frame_to(kPackets - 1);
  EXPECT_EQ(trace.packets.back().frame, std::string(reinterpret_cast<const char*>(last.data()), last.size()));
}

TEST(CaptureStream, TellsHowManyPacketsItMissed) {
  const auto tap = std::make_shared<PacketTap>("dns", kAll, 4096);
  CaptureStream stream(tap, "eth0/egress/dns", kToRealTime);
  constexpr std::size_t kPackets = 100;
  for (std::size_t i = 0; i < kPackets; ++i) put(*tap, PacketEvent::received, kStart, 1);
  std::string out;
  EXPECT_TRUE(stream.read(out));
  const PcapngTrace trace = PcapngReader(out).read();
  ASSERT_GT(trace.packets.size(), 0u);
  ASSERT_LT(trace.packets.size(), kPackets);
  EXPECT_EQ(trace.dropped.at(0), kPackets - trace.packets.size());
}

TEST(CaptureStream, EndsAfterTheLastPacketOfATapThatEnded) {
  const auto tap = std::make_shared<PacketTap>("dns", kAll);
  CaptureStream stream(tap, "eth0/egress/dns", kToRealTime);
  put(*tap, PacketEvent::received, kStart, 1);
  tap->end();
  std::string out;
  EXPECT_FALSE(stream.read(out));
  EXPECT_EQ(PcapngReader(out).read().packets.size(), 1u);
}

TEST(CaptureStream, ClosesTheTapWithItself) {
  const auto tap = std::make_shared<PacketTap>("dns", kAll);
  {
    CaptureStream stream(tap, "eth0/egress/dns", kToRealTime);
    EXPECT_FALSE(tap->closed());
  }
  EXPECT_TRUE(tap->closed());
}

}  // namespace
}  // namespace headgate
