#include "troubles.hpp"

#include <gtest/gtest.h>

namespace headgate {
namespace {

TEST(Troubles, AreNoneAtFirst) {
  EXPECT_TRUE(Troubles().empty());
  EXPECT_EQ(Troubles().text(), "");
}

TEST(Troubles, SayEachReasonOnceWithThoseThatHaveIt) {
  Troubles troubles;
  troubles.add("veth1", "it is down");
  troubles.add("veth2", "it is gone");
  troubles.add("veth3", "it is down");
  EXPECT_FALSE(troubles.empty());
  EXPECT_EQ(troubles.text(), "veth1 and veth3: it is down; veth2: it is gone");
}

TEST(Troubles, NameTheFirstOfMany) {
  Troubles troubles;
  for (int i = 0; i < 4; ++i) troubles.add("veth" + std::to_string(i), "it is down");
  EXPECT_EQ(troubles.text(), "veth0, veth1, veth2 and veth3: it is down");
  troubles.add("veth4", "it is down");
  EXPECT_EQ(troubles.text(), "veth0, veth1, veth2 and 2 others: it is down");
}

TEST(Troubles, SayTheFirstReasonsOfMany) {
  Troubles troubles;
  for (int i = 0; i < 4; ++i) troubles.add("veth" + std::to_string(i), "reason " + std::to_string(i));
  EXPECT_EQ(troubles.text(), "veth0: reason 0; veth1: reason 1; veth2: reason 2; and 1 further reason");
  troubles.add("veth4", "reason 4");
  EXPECT_EQ(troubles.text(), "veth0: reason 0; veth1: reason 1; veth2: reason 2; and 2 further reasons");
}

}  // namespace
}  // namespace headgate
