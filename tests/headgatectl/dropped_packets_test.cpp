// Traces are written as headgated writes them.
#include "dropped_packets.hpp"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "control/pcapng_writer.hpp"
#include "drop_line.hpp"

namespace headgate {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes(std::initializer_list<int> numbers) {
  Bytes result;
  for (const int number : numbers) result.push_back(static_cast<std::byte>(number));
  return result;
}

const Bytes kEthernet = bytes({2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2});
const Bytes kUdp = bytes({0x45, 0, 0, 32, 0,    0,    0, 0,  64, 17, 0, 0, 10, 0, 0, 1,
                          10,   0, 0, 2,  0x13, 0x88, 0, 53, 0,  12, 0, 0, 1,  2, 3, 4});

Bytes operator+(Bytes front, const Bytes& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

DroppedPacket only_packet(LinkHeader link_header, const Bytes& frame, const std::string& interface) {
  std::string trace;
  PcapngWriter writer(trace);
  writer.section_header("headgate");
  writer.interface(interface, "as it may be", link_header);
  writer.packet(0, 1'700'000'000'123'456'789, frame, 1500, "dropped: queue_full");
  writer.statistics(0, 1, 7);
  std::vector<DroppedPacket> found;
  DroppedPackets packets;
  packets.read(trace, [&](const DroppedPacket& packet) { found.push_back(packet); });
  EXPECT_EQ(found.size(), 1);
  return found.at(0);
}

TEST(DroppedPackets, TellsWhatWasDroppedWhereAndWhy) {
  const DroppedPacket packet =
      only_packet(LinkHeader::ethernet, kEthernet + bytes({8, 0}) + kUdp, "eth0/egress/dns dropped");
  EXPECT_EQ(packet.time, 1'700'000'000'123'456'789);
  EXPECT_EQ(packet.class_name, "eth0/egress/dns");
  EXPECT_EQ(packet.reason, "queue_full");
  EXPECT_EQ(packet.length, 1500);
  EXPECT_EQ(to_text(packet.headers), "10.0.0.1 → 10.0.0.2 udp 5000→53");
}

TEST(DroppedPackets, ReadsPacketsWithoutAnEthernetHeader) {
  const DroppedPacket packet = only_packet(LinkHeader::none, kUdp, "wg0/egress/dns");
  EXPECT_EQ(packet.class_name, "wg0/egress/dns");
  EXPECT_EQ(to_text(packet.headers), "10.0.0.1 → 10.0.0.2 udp 5000→53");
}

TEST(DroppedPackets, TellsTagsAndOfWhatIsNotIpTheMacAddresses) {
  const Bytes tag = bytes({0x81, 0, 0, 5});
  EXPECT_EQ(to_text(only_packet(LinkHeader::ethernet, kEthernet + tag + bytes({8, 0}) + kUdp, "x").headers),
            "vlan 5 10.0.0.1 → 10.0.0.2 udp 5000→53");
  EXPECT_EQ(to_text(only_packet(LinkHeader::ethernet, kEthernet + bytes({8, 6, 0, 1}), "x").headers),
            "02:00:00:00:00:02 → 02:00:00:00:00:01");
}

TEST(DroppedPackets, RefusesAPacketOfNoInterface) {
  std::string trace;
  PcapngWriter(trace).packet(3, 0, kUdp, 32, "dropped: aqm");
  EXPECT_THROW(DroppedPackets().read(trace, [](const DroppedPacket&) {}), std::runtime_error);
}

TEST(DropLine, HasTheHeadersAsTextAndAsJson) {
  const DroppedPacket packet =
      only_packet(LinkHeader::ethernet, kEthernet + bytes({8, 0}) + kUdp, "eth0/egress/dns dropped");
  EXPECT_EQ(drop_line(packet, {}).substr(8),  // behind hours, minutes and seconds, which are local
            ".123456  eth0/egress/dns  queue_full  10.0.0.1 → 10.0.0.2 udp 5000→53  1500 B");
  EXPECT_EQ(drop_json(packet).dump(),
            R"({"schema":1,"time_ns":1700000000123456789,"class":"eth0/egress/dns","reason":"queue_full",)"
            R"("text":"10.0.0.1 → 10.0.0.2 udp 5000→53","key":{"source":"10.0.0.1",)"
            R"("destination":"10.0.0.2","protocol":17,"source_port":5000,"destination_port":53},)"
            R"("length":1500})");
}

}  // namespace
}  // namespace headgate
