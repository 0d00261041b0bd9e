// A shape whose interface is not there: its workers and classes, without a packet.
#include "shape.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "config/compiled_matches.hpp"
#include "linux/mapped_memory.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr char kNotTaken[] = "its workers have not taken the classes of the last reload yet";

ShapeConfig config_of(std::uint64_t packets_per_second) {
  ShapeConfig config{.interface = "none0"};
  config.segmentation = Segmentation::whole;  // ordinary threads
  config.classes = {{.name = "all", .rate = {.packets = PacketRate{packets_per_second}}}};
  return config;
}

// Keeps a worker from all else until it is let go.
class Block {
 public:
  explicit Block(Worker& worker) {
    std::promise<void> stands;
    worker.ask([&stands, go = go_.get_future().share()](Instant) {
      stands.set_value();
      go.wait();
    });
    stands.get_future().wait();
  }
  ~Block() { let_go(); }
  void let_go() {
    if (!std::exchange(gone_, true)) go_.set_value();
  }

 private:
  std::promise<void> go_;
  bool gone_ = false;
};

class ShapeTest : public testing::Test {
 protected:
  ShapeTest() { shape.start(true); }

  static Instant in(Duration time) { return MonotonicClock().now() + time; }

  ShapeStatistics statistics(Duration patience = seconds(5)) {
    shape.ask_for_statistics();
    return shape.statistics(in(patience));
  }

  // The only one.
  Worker& worker() { return workers.choose(1, false).front()->worker(); }

  std::vector<std::string> log;
  MappedMemory memory{false};
  CompiledMatches matches;
  SharedDivert common{DivertMethod::automatic, 1, 1};  // of workers and the shape
  WorkerSet workers{1, memory, [](const std::string&) {}, [] {}};
  DaemonConfig daemon;
  Shape shape{common,
              daemon,
              config_of(1000),
              matches,
              workers,
              memory,
              CaptureShare::of_one_in(1),
              [this](const std::string& line) { log.push_back(line); }};
};

// One whose next request fails; then it works again.
class FailingNetlink {
 public:
  FailingNetlink() : descriptor_(dup(STDOUT_FILENO)) {
    ::close(descriptor_);
    netlink.emplace();  // takes the lowest number that is free
  }
  void fail_next() {
    const FileDescriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
    ASSERT_GE(dup2(nothing.get(), descriptor_), 0);
  }

  std::optional<Netlink> netlink;

 private:
  const int descriptor_;
};

TEST_F(ShapeTest, WhatTheKernelRefusesForAMomentIsSaidOnceWhileItLastsAndTriedAgain) {
  FailingNetlink failing;
  const auto said = [this] {
    return std::count_if(log.begin(), log.end(), [](const std::string& line) {
      return line.starts_with("none0 egress: look up interface none0");
    });
  };
  shape.look_after(*failing.netlink);
  ASSERT_EQ(said(), 0) << log.back();
  for (int i = 0; i < 3; ++i) {
    failing.fail_next();
    shape.look_after(*failing.netlink);
    failing.fail_next();
    shape.maintain(*failing.netlink);
    EXPECT_EQ(said(), 1);
  }
  shape.look_after(*failing.netlink);
  failing.fail_next();
  shape.maintain(*failing.netlink);
  EXPECT_EQ(said(), 2);
}

TEST_F(ShapeTest, AReloadThatABusyWorkerTakesLateIsSaidUntilItIsInForceAndNoOtherIsTakenBefore) {
  const std::string before = statistics().state;
  Block block(worker());
  shape.prepare(config_of(2000));
  shape.put_in_force();
  EXPECT_FALSE(shape.wait_until_in_force(in(milliseconds(50))));
  EXPECT_TRUE(shape.takes_new_classes());
  EXPECT_THAT(statistics(milliseconds(10)).state, HasSubstr(kNotTaken));
  try {
    shape.prepare(config_of(3000));
    FAIL() << "taken";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), std::string("none0 egress: ") + kNotTaken + "; try again");
  }

  block.let_go();
  EXPECT_TRUE(shape.wait_until_in_force(in(seconds(5))));
  EXPECT_FALSE(shape.takes_new_classes());
  EXPECT_EQ(statistics().state, before);
  EXPECT_EQ(shape.config().classes[0].rate.packets, PacketRate{2000});
  shape.prepare(config_of(3000));
  shape.put_in_force();
  EXPECT_TRUE(shape.wait_until_in_force(in(seconds(5))));
}

TEST_F(ShapeTest, FlowsAreNotReadByAKeyThatIsNotInForceYet) {
  Block block(worker());
  ShapeConfig next = config_of(1000);
  next.classes[0].key.destination_address = true;
  shape.prepare(next);
  shape.put_in_force();
  const Instant start = MonotonicClock().now();
  EXPECT_TRUE(shape.largest_flows("all", 10).empty());
  EXPECT_LT(MonotonicClock().now() - start, milliseconds(100)) << "asked a worker that cannot know";
}

TEST_F(ShapeTest, AWorkerThatDoesNotAnswerIsAskedOnceAndItsLastFiguresAreShown) {
  EXPECT_EQ(statistics().shaper.classes.size(), 1u);
  Block block(worker());
  for (int i = 0; i < 3; ++i) {
    const ShapeStatistics shown = statistics(milliseconds(10));
    EXPECT_EQ(shown.state, "a worker does not answer; these are its last figures");
    EXPECT_EQ(shown.shaper.classes.size(), 1u);
  }
  block.let_go();
  EXPECT_THAT(statistics().state, HasSubstr("there is no interface none0 yet"));
}

TEST_F(ShapeTest, AWalkOverTheFlowsOfAWorkerThatDoesNotAnswerIsNotBegunTwice) {
  Block block(worker());
  EXPECT_TRUE(shape.largest_flows("all", 10).empty());
  const Instant start = MonotonicClock().now();
  EXPECT_TRUE(shape.largest_flows("all", 10).empty());
  EXPECT_LT(MonotonicClock().now() - start, milliseconds(100));
}

std::shared_ptr<PacketTap> make_tap() {
  return std::make_shared<PacketTap>("all", PacketEventSet{true, true, true});
}

TEST_F(ShapeTest, ACaptureAtAWorkerThatDoesNotAnswerIsRefusedAndItsMemoryFreedLater) {
  Block block(worker());
  std::vector<std::weak_ptr<PacketTap>> refused;
  for (int i = 0; i < 3; ++i) {
    const auto tap = make_tap();
    refused.push_back(tap);
    EXPECT_THROW(shape.capture(tap), std::runtime_error);
  }
  EXPECT_EQ(shape.captures(), 0u);
  block.let_go();
  shape.capture(make_tap());
  EXPECT_EQ(shape.captures(), 1u);
  const auto held = [](const std::weak_ptr<PacketTap>& tap) { return !tap.expired(); };
  const Instant patience = in(seconds(5));
  while (std::any_of(refused.begin(), refused.end(), held)) ASSERT_LT(MonotonicClock().now(), patience);
}

}  // namespace
}  // namespace headgate
