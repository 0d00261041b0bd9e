#include "linux/packet_ring.hpp"

#include <gtest/gtest.h>
#include <linux/if_ether.h>

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

// A ring on eth0; the far host sends.
class PacketRingTest : public NetworkLabTest {
 protected:
  void SetUp() override {
    NetworkLabTest::SetUp();
    if (IsSkipped()) return;
    // Only what the tests send is to arrive.
    lab().on_far_host([this] {
      lab().run("ip link set far0 down");
      lab().run("ip link set far0 addrgenmode none");
      lab().run("ip addr flush dev far0");
      lab().run("ip link set far0 up");
      wait_until_running("far0");
      far_.emplace("far0");
    });
  }

  static PacketRingOptions options(unsigned slots = 64) {
    return {.interface_index = interface_index("eth0"), .mtu = 1500, .slots = slots};
  }
  RawPort& far() { return *far_; }

  // The next `count` frames, fewer when no more come.
  static std::vector<CapturedFrame> receive(PacketRing& ring, std::size_t count) {
    std::vector<CapturedFrame> all;
    while (all.size() < count) {
      std::array<CapturedFrame, 16> some;
      const std::size_t received =
          ring.receive(std::span(some).first(std::min(some.size(), count - all.size())));
      all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(received));
      if (received > 0) continue;
      ring.wait(kSoon);
      if (ring.empty()) break;
    }
    return all;
  }

  static void give_back(PacketRing& ring, const std::vector<CapturedFrame>& frames) {
    std::vector<std::uint32_t> slots;
    for (const CapturedFrame& frame : frames) slots.push_back(frame.slot);
    ring.give_back(slots);
  }

  static Frame bytes_of(const CapturedFrame& captured) {
    return {captured.frame.begin(), captured.frame.end()};
  }

 private:
  std::optional<RawPort> far_;
};

TEST_F(PacketRingTest, GivesFramesInTheOrderInWhichTheyArrived) {
  PacketRing ring(options());
  EXPECT_TRUE(ring.empty());
  for (std::uint8_t i = 0; i < 20; ++i) far().send(numbered_frame(i));
  const auto frames = receive(ring, 20);
  ASSERT_EQ(frames.size(), 20u);
  for (std::uint8_t i = 0; i < 20; ++i) {
    EXPECT_EQ(bytes_of(frames[i]), numbered_frame(i));
    EXPECT_EQ(frames[i].wire_length, frames[i].frame.size());
    EXPECT_EQ(frames[i].vlan_tpid, 0);
  }
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.lost(), 0u);
}

TEST_F(PacketRingTest, GoesRoundWithSlotsOutstanding) {
  PacketRing ring(options());
  const std::size_t slots = ring.slots();
  std::uint8_t number = 0;
  for (std::size_t batch = 0; batch < 5; ++batch) {
    for (std::size_t i = 0; i < slots - 1; ++i)
      far().send(numbered_frame(static_cast<std::uint8_t>(number + i)));
    const auto frames = receive(ring, slots - 1);
    ASSERT_EQ(frames.size(), slots - 1);
    for (const CapturedFrame& frame : frames) EXPECT_EQ(bytes_of(frame), numbered_frame(number++));
    give_back(ring, frames);
  }
  EXPECT_EQ(ring.lost(), 0u);
}

TEST_F(PacketRingTest, DoesNotGiveAFrameTwiceThatIsNotGivenBack) {
  PacketRing ring(options());
  for (std::size_t i = 0; i < ring.slots(); ++i) far().send(numbered_frame(1));
  const auto frames = receive(ring, ring.slots());
  ASSERT_EQ(frames.size(), ring.slots());
  std::array<CapturedFrame, 4> more;
  EXPECT_EQ(ring.receive(more), 0u);
  EXPECT_TRUE(ring.empty());
  ring.wait(milliseconds(20));  // returns: nothing is to be received
  give_back(ring, frames);
  EXPECT_EQ(ring.receive(more), 0u);
  far().send(numbered_frame(2));
  EXPECT_EQ(bytes_of(receive(ring, 1).at(0)), numbered_frame(2));
}

TEST_F(PacketRingTest, CountsWhatFindsTheRingFull) {
  PacketRing ring(options());
  for (std::size_t i = 0; i < ring.slots() + 7; ++i) far().send(numbered_frame(1));
  const auto frames = receive(ring, ring.slots());
  ASSERT_EQ(frames.size(), ring.slots());
  EXPECT_EQ(ring.lost(), 7u);
  EXPECT_EQ(ring.lost(), 7u) << "reading does not reset it";
  give_back(ring, frames);
  for (std::size_t i = 0; i < ring.slots() + 2; ++i) far().send(numbered_frame(1));
  ASSERT_EQ(receive(ring, ring.slots()).size(), ring.slots());
  EXPECT_EQ(ring.lost(), 9u);
}

