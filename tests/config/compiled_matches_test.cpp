#include "config/compiled_matches.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <string>
#include <thread>
#include <vector>

#include "support/packet_builder.hpp"

namespace headgate {
namespace {

const std::vector<std::byte> kDnsQuery =
    PacketBuilder().ipv4("10.1.2.3", "192.0.2.1").udp(4000, 53).payload(40).build();

// Takes some tenths of a second: it cannot be taken apart.
std::string slow_expression(int salt) {
  std::string expression = "mpls or port " + std::to_string(salt);
  for (int port = 1; port <= 80; ++port) expression += " or " + std::to_string(100 * salt + port);
  return expression;
}

TEST(CompiledMatches, CompileEachExpressionOnce) {
  CompiledMatches matches;
  matches.compile_all({"udp port 53", "tcp"});
  EXPECT_EQ(matches.compilations(), 2U);
  const auto first = matches.get("udp port 53").matcher;
  EXPECT_EQ(matches.get("udp port 53").matcher, first) << "shared by all that use it";
  matches.compile_all({"udp port 53", "icmp"});
  EXPECT_EQ(matches.compilations(), 3U) << "icmp alone is new";
  EXPECT_TRUE(first->matches(kDnsQuery));
}

TEST(CompiledMatches, CompileWhatIsAskedForAlone) {
  CompiledMatches matches;
  EXPECT_TRUE(matches.get("udp").matcher->matches(kDnsQuery));
  EXPECT_EQ(matches.compilations(), 1U);
}

TEST(CompiledMatches, RememberWhatIsWrongWithAnExpression) {
  CompiledMatches matches;
  matches.compile_all({"udp port"});
  EXPECT_EQ(matches.get("udp port").matcher, nullptr);
  EXPECT_EQ(matches.get("udp port").error, compile_match("udp port").error);
  EXPECT_EQ(matches.compilations(), 1U);
}

TEST(CompiledMatches, ForgetWhatNothingUses) {
  CompiledMatches matches;
  matches.compile_all({"udp", "tcp", "udp port"});
  auto used = matches.get("udp").matcher;
  matches.drop_unused();
  EXPECT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches.get("udp").matcher, used) << "not compiled anew";
  used.reset();
  matches.drop_unused();
  EXPECT_EQ(matches.size(), 0U);
}

TEST(CompiledMatches, CallWhoWaitsWhileTheyCompile) {
  CompiledMatches matches;
  const auto caller = std::this_thread::get_id();
  int calls = 0;
  matches.compile_all({slow_expression(1), slow_expression(2), slow_expression(3), "udp"}, [&] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    ++calls;
  });
  EXPECT_GT(calls, 0);
  EXPECT_EQ(matches.compilations(), 4U);
}

TEST(CompiledMatches, DoNotCallWhereAllIsCompiled) {
  CompiledMatches matches;
  matches.compile_all({"udp"});
  matches.compile_all({"udp"}, [] { FAIL() << "nothing to wait for"; });
}

TEST(CompiledMatches, NeedNoLargeStackOfTheProcesssThreads) {
  pthread_attr_t ordinary;
  pthread_attr_t small;
  pthread_getattr_default_np(&ordinary);
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128UL * 1024);
  pthread_setattr_default_np(&small);
  CompiledMatches matches;
  matches.compile_all({slow_expression(1)});  // libpcap recurses a few thousand times
  pthread_setattr_default_np(&ordinary);
  EXPECT_EQ(matches.get(slow_expression(1)).error, "");
}

TEST(CompiledMatches, MayBeAskedBySeveralThreadsAtOnce) {
  CompiledMatches matches;
  const auto ask = [&matches] {
    for (int port = 1; port < 40; ++port) {
      const auto match = matches.get("udp port " + std::to_string(port + 30));
      EXPECT_EQ(match.matcher->matches(kDnsQuery), port + 30 == 53);
    }
  };
  std::thread other(ask);
  ask();
  other.join();
  EXPECT_EQ(matches.size(), 39U);
}

}  // namespace
}  // namespace headgate
