// Super-packets of a port that cuts them. Whatever becomes of the pieces, all that a super-packet counts is counted.
#include "pipeline/port.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "pipeline/worker_fixture.hpp"
#include "support/crafted_super_packet.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;
using Crafted = CraftedSuperPacket;
constexpr auto kTcp = Crafted::Protocol::tcp;
constexpr auto kUdp = Crafted::Protocol::udp;

const ShaperLimits kWithVirtioHeader{.frame_prefix = kVirtioBytes};

PacketBuilder ipv4() {
  return PacketBuilder().ipv4("10.0.0.1", "10.0.1.1");
}
PacketBuilder ipv6() {
  return PacketBuilder().ipv6("fd00::1", "fd00::2");
}

Crafted super_packet(Crafted::Protocol protocol, std::size_t payload, std::uint16_t segment_bytes = 1000,
                     const PacketBuilder& builder = ipv4()) {
  return {.name = {},
          .builder = builder,
          .protocol = protocol,
          .payload = payload,
          .segment_bytes = segment_bytes,
          .knows_header_length = false};
}

std::size_t payload_at(const Crafted& crafted) {
  return build(crafted).size() - crafted.payload;
}

// On the wire, by the crafted packet alone.
Count segments_of(const Crafted& crafted) {
  const std::size_t headers = payload_at(crafted) - kVirtioBytes;
  return {crafted.segments(), crafted.payload + crafted.segments() * headers};
}

ClassConfig class_of_bits(std::uint64_t bits_per_second, std::uint64_t capacity = 10'000) {
  ClassConfig config{.name = "all", .rate = {.bits = BitRate{bits_per_second}}};
  config.queue.packets = capacity;
  return config;
}

class PortTest : public WorkerFixture {
 protected:
  TestShape& add(SuperPacketCut cut, const ClassConfig& config,
                 LinkHeader link_header = LinkHeader::ethernet) {
    TestShape& shape = add_shape(config, kWithVirtioHeader, 1024, cut, link_header);
    added_.push_back(&shape);
    // The law holds at every moment, not only once nothing is queued.
    waiter.before_sleep = [this](std::optional<Instant>) { expect_laws(); };
    return shape;
  }
  void expect_laws() {
    for (TestShape* shape : added_) expect_law(*shape, clock.now());
  }

  // With a tag beside the frame where it has one.
  static void arrive(TestShape& shape, const Crafted& crafted) {
    const Frame whole = build(crafted);
    const std::size_t type_at = kVirtioBytes + 12;
    const unsigned type = word_of(whole, type_at);
    if (type != 0x8100) return shape.source.add_with_prefix(whole, kVirtioBytes);
    shape.source.add_with_prefix(without_first_tag(whole), kVirtioBytes, 0x8100,
                                 static_cast<std::uint16_t>(word_of(whole, type_at + 2)));
  }

  Count received(TestShape& shape) { return shape.shaper.statistics(clock.now()).received; }
  Count sent(TestShape& shape) { return shape.shaper.statistics(clock.now()).sent; }
  static std::size_t bytes_sent(const TestShape& shape, std::size_t at) {
    return shape.sink.departures[at].frame.size();
  }

 private:
  std::vector<TestShape*> added_;
};

// The payload of all segments, one behind the other.
Frame joined(const std::vector<RecordingSink::Departure>& departures, std::size_t payload_at) {
  Frame all;
  for (const auto& departure : departures)
    all.insert(all.end(), departure.frame.begin() + static_cast<std::ptrdiff_t>(payload_at),
               departure.frame.end());
  return all;
}
Frame payload_of(const Crafted& crafted) {
  const Frame whole = build(crafted);
  return {whole.begin() + static_cast<std::ptrdiff_t>(payload_at(crafted)), whole.end()};
}

