#include "linux/pcap_source.hpp"

#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include "linux/source_waiter.hpp"

#include <array>
#include <system_error>
#include <thread>

#include "linux/network_lab.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kSoon = seconds(5);  // patience for what must happen

Frame numbered_frame(std::uint8_t number, std::size_t payload = 64) {
  return PacketBuilder().ipv4(kFar4, kNear4).udp(4000, 9).payload(payload, number).build();
}

// A capture from eth0, on which is sent.
class PcapSourceTest : public NetworkLabTest {
 protected:
  void SetUp() override {
    NetworkLabTest::SetUp();
    if (IsSkipped()) return;
    // Only the tests are to send something.
    lab().run("ip link set eth0 down");
    lab().run("ip link set eth0 addrgenmode none");
    lab().run("ip addr flush dev eth0");
    lab().run("ip link set eth0 up");
    wait_until_running("eth0");
    near_.emplace("eth0");
  }

  static PcapSourceOptions options(unsigned slots = 64) {
    return {.device_index = interface_index("eth0"), .mtu = 1500, .slots = slots};
  }
  RawPort& near() { return *near_; }

  // The next `count` frames, fewer when no more come.
  static std::vector<CapturedFrame> receive(PcapSource& source, std::size_t count,
                                            Duration patience = kSoon) {
    std::vector<CapturedFrame> all;
    bool waited = false;
    while (all.size() < count) {
      std::array<CapturedFrame, 16> some;
      const std::size_t received =
          source.receive(std::span(some).first(std::min(some.size(), count - all.size())));
      all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(received));
      if (received == 0 && std::exchange(waited, true)) break;
      if (received > 0) waited = false;
      if (received == 0) SourceWaiter(source).wait(patience);
    }
    return all;
  }

  static void give_back(PcapSource& source, const std::vector<CapturedFrame>& frames) {
    std::vector<std::uint32_t> slots;
    for (const CapturedFrame& frame : frames) slots.push_back(frame.slot);
    source.give_back(slots);
  }

  static Frame bytes_of(const CapturedFrame& captured) {
    return {captured.frame.begin(), captured.frame.end()};
  }

 private:
  std::optional<RawPort> near_;
};

TEST_F(PcapSourceTest, GivesFramesInTheOrderInWhichTheyWereSent) {
  PcapSource source(options());
  for (std::uint8_t i = 0; i < 20; ++i) near().send(numbered_frame(i));
  const auto frames = receive(source, 20);
  ASSERT_EQ(frames.size(), 20u);
  for (std::uint8_t i = 0; i < 20; ++i) {
    EXPECT_EQ(bytes_of(frames[i]), numbered_frame(i));
    EXPECT_EQ(frames[i].wire_length, frames[i].frame.size());
  }
  EXPECT_EQ(source.counts().lost, 0u);
}

TEST_F(PcapSourceTest, SaysHowLongTheFirstOfABatchHasWaited) {
  PcapSource source(options());
  near().send(numbered_frame(0));
  std::this_thread::sleep_for(milliseconds(60));
  near().send(numbered_frame(1));
  ASSERT_EQ(receive(source, 2).size(), 2u);
  EXPECT_GE(source.waited(), milliseconds(59));  // its stamps have microseconds
  std::this_thread::sleep_for(milliseconds(60));
  const Duration before = source.waited();
  near().send(numbered_frame(2));
  ASSERT_EQ(receive(source, 1).size(), 1u);
  EXPECT_LT(source.waited(), before);
}

TEST_F(PcapSourceTest, GoesRoundWithSlotsOutstanding) {
  PcapSource source(options());
  const std::size_t slots = source.slots();
  ASSERT_EQ(slots, 64u);
  std::uint8_t number = 0;
  std::vector<CapturedFrame> held;
  for (std::size_t batch = 0; batch < 5; ++batch) {
    for (std::size_t i = 0; i < slots / 2; ++i)
      near().send(numbered_frame(static_cast<std::uint8_t>(number + i)));
    const auto frames = receive(source, slots / 2);
    ASSERT_EQ(frames.size(), slots / 2);
    for (const CapturedFrame& frame : frames) EXPECT_EQ(bytes_of(frame), numbered_frame(number++));
    const auto before = static_cast<std::uint8_t>(number - slots);
    for (std::size_t i = 0; i < held.size(); ++i)
      EXPECT_EQ(bytes_of(held[i]), numbered_frame(static_cast<std::uint8_t>(before + i)))
          << "was overwritten";
    give_back(source, held);
    held = frames;
  }
  EXPECT_EQ(source.counts().lost, 0u);
}

TEST_F(PcapSourceTest, ReadsNothingWhileAllSlotsAreOutAndGoesOnThen) {
  PcapSource source(options(4));
  for (std::uint8_t i = 0; i < 6; ++i) near().send(numbered_frame(i));
  const auto frames = receive(source, 4);
  ASSERT_EQ(frames.size(), 4u);
  std::array<CapturedFrame, 4> more;
  EXPECT_EQ(source.receive(more), 0u);
  EXPECT_EQ(source.receive(more), 0u);
  for (std::uint8_t i = 0; i < 4; ++i) EXPECT_EQ(bytes_of(frames[i]), numbered_frame(i));
  give_back(source, frames);
  SourceWaiter(source).wait(std::nullopt);
  const auto rest = receive(source, 2);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(bytes_of(rest[0]), numbered_frame(4));
  EXPECT_EQ(bytes_of(rest[1]), numbered_frame(5));
}

