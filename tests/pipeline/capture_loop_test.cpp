#include "pipeline/capture_loop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <vector>

#include "pipeline/drain_choice.hpp"
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
  PipelineWatch watch_{switch_, {{source_, health_}}};
  CaptureLoop loop_{source_, {{hand_off_, &waiter_}}, watch_, clock_, classifier_of({everything("all")})};
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
  Reconfiguration reconfiguration(classifier_of({{.name = "first", .bypass = true}}));
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
  loop_.run();
  ASSERT_NE(loop_.failure(), nullptr);
  EXPECT_THROW(std::rethrow_exception(loop_.failure()), std::runtime_error);
  const auto entries = handed_over();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].kind, HandOffEntry::Kind::end);
}

TEST_F(CaptureLoopTest, LooksInPiecesForAThreadThatHasOtherWork) {
  EXPECT_FALSE(loop_.look());
  source_.add(udp_frame());
  EXPECT_TRUE(loop_.look());
  EXPECT_EQ(handed_over().size(), 1u);
  EXPECT_EQ(switch_.resets, 2) << "each look tells the dead-man switch that packets are read";

  std::optional<Duration> waited;
  source_.on_wait = [&](std::optional<Duration> timeout) { waited = timeout; };
  loop_.wait_until(clock_.now() + milliseconds(3));
  EXPECT_EQ(waited, milliseconds(3));
  loop_.wait_until(clock_.now() - milliseconds(3));
  EXPECT_EQ(waited, milliseconds(0));
  loop_.wait_until(std::nullopt);
  EXPECT_EQ(waited, std::nullopt);

  source_.add(udp_frame());
  loop_.stop();
  EXPECT_TRUE(loop_.look()) << "what is still in the source is read";
  EXPECT_FALSE(loop_.look());
  EXPECT_FALSE(loop_.look());
  const auto entries = handed_over();
  ASSERT_EQ(entries.size(), 2u) << "one end, however often it looks";
  EXPECT_EQ(entries[1].kind, HandOffEntry::Kind::end);
}

// Worker 1 of three.
class OneOfThreeCaptureLoopsTest : public testing::Test {
 protected:
  static constexpr std::size_t kDrains = 3;
  static constexpr std::size_t kOwn = 1;

  static Frame frame_to(int host) {
    return PacketBuilder().ipv4("10.0.0.1", "10.0.1." + std::to_string(host)).udp(1000, 2000).build();
  }

  void run(std::vector<std::function<void()>> steps = {}) {
    std::size_t next = 0;
    source_.on_wait = [&](auto) {
      if (next == steps.size()) return loop_.stop();
      steps[next++]();
    };
    loop_.run();
  }

  std::vector<HandOffEntry> handed_to(std::size_t drain) {
    std::vector<HandOffEntry> all;
    HandOff& ring = hand_offs_[drain];
    for (auto entries = ring.peek(1024); !entries.empty(); entries = ring.peek(1024)) {
      all.insert(all.end(), entries.begin(), entries.end());
      ring.consume(entries.size());
    }
    return all;
  }

  ManualClock clock_;
  FakePacketSource source_{1024, SlotsReturn::in_any_order};
  std::array<FakePacketSource, 2> others_;
  std::array<HandOff, kDrains> hand_offs_{HandOff{128}, HandOff{128}, HandOff{128}};
  std::array<FakeWaiter, kDrains> waiters_{FakeWaiter{clock_}, FakeWaiter{clock_}, FakeWaiter{clock_}};
  std::array<DrainHealth, kDrains> health_;
  FakeDeadManSwitch switch_;
  PipelineWatch watch_{switch_, {{others_[0], health_[0]}, {source_, health_[1]}, {others_[1], health_[2]}}};
  CaptureLoop loop_{
      source_,
      {{hand_offs_[0], &waiters_[0]}, {hand_offs_[1], &waiters_[1]}, {hand_offs_[2], &waiters_[2]}},
      watch_,
      clock_,
      classifier_of({everything("all")}),
      kOwn};
};

TEST_F(OneOfThreeCaptureLoopsTest, HandsEachFlowToItsDrainThreadAndTheEndToAll) {
  for (int host = 0; host < 30; ++host) source_.add(frame_to(host));
  run();
  std::size_t packets = 0;
  for (std::size_t i = 0; i < kDrains; ++i) {
    const auto entries = handed_to(i);
    ASSERT_FALSE(entries.empty());
    EXPECT_EQ(entries.back().kind, HandOffEntry::Kind::end);
    EXPECT_GT(waiters_[i].wakes, 0);
    for (const HandOffEntry& entry : entries) {
      if (entry.kind != HandOffEntry::Kind::packet) continue;
      ++packets;
      EXPECT_EQ(drain_of(entry.packet.flow_hash, kDrains), i);
    }
  }
  EXPECT_EQ(packets, 30u);
}

TEST_F(OneOfThreeCaptureLoopsTest, HandsWhatIsNotShapedToItsOwnDrainThread) {
  for (int i = 0; i < 5; ++i) source_.add(arp_frame());
  run();
  EXPECT_EQ(handed_to(kOwn).size(), 6u);
  EXPECT_EQ(handed_to(0).size(), 1u);
  EXPECT_EQ(handed_to(2).size(), 1u);
}

TEST_F(OneOfThreeCaptureLoopsTest, TellsAllDrainThreadsOfNewClasses) {
  Reconfiguration reconfiguration(classifier_of({everything("other")}), {nullptr, nullptr, nullptr});
  run({[&] { loop_.reconfigure(reconfiguration); }});
  for (std::size_t i = 0; i < kDrains; ++i) {
    const auto entries = handed_to(i);
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].reconfiguration, &reconfiguration);
  }
}

TEST_F(OneOfThreeCaptureLoopsTest, ReadsNoFurtherWhileARingHasNoRoom) {
  constexpr std::size_t kFrames = 300;
  for (std::size_t i = 0; i < kFrames; ++i) source_.add(arp_frame());
  std::size_t taken = 0;
  std::size_t most = 0;
  clock_.on_sleep = [&] {
    const std::size_t entries = handed_to(kOwn).size();
    most = std::max(most, entries);
    taken += entries;
  };
  run();
  taken += handed_to(kOwn).size();
  EXPECT_EQ(taken, kFrames + 1) << "with the end";
  EXPECT_LE(most, 128 - CaptureLoop::kReservedEntries);
}

TEST_F(OneOfThreeCaptureLoopsTest, WithholdsTheResetWhileAnotherDoesNotRead) {
  int before = 0;
  run({[&] {
         others_[0].add(arp_frame());
         clock_.advance(PipelineWatch::kReadPatience + Duration(1));
         before = switch_.resets;
         source_.add(arp_frame());
       },
       [&] {
         EXPECT_EQ(switch_.resets, before);
         watch_.note_look(0, clock_.now(), true);
         source_.add(arp_frame());
       },
       [&] { EXPECT_GT(switch_.resets, before); }});
}

}  // namespace
}  // namespace headgate
