// The kernel's own segmentation is the oracle: a super-packet is sent once whole, and the kernel cuts it; and once in pieces of
// each size, of which it cuts those that are super-packets. What arrives is the same, byte for byte.
#include "pipeline/super_packet.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "linux/link_offloads.hpp"
#include "linux/network_lab.hpp"
#include "linux/packet_transmitter.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {
namespace {

constexpr std::size_t kPrefix = sizeof(VirtioHeader);
constexpr std::uint8_t kFin = 0x01, kSyn = 0x02, kPsh = 0x08, kAck = 0x10, kUrg = 0x20, kEce = 0x40,
                       kCwr = 0x80;

struct Crafted {
  std::string name;
  PacketBuilder builder;
  std::size_t payload = 0;
  std::uint16_t segment_bytes = 0;
  std::uint8_t flags = kAck;
  std::uint32_t sequence = 1000;
  std::uint16_t identification = 7;
  bool dont_fragment = true;
  std::size_t tcp_option_words = 0;
  std::size_t linear_payload = 0;  // that the header says to be in one piece with the headers
};

std::size_t network_of(const Frame& frame) {
  std::size_t at = 12;
  while (frame[at] == std::byte{0x81} || frame[at] == std::byte{0x88}) at += 4;
  return at + 2;
}

void set16(Frame& frame, std::size_t at, unsigned value) {
  frame[at] = static_cast<std::byte>(value >> 8);
  frame[at + 1] = static_cast<std::byte>(value);
}
unsigned get16(const Frame& frame, std::size_t at) {
  return std::to_integer<unsigned>(frame[at]) << 8 | std::to_integer<unsigned>(frame[at + 1]);
}
unsigned sum16(const Frame& frame, std::size_t from, std::size_t to, unsigned sum = 0) {
  for (; from < to; from += 2) sum += get16(frame, from);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

// With its virtio header in front, as a host hands it to its interface.
Frame build(const Crafted& crafted) {
  Frame frame = PacketBuilder(crafted.builder).tcp(4000, 80).payload(crafted.payload).build();
  const std::size_t network = network_of(frame);
  const bool ipv4 = frame[network] >> 4 == std::byte{4};
  const std::size_t transport = frame.size() - crafted.payload - 20;
  const std::size_t options = crafted.tcp_option_words * 4;
  frame.insert(frame.begin() + static_cast<std::ptrdiff_t>(transport + 20), options, std::byte{1});
  frame[transport + 12] = static_cast<std::byte>((5 + crafted.tcp_option_words) << 4);
  frame[transport + 13] = std::byte{crafted.flags};
  set16(frame, transport + 4, crafted.sequence >> 16);
  set16(frame, transport + 6, crafted.sequence & 0xffff);
  set16(frame, transport + 18, (crafted.flags & kUrg) != 0 ? 99 : 0);
  if (ipv4) {
    set16(frame, network + 2, static_cast<unsigned>(frame.size() - network));
    set16(frame, network + 4, crafted.identification);
    set16(frame, network + 6, crafted.dont_fragment ? 0x4000 : 0);
    set16(frame, network + 10, 0);
    set16(frame, network + 10, ~sum16(frame, network, transport));
  } else {
    set16(frame, network + 4, static_cast<unsigned>(frame.size() - network - 40));
  }
  const std::size_t addresses = network + (ipv4 ? 12 : 8);
  set16(frame, transport + 16,
        sum16(frame, addresses, addresses + (ipv4 ? 8 : 32),
              static_cast<unsigned>(frame.size() - transport) + 6));
  VirtioHeader header{};
  header.flags = VirtioHeader::kNeedsChecksum;
  header.gso_type = ipv4 ? 1 : 4;
  if ((crafted.flags & kCwr) != 0) header.gso_type |= 0x80;
  header.header_length = static_cast<std::uint16_t>(transport + 20 + options + crafted.linear_payload);
  header.gso_size = crafted.segment_bytes;
  header.checksum_start = static_cast<std::uint16_t>(transport);
  header.checksum_offset = 16;
  const auto* bytes = reinterpret_cast<const std::byte*>(&header);
  frame.insert(frame.begin(), bytes, bytes + sizeof header);
  return frame;
}

std::span<const std::byte> frame_of(const Frame& with_prefix) {
  return std::span(with_prefix).subspan(kPrefix);
}

std::vector<Crafted> crafted_packets() {
  const PacketBuilder v4 = PacketBuilder().ipv4(kNear4, kFar4);
  const PacketBuilder v6 = PacketBuilder().ipv6(kNear6, kFar6);
  return {
      {.name = "IPv4", .builder = v4, .payload = 5000, .segment_bytes = 1000},
      {.name = "an uneven end", .builder = v4, .payload = 14'481, .segment_bytes = 1448},
      {.name = "one byte more", .builder = v4, .payload = 1449, .segment_bytes = 1448},
      {.name = "the longest", .builder = v4, .payload = 65'495, .segment_bytes = 1460},
      {.name = "small segments", .builder = v4, .payload = 3000, .segment_bytes = 88},
      {.name = "all flags",
       .builder = v4,
       .payload = 5000,
       .segment_bytes = 1000,
       .flags = kFin | kPsh | kAck | kUrg | kEce | kCwr},
      {.name = "FIN and PSH",
       .builder = v4,
       .payload = 4500,
       .segment_bytes = 1000,
       .flags = kFin | kPsh | kAck},
      {.name = "ECE", .builder = v4, .payload = 4500, .segment_bytes = 1000, .flags = kAck | kEce},
      {.name = "SYN", .builder = v4, .payload = 4500, .segment_bytes = 1000, .flags = kSyn | kAck},
      {.name = "a sequence number that wraps",
       .builder = v4,
       .payload = 9000,
       .segment_bytes = 1000,
       .sequence = 0xffff'f000},
      {.name = "an identification that wraps",
       .builder = v4,
       .payload = 9000,
       .segment_bytes = 1000,
       .identification = 0xfffc,
       .dont_fragment = false},
      {.name = "TCP options", .builder = v4, .payload = 9000, .segment_bytes = 1000, .tcp_option_words = 3},
      {.name = "most TCP options",
       .builder = v4,
       .payload = 9000,
       .segment_bytes = 1000,
       .tcp_option_words = 10},
      {.name = "IPv4 options",
       .builder = PacketBuilder(v4).ipv4_options(5),
       .payload = 9000,
       .segment_bytes = 1000},
      {.name = "payload beside the headers",
       .builder = v4,
       .payload = 2100,
       .segment_bytes = 1000,
       .linear_payload = 2000},
      {.name = "a tag", .builder = PacketBuilder(v4).vlan(5), .payload = 5000, .segment_bytes = 1000},
      {.name = "two tags",
       .builder = PacketBuilder(v4).vlan(5, 0x88a8).vlan(6),
       .payload = 5000,
       .segment_bytes = 1000},
      {.name = "IPv6", .builder = v6, .payload = 5001, .segment_bytes = 1000},
      {.name = "IPv6, all flags",
       .builder = v6,
       .payload = 9001,
       .segment_bytes = 1428,
       .flags = kFin | kPsh | kAck | kUrg | kEce | kCwr,
       .sequence = 0xffff'f800,
       .tcp_option_words = 3},
      {.name = "IPv6, the longest", .builder = v6, .payload = 65'515, .segment_bytes = 1428},
      {.name = "IPv6, destination options",
       .builder = PacketBuilder(v6).destination_options(),
       .payload = 5000,
       .segment_bytes = 1000},
      {.name = "IPv6, hop-by-hop options",
       .builder = PacketBuilder(v6).hop_by_hop_options(),
       .payload = 5000,
       .segment_bytes = 1000},
      {.name = "IPv6 behind a tag",
       .builder = PacketBuilder(v6).vlan(9),
       .payload = 5000,
       .segment_bytes = 1000},
  };
}

class SuperPacketTest : public NetworkLabTest {
 protected:
  void SetUp() override {
    NetworkLabTest::SetUp();
    if (IsSkipped()) return;
    turn_off_segmentation_and_checksum_offload("eth0");
    lab().on_far_host([this] { far_.emplace("far0"); });
    transmitter_.emplace(PacketTransmitterOptions{
        .interface_index = interface_index("eth0"), .mark = 0, .virtio_header = true, .mtu = 1500});
  }

  void send(std::span<const std::byte> with_prefix) {
    const OutgoingFrame outgoing{{&with_prefix, 1}};
    bool sent = false;
    transmitter_->send({&outgoing, 1}, {&sent, 1});
    ASSERT_TRUE(sent);
  }

  std::vector<Frame> arrived(const Frame& like, std::size_t count) {
    std::vector<Frame> frames;
    while (frames.size() < count) {
      auto frame = far_->receive_first([&](const Frame& one) {
        return std::equal(one.begin(), one.begin() + 12, frame_of(like).begin());
      });
      if (!frame) break;
      frames.push_back(std::move(*frame));
    }
    return frames;
  }

 private:
  std::optional<RawPort> far_;
  std::optional<PacketTransmitter> transmitter_;
};

TEST_F(SuperPacketTest, ComesOutInPiecesAsTheKernelCutsIt) {
  for (const Crafted& crafted : crafted_packets()) {
    SCOPED_TRACE(crafted.name);
    const Frame whole = build(crafted);
    const auto packet = SuperPacket::read(frame_of(whole), 0);
    ASSERT_TRUE(packet);
    const std::size_t segments = packet->segments();
    EXPECT_EQ(segments, (crafted.payload + crafted.segment_bytes - 1) / crafted.segment_bytes);
    send(whole);
    const std::vector<Frame> wanted = arrived(whole, segments);
    ASSERT_EQ(wanted.size(), segments);
    for (const std::size_t at_once : {std::size_t{1}, std::size_t{3}, std::size_t{7}, segments}) {
      SCOPED_TRACE(at_once);
      std::size_t charged_packets = 0, charged_bytes = 0;
      for (std::size_t first = 0; first < segments; first += at_once) {
        const std::size_t count = std::min(at_once, segments - first);
        Frame piece(packet->piece_bytes(first, count));
        const auto frame = packet->write_piece(first, count, piece);
        EXPECT_EQ(frame.data(), piece.data() + kPrefix);
        EXPECT_EQ(frame.size(), piece.size() - kPrefix);
        send(piece);
        charged_packets += packet->charge(first, count).packets;
        charged_bytes += packet->charge(first, count).bytes;
      }
      EXPECT_TRUE(arrived(whole, segments) == wanted);
      EXPECT_EQ(charged_packets, segments);
      std::size_t wire_bytes = 0;
      for (const Frame& frame : wanted) wire_bytes += frame.size();
      EXPECT_EQ(charged_bytes, wire_bytes);
    }
  }
}

Frame plain() {
  return build(
      {.name = "", .builder = PacketBuilder().ipv4(kNear4, kFar4), .payload = 5000, .segment_bytes = 1000});
}
VirtioHeader& header_of(Frame& frame) {
  return *reinterpret_cast<VirtioHeader*>(frame.data());
}

// The kernel counts the tag that it stripped as part of the frame, and so does the source.
TEST(SuperPacketReading, CountsTheStrippedTag) {
  Frame frame = plain();
  header_of(frame).checksum_start += 4;
  header_of(frame).header_length += 4;
  EXPECT_FALSE(SuperPacket::read(frame_of(frame), 0));
  const auto packet = SuperPacket::read(frame_of(frame), 4);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->charge(0, 1).bytes, 14u + 4 + 20 + 20 + 1000);
  EXPECT_EQ(packet->charge(3, 2).bytes, 2u * (14 + 4 + 20 + 20 + 1000));
}

TEST(SuperPacketReading, RefusesWhatItCannotCut) {
  const auto refused = [](const std::function<void(Frame&)>& change) {
    Frame frame = plain();
    change(frame);
    return !SuperPacket::read(frame_of(frame), 0);
  };
  constexpr std::size_t kNetwork = kPrefix + 14, kTransport = kNetwork + 20;
  EXPECT_FALSE(refused([](Frame&) {}));
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).gso_type = VirtioHeader::kNoGso; }));
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).gso_type = 3; })) << "UDP fragments";
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).gso_type = 5; })) << "UDP segments";
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).gso_size = 0; }));
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).gso_size = 5000; })) << "one segment";
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).flags = 0; })) << "a finished checksum";
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).checksum_offset = 6; }));
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).checksum_start += 2; })) << "of a tunnel";
  EXPECT_TRUE(refused([](Frame& frame) { set16(frame, kNetwork + 2, 0); })) << "BIG TCP";
  EXPECT_TRUE(refused([](Frame& frame) { frame.pop_back(); })) << "shorter than it says";
  EXPECT_TRUE(refused([](Frame& frame) { frame[kNetwork + 9] = std::byte{17}; })) << "UDP";
  EXPECT_TRUE(refused([](Frame& frame) { set16(frame, kNetwork + 6, 0x2000); })) << "a fragment";
  EXPECT_TRUE(refused([](Frame& frame) { frame[kNetwork] = std::byte{0x44}; }));
  EXPECT_TRUE(refused([](Frame& frame) { frame[kTransport + 12] = std::byte{0x40}; }));
  EXPECT_TRUE(refused([](Frame& frame) { set16(frame, kPrefix + 12, 0x0806); }));
}

