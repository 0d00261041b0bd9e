#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <stdexcept>

#include "linux/mapped_memory.hpp"
#include "worker_set.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;

class WorkerThreadTest : public testing::Test {
 protected:
  MappedMemory memory{false};
  int meanwhile = 0;
  WorkerThread thread{0, false, memory, [](const std::string&) {}, [this] { ++meanwhile; }};
};

TEST_F(WorkerThreadTest, WhoeverWaitsForItGoesOnMeanwhile) {
  std::promise<void> go;
  const auto later = std::async(std::launch::async, [&go] {
    MonotonicClock().sleep(milliseconds(350));
    go.set_value();
  });
  thread.call([&go](Instant) { go.get_future().wait(); });
  EXPECT_GE(meanwhile, 3);
}

TEST_F(WorkerThreadTest, WhatARequestThrowsReachesWhoeverAsked) {
  EXPECT_THROW(thread.call([](Instant) { throw std::runtime_error("no"); }), std::runtime_error);
}

}  // namespace
}  // namespace headgate
