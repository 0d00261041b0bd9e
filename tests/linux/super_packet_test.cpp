// The kernel's own segmentation is the oracle: a super-packet is sent once whole, and the kernel cuts it; and once in pieces of
// each size, of which it cuts those that are super-packets. What arrives is the same, byte for byte.
#include "pipeline/super_packet.hpp"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "linux/link_offloads.hpp"
#include "linux/network_lab.hpp"
#include "linux/packet_transmitter.hpp"
#include "support/crafted_super_packet.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {
namespace {

using Crafted = CraftedSuperPacket;
constexpr auto kUdp = Crafted::Protocol::udp;

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
      {.name = "no header length",
       .builder = v4,
       .payload = 5000,
       .segment_bytes = 1000,
       .flags = kAck | kCwr,
       .knows_header_length = false},
      {.name = "UDP", .builder = v4, .protocol = kUdp, .payload = 5000, .segment_bytes = 1000},
      {.name = "UDP, an uneven end",
       .builder = v4,
       .protocol = kUdp,
       .payload = 14'721,
       .segment_bytes = 1472},
      {.name = "UDP, one byte more", .builder = v4, .protocol = kUdp, .payload = 1473, .segment_bytes = 1472},
      {.name = "UDP, the longest", .builder = v4, .protocol = kUdp, .payload = 65'507, .segment_bytes = 1472},
      {.name = "UDP, odd segments", .builder = v4, .protocol = kUdp, .payload = 3000, .segment_bytes = 51},
      {.name = "UDP, segments of a byte", .builder = v4, .protocol = kUdp, .payload = 20, .segment_bytes = 1},
      {.name = "UDP, an identification that wraps",
       .builder = v4,
       .protocol = kUdp,
       .payload = 9000,
       .segment_bytes = 1000,
       .identification = 0xfffc,
       .dont_fragment = false},
      {.name = "UDP, no identification",
       .builder = v4,
       .protocol = kUdp,
       .payload = 9000,
       .segment_bytes = 1200,
       .identification = 0},
      {.name = "UDP, IPv4 options and a DSCP",
       .builder = PacketBuilder(v4).ipv4_options(10).dscp(46),
       .protocol = kUdp,
       .payload = 9000,
       .segment_bytes = 1000},
      {.name = "UDP, payload beside the headers",
       .builder = v4,
       .protocol = kUdp,
       .payload = 2100,
       .segment_bytes = 1000,
       .linear_payload = 2000},
      {.name = "UDP, no header length",
       .builder = v4,
       .protocol = kUdp,
       .payload = 5000,
       .segment_bytes = 1000,
       .knows_header_length = false},
      {.name = "UDP behind a tag",
       .builder = PacketBuilder(v4).vlan(5),
       .protocol = kUdp,
       .payload = 5000,
       .segment_bytes = 1000},
      {.name = "UDP behind two tags",
       .builder = PacketBuilder(v4).vlan(5, 0x88a8).vlan(6),
       .protocol = kUdp,
       .payload = 5001,
       .segment_bytes = 1000},
      {.name = "UDP, IPv6", .builder = v6, .protocol = kUdp, .payload = 5001, .segment_bytes = 1000},
      {.name = "UDP, IPv6, the longest",
       .builder = v6,
       .protocol = kUdp,
       .payload = 65'527,
       .segment_bytes = 1452},
      {.name = "UDP, IPv6, destination options",
       .builder = PacketBuilder(v6).destination_options(),
       .protocol = kUdp,
       .payload = 5000,
       .segment_bytes = 1000},
      {.name = "UDP, IPv6, extension headers behind a tag",
       .builder = PacketBuilder(v6).vlan(9).hop_by_hop_options().destination_options(),
       .protocol = kUdp,
       .payload = 5003,
       .segment_bytes = 1000},
      {.name = "UDP, IPv6 behind two tags",
       .builder = PacketBuilder(v6).vlan(5, 0x88a8).vlan(6),
       .protocol = kUdp,
       .payload = 5000,
       .segment_bytes = 1000,
       .knows_header_length = false},
  };
}

