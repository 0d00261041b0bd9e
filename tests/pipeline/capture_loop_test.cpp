#include "pipeline/capture_loop.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include "support/fake_packet_io.hpp"
#include "support/packet_builder.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ClassConfig everything(const std::string& name) {
  ClassConfig config{.name = name, .rate = {.packets = PacketRate{1000}}};
  config.key.destination_address = true;
  return config;
}

std::shared_ptr<const Classifier> classifier_of(std::vector<ClassConfig> classes) {
  std::vector<std::unique_ptr<PacketMatcher>> matchers(classes.size());
  return std::make_shared<const Classifier>(std::move(classes), std::move(matchers), 1);
}

Frame udp_frame() {
  return PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(1000, 2000).payload(18).build();
}
Frame arp_frame() {
  return PacketBuilder().arp("10.0.0.1", "10.0.0.2").build();
}

class CaptureLoopTest : public testing::Test {
 protected:
  // Runs the loop until the script has no more steps; a step runs each time the loop would block.
  void run(std::vector<std::function<void(std::optional<Duration>)>> steps) {
    std::size_t next = 0;
    source_.on_wait = [&](std::optional<Duration> timeout) {
      if (next == steps.size()) return loop_.stop();
      steps[next++](timeout);
    };
    loop_.run();
  }

  std::vector<HandOffEntry> handed_over() {
    std::vector<HandOffEntry> all;
    for (auto entries = hand_off_.peek(1024); !entries.empty(); entries = hand_off_.peek(1024)) {
      all.insert(all.end(), entries.begin(), entries.end());
      hand_off_.consume(entries.size());
    }
    return all;
  }

  ManualClock clock_;
  FakePacketSource source_;
  HandOff hand_off_{2048};
  FakeWaiter waiter_{clock_};
  FakeDeadManSwitch switch_;
  DrainHealth health_;
  CaptureLoop loop_{
      source_, hand_off_, waiter_, switch_, health_, clock_, classifier_of({everything("all")})};
};

TEST_F(CaptureLoopTest, HandsOverClassifiedFramesInOrderThenTheEnd) {
  source_.add(udp_frame());
  source_.add(arp_frame());
  run({});
  const auto entries = handed_over();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].kind, HandOffEntry::Kind::packet);
  EXPECT_EQ(entries[0].packet.class_index, 0);
  EXPECT_EQ(entries[0].packet.charged_bytes, udp_frame().size());
  EXPECT_EQ(entries[0].packet.arrival, kTestStart);
  EXPECT_EQ(entries[0].packet.key.destination[15], 2);
  EXPECT_EQ(entries[1].packet.class_index, kUnmatched);
  EXPECT_EQ(entries[2].kind, HandOffEntry::Kind::end);
}

TEST_F(CaptureLoopTest, ReadsWhatIsStillInTheSourceWhenStopped) {
  run({[this](auto) {
    source_.add(udp_frame());
    loop_.stop();
  }});
  const auto entries = handed_over();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].kind, HandOffEntry::Kind::packet);
  EXPECT_EQ(entries[1].kind, HandOffEntry::Kind::end);
}

TEST_F(CaptureLoopTest, MarksAFrameThatDidNotFitItsSlot) {
  source_.add(udp_frame(), 100);
  run({});
  const auto entries = handed_over();
  EXPECT_TRUE(entries[0].clipped);
  EXPECT_EQ(entries[0].packet.charged_bytes, udp_frame().size() + 100);
}

TEST_F(CaptureLoopTest, ChargesTheTagThatTheKernelStripped) {
  source_.add(udp_frame(), 0, 0x8100, 7);
  run({});
  const auto entries = handed_over();
  EXPECT_FALSE(entries[0].clipped);
  EXPECT_EQ(entries[0].packet.charged_bytes, udp_frame().size() + 4);
  EXPECT_EQ(entries[0].packet.vlan_tci, 7);
}