TEST_F(PcapSourceTest, CountsWhatFindsTheBufferFull) {
  constexpr std::uint64_t kSent =
      40'000;  // more than the buffer takes: a slot of it holds a frame of the MTU
  PcapSource source(options());
  for (std::uint64_t i = 0; i < kSent; ++i) near().send(numbered_frame(1));
  const std::uint64_t lost = source.counts().lost;
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(source.counts().lost, lost) << "reading does not reset it";
  std::uint64_t received = 0;
  for (;;) {
    const auto frames = receive(source, 64, Duration::zero());
    if (frames.empty()) break;
    received += frames.size();
    give_back(source, frames);
  }
  EXPECT_EQ(received + lost, kSent);
  EXPECT_EQ(source.counts().lost, lost);
}

TEST_F(PcapSourceTest, AFrameOfTheMtuWithTwoTagsIsWholeAndHasItsTags) {
  lab().on_far_host([this] { lab().run("ip link set far0 mtu 1508"); });
  lab().run("ip link set eth0 mtu 1508");
  PcapSource source(options());
  const Frame sent = PacketBuilder()
                         .vlan(7, ETH_P_8021AD)
                         .vlan(9)
                         .ipv4(kFar4, kNear4)
                         .udp(4000, 9)
                         .frame_size(14 + 8 + 1500)
                         .build();
  near().send(sent);
  const CapturedFrame captured = receive(source, 1).at(0);
  EXPECT_EQ(bytes_of(captured), sent);
  EXPECT_EQ(captured.wire_length, sent.size());
  EXPECT_EQ(captured.vlan_tpid, 0);
}

TEST_F(PcapSourceTest, ALongerFrameShowsThatItIsClipped) {
  PcapSourceOptions small = options();
  small.mtu = 500;
  PcapSource source(small);
  near().send(numbered_frame(1, 1400));
  near().send(numbered_frame(2, 400));
  const auto frames = receive(source, 2);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].wire_length, 14u + 20 + 8 + 1400);
  EXPECT_LT(frames[0].frame.size(), frames[0].wire_length);
  EXPECT_GE(frames[0].frame.size(), 514u);
  EXPECT_EQ(bytes_of(frames[1]), numbered_frame(2, 400));
}

TEST_F(PcapSourceTest, SeesNeitherWhatArrivesNorOtherDevices) {
  lab().run("ip link add eth1 type veth peer name eth2 && ip link set eth1 up && ip link set eth2 up");
  PcapSource source(options());
  lab().on_far_host([] { RawPort("far0").send(numbered_frame(1)); });
  RawPort("eth1").send(numbered_frame(2));
  near().send(numbered_frame(3));
  EXPECT_EQ(bytes_of(receive(source, 1).at(0)), numbered_frame(3));
}

TEST_F(PcapSourceTest, HasAsManySlotsAsAskedWithinItsBoundOfMemory) {
  PcapSourceOptions wanted = options(16'384);
  EXPECT_EQ(PcapSource(wanted).slots(), 16'384u);
  wanted.mtu = 65'535;
  const std::size_t jumbo = PcapSource(wanted).slots();
  EXPECT_GE(jumbo, 500u);
  EXPECT_LE(jumbo * 65'535, kMaxPcapSlotBytes);
}

TEST_F(PcapSourceTest, AWaitEndsWithAFrameAWakeUpOrTheTime) {
  PcapSource source(options());
  SourceWaiter waiter(source);
  waiter.wait(Duration::zero());
  waiter.wait(milliseconds(1));
  waiter.prepare();
  std::thread waker([&waiter] { waiter.wake(); });
  waiter.wait_prepared(std::nullopt);
  waker.join();
  std::thread sender([this] { near().send(numbered_frame(1)); });
  waiter.wait(std::nullopt);
  sender.join();
  EXPECT_EQ(receive(source, 1).size(), 1u);
}

TEST_F(PcapSourceTest, SurvivesItsDeviceBeingDown) {
  PcapSource source(options());
  lab().run("ip link set eth0 down");
  SourceWaiter waiter(source);
  waiter.wait(milliseconds(20));
  std::array<CapturedFrame, 1> none;
  EXPECT_EQ(source.receive(none), 0u);
  waiter.wait(milliseconds(20));
  lab().run("ip link set eth0 up");
  wait_until_running("eth0");
  RawPort("eth0").send(numbered_frame(1));
  EXPECT_EQ(bytes_of(receive(source, 1).at(0)), numbered_frame(1));
}

TEST_F(PcapSourceTest, ReceiveThrowsWhenTheDeviceIsDeleted) {
  PcapSource source(options());
  near().send(numbered_frame(1));
  SourceWaiter(source).wait(kSoon);
  lab().run("ip link del eth0");
  EXPECT_EQ(bytes_of(receive(source, 1).at(0)), numbered_frame(1)) << "what was captured is still there";
  SourceWaiter(source).wait(kSoon);
  std::array<CapturedFrame, 1> none;
  EXPECT_THROW(source.receive(none), std::system_error);
  EXPECT_THROW(source.receive(none), std::system_error) << "also the next time";
}

TEST_F(PcapSourceTest, AnInterfaceThatDoesNotExistIsRefused) {
  PcapSourceOptions none = options();
  none.device_index = 4711;
  EXPECT_THROW(PcapSource source(none), std::system_error);
}

}  // namespace
}  // namespace headgate::test
