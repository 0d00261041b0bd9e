#include "linux/hook_trial.hpp"

#include <gtest/gtest.h>

#include "linux/divert_fixture.hpp"

namespace headgate::test {
namespace {

class HookTrialTest : public DivertTest {};
INSTANTIATE_FOR_BOTH_METHODS(HookTrialTest);

HookVerdict verdict_of(const TrafficDivert& divert, std::uint32_t mark = 0) {
  const HookTrialResult tried = divert.try_hook({}, udp_frame(), mark);
  EXPECT_EQ(tried.why_not_asked, "");
  return tried.verdict;
}

TEST_P(HookTrialTest, TellsWhatWouldBeTakenOutAndLeavesNoTrace) {
  RETURN_UNLESS_APPLICABLE();
  MonotonicClock clock;
  LoneDivert divert(options());
  Capture capture(divert);
  EXPECT_EQ(verdict_of(divert), HookVerdict::open);
  divert.attach();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(verdict_of(divert), HookVerdict::taken_out);
  EXPECT_EQ(verdict_of(divert, Forwarder::kMark), HookVerdict::own_packet);
  EXPECT_EQ(divert.unread_for(clock.now()), Duration::zero())
      << "the dead-man switch waits for it to be read";
  EXPECT_FALSE(capture.receive(std::chrono::milliseconds(100)));
  divert.detach();
  EXPECT_EQ(verdict_of(divert), HookVerdict::open);
}

TEST_P(HookTrialTest, TellsThatTheDeadManSwitchIsOpen) {
  RETURN_UNLESS_APPLICABLE();
  UdpProbe probe(lab());
  LoneDivert divert(options());
  Capture capture(divert);
  divert.attach();
  probe.send("unread");
  send_until_one_passes(probe);
  const std::uint64_t passed = divert.unshaped().packets;
  EXPECT_EQ(verdict_of(divert), HookVerdict::reader_dead);
  EXPECT_EQ(divert.unshaped().packets, passed);
  while (capture.receive(Duration::zero())) continue;
  EXPECT_EQ(verdict_of(divert), HookVerdict::taken_out);
}

TEST_P(HookTrialTest, SaysWhyAPacketCannotBeTried) {
  RETURN_UNLESS_APPLICABLE();
  LoneDivert divert(options());
  Capture capture(divert);
  divert.attach();
  const Frame too_long(60'000);
  const HookTrialResult tried = divert.try_hook({}, too_long, 0);
  EXPECT_EQ(tried.verdict, HookVerdict::not_asked);
  EXPECT_NE(tried.why_not_asked.find("60000 bytes"), std::string::npos) << tried.why_not_asked;
}

}  // namespace
}  // namespace headgate::test