TEST_F(PortTest, CutsEachSuperPacketIntoItsSegmentsAndSpacesThem) {
  const std::vector<Crafted> all{super_packet(kTcp, 4500),
                                 super_packet(kUdp, 4500),
                                 super_packet(kTcp, 4500, 1000, ipv6()),
                                 super_packet(kUdp, 4500, 1000, ipv6()),
                                 super_packet(kTcp, 4500, 1000, ipv4().vlan(5)),
                                 super_packet(kUdp, 4500, 1000, ipv6().vlan(5).destination_options())};
  const Instant start = clock.now();
  std::vector<TestShape*> shapes;
  for (const Crafted& crafted : all) {
    shapes.push_back(&add(SuperPacketCut::single_segments, class_of(1000)));
    arrive(*shapes.back(), crafted);
  }
  run();
  for (std::size_t number = 0; number < all.size(); ++number) {
    SCOPED_TRACE(number);
    const Crafted& crafted = all[number];
    TestShape& shape = *shapes[number];
    const auto& departures = shape.sink.departures;
    ASSERT_EQ(departures.size(), 5u);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(departures[i].at, start + static_cast<int>(i) * milliseconds(1));
      EXPECT_EQ(departures[i].frame.size(), payload_at(crafted) + (i < 4 ? 1000 : 500));
      VirtioHeader header;
      std::memcpy(&header, departures[i].frame.data(), sizeof header);
      EXPECT_EQ(header.gso_type, VirtioHeader::kNoGso);
      EXPECT_EQ(header.flags, VirtioHeader::kNeedsChecksum);
    }
    EXPECT_EQ(joined(departures, payload_at(crafted)), payload_of(crafted));
    EXPECT_EQ(received(shape), segments_of(crafted));
    EXPECT_EQ(sent(shape), segments_of(crafted));
    EXPECT_EQ(shape.source.slots_out(), 0u);
  }
}

TEST_F(PortTest, ChargesNoEthernetHeaderThatTheLinkDoesNotHave) {
  constexpr std::array kCuts{SuperPacketCut::none, SuperPacketCut::by_rate, SuperPacketCut::single_segments};
  const Instant start = clock.now();
  std::vector<TestShape*> shapes;
  for (const SuperPacketCut cut : kCuts) {
    shapes.push_back(
        &add(cut, class_of_bits(8 * 1'040'000), LinkHeader::none));  // 1040 bytes of IP a millisecond
    arrive(*shapes.back(), super_packet(kTcp, 4500));
  }
  run();
  for (std::size_t number = 0; number < kCuts.size(); ++number) {
    SCOPED_TRACE(number);
    EXPECT_EQ(received(*shapes[number]), (Count{5, 4500 + 5 * 40}));
    EXPECT_EQ(sent(*shapes[number]), received(*shapes[number]));
    const auto& departures = shapes[number]->sink.departures;
    ASSERT_EQ(departures.size(), kCuts[number] == SuperPacketCut::none ? 1u : 5u);
    for (std::size_t i = 0; i < departures.size(); ++i)
      EXPECT_EQ(departures[i].at, start + static_cast<int>(i) * milliseconds(1));
  }
}

TEST_F(PortTest, OfUdpWritesTheDatagrams) {
  const Crafted crafted = super_packet(kUdp, 4500);
  TestShape& shape = add(SuperPacketCut::single_segments, class_of(1000));
  arrive(shape, crafted);
  run();
  ASSERT_EQ(shape.sink.departures.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    const Frame wanted = build_datagram(crafted, i);
    EXPECT_TRUE(std::ranges::equal(frame_of(shape.sink.departures[i].frame), frame_of(wanted))) << i;
  }
}