TEST_F(CaptureLoopTest, ResetsTheSwitchWhileTheDrainThreadIsHealthy) {
  source_.add(udp_frame());
  run({});
  EXPECT_GT(switch_.resets, 0);
}

TEST_F(CaptureLoopTest, WithholdsTheResetWhileADuePacketIsUnsentForHalfASecond) {
  std::vector<int> resets;
  run({[&](auto) {
         health_.next_due = clock_.now().time_since_epoch().count();
         clock_.advance(milliseconds(500));
         source_.add(udp_frame());
         resets.push_back(switch_.resets);
       },
       [&](std::optional<Duration> timeout) {
         EXPECT_EQ(timeout, std::nullopt) << "exactly 500 ms is still healthy";
         resets.push_back(switch_.resets);
         clock_.advance(Duration(1));
         source_.add(udp_frame());
       },
       [&](std::optional<Duration> timeout) {
         EXPECT_TRUE(timeout.has_value())
             << "must look again by itself: no frame may come while the switch is open";
         resets.push_back(switch_.resets);
         health_.next_due = DrainHealth::kNothingDue;
         hand_off_.consume(hand_off_.peek(100).size());
       },
       [&](std::optional<Duration> timeout) {
         EXPECT_EQ(timeout, std::nullopt);
         resets.push_back(switch_.resets);
       }});
  ASSERT_EQ(resets.size(), 4u);
  EXPECT_GT(resets[1], resets[0]);
  EXPECT_EQ(resets[2] - resets[1], 0);
  EXPECT_GT(resets[3], resets[2]);
}

TEST_F(CaptureLoopTest, WithholdsTheResetWhileHandedOverFramesLieUntouchedForHalfASecond) {
  int before = 0;
  run({[&](auto) { source_.add(udp_frame()); },
       [&](auto) {
         clock_.advance(milliseconds(501));
         before = switch_.resets;
         source_.add(udp_frame());
       },
       [&](std::optional<Duration> timeout) {
         EXPECT_TRUE(timeout.has_value());
         EXPECT_EQ(switch_.resets, before);
         hand_off_.consume(1);
       },
       [&](std::optional<Duration> timeout) {
         EXPECT_EQ(timeout, std::nullopt) << "the drain thread has moved";
         EXPECT_GT(switch_.resets, before);
       }});
}

TEST_F(CaptureLoopTest, DoesNotCountAQuietTimeAsAStandstill) {
  run({[&](auto) { source_.add(udp_frame()); },
       [&](auto) {
         hand_off_.consume(1);
         clock_.advance(seconds(100));
         source_.add(udp_frame());
       },
       [&](std::optional<Duration> timeout) { EXPECT_EQ(timeout, std::nullopt); }});
}

TEST_F(CaptureLoopTest, PutsNewClassesInForceBetweenTwoFrames) {
  Reconfiguration reconfiguration{.classifier = classifier_of({{.name = "first", .bypass = true}})};
  run({[&](auto) { source_.add(udp_frame()); },
       [&](auto) {
         loop_.reconfigure(reconfiguration);
         source_.add(udp_frame());
       }});
  const auto entries = handed_over();
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_NE(entries[0].packet.key, FlowKey{});
  EXPECT_EQ(entries[1].kind, HandOffEntry::Kind::reconfiguration);
  EXPECT_EQ(entries[1].reconfiguration, &reconfiguration);
  EXPECT_EQ(entries[2].kind, HandOffEntry::Kind::packet);
  EXPECT_EQ(entries[2].packet.key, FlowKey{}) << "classified by the new classes";
}

TEST_F(CaptureLoopTest, EndsInOrderWhenItsSourceFails) {
  source_.add(udp_frame());
  source_.on_wait = [](auto) { throw std::runtime_error("device gone"); };
  EXPECT_THROW(loop_.run(), std::runtime_error);
  const auto entries = handed_over();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].kind, HandOffEntry::Kind::end);
}

}  // namespace
}  // namespace headgate