bool has_tag(const Frame& with_prefix) {
  return network_of({with_prefix.begin() + kVirtioBytes, with_prefix.end()}) > 14;
}

// UDP super-packets are sent since Linux 6.2; an older kernel may have learnt it.
bool kernel_may_refuse_udp() {
  utsname name{};
  uname(&name);
  int major = 0, minor = 0;
  EXPECT_EQ(std::sscanf(name.release, "%d.%d", &major, &minor), 2);
  return major < 6 || (major == 6 && minor < 2);
}

class SuperPacketTest : public NetworkLabTest {
 protected:
  void SetUp() override {
    NetworkLabTest::SetUp();
    if (IsSkipped()) return;
    turn_off_segmentation_and_checksum_offload("eth0");
    lab().on_far_host([this] { far_.emplace("far0"); });
    transmitter_.emplace(PacketTransmitterOptions{.interface_index = interface_index("eth0"),
                                                  .mark = 0,
                                                  .prefix_bytes = sizeof(VirtioHeader),
                                                  .mtu = 1500});
  }

  bool send(std::span<const std::byte> with_prefix) {
    const OutgoingFrame outgoing{{&with_prefix, 1}};
    bool sent = false;
    transmitter_->send({&outgoing, 1}, {&sent, 1});
    return sent;
  }

  // What the kernel makes of it; of UDP, where it refuses that, what the datagrams by themselves look like.
  std::vector<Frame> cut_by_the_kernel(const Crafted& crafted, bool& takes_type) {
    const Frame whole = build(crafted);
    takes_type = send(whole);
    if (!takes_type) {
      EXPECT_TRUE(crafted.udp() && kernel_may_refuse_udp());
      return datagrams(crafted);
    }
    return arrived(whole, crafted.segments());
  }

  std::vector<Frame> datagrams(const Crafted& crafted) {
    for (std::size_t number = 0; number < crafted.segments(); ++number)
      EXPECT_TRUE(send(build_datagram(crafted, number)));
    return arrived(build(crafted), crafted.segments());
  }

  // `packet` was read from `whole`, or from what it is without its first tag.
  void expect_pieces_to_come_as(const std::vector<Frame>& wanted, const SuperPacket& packet,
                                const Frame& whole, std::size_t at_once, bool stripped) {
    SCOPED_TRACE(testing::Message() << at_once << " at once" << (stripped ? ", a tag beside the frame" : ""));
    Count charged;
    for (std::size_t first = 0; first < wanted.size(); first += at_once) {
      const std::size_t count = std::min(at_once, wanted.size() - first);
      Frame piece(packet.piece_bytes(first, count));
      const auto frame = packet.write_piece(first, count, piece);
      EXPECT_EQ(frame.data(), piece.data() + kVirtioBytes);
      EXPECT_EQ(frame.size(), piece.size() - kVirtioBytes);
      EXPECT_TRUE(send(stripped ? with_first_tag_of(whole, piece) : piece));
      charged += packet.charge(first, count);
    }
    EXPECT_TRUE(arrived(whole, wanted.size()) == wanted);
    const auto add_bytes = [](std::size_t sum, const Frame& frame) { return sum + frame.size(); };
    EXPECT_EQ(charged, (Count{wanted.size(),
                              std::accumulate(wanted.begin(), wanted.end(), std::size_t{0}, add_bytes)}));
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
    const std::size_t segments = crafted.segments();
    bool takes_type = true;
    const std::vector<Frame> wanted = cut_by_the_kernel(crafted, takes_type);
    ASSERT_EQ(wanted.size(), segments);
    for (const bool stripped : {false, true}) {
      if (stripped && !has_tag(whole)) continue;
      const Frame seen = stripped ? without_first_tag(whole) : whole;
      const auto packet = SuperPacket::read(frame_of(seen), stripped ? 4 : 0);
      ASSERT_TRUE(packet);
      EXPECT_EQ(packet->segments(), segments);
      EXPECT_EQ(packet->is_udp(), crafted.udp());
      for (const std::size_t at_once : {std::size_t{1}, std::size_t{3}, std::size_t{7}, segments})
        if (at_once == 1 || takes_type) expect_pieces_to_come_as(wanted, *packet, whole, at_once, stripped);
    }
  }
}

