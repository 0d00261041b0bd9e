#include "core/flow_queue.hpp"

#include <gtest/gtest.h>

namespace headgate {
namespace {

TEST(FlowQueue, HoldsNothingAPacketOrABacklogAndNamesIt) {
  const FlowQueue none;
  EXPECT_TRUE(none.empty());
  EXPECT_FALSE(none.is_packet());
  EXPECT_FALSE(none.is_backlog());
  for (const std::uint32_t number : {0u, 1u, 0x7fff'fffeu}) {
    const FlowQueue packet = FlowQueue::of_packet(number);
    EXPECT_FALSE(packet.empty());
    EXPECT_FALSE(packet.is_backlog());
    ASSERT_TRUE(packet.is_packet());
    EXPECT_EQ(packet.packet(), number);
    const FlowQueue backlog = FlowQueue::of_backlog(number);
    EXPECT_FALSE(backlog.empty());
    EXPECT_FALSE(backlog.is_packet());
    ASSERT_TRUE(backlog.is_backlog());
    EXPECT_EQ(backlog.backlog(), number);
  }
}

}  // namespace
}  // namespace headgate