// Whatever the headers say, nothing outside the frame is read or written: for the sanitizers.
TEST(SuperPacketReading, StaysWithinTheFrame) {
  std::uint32_t random = 1;
  const auto next = [&random] { return random = random * 1'664'525 + 1'013'904'223; };
  for (const Crafted& crafted : crafted_packets()) {
    if (crafted.payload > 10'000) continue;
    const Frame good = build(crafted);
    for (int i = 0; i < 2000; ++i) {
      Frame frame = good;
      for (unsigned changes = next() >> 30; changes < 4; ++changes)
        frame[(next() >> 8) % 100] = static_cast<std::byte>(next() >> 24);
      if (i % 3 == 0) frame.resize(kPrefix + (next() >> 8) % (frame.size() - kPrefix));
      frame.shrink_to_fit();
      const auto packet = SuperPacket::read(frame_of(frame), i % 2 == 0 ? 0 : 4);
      if (!packet) continue;
      const std::size_t at_once = 1 + (next() >> 8) % 5;
      for (std::size_t first = 0; first < packet->segments(); first += at_once) {
        const std::size_t count = std::min(at_once, packet->segments() - first);
        Frame piece(packet->piece_bytes(first, count));
        packet->write_piece(first, count, piece);
      }
    }
  }
}

ClassConfig class_of(Rate rate) {
  ClassConfig config;
  config.rate = rate;
  return config;
}
ClassConfig class_of_bits(std::uint64_t rate) {
  return class_of({.packets = {}, .bits = BitRate{rate}});
}

constexpr Count kFull{1, 1514};

TEST(SegmentsAtOnce, TakeAtMostTheirTimeAtTheRate) {
  const auto bits = [&](std::uint64_t rate) { return segments_at_once(class_of_bits(rate), kFull); };
  EXPECT_EQ(bits(20'000'000), 1u);
  EXPECT_EQ(bits(193'700'000), 1u);
  EXPECT_EQ(bits(193'900'000), 2u);
  EXPECT_EQ(bits(1'000'000'000), 10u);
  EXPECT_EQ(bits(10'000'000'000), 103u);
  const auto packets = [&](std::uint64_t rate) {
    return segments_at_once(class_of({.packets = PacketRate{rate}, .bits = {}}), kFull);
  };
  EXPECT_EQ(packets(1), 1u);
  EXPECT_EQ(packets(15'999), 1u);
  EXPECT_EQ(packets(16'000), 2u);
  EXPECT_EQ(segments_at_once(class_of({PacketRate{16'000}, BitRate{1'000'000'000}}), kFull), 2u);
}

TEST(SegmentsAtOnce, CountWhatTheLinkAdds) {
  ClassConfig config = class_of_bits(100'000'000);
  const Count small{1, 90};
  EXPECT_EQ(segments_at_once(config, small), 17u);
  config.link_layer.overhead = 256;
  EXPECT_EQ(segments_at_once(config, small), 4u);
  config.link_layer = {.overhead = 0, .mpu = 256};
  EXPECT_EQ(segments_at_once(config, small), 6u);
}

TEST(SegmentsAtOnce, FindRoomInTheQueue) {
  ClassConfig config = class_of_bits(10'000'000'000);
  config.queue.packets = 40;
  EXPECT_EQ(segments_at_once(config, kFull), 10u);
  config.queue.packets = 3;
  EXPECT_EQ(segments_at_once(config, kFull), 1u);
  config.queue = {.packets = {}, .bytes = DataSize{8 * 1514}, .time = {}};
  EXPECT_EQ(segments_at_once(config, kFull), 2u);
  config.queue = {.packets = {}, .bytes = {}, .time = std::chrono::microseconds(50)};
  EXPECT_EQ(segments_at_once(config, kFull), 10u);
}

}  // namespace
}  // namespace headgate::test