// So that the datagrams can stand in for the kernel where it refuses UDP super-packets.
TEST_F(SuperPacketTest, OfUdpTheKernelCutsWhatDatagramsByThemselvesLookLike) {
  for (const Crafted& crafted : crafted_packets()) {
    if (!crafted.udp()) continue;
    SCOPED_TRACE(crafted.name);
    bool takes_type = true;
    const std::vector<Frame> cut = cut_by_the_kernel(crafted, takes_type);
    EXPECT_EQ(cut.size(), crafted.segments());
    EXPECT_TRUE(cut == datagrams(crafted));
  }
}

Frame plain() {
  return build(
      {.name = "", .builder = PacketBuilder().ipv4(kNear4, kFar4), .payload = 5000, .segment_bytes = 1000});
}
Frame plain_udp() {
  return build({.name = "",
                .builder = PacketBuilder().ipv4(kNear4, kFar4),
                .protocol = kUdp,
                .payload = 5000,
                .segment_bytes = 1000});
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
  constexpr std::size_t kNetwork = kVirtioBytes + 14, kTransport = kNetwork + 20;
  EXPECT_FALSE(refused([](Frame&) {}));
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).gso_type = VirtioHeader::kNoGso; }));
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).gso_type = 3; })) << "UDP fragments";
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).gso_type = 5; })) << "UDP segments";
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).gso_size = 0; }));
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).gso_size = 5000; })) << "one segment";
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).flags = 0; })) << "a finished checksum";
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).checksum_offset = 6; }));
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).checksum_start += 2; })) << "of a tunnel";
  EXPECT_TRUE(refused([](Frame& frame) { set_word(frame, kNetwork + 2, 0); })) << "BIG TCP";
  EXPECT_TRUE(refused([](Frame& frame) { frame.pop_back(); })) << "shorter than it says";
  EXPECT_TRUE(refused([](Frame& frame) { frame[kNetwork + 9] = std::byte{17}; })) << "UDP";
  EXPECT_TRUE(refused([](Frame& frame) { set_word(frame, kNetwork + 6, 0x2000); })) << "a fragment";
  EXPECT_TRUE(refused([](Frame& frame) { frame[kNetwork] = std::byte{0x44}; }));
  EXPECT_TRUE(refused([](Frame& frame) { frame[kTransport + 12] = std::byte{0x40}; }));
  EXPECT_TRUE(refused([](Frame& frame) { set_word(frame, kVirtioBytes + 12, 0x0806); }));
}

TEST(SuperPacketReading, RefusesUdpThatItCannotCut) {
  const auto refused = [](const std::function<void(Frame&)>& change) {
    Frame frame = plain_udp();
    change(frame);
    return !SuperPacket::read(frame_of(frame), 0);
  };
  constexpr std::size_t kNetwork = kVirtioBytes + 14, kTransport = kNetwork + 20;
  EXPECT_FALSE(refused([](Frame&) {}));
  EXPECT_FALSE(refused([](Frame& frame) { header_of(frame).header_length = 0; }));
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).gso_type = VirtioHeader::kGsoTcp4; })) << "TCP";
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).gso_type = 3; })) << "UDP fragments";
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).gso_size = 0; }));
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).gso_size = 5000; })) << "one segment";
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).flags = 0; })) << "a finished checksum";
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).checksum_offset = 16; }));
  EXPECT_TRUE(refused([](Frame& frame) { header_of(frame).checksum_start += 2; })) << "of a tunnel";
  EXPECT_TRUE(refused([](Frame& frame) { set_word(frame, kTransport + 4, 1008); })) << "lists of fragments";
  EXPECT_TRUE(refused([](Frame& frame) { frame.pop_back(); })) << "shorter than it says";
  EXPECT_TRUE(refused([](Frame& frame) { frame[kNetwork + 9] = std::byte{6}; })) << "TCP";
  EXPECT_TRUE(refused([](Frame& frame) { set_word(frame, kNetwork + 6, 0x2000); })) << "a fragment";
}

