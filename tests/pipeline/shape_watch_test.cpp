#include "pipeline/pipeline_watch.hpp"

#include <gtest/gtest.h>

#include "support/fake_packet_io.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PipelineWatchTest : public testing::Test {
 protected:
  static constexpr std::size_t kWorkers = 3;

  // Worker `worker` looks for frames now and would reset the switch.
  bool look(std::size_t worker, bool drains_take = true) {
    watch_.note_look(worker, clock_.now(), drains_take);
    return watch_.reset(worker, clock_.now(), clock_);
  }
  void expect_reset(std::size_t worker) {
    const int before = switch_.resets;
    EXPECT_TRUE(look(worker));
    EXPECT_EQ(switch_.resets, before + 1);
  }
  void expect_withheld(std::size_t worker, bool drains_take = true) {
    const int before = switch_.resets;
    EXPECT_FALSE(look(worker, drains_take));
    EXPECT_EQ(switch_.resets, before);
  }

  ManualClock clock_;
  std::array<FakePacketSource, kWorkers> sources_;
  std::array<DrainHealth, kWorkers> health_;
  FakeDeadManSwitch switch_;
  PipelineWatch watch_{switch_,
                       {{sources_[0], health_[0]}, {sources_[1], health_[1]}, {sources_[2], health_[2]}}};
};

TEST_F(PipelineWatchTest, ResetsWhileOthersHaveNothingToRead) {
  for (std::size_t i = 0; i < kWorkers; ++i) expect_reset(i);
  clock_.advance(seconds(100));
  expect_reset(1);
}

TEST_F(PipelineWatchTest, AWorkerThatLeavesFramesUnreadMakesAllWithhold) {
  for (std::size_t i = 0; i < kWorkers; ++i) expect_reset(i);
  sources_[2].add(Frame(60));
  clock_.advance(PipelineWatch::kReadPatience);
  expect_reset(0);
  clock_.advance(Duration(1));
  expect_withheld(0);
  expect_withheld(1);
  expect_reset(2);  // it reads after all
  expect_reset(0);
}

TEST_F(PipelineWatchTest, TellsWhenFramesWaitForAWorkerThatDoesNotLook) {
  for (std::size_t i = 0; i < kWorkers; ++i) expect_reset(i);
  clock_.advance(seconds(100));
  EXPECT_FALSE(watch_.leaves_frames(clock_.now(), milliseconds(500))) << "no frames wait";
  sources_[1].add(Frame(60));
  EXPECT_TRUE(watch_.leaves_frames(clock_.now(), milliseconds(500)));
  watch_.note_look(1, clock_.now(), true);
  clock_.advance(milliseconds(500));
  EXPECT_FALSE(watch_.leaves_frames(clock_.now(), milliseconds(500)));
  clock_.advance(milliseconds(1));
  EXPECT_TRUE(watch_.leaves_frames(clock_.now(), milliseconds(500)));
}

TEST_F(PipelineWatchTest, ADrainThreadThatIsOverdueMakesAllWithhold) {
  for (std::size_t i = 0; i < kWorkers; ++i) expect_reset(i);
  health_[1].next_due = clock_.now().time_since_epoch().count();
  clock_.advance(DrainHealth::kPatience + Duration(1));
  for (std::size_t i = 0; i < kWorkers; ++i) expect_withheld(i);
  health_[1].next_due = DrainHealth::kNothingDue;
  expect_reset(2);
}

TEST_F(PipelineWatchTest, HandOversThatLieUntouchedMakeAllWithhold) {
  expect_reset(0);
  expect_withheld(2, false);
  expect_withheld(0);
  expect_reset(2);
  expect_reset(0);
}

TEST_F(PipelineWatchTest, ABusyWorkerNeedNotLookAtTheOthersEachTime) {
  EXPECT_FALSE(watch_.may_look_later(0, clock_.now()));
  expect_reset(0);
  EXPECT_TRUE(watch_.may_look_later(0, clock_.now()));
  clock_.advance(PipelineWatch::kBusyLook);
  EXPECT_FALSE(watch_.may_look_later(0, clock_.now()));
  PipelineWatch alone(switch_, {{sources_[0], health_[0]}});
  alone.reset(0, clock_.now(), clock_);
  EXPECT_FALSE(alone.may_look_later(0, clock_.now()));
}

}  // namespace
}  // namespace headgate
