#include "linux/packet_ring.hpp"

#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <sys/resource.h>
#include "linux/source_waiter.hpp"

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

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

// A ring on eth0, on which is sent.
class PacketRingTest : public NetworkLabTest {
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

  static PacketRingOptions options(unsigned slots = 64) {
    return {.device_index = interface_index("eth0"), .mtu = 1500, .slots = slots};
  }
  RawPort& near() { return *near_; }

  // The next `count` frames, fewer when no more come.
  static std::vector<CapturedFrame> receive(PacketRing& ring, std::size_t count) {
    std::vector<CapturedFrame> all;
    while (all.size() < count) {
      std::array<CapturedFrame, 16> some;
      const std::size_t received =
          ring.receive(std::span(some).first(std::min(some.size(), count - all.size())));
      all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(received));
      if (received > 0) continue;
      SourceWaiter(ring).wait(kSoon);
      if (!ring.waiting()) break;
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
  std::optional<RawPort> near_;
};

TEST_F(PacketRingTest, GivesFramesInTheOrderInWhichTheyWereSent) {
  PacketRing ring(options());
  EXPECT_FALSE(ring.waiting());
  for (std::uint8_t i = 0; i < 20; ++i) near().send(numbered_frame(i));
  const auto frames = receive(ring, 20);
  ASSERT_EQ(frames.size(), 20u);
  for (std::uint8_t i = 0; i < 20; ++i) {
    EXPECT_EQ(bytes_of(frames[i]), numbered_frame(i));
    EXPECT_EQ(frames[i].wire_length, frames[i].frame.size());
    EXPECT_EQ(frames[i].vlan_tpid, 0);
  }
  EXPECT_FALSE(ring.waiting());
  EXPECT_EQ(ring.counts().lost, 0u);
}

TEST_F(PacketRingTest, SaysHowLongTheFirstOfABatchHasWaited) {
  PacketRing ring(options());
  near().send(numbered_frame(0));
  std::this_thread::sleep_for(milliseconds(60));
  near().send(numbered_frame(1));
  ASSERT_EQ(receive(ring, 2).size(), 2u);
  EXPECT_GE(ring.waited(), milliseconds(60));
  std::this_thread::sleep_for(milliseconds(60));
  const Duration before = ring.waited();
  near().send(numbered_frame(2));
  ASSERT_EQ(receive(ring, 1).size(), 1u);
  EXPECT_LT(ring.waited(), before);
}

TEST_F(PacketRingTest, GoesRoundWithSlotsOutstanding) {
  PacketRing ring(options());
  const std::size_t slots = ring.slots();
  std::uint8_t number = 0;
  for (std::size_t batch = 0; batch < 5; ++batch) {
    for (std::size_t i = 0; i < slots - 1; ++i)
      near().send(numbered_frame(static_cast<std::uint8_t>(number + i)));
    const auto frames = receive(ring, slots - 1);
    ASSERT_EQ(frames.size(), slots - 1);
    for (const CapturedFrame& frame : frames) EXPECT_EQ(bytes_of(frame), numbered_frame(number++));
    give_back(ring, frames);
  }
  EXPECT_EQ(ring.counts().lost, 0u);
}

TEST_F(PacketRingTest, DoesNotGiveAFrameTwiceThatIsNotGivenBack) {
  PacketRing ring(options());
  for (std::size_t i = 0; i < ring.slots(); ++i) near().send(numbered_frame(1));
  const auto frames = receive(ring, ring.slots());
  ASSERT_EQ(frames.size(), ring.slots());
  std::array<CapturedFrame, 4> more;
  EXPECT_EQ(ring.receive(more), 0u);
  SourceWaiter(ring).wait(milliseconds(20));  // returns: nothing is to be received
  give_back(ring, frames);
  EXPECT_EQ(ring.receive(more), 0u);
  near().send(numbered_frame(2));
  EXPECT_EQ(bytes_of(receive(ring, 1).at(0)), numbered_frame(2));
}

TEST_F(PacketRingTest, CountsWhatFindsTheRingFull) {
  PacketRing ring(options());
  for (std::size_t i = 0; i < ring.slots() + 7; ++i) near().send(numbered_frame(1));
  const auto frames = receive(ring, ring.slots());
  ASSERT_EQ(frames.size(), ring.slots());
  EXPECT_EQ(ring.counts().lost, 7u);
  EXPECT_EQ(ring.counts().lost, 7u) << "reading does not reset it";
  give_back(ring, frames);
  for (std::size_t i = 0; i < ring.slots() + 2; ++i) near().send(numbered_frame(1));
  ASSERT_EQ(receive(ring, ring.slots()).size(), ring.slots());
  EXPECT_EQ(ring.counts().lost, 9u);
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
  near().send(tagged(14 + 8 + 1500));
  const CapturedFrame captured = receive(ring, 1).at(0);
  EXPECT_EQ(bytes_of(captured), tagged(14 + 8 + 1500));
  EXPECT_EQ(captured.wire_length, captured.frame.size());
}

TEST_F(PacketRingTest, ALongerFrameShowsThatItIsClipped) {
  PacketRingOptions small = options();
  small.mtu = 500;
  PacketRing ring(small);
  near().send(numbered_frame(1, 1400));
  near().send(numbered_frame(2, 400));
  const auto frames = receive(ring, 2);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].wire_length, 14u + 20 + 8 + 1400);
  EXPECT_LT(frames[0].frame.size(), frames[0].wire_length);
  EXPECT_GE(frames[0].frame.size(), 514u);
  EXPECT_EQ(bytes_of(frames[1]), numbered_frame(2, 400));
}

