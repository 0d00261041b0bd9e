#include <gtest/gtest.h>

#include "linux/divert_fixture.hpp"
#include "linux/netlink.hpp"
#include "linux/timer_waiter.hpp"

namespace headgate::test {
namespace {

using std::chrono::milliseconds;

constexpr Duration kTripAfter = milliseconds(500);  // what the dead-man switch promises

class DeadManSwitchTest : public DivertTest {};
INSTANTIATE_FOR_BOTH_METHODS(DeadManSwitchTest);

TEST_P(DeadManSwitchTest, WhenNobodyReadsThePacketsPassUnshapedUntilSomebodyReadsAgain) {
  RETURN_UNLESS_APPLICABLE();
  MonotonicClock clock;
  UdpProbe probe(lab());
  LoneDivert divert(options());
  Capture capture(divert);
  divert.attach();
  probe.send("unread");
  EXPECT_GT(divert.unread_for(clock.now()), Duration::zero());
  send_until_one_passes(probe);
  EXPECT_GT(divert.unread_for(clock.now()), kTripAfter);
  EXPECT_GE(divert.unshaped().packets, 1u);

  while (capture.receive(Duration::zero())) continue;
  EXPECT_LT(divert.unread_for(clock.now()), kTripAfter);
  probe.send("diverted again");
  EXPECT_TRUE(capture.receive(kSoon));
  EXPECT_FALSE(probe.receive(Duration::zero()));
}

TEST_P(DeadManSwitchTest, AReaderWithoutTrafficDoesNotTripTheSwitch) {
  RETURN_UNLESS_APPLICABLE();
  UdpProbe probe(lab());
  LoneDivert divert(options());
  Capture capture(divert);
  divert.attach();
  probe.send("first");
  ASSERT_TRUE(capture.receive(kSoon));
  EXPECT_FALSE(capture.receive(kTripAfter + milliseconds(100)));
  probe.send("second");
  EXPECT_TRUE(capture.receive(kSoon));
  EXPECT_EQ(divert.unshaped().packets, 0u);
}

TEST_P(DeadManSwitchTest, ADivertDeviceThatIsGoneOpensTheHostByTheSwitch) {
  RETURN_UNLESS_APPLICABLE();
  UdpProbe probe(lab());
  LoneDivert divert(options());
  divert.attach();
  Netlink().delete_link(divert.device_index());
  send_until_one_passes(probe);
}

}  // namespace
}  // namespace headgate::test
