#include "synthetic_traffic.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/header_parser.hpp"
#include "support/manual_clock.hpp"
#include "support/packet_builder.hpp"
#include "traffic_grammar.hpp"

namespace headgate {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Given {
  Duration at;
  std::vector<std::byte> headers;
  std::uint32_t length;
};

std::vector<Given> all_of(const std::string& text, Duration end = seconds(1), std::uint64_t seed = 1) {
  SyntheticTraffic traffic(read_traffic(text), kTestStart, end, seed);
  std::vector<Given> given;
  while (const OfferedPacket* packet = traffic.next())
    given.push_back({packet->at - kTestStart, {packet->frame.begin(), packet->frame.end()}, packet->length});
  return given;
}

std::vector<Duration> times_of(const std::vector<Given>& given) {
  std::vector<Duration> times;
  times.reserve(given.size());
  for (const Given& one : given) times.push_back(one.at);
  return times;
}

TEST(SyntheticTraffic, ASteadySourceComesEvenlyAndDoesNotDrift) {
  // Three a second are no whole number of nanoseconds apart.
  const auto given = all_of("udp 10.0.0.1:1>10.0.0.2:2 100b 3pps from 1s to 3s", seconds(9));
  ASSERT_EQ(given.size(), 6U);
  EXPECT_EQ(given[1].at, seconds(1) + Duration(333'333'334));
  EXPECT_EQ(given[3].at, seconds(2));
  // 1250 bytes take a millisecond at 10 Mbit/s.
  EXPECT_EQ(times_of(all_of("udp 10.0.0.1:1>10.0.0.2:2 1250b 10mbit count 3p")),
            (std::vector<Duration>{{}, milliseconds(1), milliseconds(2)}));
}

TEST(SyntheticTraffic, ABurstComesAtOnceAndKeepsTheRate) {
  EXPECT_EQ(times_of(all_of("udp 10.0.0.1:1>10.0.0.2:2 100b 1000pps burst 2p count 5p")),
            (std::vector<Duration>{{}, {}, milliseconds(2), milliseconds(2), milliseconds(4)}));
}

TEST(SyntheticTraffic, FlowsBeginOneAfterTheOtherAndDifferAsTheySay) {
  const auto given = all_of("udp 10.0.0.1:1>10.0.0.254:2 100b 1000pps flows 4 destinations count 1p");
  EXPECT_EQ(times_of(given),
            (std::vector<Duration>{{}, microseconds(250), microseconds(500), microseconds(750)}));
  const ParsedHeaders last = parse_headers(given[3].headers);
  EXPECT_EQ((std::vector<int>{last.destination[13], last.destination[14], last.destination[15]}),
            (std::vector<int>{0, 1, 1}));
  std::set<std::uint16_t> ports;
  for (const Given& one : all_of("udp 10.0.0.1:7>10.0.0.2:2 100b 1000pps flows 4 count 1p"))
    ports.insert(parse_headers(one.headers).source_port);
  EXPECT_EQ(ports, (std::set<std::uint16_t>{7, 8, 9, 10}));
}

TEST(SyntheticTraffic, WhatIsDrawnHangsOnTheSeedAlone) {
  const std::string text =
      "poisson udp 10.0.0.1:1>10.0.0.2:2 64b..1500b 1000pps; onoff 10ms 10ms udp 10.0.0.1:1>10.0.0.2:2 64b "
      "5mbit";
  EXPECT_EQ(times_of(all_of(text)), times_of(all_of(text)));
  EXPECT_NE(times_of(all_of(text)), times_of(all_of(text, seconds(1), 2)));
}

TEST(SyntheticTraffic, DrawnGapsAndTimesHaveTheirMeans) {
  // 20 000 gaps: their sum is within 5 of its standard deviations, 1/sqrt(20000) each.
  const auto poisson = all_of("poisson udp 10.0.0.1:1>10.0.0.2:2 64b 1000pps count 20000p", seconds(100));
  EXPECT_NEAR(static_cast<double>(poisson.back().at.count()) / 20e9, 1, 5 / std::sqrt(20'000));
  // It sends a quarter of the time: some thousand periods.
  const auto on_off = all_of("onoff 5ms 15ms udp 10.0.0.1:1>10.0.0.2:2 64b 10000pps", seconds(100));
  EXPECT_NEAR(static_cast<double>(on_off.size()) / 1e6, 0.25, 0.02);
}

// The builder of the tests makes the same packets, by other code.
TEST(SyntheticTraffic, HeadersAreRight) {
  const auto expect = [](const std::string& text, PacketBuilder packet, std::size_t bytes) {
    const auto given = all_of(text + " " + std::to_string(bytes) + "b 1pps count 1p");
    const std::vector<std::byte> expected =
        packet.payload(std::vector<std::uint8_t>(bytes - given[0].headers.size())).build();
    ASSERT_EQ(expected.size(), bytes);
    EXPECT_EQ(given[0].length, bytes);
    const std::size_t macs = 12;  // chosen differently
    EXPECT_TRUE(std::equal(given[0].headers.begin() + macs, given[0].headers.end(), expected.begin() + macs))
        << text;
  };
  using Builder = PacketBuilder;
  expect("udp 10.0.0.1:1000>10.0.0.2:53", Builder().ipv4("10.0.0.1", "10.0.0.2").udp(1000, 53), 1200);
  expect("tcp 10.0.0.1:1000>10.0.0.2:53", Builder().ipv4("10.0.0.1", "10.0.0.2").tcp(1000, 53), 99);
  expect("udp [2001:db8::1]:1>[2001:db8::2]:2", Builder().ipv6("2001:db8::1", "2001:db8::2").udp(1, 2), 301);
  expect("tcp [2001:db8::1]:1>[2001:db8::2]:2", Builder().ipv6("2001:db8::1", "2001:db8::2").tcp(1, 2), 75);
}

}  // namespace
}  // namespace headgate
