#include "linux/bulk_release.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "linux/divert_device.hpp"
#include "linux/divert_fixture.hpp"
#include "linux/packet_ring.hpp"
#include "linux/packet_transmitter.hpp"

namespace headgate::test {
namespace {

using testing::Contains;
using testing::IsSupersetOf;
using testing::UnorderedElementsAre;

// The group that devices are given to be deleted, when nobody else uses it.
constexpr char kFirstGroupToDelete[] = "0x68670000";

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// What a shape has of the kernel and waits for when it gives it back.
struct Captured {
  explicit Captured(Netlink& netlink)
      : device(netlink, "headgate egress of eth0", 1500, DivertDevice::Offload::none,
               DivertDevice::Offload::none),
        ring({.device_index = device.device().index, .slots = 64}),
        transmitter({.interface_index = interface_index("eth0"), .mark = 1}) {}

  DivertDevice device;
  PacketRing ring;
  PacketTransmitter transmitter;
};

class BulkReleaseTest : public NetworkLabTest {
 protected:
  void SetUp() override {
    NetworkLabTest::SetUp();
    if (!IsSkipped()) netlink_.emplace();
  }
  Netlink& netlink() { return *netlink_; }
  std::vector<std::unique_ptr<Captured>> several(std::size_t count) {
    std::vector<std::unique_ptr<Captured>> made;
    while (made.size() < count) made.push_back(std::make_unique<Captured>(netlink()));
    return made;
  }

 private:
  std::optional<Netlink> netlink_;
};

TEST_F(BulkReleaseTest, WhatIsDestroyedMeanwhileGoesWhenItEnds) {
  const std::ptrdiff_t descriptors = open_descriptors();
  auto captured = several(20);
  {
    const BulkRelease release;
    captured.clear();
    EXPECT_THAT(names_of_links(), IsSupersetOf({"hg0", "hg0p", "hg19", "hg19p"}));
  }
  EXPECT_THAT(names_of_links(), UnorderedElementsAre("lo", "eth0"));
  EXPECT_EQ(open_descriptors(), descriptors);
}

TEST_F(BulkReleaseTest, WithoutOneEverythingGoesAtOnce) {
  const std::ptrdiff_t descriptors = open_descriptors();
  { const BulkRelease release; }
  several(1).clear();
  EXPECT_THAT(names_of_links(), UnorderedElementsAre("lo", "eth0"));
  EXPECT_EQ(open_descriptors(), descriptors);
}

TEST_F(BulkReleaseTest, DevicesOfOthersStayWhateverTheirGroup) {
  lab().run("ip link add others0 type veth peer name others1");
  lab().run("ip link set others0 group " + std::string(kFirstGroupToDelete));
  const auto staying = several(1);
  auto going = several(2);
  {
    const BulkRelease release;
    going.clear();
  }
  EXPECT_THAT(names_of_links(), UnorderedElementsAre("lo", "eth0", "others0", "others1", "hg0", "hg0p"));
}

TEST_F(BulkReleaseTest, ADeviceThatIsGoneAlreadyDoesNotKeepTheRest) {
  auto captured = several(3);
  {
    const BulkRelease release;
    captured.clear();
    lab().run("ip link del hg1");
  }
  EXPECT_THAT(names_of_links(), UnorderedElementsAre("lo", "eth0"));
}

// As of a daemon that is killed while it stops.
TEST_F(BulkReleaseTest, ADeviceOnItsWayOutIsStillKnownAsALeftover) {
  auto captured = several(1);
  lab().run("ip link set hg0 group " + std::string(kFirstGroupToDelete));
  const auto link = netlink().find_link("hg0");
  ASSERT_TRUE(link);
  EXPECT_TRUE(DivertDevice::is_one(*link));
}

}  // namespace
}  // namespace headgate::test