class Mutation {
 public:
  std::size_t below(std::size_t limit) {
    random_ = random_ * 1'664'525 + 1'013'904'223;
    return (random_ >> 8) % limit;
  }

  void change_bytes(Frame& frame) {
    const std::size_t headers = std::min<std::size_t>(frame.size(), 120);
    for (std::size_t changes = below(4); changes > 0; --changes)
      frame[below(headers)] = static_cast<std::byte>(below(256));
  }
  // To values that are likely to be taken for good.
  void change_virtio_header(Frame& frame) {
    constexpr std::array<std::uint8_t, 6> kTypes{1, 4, 5, 0x81, 0x85, 0};
    VirtioHeader& header = header_of(frame);
    switch (below(6)) {
      case 0:
        header.gso_type = kTypes[below(kTypes.size())];
        break;
      case 1:
        header.gso_size = static_cast<std::uint16_t>(below(2) == 0 ? 1 + below(8) : below(0x10000));
        break;
      case 2:
        header.checksum_start = static_cast<std::uint16_t>(below(100));
        break;
      case 3:
        header.checksum_offset = below(2) == 0 ? 6 : 16;
        break;
      case 4:
        header.header_length = static_cast<std::uint16_t>(below(0x10000));
        break;
      default:
        break;
    }
  }
  // Perhaps with lengths that agree.
  void shorten(Frame& frame) {
    frame.resize(kVirtioBytes + below(frame.size() - kVirtioBytes));
    constexpr std::size_t kNetwork = kVirtioBytes + 14, kTransport = kNetwork + 20;
    if (frame.size() < kTransport + 8 || below(2) == 0) return;
    set_word(frame, kNetwork + 2, static_cast<unsigned>(frame.size() - kNetwork));
    set_word(frame, kTransport + 4, static_cast<unsigned>(frame.size() - kTransport));
  }

 private:
  std::uint32_t random_ = 1;
};

// In memory that ends with it, so that the sanitizers see what is read or written outside. Returns how many were written.
std::size_t write_some_pieces(const SuperPacket& packet, std::size_t at_once) {
  constexpr std::size_t kMost = 30;
  std::size_t written = 0;
  const std::size_t segments = packet.segments();
  Count charged;
  for (std::size_t first = 0; first < segments; first += at_once) {
    const std::size_t count = std::min(at_once, segments - first);
    charged += packet.charge(first, count);
    if (written >= kMost && first + count < segments) continue;
    Frame piece(packet.piece_bytes(first, count));
    const auto frame = packet.write_piece(first, count, piece);
    EXPECT_EQ(frame.data() + frame.size(), piece.data() + piece.size());
    ++written;
  }
  EXPECT_EQ(charged, packet.charge(0, segments));
  return written;
}

TEST(SuperPacketReading, StaysWithinTheFrame) {
  Mutation mutation;
  std::size_t tcp = 0, udp = 0;
  for (const Crafted& crafted : crafted_packets()) {
    if (crafted.payload > 10'000) continue;
    const Frame good = build(crafted);
    for (int i = 0; i < 2000; ++i) {
      Frame frame = good;
      mutation.change_bytes(frame);
      mutation.change_virtio_header(frame);
      if (i % 3 == 0) mutation.shorten(frame);
      frame.shrink_to_fit();
      const auto packet = SuperPacket::read(frame_of(frame), i % 4 == 0 ? 4 : 0);
      if (packet) (packet->is_udp() ? udp : tcp) += write_some_pieces(*packet, 1 + mutation.below(5));
    }
  }
  EXPECT_GT(tcp, 10'000u);
  EXPECT_GT(udp, 10'000u);
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

TEST(SegmentsAtOnce, SuitEveryPlan) {
  ClassConfig config = class_of_bits(10'000'000'000);
  config.tightest.emplace();
  config.tightest->rate.bits = BitRate{1'000'000'000};
  EXPECT_EQ(segments_at_once(config, kFull), 10u);
  config.tightest->queue.packets = 8;
  EXPECT_EQ(segments_at_once(config, kFull), 2u);
}

}  // namespace
}  // namespace headgate::test
