#include "linux/bpf_ring.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "linux/timer_waiter.hpp"
#include "pipeline/frame_prefix.hpp"

#include "ring_writer.skel.h"

namespace headgate::test {
namespace {

constexpr std::size_t kBytes = 64 * 1024;
constexpr std::size_t kRecordsThatFit = 31;  // of 2104 bytes

class BpfRingTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    ring_ = std::make_unique<BpfRing>(kBytes);
    writer_ = ring_writer_bpf::open();
    ASSERT_NE(writer_, nullptr);
    ASSERT_EQ(bpf_map__reuse_fd(writer_->maps.ring, ring_->map()), 0);
    ASSERT_EQ(ring_writer_bpf::load(writer_), 0);
  }
  void TearDown() override { ring_writer_bpf::destroy(writer_); }

  void write(const BpfRing::Channel& channel, std::uint32_t number, std::uint32_t length = 100) {
    write(channel.number(), number, length);
  }
  void write(std::uint32_t channel, std::uint32_t number, std::uint32_t length = 100) {
    writer_->bss->channel = channel;
    writer_->bss->number = number;
    writer_->bss->length = length;
    std::array<char, 64> packet{};
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet.data(), .data_size_in = packet.size());
    ASSERT_EQ(bpf_prog_test_run_opts(bpf_program__fd(writer_->progs.write_record), &options), 0);
  }
  void set_discards(bool on) { writer_->bss->discards = on ? 1 : 0; }
  std::uint32_t found_no_room() const { return writer_->bss->found_no_room; }

  std::unique_ptr<BpfRing::Channel> begin() {
    auto channel = ring_->open_channel();
    channel->begin();
    return channel;
  }

  static std::vector<CapturedFrame> receive(PacketSource& source, std::size_t most = 64) {
    std::vector<CapturedFrame> frames(most);
    frames.resize(source.receive(frames));
    return frames;
  }
  static std::uint32_t number_of(const CapturedFrame& frame) {
    std::uint32_t number = 0;
    std::memcpy(&number, frame.frame.data(), sizeof number);
    return number;
  }
  static std::vector<std::uint32_t> numbers(const std::vector<CapturedFrame>& frames) {
    std::vector<std::uint32_t> all;
    for (const CapturedFrame& frame : frames) all.push_back(number_of(frame));
    return all;
  }
  static void give_back(PacketSource& source, const std::vector<CapturedFrame>& frames) {
    std::vector<std::uint32_t> slots;
    for (const CapturedFrame& frame : frames) slots.push_back(frame.slot);
    source.give_back(slots);
  }
  bool is_readable() const {
    pollfd polled{.fd = ring_->descriptor(), .events = POLLIN, .revents = 0};
    return poll(&polled, 1, 0) == 1;
  }

  using Numbers = std::vector<std::uint32_t>;
  std::unique_ptr<BpfRing> ring_;
  ring_writer_bpf* writer_ = nullptr;
};

TEST_F(BpfRingTest, GivesEachChannelItsOwnInOrder) {
  const auto one = begin();
  const auto other = begin();
  for (std::uint32_t number = 0; number < 6; ++number) write(number % 3 == 0 ? *other : *one, number);
  EXPECT_TRUE(one->waiting());
  ring_->distribute(64);
  EXPECT_EQ(numbers(receive(*one)), (Numbers{1, 2, 4, 5}));
  EXPECT_EQ(numbers(receive(*other)), (Numbers{0, 3}));
  EXPECT_TRUE(receive(*one).empty());
  EXPECT_FALSE(one->waiting());
}

TEST_F(BpfRingTest, DescribesAFrameWithWhatIsNotedBesideIt) {
  const auto channel = begin();
  const Instant before = MonotonicClock().now();
  write(*channel, 7, 1500);
  ring_->distribute(64);
  const auto frames = receive(*channel);
  ASSERT_EQ(frames.size(), 1u);
  const CapturedFrame& frame = frames.front();
  EXPECT_EQ(frame.frame.size(), 1500u);
  EXPECT_EQ(frame.wire_length, 1500u);
  EXPECT_EQ(frame.vlan_tpid, 0x8100);
  EXPECT_EQ(frame.vlan_tci, 5);
  EXPECT_EQ(frame.cgroups, 10U);
  ASSERT_EQ(frame.prefix_bytes, kWholePrefixBytes);
  const PacketNotes notes = read_packet_notes({frame.frame.data() - frame.prefix_bytes, frame.prefix_bytes});
  EXPECT_EQ(notes, (PacketNotes{.mark = 8, .priority = 9}));
  EXPECT_GT(channel->waited(), Duration::zero());
  EXPECT_LE(channel->waited(), MonotonicClock().now() - before);
}

