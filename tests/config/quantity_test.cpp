#include "config/quantity.hpp"

#include <gtest/gtest.h>

#include "config/quantity_text.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;

Rate rate_of(std::string_view text) {
  Rate rate;
  const Reading reading = read_rate(text, rate);
  EXPECT_EQ(reading.error, "") << text;
  return rate;
}

std::uint64_t bits_of(std::string_view text) {
  return rate_of(text).bits.value_or(BitRate{}).bits_per_second;
}

std::uint64_t bytes_of(std::string_view text) {
  DataSize size;
  EXPECT_EQ(read_size(text, size).error, "") << text;
  return size.bytes;
}

Duration time_of(std::string_view text) {
  Duration time{};
  EXPECT_EQ(read_time(text, time).error, "") << text;
  return time;
}

std::string error_of_rate(std::string_view text) {
  Rate rate;
  return read_rate(text, rate).error;
}

TEST(Rate, CountsPacketsInPps) {
  EXPECT_EQ(rate_of("1000pps").packets, PacketRate{1000});
  EXPECT_EQ(rate_of("1000pps").bits, std::nullopt);
  EXPECT_EQ(rate_of("1000000000pps").packets, kMaxPacketRate);
  EXPECT_EQ(rate_of("1pps").packets, PacketRate{1});
}