TEST_F(PortTest, CutsByRateAsFarAsTheRateAsksFor) {
  const Crafted crafted = super_packet(kTcp, 60'000, 1448);
  struct Case {
    SuperPacketCut cut;
    std::uint64_t bits_per_second;
    std::size_t pieces;
  };
  ASSERT_EQ(crafted.segments(), 42u);
  constexpr std::array kCases{
      Case{SuperPacketCut::by_rate, 10'000'000'000, 1},
      Case{SuperPacketCut::by_rate, 1'000'000'000, 5},  // four of ten segments, one of two
      Case{SuperPacketCut::by_rate, 20'000'000, 42},
      Case{SuperPacketCut::single_segments, 10'000'000'000, 42}, Case{SuperPacketCut::none, 20'000'000, 1}};
  std::vector<TestShape*> shapes;
  for (const Case& one : kCases) {
    shapes.push_back(&add(one.cut, class_of_bits(one.bits_per_second)));
    arrive(*shapes.back(), crafted);
  }
  run();
  for (std::size_t i = 0; i < kCases.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(shapes[i]->sink.departures.size(), kCases[i].pieces);
    EXPECT_EQ(sent(*shapes[i]), segments_of(crafted));
    EXPECT_EQ(joined(shapes[i]->sink.departures, payload_at(crafted)), payload_of(crafted));
  }
}

TEST_F(PortTest, OfUdpSendsSingleSegmentsAtAnyRate) {
  const Crafted udp = super_packet(kUdp, 60'000, 1472);
  TestShape& shape = add(SuperPacketCut::by_rate, class_of_bits(100'000'000'000));
  arrive(shape, udp);
  run();
  EXPECT_EQ(shape.sink.departures.size(), 41u);
  EXPECT_EQ(sent(shape), segments_of(udp));
}

TEST_F(PortTest, AFullQueueDropsTheSegmentsThatFindNoRoom) {
  constexpr std::size_t kLeave = 6;  // one at once, and five that wait
  const std::array all{super_packet(kTcp, 19'300), super_packet(kUdp, 19'300)};
  std::vector<TestShape*> shapes;
  for (const Crafted& crafted : all) {
    shapes.push_back(&add(SuperPacketCut::single_segments, class_of(1000, 5)));
    arrive(*shapes.back(), crafted);
  }
  run();
  for (std::size_t number = 0; number < all.size(); ++number) {
    TestShape& shape = *shapes[number];
    const std::size_t full = payload_at(all[number]) - kVirtioBytes + 1000;
    EXPECT_EQ(received(shape), segments_of(all[number]));
    EXPECT_EQ(sent(shape), (Count{kLeave, kLeave * full}));
    EXPECT_EQ(dropped(shape, DropReason::queue_full), 20 - kLeave);
  }
}

TEST_F(PortTest, WhatTheKernelRefusesIsDroppedSegmentBySegment) {
  const Crafted crafted = super_packet(kUdp, 4500);
  TestShape& shape = add(SuperPacketCut::single_segments, class_of(1000));
  shape.sink.refuse = [&](const Frame& frame) { return frame.size() < payload_at(crafted) + 1000; };
  arrive(shape, crafted);
  run();
  EXPECT_EQ(shape.sink.departures.size(), 4u);
  EXPECT_EQ(dropped(shape, DropReason::send_failed), 1u);
  EXPECT_EQ(received(shape), segments_of(crafted));
  expect_laws();
}

TEST_F(PortTest, CutsMoreThanThereIsRoomForPiecesAtOnce) {
  const Crafted crafted = super_packet(kUdp, 65'000, 40);
  TestShape& shape = add(SuperPacketCut::single_segments, class_of(1'000'000'000, 100'000));
  Frame wanted;
  for (int i = 0; i < 9; ++i) {
    arrive(shape, crafted);
    const Frame one = payload_of(crafted);
    wanted.insert(wanted.end(), one.begin(), one.end());
  }
  run();
  EXPECT_EQ(shape.sink.departures.size(), 9 * 1625u);
  EXPECT_TRUE(joined(shape.sink.departures, payload_at(crafted)) == wanted);
  EXPECT_EQ(sent(shape), (Count{9 * segments_of(crafted).packets, 9 * segments_of(crafted).bytes}));
  EXPECT_EQ(shape.source.slots_out(), 0u);
}

TEST_F(PortTest, KeepsOrdinaryPacketsAndSegmentsInOrder) {
  TestShape& shape = add(SuperPacketCut::single_segments, class_of(1000));
  Crafted ordinary = super_packet(kUdp, 300);
  const Crafted super = super_packet(kUdp, 2500);
  arrive(shape, ordinary);
  arrive(shape, super);
  ordinary.payload = 301;
  arrive(shape, ordinary);
  run();
  ASSERT_EQ(shape.sink.departures.size(), 5u);
  const std::size_t headers = payload_at(super);
  const std::array<std::size_t, 5> wanted{300, 1000, 1000, 500, 301};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(bytes_sent(shape, i), headers + wanted[i]);
  expect_laws();
}

TEST_F(PortTest, LeavesWholeWhatCannotBeCut) {
  const Crafted crafted = super_packet(kTcp, 4500);
  Frame fragment = build(crafted);
  set_word(fragment, kVirtioBytes + 14 + 6, 0x2000);
  TestShape& shape = add(SuperPacketCut::single_segments, class_of(1000));
  shape.source.add_with_prefix(fragment, kVirtioBytes);
  run();
  ASSERT_EQ(shape.sink.departures.size(), 1u);
  EXPECT_EQ(shape.sink.departures[0].frame, fragment);
  EXPECT_EQ(sent(shape), segments_of(crafted));
  expect_laws();
}

TEST_F(PortTest, LeavesWholeWhatIsNotShaped) {
  const Crafted crafted = super_packet(kUdp, 4500);
  TestShape& shape = add(SuperPacketCut::single_segments, free_class());
  arrive(shape, crafted);
  run();
  ASSERT_EQ(shape.sink.departures.size(), 1u);
  EXPECT_EQ(shape.sink.departures[0].frame, build(crafted));
  EXPECT_EQ(received(shape), segments_of(crafted));
  EXPECT_EQ(sent(shape), segments_of(crafted));
}

}  // namespace
}  // namespace headgate