TEST_F(BpfRingTest, TakesNoMoreThanItIsAskedFor) {
  const auto channel = begin();
  for (std::uint32_t number = 0; number < 5; ++number) write(*channel, number);
  ring_->distribute(3);
  EXPECT_EQ(numbers(receive(*channel, 2)), (Numbers{0, 1}));
  EXPECT_EQ(numbers(receive(*channel)), (Numbers{2}));
  EXPECT_TRUE(channel->waiting());
}

TEST_F(BpfRingTest, RoomIsFreeAgainWhenTheOldestIsGivenBack) {
  const auto channel = begin();
  for (std::uint32_t number = 0; number < kRecordsThatFit + 1; ++number) write(*channel, number);
  EXPECT_EQ(found_no_room(), 1u);
  ring_->distribute(64);
  const auto frames = receive(*channel);
  ASSERT_EQ(frames.size(), kRecordsThatFit);

  give_back(*channel, {frames.begin() + 1, frames.end()});
  ring_->distribute(64);
  write(*channel, 100);
  EXPECT_EQ(found_no_room(), 2u);

  give_back(*channel, {frames.front()});
  ring_->distribute(64);
  write(*channel, 100);
  EXPECT_EQ(found_no_room(), 2u);
  ring_->distribute(64);
  EXPECT_EQ(numbers(receive(*channel)), (Numbers{100}));
}

TEST_F(BpfRingTest, WhatBelongsToNobodyTakesNoRoom) {
  const auto channel = begin();
  const auto closed = begin();
  const std::uint32_t number = closed->number();
  write(number, 1);
  ring_->distribute(64);
  closed->end();  // with a frame that it has not given
  for (std::uint32_t i = 0; i < 10 * kRecordsThatFit; ++i) {
    set_discards(i % 2 == 1);
    write(number, i);
    ring_->distribute(64);
  }
  EXPECT_EQ(found_no_room(), 0u);
  set_discards(false);
  write(*channel, 5);
  ring_->distribute(64);
  EXPECT_EQ(numbers(receive(*channel)), (Numbers{5}));
}

// Over the end of the memory, too.
TEST_F(BpfRingTest, KeepsEveryFrameAsItWasThroughManyRounds) {
  const auto channel = begin();
  std::uint32_t expected = 0;
  std::vector<CapturedFrame> out;
  for (std::uint32_t number = 0; number < 20 * kRecordsThatFit; ++number) {
    write(*channel, number, 60 + number % 1900);
    ring_->distribute(64);
    for (const CapturedFrame& frame : receive(*channel)) out.push_back(frame);
    if (number % 7 != 6) continue;
    for (const CapturedFrame& frame : out) {
      EXPECT_EQ(number_of(frame), expected);
      EXPECT_EQ(frame.frame.size(), 60 + expected % 1900);
      ++expected;
    }
    give_back(*channel, out);
    out.clear();
  }
  EXPECT_EQ(found_no_room(), 0u);
  EXPECT_GT(expected, 19 * kRecordsThatFit);
}

// The kernel wakes nobody while the last record is kept; who is about to wait gives it back.
TEST_F(BpfRingTest, TheDescriptorIsQuietOnlyForWhoIsAboutToWait) {
  const auto channel = begin();
  write(*channel, 1);
  EXPECT_TRUE(is_readable());
  ring_->distribute(64);
  give_back(*channel, receive(*channel));
  ring_->distribute(64);
  EXPECT_TRUE(is_readable());
  ring_->before_wait();
  EXPECT_FALSE(is_readable());
  EXPECT_FALSE(ring_->waiting());
  write(*channel, 2);
  EXPECT_TRUE(is_readable());
  EXPECT_TRUE(ring_->waiting());
}

TEST_F(BpfRingTest, ReachesTheLineWhenAllThatHadComeByThenIsGiven) {
  const auto channel = begin();
  const auto other = begin();
  write(*other, 0);
  write(*channel, 1);
  write(*channel, 2);
  channel->draw_line();
  write(*other, 3);
  EXPECT_FALSE(channel->reached_line());
  ring_->distribute(2);
  receive(*channel);
  EXPECT_FALSE(channel->reached_line());
  ring_->distribute(1);
  EXPECT_FALSE(channel->reached_line());
  receive(*channel);
  EXPECT_TRUE(channel->reached_line());
  EXPECT_TRUE(channel->waiting());  // for all that it knows
}

}  // namespace
}  // namespace headgate::test