TEST_F(PacketRingTest, AFrameOfTheMtuWithTwoTagsIsWhole) {
  PacketRing ring(options());
  const auto tagged = [](std::size_t size) {
    return PacketBuilder()
        .vlan(7, ETH_P_8021AD)
        .vlan(9)
        .ipv4(kFar4, kNear4)
        .udp(4000, 9)
        .frame_size(size)
        .build();
  };
  lab().on_far_host([this] { lab().run("ip link set far0 mtu 1508"); });
  lab().run("ip link set eth0 mtu 1508");
  far().send(tagged(14 + 8 + 1500));
  const CapturedFrame captured = receive(ring, 1).at(0);
  EXPECT_EQ(captured.vlan_tpid, ETH_P_8021AD);
  EXPECT_EQ(captured.vlan_tci, 7);
  EXPECT_EQ(captured.frame.size(), 14u + 4 + 1500);
  EXPECT_EQ(captured.wire_length, captured.frame.size());
}

TEST_F(PacketRingTest, ALongerFrameShowsThatItIsClipped) {
  PacketRingOptions small = options();
  small.mtu = 500;
  PacketRing ring(small);
  far().send(numbered_frame(1, 1400));
  far().send(numbered_frame(2, 400));
  const auto frames = receive(ring, 2);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].wire_length, 14u + 20 + 8 + 1400);
  EXPECT_LT(frames[0].frame.size(), frames[0].wire_length);
  EXPECT_GE(frames[0].frame.size(), 514u);
  EXPECT_EQ(bytes_of(frames[1]), numbered_frame(2, 400));
}

TEST_F(PacketRingTest, SeesNeitherWhatItsHostSendsNorOtherInterfaces) {
  lab().run("ip link add eth1 type veth peer name eth2 && ip link set eth1 up && ip link set eth2 up");
  PacketRing ring(options());
  RawPort("eth0").send(numbered_frame(1));
  RawPort("eth1").send(numbered_frame(2));
  far().send(numbered_frame(3));
  EXPECT_EQ(bytes_of(receive(ring, 1).at(0)), numbered_frame(3));
}

TEST_F(PacketRingTest, HasAsManySlotsAsAskedWithinItsBoundOfMemory) {
  PacketRingOptions wanted = options(16'384);
  EXPECT_GE(PacketRing(wanted).slots(), 16'384u);
  wanted.mtu = 65'535;
  const std::size_t jumbo = PacketRing(wanted).slots();
  EXPECT_GE(jumbo, 500u);
  EXPECT_LE(jumbo * 65'535, kMaxRingBytes);
}

TEST_F(PacketRingTest, WaitEndsWithAFrameAnInterruptOrTheTime) {
  PacketRing ring(options());
  ring.wait(Duration::zero());
  ring.wait(milliseconds(1));
  EXPECT_TRUE(ring.empty());
  ring.interrupt();  // before the wait
  ring.wait(std::nullopt);
  std::thread interrupter([&ring] { ring.interrupt(); });
  ring.wait(std::nullopt);
  interrupter.join();
  std::thread sender([this] { far().send(numbered_frame(1)); });
  ring.wait(std::nullopt);
  sender.join();
  EXPECT_FALSE(ring.empty());
}

TEST_F(PacketRingTest, WaitSeesAFrameAndAnInterruptWhileOthersAreNotGivenBack) {
  PacketRing ring(options());
  far().send(numbered_frame(1));
  const auto held = receive(ring, 1);
  ASSERT_EQ(held.size(), 1u);
  std::thread sender([this] {
    std::this_thread::sleep_for(milliseconds(20));
    far().send(numbered_frame(2));
  });
  ring.wait(std::nullopt);
  sender.join();
  EXPECT_EQ(bytes_of(receive(ring, 1).at(0)), numbered_frame(2));
  std::thread interrupter([&ring] {
    std::this_thread::sleep_for(milliseconds(20));
    ring.interrupt();
  });
  ring.wait(std::nullopt);
  interrupter.join();
}

TEST_F(PacketRingTest, SurvivesItsDeviceBeingDown) {
  PacketRing ring(options());
  lab().run("ip link set eth0 down");
  ring.wait(milliseconds(20));
  lab().run("ip link set eth0 up");
  lab().on_far_host([] { wait_until_running("far0"); });
  far().send(numbered_frame(1));
  EXPECT_EQ(bytes_of(receive(ring, 1).at(0)), numbered_frame(1));
}

TEST_F(PacketRingTest, WaitThrowsWhenTheDeviceIsDeleted) {
  PacketRing ring(options());
  far().send(numbered_frame(1));
  ring.wait(kSoon);
  lab().run("ip link del eth0");
  EXPECT_EQ(bytes_of(receive(ring, 1).at(0)), numbered_frame(1)) << "what was captured is still there";
  EXPECT_THROW(ring.wait(kSoon), std::system_error);
  EXPECT_THROW(ring.wait(std::nullopt), std::system_error) << "also the next time";
}

TEST_F(PacketRingTest, AnInterfaceThatDoesNotExistIsRefused) {
  PacketRingOptions none = options();
  none.interface_index = 4711;
  EXPECT_THROW(PacketRing ring(none), std::system_error);
}

}  // namespace
}  // namespace headgate::test