TEST_F(PacketRingTest, SeesNeitherWhatArrivesNorOtherDevices) {
  lab().run("ip link add eth1 type veth peer name eth2 && ip link set eth1 up && ip link set eth2 up");
  PacketRing ring(options());
  lab().on_far_host([] { RawPort("far0").send(numbered_frame(1)); });
  RawPort("eth1").send(numbered_frame(2));
  near().send(numbered_frame(3));
  EXPECT_EQ(bytes_of(receive(ring, 1).at(0)), numbered_frame(3));
}

TEST_F(PacketRingTest, HasAsManySlotsAsAskedWithinItsBoundOfMemory) {
  PacketRingOptions wanted = options(16'384);
  EXPECT_GE(PacketRing(wanted).slots(), 16'384u);
  wanted.mtu = 65'535;
  const std::size_t jumbo = PacketRing(wanted).slots();
  EXPECT_GE(jumbo, 500u);
  EXPECT_LE(jumbo * 65'535, kMaxRingBytes);
  wanted.max_bytes = kMaxRingBytes / 4;
  EXPECT_LE(PacketRing(wanted).slots() * 65'535, kMaxRingBytes / 4);
}

TEST_F(PacketRingTest, AWaitEndsWithAFrameAWakeUpOrTheTime) {
  PacketRing ring(options());
  SourceWaiter waiter(ring);
  waiter.wait(Duration::zero());
  waiter.wait(milliseconds(1));
  EXPECT_FALSE(ring.waiting());
  waiter.prepare();
  std::thread waker([&waiter] { waiter.wake(); });
  waiter.wait_prepared(std::nullopt);
  waker.join();
  std::thread sender([this] { near().send(numbered_frame(1)); });
  waiter.wait(std::nullopt);
  sender.join();
  EXPECT_TRUE(ring.waiting());
}

TEST_F(PacketRingTest, AWaitSeesAFrameAndAWakeUpWhileOthersAreNotGivenBack) {
  PacketRing ring(options());
  near().send(numbered_frame(1));
  const auto held = receive(ring, 1);
  ASSERT_EQ(held.size(), 1u);
  std::thread sender([this] {
    std::this_thread::sleep_for(milliseconds(20));
    near().send(numbered_frame(2));
  });
  SourceWaiter waiter(ring);
  waiter.wait(std::nullopt);
  sender.join();
  EXPECT_EQ(bytes_of(receive(ring, 1).at(0)), numbered_frame(2));
  waiter.prepare();
  std::thread waker([&waiter] {
    std::this_thread::sleep_for(milliseconds(20));
    waiter.wake();
  });
  waiter.wait_prepared(std::nullopt);
  waker.join();
}

// The socket stays readable while the slot before the next one is out.
TEST_F(PacketRingTest, AWaitRestsAgainWhenTheSlotsAreBack) {
  PacketRing ring(options());
  near().send(numbered_frame(1));
  const auto frames = receive(ring, 1);
  ASSERT_EQ(frames.size(), 1u);
  SourceWaiter waiter(ring);
  long wake_ups = 0;
  std::thread sleeper([&] {
    rusage before{};
    rusage after{};
    getrusage(RUSAGE_THREAD, &before);
    waiter.wait(kSoon);
    getrusage(RUSAGE_THREAD, &after);
    wake_ups = after.ru_nvcsw - before.ru_nvcsw;
  });
  std::this_thread::sleep_for(milliseconds(50));
  give_back(ring, frames);
  std::this_thread::sleep_for(seconds(1));
  waiter.wake();
  sleeper.join();
  EXPECT_LT(wake_ups, 300);  // while it does not rest it wakes up a thousand times a second
}

TEST_F(PacketRingTest, SurvivesItsDeviceBeingDown) {
  PacketRing ring(options());
  lab().run("ip link set eth0 down");
  SourceWaiter(ring).wait(milliseconds(20));
  std::array<CapturedFrame, 1> none;
  EXPECT_EQ(ring.receive(none), 0u);
  lab().run("ip link set eth0 up");
  wait_until_running("eth0");
  RawPort("eth0").send(numbered_frame(1));
  EXPECT_EQ(bytes_of(receive(ring, 1).at(0)), numbered_frame(1));
}

TEST_F(PacketRingTest, ReceiveThrowsWhenTheDeviceIsDeleted) {
  PacketRing ring(options());
  near().send(numbered_frame(1));
  SourceWaiter waiter(ring);
  waiter.wait(kSoon);
  lab().run("ip link del eth0");
  EXPECT_EQ(bytes_of(receive(ring, 1).at(0)), numbered_frame(1)) << "what was captured is still there";
  waiter.wait(kSoon);
  std::array<CapturedFrame, 1> none;
  EXPECT_THROW(ring.receive(none), std::system_error);
  EXPECT_THROW(ring.receive(none), std::system_error) << "also the next time";
}

TEST_F(PacketRingTest, AnInterfaceThatDoesNotExistIsRefused) {
  PacketRingOptions none = options();
  none.device_index = 4711;
  EXPECT_THROW(PacketRing ring(none), std::system_error);
}

// A ring whose slots several threads give back, in any order.
class SharedSlotsTest : public PacketRingTest {
 protected:
  static PacketRingOptions options(unsigned slots = 64) {
    PacketRingOptions made = PacketRingTest::options(slots);
    made.several_consumers = true;
    return made;
  }
};

TEST_F(SharedSlotsTest, ASlotThatIsOutIsNeverTakenForANewFrame) {
  PacketRing ring(options());
  const auto slots = static_cast<std::uint8_t>(ring.slots());
  for (std::uint8_t i = 0; i < slots; ++i) near().send(numbered_frame(i));
  const auto first = receive(ring, slots);
  ASSERT_EQ(first.size(), slots);
  EXPECT_FALSE(ring.waiting());
  EXPECT_FALSE(ring.waiting());

  // All but the oldest come back, the youngest first: the kernel must not get past the oldest.
  std::vector<CapturedFrame> young(first.rbegin(), first.rend() - 1);
  give_back(ring, young);
  near().send(numbered_frame(200));
  std::array<CapturedFrame, 4> more;
  EXPECT_EQ(ring.receive(more), 0u);
  EXPECT_EQ(bytes_of(first[0]), numbered_frame(0)) << "still ours";
  EXPECT_EQ(ring.counts().lost, 1u);

  give_back(ring, {first[0]});
  for (std::uint8_t i = 0; i < slots; ++i) near().send(numbered_frame(static_cast<std::uint8_t>(100 + i)));
  const auto second = receive(ring, slots);
  ASSERT_EQ(second.size(), slots);
  for (std::uint8_t i = 0; i < slots; ++i)
    EXPECT_EQ(bytes_of(second[i]), numbered_frame(static_cast<std::uint8_t>(100 + i)));
  EXPECT_EQ(ring.counts().lost, 1u);
}

TEST_F(SharedSlotsTest, GoesRoundManyTimesWhateverTheOrderOfReturn) {
  PacketRing ring(options());
  std::uint8_t sent = 0;
  std::uint8_t expected = 0;
  std::deque<CapturedFrame> out;
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 10; ++i) near().send(numbered_frame(sent++));
    for (const CapturedFrame& frame : receive(ring, 10)) {
      EXPECT_EQ(bytes_of(frame), numbered_frame(expected++));
      out.push_back(frame);
    }
    // Younger ones first, some only rounds later.
    while (out.size() > 20) {
      const std::size_t at = static_cast<std::size_t>(round * 7) % 15;
      give_back(ring, {out[at]});
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(at));
      if (at == 0) continue;
      give_back(ring, {out.front()});
      out.pop_front();
    }
  }
  EXPECT_EQ(sent, expected);
  EXPECT_EQ(ring.counts().lost, 0u);
}

TEST_F(SharedSlotsTest, SaysToAnyThreadWhetherAFrameWaits) {
  PacketRing ring(options());
  EXPECT_FALSE(ring.waiting());
  near().send(numbered_frame(1));
  SourceWaiter(ring).wait(kSoon);
  EXPECT_TRUE(ring.waiting());
  const auto frames = receive(ring, 1);
  EXPECT_FALSE(ring.waiting()) << "though it is not given back";
  give_back(ring, frames);
  EXPECT_FALSE(ring.waiting());
}

// Several rings that share what is sent on eth0.
class SharedPacketsTest : public SharedSlotsTest {
 protected:
  static constexpr std::size_t kRings = 4;

  void SetUp() override {
    SharedSlotsTest::SetUp();
    if (IsSkipped()) return;
    rings_ = open();
  }

  static std::vector<std::unique_ptr<PacketRing>> open() {
    std::vector<std::unique_ptr<PacketRing>> rings;
    for (std::size_t i = 0; i < kRings; ++i) {
      rings.push_back(std::make_unique<PacketRing>(options(2048)));
      if (i == 0) rings[0]->share_packets();
      if (i > 0) rings[i]->share_packets_of(*rings[0]);
    }
    return rings;
  }

  // All that has come, by ring.
  std::vector<std::vector<Frame>> received() {
    std::vector<std::vector<Frame>> all(kRings);
    for (std::size_t i = 0; i < kRings; ++i) {
      std::array<CapturedFrame, 64> some;
      while (const std::size_t count = rings_[i]->receive(some)) {
        std::vector<CapturedFrame> frames(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
        for (const CapturedFrame& frame : frames) all[i].push_back(bytes_of(frame));
        give_back(*rings_[i], frames);
      }
    }
    return all;
  }

  std::vector<std::unique_ptr<PacketRing>> rings_;
};

TEST_F(SharedPacketsTest, GiveAllOfAConnectionToOneRingInOrder) {
  constexpr std::uint16_t kConnections = 64;
  constexpr std::uint8_t kEach = 20;
  for (std::uint8_t number = 0; number < kEach; ++number) {
    for (std::uint16_t connection = 0; connection < kConnections; ++connection) {
      PacketBuilder packet;
      if (connection % 2 == 0) packet.ipv4(kFar4, kNear4);
      if (connection % 2 == 1) packet.ipv6(kFar6, kNear6);
      if (connection % 4 < 2) packet.udp(static_cast<std::uint16_t>(4000 + connection), 9);
      if (connection % 4 >= 2) packet.tcp(static_cast<std::uint16_t>(4000 + connection), 9);
      packet.payload(std::vector<std::uint8_t>(20, number));
      near().send(packet.build());
    }
  }
  std::map<std::pair<int, int>, std::set<std::size_t>> rings_of;
  std::map<std::pair<int, int>, std::uint8_t> next;
  std::size_t rings_used = 0;
  const auto all = received();
  for (std::size_t ring = 0; ring < kRings; ++ring) {
    rings_used += all[ring].empty() ? 0 : 1;
    for (const Frame& frame : all[ring]) {
      const std::size_t ports_at = frame[12] == std::byte{0x08} ? 34 : 54;
      const std::pair connection{static_cast<int>(frame[ports_at]), static_cast<int>(frame[ports_at + 1])};
      rings_of[connection].insert(ring);
      EXPECT_EQ(static_cast<std::uint8_t>(frame.back()), next[connection]++);
    }
  }
  EXPECT_EQ(rings_of.size(), kConnections);
  for (const auto& [connection, rings] : rings_of) EXPECT_EQ(rings.size(), 1u);
  EXPECT_GT(rings_used, 1u);
}

// As a host hands them to its interface where a VLAN device has put the tag into the frame.
TEST_F(SharedPacketsTest, GiveTaggedPacketsOfAConnectionToOneRingWhateverTheirLength) {
  constexpr std::uint16_t kConnections = 32;
  constexpr std::size_t kShortest = 20, kLongest = 60;
  for (std::size_t payload = kShortest; payload < kLongest; ++payload) {
    for (std::uint16_t connection = 0; connection < kConnections; ++connection) {
      PacketBuilder packet;
      packet.vlan(5, connection % 4 < 2 ? 0x88a8 : 0x8100);
      if (connection % 4 == 3) packet.vlan(6);
      if (connection % 2 == 0) packet.ipv4(kFar4, kNear4);
      if (connection % 2 == 1) packet.ipv6(kFar6, kNear6);
      packet.tcp(4000, 9);
      packet.payload(std::vector<std::uint8_t>(payload, static_cast<std::uint8_t>(connection)));
      near().send(packet.build());
    }
  }
  // All of IPv4, and all of IPv6, are one connection here.
  std::map<bool, std::set<std::size_t>> rings_of;
  std::size_t count = 0;
  const auto all = received();
  for (std::size_t ring = 0; ring < kRings; ++ring) {
    for (const Frame& frame : all[ring]) rings_of[(frame.back() & std::byte{1}) != std::byte{0}].insert(ring);
    count += all[ring].size();
  }
  EXPECT_EQ(count, (kLongest - kShortest) * kConnections);
  for (const auto& [ipv6, rings] : rings_of) EXPECT_EQ(rings.size(), 1u);
}

TEST_F(SharedPacketsTest, GiveAllFragmentsOfADatagramToOneRing) {
  constexpr int kDatagrams = 32;
  for (int i = 0; i < kDatagrams; ++i) {
    const auto port = static_cast<std::uint16_t>(4000 + i);
    const auto number = static_cast<std::uint8_t>(i);
    const std::string from = "10.77.1." + std::to_string(1 + i);
    near().send(PacketBuilder()
                    .ipv4(from, kNear4)
                    .udp(port, 9)
                    .payload(std::vector<std::uint8_t>(72, number))
                    .fragment(0, true)
                    .build());
    for (const std::uint16_t offset : {80, 160, 240}) {
      near().send(PacketBuilder()
                      .ipv4(from, kNear4)
                      .protocol(17)
                      .payload(std::vector<std::uint8_t>(80, number))
                      .fragment(offset, offset < 240)
                      .build());
    }
  }
  std::map<int, std::set<std::size_t>> rings_of;
  std::map<int, int> fragments;
  const auto all = received();
  for (std::size_t ring = 0; ring < kRings; ++ring) {
    for (const Frame& frame : all[ring]) {
      rings_of[static_cast<int>(frame.back())].insert(ring);
      ++fragments[static_cast<int>(frame.back())];
    }
  }
  EXPECT_EQ(rings_of.size(), std::size_t{kDatagrams});
  for (const auto& [datagram, rings] : rings_of) {
    EXPECT_EQ(rings.size(), 1u) << "datagram " << datagram;
    EXPECT_EQ(fragments[datagram], 4);
  }
}

TEST_F(SharedPacketsTest, SeeNothingThatArrives) {
  lab().on_far_host([] {
    RawPort far("far0");
    for (std::uint8_t i = 0; i < 50; ++i) far.send(numbered_frame(i));
  });
  near().send(numbered_frame(99));
  std::size_t count = 0;
  for (const auto& frames : received()) count += frames.size();
  EXPECT_EQ(count, 1u);
}

TEST_F(SharedPacketsTest, ASecondGroupOnTheSameDeviceIsAnother) {
  const auto others = open();
  for (std::uint8_t i = 0; i < 20; ++i) near().send(numbered_frame(i));
  std::size_t count = 0;
  for (const auto& frames : received()) count += frames.size();
  EXPECT_EQ(count, 20u);
}

}  // namespace
}  // namespace headgate::test
