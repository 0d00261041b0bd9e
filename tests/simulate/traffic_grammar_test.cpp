#include "traffic_grammar.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TrafficGrammar, ReadsASourceWithAllThatItMaySay) {
  const auto sources = read_traffic(
      "udp 10.0.0.1:1000>10.0.0.2:53 1200B 5mbit from 1s to 9s;"
      " onoff 200ms 800ms tcp [2001:db8::1]:1>[2001:db8::2]:443 80b..1514b 1000pps flows 7 sources burst 3p "
      "count "
      "100p dscp ef ecn mark 0x10;");
  ASSERT_EQ(sources.size(), 2U);
  EXPECT_EQ(sources[0].protocol, 17);
  EXPECT_EQ(sources[0].source.port, 1000);
  EXPECT_EQ(sources[0].destination.port, 53);
  EXPECT_EQ(sources[0].destination.address[15], 2);
  EXPECT_EQ(sources[0].least_bytes, 1200U);
  EXPECT_EQ(sources[0].rate.bits, BitRate{5'000'000});
  EXPECT_EQ(sources[0].from, seconds(1));
  EXPECT_EQ(sources[0].to, seconds(9));
  EXPECT_EQ(sources[1].pattern, ArrivalPattern::on_off);
  EXPECT_EQ(sources[1].on, milliseconds(200));
  EXPECT_TRUE(sources[1].ipv6);
  EXPECT_EQ(sources[1].most_bytes, 1514U);
  EXPECT_EQ(sources[1].flows, 7U);
  EXPECT_EQ(sources[1].flows_by, FlowsBy::source_address);
  EXPECT_EQ(sources[1].burst, 3U);
  EXPECT_EQ(sources[1].count, 100U);
  EXPECT_EQ(sources[1].traffic_class, 46 << 2 | 2);
  EXPECT_EQ(sources[1].mark, 0x10U);
}

struct Wrong {
  const char* text;
  std::size_t column;
  const char* words;
};

class WrongTraffic : public testing::TestWithParam<Wrong> {};

TEST_P(WrongTraffic, IsRefusedWithItsColumnAndWhatWasExpected) {
  try {
    read_traffic(GetParam().text);
    FAIL() << "read: " << GetParam().text;
  } catch (const TrafficError& error) {
    EXPECT_EQ(error.column, GetParam().column) << error.what();
    EXPECT_THAT(error.what(), testing::HasSubstr(GetParam().words));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Texts, WrongTraffic,
    testing::Values(Wrong{"", 1, "there is no source"},
                    Wrong{"upd 10.0.0.1>10.0.0.2 64b 1mbit", 1, "did you mean \"udp\"?"},
                    Wrong{"udp 10.0.0.1:53", 5, "has no \">\""},
                    Wrong{"udp 10.0.0.1>10.0.0.256 64b 1mbit", 14, "no address"},
                    Wrong{"udp 10.0.0.1:70000>10.0.0.2 64b 1mbit", 14, "from 0 to 65535"},
                    Wrong{"udp 10.0.0.1>2001:db8::1 64b 1mbit", 14, "one family"},
                    Wrong{"udp 10.0.0.1>10.0.0.2", 22, "expected the size"},
                    Wrong{"udp 10.0.0.1>10.0.0.2 20b 1mbit", 23, "at least 42b"},
                    Wrong{"udp 10.0.0.1>10.0.0.2 70kb 1mbit", 23, "longer than a frame"},
                    Wrong{"udp 10.0.0.1>10.0.0.2 100b..50b 1mbit", 29, "less than the first"},
                    Wrong{"udp 10.0.0.1>10.0.0.2 64 1mbit", 23, "unit"},
                    Wrong{"udp 10.0.0.1>10.0.0.2 64b", 26, "expected the rate"},
                    Wrong{"udp 10.0.0.1>10.0.0.2 64b 5mbot", 27, "did you mean \"5mbit\"?"},
                    Wrong{"udp 10.0.0.1>10.0.0.2 64b 1mbit form 1s", 33, "did you mean \"from\"?"},
                    Wrong{"udp 10.0.0.1>10.0.0.2 64b 1mbit from 2s to 1s", 1, "ends before it begins"},
                    Wrong{"udp 10.0.0.1>10.0.0.2 64b 1mbit dscp xy", 38, "xy"},
                    Wrong{"udp 10.0.0.1>10.0.0.2 64b 1mbit burst 10", 39, "\"10p\""},
                    Wrong{"icmp 10.0.0.1:5>10.0.0.2 64b 1mbit", 14, "no ports"},
                    Wrong{"udp 10.0.0.1>10.0.0.2 64b 1mbit;; udp", 33, "no source"},
                    Wrong{"udp 10.0.0.1>10.0.0.2 64b 1mbit; udp x>y", 38, "no address"},
                    Wrong{"onoff 1s udp 10.0.0.1>10.0.0.2 64b 1mbit", 10, "udp"}));

}  // namespace
}  // namespace headgate