TEST(Rate, CountsPacketsInLongerPeriodsThanASecond) {
  EXPECT_EQ(rate_of("10p/min").packets, (PacketRate{10, 60}));
  EXPECT_EQ(rate_of("5000P/H").packets, (PacketRate{5'000, 3'600}));
  EXPECT_EQ(rate_of("1p/d").packets, (PacketRate{1, 86'400}));
  for (const char* text : {"10p/min", "5000p/h", "1p/d", "1000000000p/h"})
    EXPECT_EQ(to_text(rate_of(text)), text);
  EXPECT_EQ(error_of_rate("1000000001p/min"),
            "\"1000000001p/min\" is too much, expected at most \"1000000000p/min\"");
  EXPECT_EQ(error_of_rate("1.5p/min"),
            "\"1.5p/min\" is not a whole number of packets per minute: did you mean \"90p/h\"?");
  EXPECT_EQ(error_of_rate("0.1pps"),
            "\"0.1pps\" is not a whole number of packets per second: did you mean \"6p/min\"?");
  EXPECT_EQ(error_of_rate("0.01p/d"), "\"0.01p/d\" is not a whole number of packets per day");
  EXPECT_EQ(error_of_rate("10p/minute"),
            "\"10p/minute\" has the unknown unit \"p/minute\": did you mean \"10p/min\"?");
}

TEST(Burst, BuildsUpWithinADayAlsoAtLowRates) {
  const auto error_of = [](std::uint64_t burst_packets, PacketRate rate) {
    Burst burst{.packets = burst_packets};
    return settle_burst(burst, {.packets = rate}).error;
  };
  EXPECT_EQ(error_of(14'000, {10, 60}), "");
  EXPECT_EQ(error_of(14'400, {10, 60}),
            "a burst of 14400p takes more than a day to build up at 10p/min, expected a smaller one");
  EXPECT_EQ(error_of(2, {1, 86'400}),
            "a burst of 2p takes more than a day to build up at 1p/d, expected a smaller one");
}

TEST(Rate, CountsBitsInThousandsAndIecUnitsIn1024) {
  EXPECT_EQ(bits_of("8bit"), 8U);
  EXPECT_EQ(bits_of("20kbit"), 20'000U);
  EXPECT_EQ(bits_of("20mbit"), 20'000'000U);
  EXPECT_EQ(bits_of("400gbit"), 400'000'000'000U);
  EXPECT_EQ(bits_of("0.4tbit"), 400'000'000'000U);
  EXPECT_EQ(bits_of("1kibit"), 1024U);
  EXPECT_EQ(bits_of("1mibit"), 1024U * 1024);
  EXPECT_EQ(bits_of("1gibit"), 1024U * 1024 * 1024);
}

TEST(Rate, TakesBpsForBytesAsTcDoesAndWarns) {
  Rate rate;
  const Reading reading = read_rate("10MBps", rate);
  EXPECT_EQ(rate.bits, BitRate{80'000'000});
  EXPECT_EQ(reading.warning,
            "\"10MBps\" is in bytes per second, as in tc: 80mbit; for bits per second write \"10MBit\"");
  EXPECT_EQ(bits_of("1bps"), 8U);
  EXPECT_EQ(bits_of("1kbps"), 8'000U);
  EXPECT_EQ(bits_of("1gbps"), 8'000'000'000U);
  EXPECT_EQ(bits_of("1kibps"), 8'192U);
}

TEST(Rate, OfPacketsOrBitsGivesNoWarning) {
  Rate rate;
  EXPECT_EQ(read_rate("1000pps", rate).warning, "");
  EXPECT_EQ(read_rate("20mbit", rate).warning, "");
}

TEST(Rate, IsReadExactlyWithAFraction) {
  EXPECT_EQ(bits_of("1.5mbit"), 1'500'000U);
  EXPECT_EQ(bits_of("0.1gbit"), 100'000'000U);
  EXPECT_EQ(bits_of("399.999999999gbit"), 399'999'999'999U);
  EXPECT_EQ(bits_of("1.5kibit"), 1536U);
  EXPECT_EQ(bits_of("0.000000001gbit"), 1U);
  EXPECT_EQ(rate_of("1000.000pps").packets, PacketRate{1000});
}

TEST(Rate, TakesLeadingZerosAndCapitals) {
  EXPECT_EQ(bits_of("0000000000000000000000000020Mbit"), 20'000'000U);
  EXPECT_EQ(rate_of("007PPS").packets, PacketRate{7});
}

TEST(Rate, AddsUpToOneOfEachKind) {
  Rate rate;
  EXPECT_TRUE(read_rate("1000pps", rate).ok());
  EXPECT_TRUE(read_rate("20mbit", rate).ok());
  EXPECT_EQ(rate, (Rate{PacketRate{1000}, BitRate{20'000'000}}));
  EXPECT_FALSE(read_rate("30mbit", rate).ok());
  EXPECT_EQ(rate, (Rate{PacketRate{1000}, BitRate{20'000'000}})) << "unchanged after an error";
}

TEST(Rate, EndsExactlyAtItsLimits) {
  EXPECT_EQ(error_of_rate("1000000001pps"),
            "\"1000000001pps\" is too much, expected at most \"1000000000pps\"");
  EXPECT_EQ(error_of_rate("400000000001bit"),
            "\"400000000001bit\" is too much, expected at most \"400gbit\"");
  EXPECT_EQ(error_of_rate("18446744073709551616bit"),
            "\"18446744073709551616bit\" is too much, expected at most \"400gbit\"")
      << "2^64 does not wrap round to zero";
  EXPECT_EQ(error_of_rate("2305843009213693952bps"),
            "\"2305843009213693952bps\" is too much, expected at most \"400gbit\"")
      << "2^61 bytes do not wrap round to zero bits";
  EXPECT_EQ(error_of_rate("0.9bit"), "\"0.9bit\" is not a whole number of bits per second");
}

TEST(Size, CountsIn1024) {
  EXPECT_EQ(bytes_of("1500b"), 1500U);
  EXPECT_EQ(bytes_of("64k"), 65'536U);
  EXPECT_EQ(bytes_of("64kb"), 65'536U);
  EXPECT_EQ(bytes_of("64mb"), 67'108'864U);
  EXPECT_EQ(bytes_of("1G"), 1'073'741'824U);
  EXPECT_EQ(bytes_of("0.5kb"), 512U);
}

TEST(Time, IsReadToTheNanosecond) {
  EXPECT_EQ(time_of("50ms"), milliseconds(50));
  EXPECT_EQ(time_of("60s"), std::chrono::seconds(60));
  EXPECT_EQ(time_of("0.001us"), Duration(1));
  EXPECT_EQ(time_of("1.5ms"), std::chrono::microseconds(1500));
  EXPECT_EQ(time_of("86400s"), kMaxTime);
}

TEST(Queue, TakesPacketsBytesAndTimeAtOnce) {
  QueueCapacity queue;
  EXPECT_TRUE(read_queue("100p", queue).ok());
  EXPECT_TRUE(read_queue("64kb", queue).ok());
  EXPECT_TRUE(read_queue("50ms", queue).ok());
  EXPECT_EQ(queue, (QueueCapacity{100, DataSize{65'536}, milliseconds(50)}));
}

TEST(Burst, OfOnePacketIsNoToleranceAndGoesWithEveryRate) {
  for (const Rate& rate :
       {rate_of("1000pps"), rate_of("20mbit"), Rate{PacketRate{1000}, BitRate{1'000'000}}}) {
    Burst burst;
    EXPECT_TRUE(read_burst("1p", burst).ok());
    EXPECT_EQ(settle_burst(burst, rate).error, "");
    EXPECT_EQ(burst, Burst{});
  }
}

TEST(Burst, OfOnePacketLeavesTheBurstInBytesBesideIt) {
  Burst burst{1, DataSize{15'000}};
  EXPECT_EQ(settle_burst(burst, Rate{PacketRate{1000}, BitRate{1'000'000}}).error, "");
  EXPECT_EQ(burst, (Burst{std::nullopt, DataSize{15'000}}));
}

TEST(Burst, GoesWithTheRateOfItsKind) {
  Burst packets{10, std::nullopt};
  Burst bytes{std::nullopt, DataSize{15'000}};
  Burst both{10, DataSize{15'000}};
  const Rate both_rates{PacketRate{1000}, BitRate{1'000'000}};
  EXPECT_TRUE(settle_burst(packets, rate_of("1000pps")).ok());
  EXPECT_TRUE(settle_burst(packets, both_rates).ok());
  EXPECT_FALSE(settle_burst(packets, rate_of("20mbit")).ok());
  EXPECT_TRUE(settle_burst(bytes, rate_of("20mbit")).ok());
  EXPECT_TRUE(settle_burst(bytes, both_rates).ok());
  EXPECT_FALSE(settle_burst(bytes, rate_of("1000pps")).ok());
  EXPECT_TRUE(settle_burst(both, both_rates).ok());
  EXPECT_FALSE(settle_burst(both, rate_of("1000pps")).ok());
}

TEST(Burst, BuildsUpWithinADay) {
  Burst day_less_a_second{86'399, std::nullopt};
  Burst day{86'400, std::nullopt};
  EXPECT_TRUE(settle_burst(day_less_a_second, rate_of("1pps")).ok());
  EXPECT_FALSE(settle_burst(day, rate_of("1pps")).ok());
  Burst largest{std::nullopt, kMaxSize};
  EXPECT_FALSE(settle_burst(largest, rate_of("1mbit")).ok());
  EXPECT_TRUE(settle_burst(largest, rate_of("10gbit")).ok());
}

// What to_text() writes, the readers read to the same value.
TEST(QuantityText, IsReadBackToTheSameValue) {
  for (const std::string_view text : {"1pps", "1000pps", "1000000000pps", "1bit", "1500kbit", "20mbit",
                                      "1gbit", "399999999999bit", "400gbit"}) {
    EXPECT_EQ(to_text(rate_of(text)), text);
  }
  for (const std::string_view text : {"1p", "100p", "1b", "1500b", "64kb", "1mb", "64gb", "1s", "50ms",
                                      "1500us", "0.001us", "2.05us", "1000000.5us", "86400s"}) {
    QueueCapacity queue;
    EXPECT_TRUE(read_queue(text, queue).ok()) << text;
    EXPECT_EQ(to_text(queue), text);
  }
}

TEST(QuantityText, WritesTheLargestUnitWithoutAFraction) {
  EXPECT_EQ(to_text(BitRate{1'500'000}), "1500kbit");
  EXPECT_EQ(to_text(BitRate{1'000'000'000}), "1gbit");
  EXPECT_EQ(to_text(DataSize{1024}), "1kb");
  EXPECT_EQ(to_text(DataSize{1000}), "1000b");
  EXPECT_EQ(to_text(Duration(milliseconds(1500))), "1500ms");
  EXPECT_EQ(to_text(Duration(0)), "0us");
}

TEST(QuantityText, WritesSeveralElementsAsAList) {
  EXPECT_EQ(to_text(Rate{PacketRate{1000}, BitRate{20'000'000}}), R"(["1000pps", "20mbit"])");
  EXPECT_EQ(to_text(QueueCapacity{100, DataSize{65'536}, milliseconds(50)}), R"(["100p", "64kb", "50ms"])");
  EXPECT_EQ(to_text(Burst{10, DataSize{15'360}}), R"(["10p", "15kb"])");
  EXPECT_EQ(to_text(Burst{}), "1p");
  EXPECT_EQ(to_text(Rate{}), "");
}

TEST(Quantity, ReadsWindowsInLongerUnits) {
  const auto window = [](std::string_view text) {
    Duration length{};
    EXPECT_TRUE(read_window(text, length).ok()) << text;
    return length;
  };
  EXPECT_EQ(window("250ms"), std::chrono::milliseconds(250));
  EXPECT_EQ(window("90min"), std::chrono::minutes(90));
  EXPECT_EQ(window("1.5h"), std::chrono::minutes(90));
  EXPECT_EQ(window("31d"), kMaxWindow);
  Duration time{};
  EXPECT_FALSE(read_time("1h", time).ok());
}

}  // namespace
}  // namespace headgate
