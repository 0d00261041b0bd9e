#include "pipeline/packet_tap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>

namespace headgate {
namespace {

constexpr PacketEventSet kAll = {true, true, true};

std::vector<std::byte> numbered(std::size_t bytes, unsigned number) {
  std::vector<std::byte> frame(bytes, std::byte(number & 0xff));
  return frame;
}

void put(PacketTap& tap, std::size_t bytes, unsigned number) {
  const std::vector<std::byte> frame = numbered(bytes, number);
  const std::array<std::span<const std::byte>, 2> parts = {std::span(frame).first(bytes / 2),
                                                           std::span(frame).subspan(bytes / 2)};
  tap.put(PacketEvent::sent, {}, Instant(Duration(number)), static_cast<std::uint32_t>(bytes), parts);
}

// Whether the packet is the one that put() made.
testing::AssertionResult is(const std::optional<TappedPacket>& packet, std::size_t bytes, unsigned number) {
  if (!packet) return testing::AssertionFailure() << "there is none";
  const std::vector<std::byte> expected = numbered(bytes, number);
  if (packet->at != Instant(Duration(number))) return testing::AssertionFailure() << "not number " << number;
  if (packet->wire_length != bytes)
    return testing::AssertionFailure() << "wire length " << packet->wire_length;
  if (!std::equal(packet->frame.begin(), packet->frame.end(), expected.begin(), expected.end()))
    return testing::AssertionFailure() << "other bytes";
  return testing::AssertionSuccess();
}

TEST(PacketTap, GivesEachPacketAsItWasPut) {
  PacketTap tap("dns", kAll);
  EXPECT_FALSE(tap.peek());
  const std::vector<std::byte> frame = numbered(70, 3);
  const std::span<const std::byte> part = frame;
  tap.put(PacketEvent::dropped, DropReason::clipped, Instant(Duration(-5)), 9000, {&part, 1});
  const auto packet = tap.peek();
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->event, PacketEvent::dropped);
  EXPECT_EQ(packet->reason, DropReason::clipped);
  EXPECT_EQ(packet->at, Instant(Duration(-5)));
  EXPECT_EQ(packet->wire_length, 9000u);
  EXPECT_EQ(packet->frame.size(), 70u);
  tap.pop();
  EXPECT_FALSE(tap.peek());
}

// However the frame is divided.
TEST(PacketTap, LeavesOutAnEthernetHeaderThatTheLinkDoesNotHave) {
  std::vector<std::byte> frame = numbered(kEthernetHeaderBytes, 1);
  const std::vector<std::byte> packet = numbered(70, 2);
  frame.insert(frame.end(), packet.begin(), packet.end());
  for (std::size_t first = 0; first <= frame.size(); ++first) {
    PacketTap tap("dns", kAll, PacketTap::kDefaultMemory, LinkHeader::none);
    const std::array<std::span<const std::byte>, 2> parts = {std::span(frame).first(first),
                                                             std::span(frame).subspan(first)};
    tap.put(PacketEvent::sent, {}, Instant(Duration(2)), static_cast<std::uint32_t>(frame.size()), parts);
    EXPECT_TRUE(is(tap.peek(), 70, 2)) << first;
  }
}

TEST(PacketTap, GoesRoundItsMemoryWithFramesOfEveryLength) {
  PacketTap tap("dns", kAll, 4096);
  unsigned put_number = 0, read_number = 0;
  const auto length_of = [](unsigned number) { return std::size_t{number * 37 % 1000}; };
  for (int round = 0; round < 5000; ++round) {
    const std::uint64_t missed = tap.missed();
    put(tap, length_of(put_number), put_number);
    if (tap.missed() == missed) ++put_number;
    // Read now and then, so that the memory is full and empty by turns.
    while (put_number - read_number > static_cast<unsigned>(round % 7)) {
      ASSERT_TRUE(is(tap.peek(), length_of(read_number), read_number));
      tap.pop();
      ++read_number;
    }
  }
  EXPECT_GT(put_number, 1000u) << "many times its memory";
}

TEST(PacketTap, CountsWhatFindsNoRoomAndGoesOnWhenThereIsSome) {
  PacketTap tap("dns", kAll, 4096);
  unsigned number = 0;
  while (tap.missed() == 0) put(tap, 100, number++);
  const unsigned kept = number - 1;
  EXPECT_GE(kept * 100, 2000u);
  put(tap, 100, number);
  EXPECT_EQ(tap.missed(), 2u);
  EXPECT_TRUE(is(tap.peek(), 100, 0));
  tap.pop();
  put(tap, 100, 77);
  EXPECT_EQ(tap.missed(), 2u);
  for (unsigned i = 1; i < kept; ++i) {
    ASSERT_TRUE(is(tap.peek(), 100, i));
    tap.pop();
  }
  EXPECT_TRUE(is(tap.peek(), 100, 77));
}

TEST(PacketTap, AFrameThatNeverFitsIsMissed) {
  PacketTap tap("dns", kAll, 4096);
  put(tap, 5000, 1);
  EXPECT_EQ(tap.missed(), 1u);
  EXPECT_FALSE(tap.peek());
}

TEST(PacketTap, CarriesPacketsFromOneThreadToAnother) {
  constexpr unsigned kPackets = 20'000;
  PacketTap tap("dns", kAll, 16 * 1024);
  std::thread drain([&tap] {
    for (unsigned i = 0; i < kPackets;) {
      const std::uint64_t missed = tap.missed();
      put(tap, i % 300, i);
      if (tap.missed() == missed)
        ++i;
      else
        std::this_thread::yield();
    }
    tap.end();
  });
  unsigned next = 0;
  for (;;) {
    const bool ended = tap.ended();
    const auto packet = tap.peek();
    if (!packet && ended) break;
    if (!packet) {
      std::this_thread::yield();
      continue;
    }
    EXPECT_TRUE(is(packet, next % 300, next));
    tap.pop();
    ++next;
  }
  drain.join();
  EXPECT_EQ(next, kPackets);
}

}  // namespace
}  // namespace headgate
