#include "human_text.hpp"

#include <gtest/gtest.h>

namespace headgate {
namespace {

TEST(HumanText, ShowsCountsExactlyUpToFourDigits) {
  EXPECT_EQ(packets_text(0), "0");
  EXPECT_EQ(packets_text(9'999), "9999");
  EXPECT_EQ(packets_text(10'000), "10.0k");
  EXPECT_EQ(bytes_text(9'999), "9999 B");
  EXPECT_EQ(bytes_text(10'000), "10.0 kB");
}

TEST(HumanText, ShowsAllDigitsInGroupsOfThree) {
  EXPECT_EQ(whole_text(0), "0");
  EXPECT_EQ(whole_text(999), "999");
  EXPECT_EQ(whole_text(1'000), "1 000");
  EXPECT_EQ(whole_text(12'345'678), "12 345 678");
}

TEST(HumanText, ShowsThreeDigitsOfLargerCounts) {
  EXPECT_EQ(packets_text(12'345), "12.3k");
  EXPECT_EQ(packets_text(123'456), "123k");
  EXPECT_EQ(packets_text(999'499), "999k");
  EXPECT_EQ(packets_text(999'500), "1.00M");
  EXPECT_EQ(packets_text(4'294'967'296), "4.29G");
  EXPECT_EQ(packets_text(18'446'744'073'709'551'615u), "18.4E");
  EXPECT_EQ(bytes_text(4'500'000), "4.50 MB");
}

TEST(HumanText, RoundsWithoutAFourthDigit) {
  EXPECT_EQ(packets_text(99'949), "99.9k");
  EXPECT_EQ(packets_text(99'951), "100k");
}

TEST(HumanText, ShowsDelaysInTheUnitThatFits) {
  EXPECT_EQ(delay_text(0.25), "0.25 us");
  EXPECT_EQ(delay_text(12), "12.0 us");
  EXPECT_EQ(delay_text(999.6), "1.00 ms");
  EXPECT_EQ(delay_text(97'000), "97.0 ms");
  EXPECT_EQ(delay_text(1'200'000), "1.20 s");
}

TEST(HumanText, ShowsRates) {
  EXPECT_EQ(packet_rate_text(0), "0 pps");
  EXPECT_EQ(packet_rate_text(999.6), "1000 pps");
  EXPECT_EQ(packet_rate_text(1'000'000), "1.00 Mpps");
  EXPECT_EQ(bit_rate_text(480'000), "480 kbit/s");
}

TEST(HumanText, ShowsTheTwoLargestUnitsOfAnUptime) {
  EXPECT_EQ(uptime_text(0.9), "0 s");
  EXPECT_EQ(uptime_text(59.9), "59 s");
  EXPECT_EQ(uptime_text(60), "1 min 0 s");
  EXPECT_EQ(uptime_text(7'980.25), "2 h 13 min");
  EXPECT_EQ(uptime_text(90'000), "1 d 1 h");
}

}  // namespace
}  // namespace headgate
