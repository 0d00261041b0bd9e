#include "pipeline/shape_watch.hpp"

#include <gtest/gtest.h>

#include "support/fake_packet_io.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ShapeWatchTest : public testing::Test {
 protected:
  static constexpr std::size_t kParts = 3;

  ShapeWatch::Watched watched(std::size_t part) {
    return {.source = sources_[part], .health = health_[part], .waiter = waiter_, .inputs = {&inputs_[part]}};
  }

  // The worker of a part goes round now, and would reset the switch.
  bool look(std::size_t part) {
    health_[part].looked_at = clock_.now().time_since_epoch().count();
    return watch_.reset(part, clock_.now(), clock_);
  }
  void expect_reset(std::size_t part) {
    const int before = switch_.resets;
    EXPECT_TRUE(look(part));
    EXPECT_EQ(switch_.resets, before + 1);
  }
  void expect_withheld(std::size_t part) {
    const int before = switch_.resets;
    EXPECT_FALSE(look(part));
    EXPECT_EQ(switch_.resets, before);
  }
  void expect_all_reset() {
    for (std::size_t i = 0; i < kParts; ++i) expect_reset(i);
  }
  void open_the_host() {
    switch_.unread = seconds(1);
    switch_.let_pass = true;
  }

  ManualClock clock_;
  std::array<FakePacketSource, kParts> sources_;
  std::array<WorkerHealth, kParts> health_;
  std::array<HandOff, kParts> inputs_{HandOff(8), HandOff(8), HandOff(8)};
  FakeWaiter waiter_{clock_};
  FakeDeadManSwitch switch_;
  ShapeWatch watch_{switch_, {watched(0), watched(1), watched(2)}};
};

TEST_F(ShapeWatchTest, ResetsWhileOthersHaveNothingToDo) {
  expect_all_reset();
  clock_.advance(seconds(100));
  expect_reset(1);
}

TEST_F(ShapeWatchTest, APartThatLeavesFramesUnreadMakesAllWithhold) {
  expect_all_reset();
  sources_[2].add(Frame(60));
  clock_.advance(ShapeWatch::kLookPatience);
  expect_reset(0);
  clock_.advance(Duration(1));
  expect_withheld(0);
  clock_.advance(ShapeWatch::kLookPatience);
  expect_withheld(1);
  expect_reset(2);  // it reads after all
  expect_reset(0);
}

TEST_F(ShapeWatchTest, AWorkerThatIsOverdueMakesAllWithhold) {
  expect_all_reset();
  health_[1].next_due = clock_.now().time_since_epoch().count();
  clock_.advance(ShapeWatch::kLookPatience + Duration(1));
  expect_withheld(0);
  expect_withheld(2);
  health_[1].next_due = WorkerHealth::kNothingDue;
  expect_reset(2);
}

TEST_F(ShapeWatchTest, HandOversThatLieUntouchedMakeAllWithhold) {
  expect_all_reset();
  inputs_[1].stage();
  inputs_[1].publish();
  clock_.advance(ShapeWatch::kLookPatience + Duration(1));
  expect_withheld(0);
  inputs_[1].consume(inputs_[1].peek(1).size());
  expect_reset(0);
}

TEST_F(ShapeWatchTest, TellsWhenWorkWaitsForAWorkerThatDoesNotGoRound) {
  expect_all_reset();
  clock_.advance(seconds(100));
  EXPECT_FALSE(watch_.stands_still(clock_.now(), milliseconds(500))) << "there is no work";
  sources_[1].add(Frame(60));
  EXPECT_TRUE(watch_.stands_still(clock_.now(), milliseconds(500)));
  look(1);
  clock_.advance(milliseconds(500));
  EXPECT_FALSE(watch_.stands_still(clock_.now(), milliseconds(500)));
  clock_.advance(milliseconds(1));
  EXPECT_TRUE(watch_.stands_still(clock_.now(), milliseconds(500)));
}

TEST_F(ShapeWatchTest, ABusyPartNeedNotLookAtTheOthersEachTime) {
  EXPECT_FALSE(watch_.may_reset_later(0, clock_.now()));
  expect_reset(0);
  EXPECT_TRUE(watch_.may_reset_later(0, clock_.now()));
  clock_.advance(ShapeWatch::kBusyLook);
  EXPECT_FALSE(watch_.may_reset_later(0, clock_.now()));
  ShapeWatch alone(switch_, {watched(0)});
  alone.reset(0, clock_.now(), clock_);
  EXPECT_FALSE(alone.may_reset_later(0, clock_.now()));
}

TEST_F(ShapeWatchTest, AfterAnOpeningInWhichPacketsPassedEveryPartClearsBeforeAReset) {
  expect_all_reset();
  EXPECT_FALSE(watch_.must_clear(0, clock_.now()));
  open_the_host();
  const int wakes = waiter_.wakes;
  EXPECT_TRUE(watch_.must_clear(1, clock_.now()));
  EXPECT_EQ(waiter_.wakes, wakes + 2) << "the others are told";
  EXPECT_TRUE(watch_.must_clear(0, clock_.now()));
  EXPECT_TRUE(watch_.must_clear(2, clock_.now()));
  const int resets = switch_.resets;
  watch_.cleared(1, clock_);
  watch_.cleared(0, clock_);
  expect_withheld(0);
  EXPECT_EQ(switch_.resets, resets);
  watch_.cleared(2, clock_);
  EXPECT_EQ(switch_.resets, resets + 1);
  for (std::size_t i = 0; i < kParts; ++i) EXPECT_FALSE(watch_.must_clear(i, clock_.now()));
  expect_all_reset();
}

TEST_F(ShapeWatchTest, AResetDoesNotWipeOutAnOpeningThatCameAfterTheLastLook) {
  expect_all_reset();
  EXPECT_FALSE(watch_.must_clear(0, clock_.now()));
  open_the_host();
  expect_withheld(0);
  EXPECT_TRUE(watch_.must_clear(0, clock_.now()));
}

TEST_F(ShapeWatchTest, APartIsToldUntilItHasCleared) {
  open_the_host();
  EXPECT_FALSE(watch_.told(0));
  EXPECT_TRUE(watch_.must_clear(1, clock_.now()));
  for (std::size_t i = 0; i < kParts; ++i) {
    EXPECT_TRUE(watch_.told(i));
    watch_.cleared(i, clock_);
    EXPECT_FALSE(watch_.told(i));
  }
}

TEST_F(ShapeWatchTest, NothingIsClearedWhereNothingPassed) {
  switch_.unread = seconds(1);
  EXPECT_FALSE(watch_.must_clear(0, clock_.now()));
  switch_.unread = milliseconds(499);
  switch_.let_pass = true;
  EXPECT_FALSE(watch_.must_clear(0, clock_.now()));
}

}  // namespace
}  // namespace headgate
