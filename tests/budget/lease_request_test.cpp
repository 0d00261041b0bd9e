#include "budget/lease_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace headgate {
namespace {

using namespace std::chrono_literals;

TEST(LeaseRequest, BecomesArguments) {
  std::vector<std::string> arguments{"host"};
  append_arguments({.serial = 9,
                    .acknowledged = 8,
                    .epoch = "1700000000.5-1",
                    .aged = 77,
                    .aged_for = 3s,
                    .want = {5'000'000'000},
                    .terms = {{400'000'000'000}, {1'000}, 10, 2500ms}},
                   arguments);
  EXPECT_THAT(arguments, testing::ElementsAre("host", "9", "8", "1700000000.5-1", "77", "3000000",
                                              "5000000000", "400000000000:1000:10:2500000"));
}

TEST(LeaseRequest, HasADashForNoEpoch) {
  std::vector<std::string> arguments;
  append_arguments({.serial = 1}, arguments);
  EXPECT_EQ(arguments.at(2), "-");
}

TEST(LeaseRequest, GoesToTheHashOfItsBudget) {
  EXPECT_EQ(budget_key("uplink"), "headgate:{uplink}");
}

constexpr char kLine[] = "1700000000.5-1 12 9 55000000 share 55000001 120000000 3 2000000 1";

TEST(LeaseReply, IsRead) {
  const LeaseReply expected{.epoch = "1700000000.5-1",
                            .event = 12,
                            .serial = 9,
                            .grant = {55'000'000},
                            .bound = GrantBound::share,
                            .share = {55'000'001},
                            .used = {120'000'000},
                            .live = 3,
                            .longest_lease = 2s,
                            .agreed = true};
  EXPECT_EQ(std::get<LeaseReply>(read_lease_reply(kLine)), expected);
}

TEST(LeaseReply, TellsWhatAGrantWasBoundedBy) {
  const std::vector<std::pair<std::string, GrantBound>> bounds{
      {"want", GrantBound::want},         {"share", GrantBound::share}, {"others", GrantBound::others},
      {"learning", GrantBound::learning}, {"hosts", GrantBound::hosts}, {"old", GrantBound::old}};
  for (const auto& [word, bound] : bounds)
    EXPECT_EQ(std::get<LeaseReply>(read_lease_reply("e 1 1 1 " + word + " 1 1 1 1 0")).bound, bound);
}

TEST(LeaseReply, IsRefusedWhenAnythingIsWrong) {
  for (const std::string line :
       {"", "e", "e 1 2 3 want 4 5 6 7", "e 1 2 3 want 4 5 6 7 1 ", "e 1 2 3 want 4 5 6 7 1 9",
        " 1 2 3 want 4 5 6 7 1", "e  2 3 want 4 5 6 7 1", "e 1 2 3 wish 4 5 6 7 1", "e 1 2 -3 want 4 5 6 7 1",
        "e 1 2 3.5 want 4 5 6 7 1", "e 1 2 3x want 4 5 6 7 1", "e 1 2 3 want 4 5 6 7 2",
        "e 1 2 3 want 4 5 4294967296 7 1", "e 1 2 99999999999999999999 want 4 5 6 7 1",
        "e 1 2 9007199254740993 want 4 5 6 7 1", "e 1 2 3 want 4 5 6 7 1\n", "e 1 2 nan want 4 5 6 7 1"}) {
    const auto read = read_lease_reply(line);
    ASSERT_TRUE(std::holds_alternative<ReplyError>(read)) << line;
    EXPECT_THAT(std::get<ReplyError>(read).message,
                testing::HasSubstr("is not a lease, expected: epoch event"));
  }
  EXPECT_TRUE(
      std::holds_alternative<ReplyError>(read_lease_reply(std::string(65, 'e') + " 1 2 3 want 4 5 6 7 1")));
}

}  // namespace
}  // namespace headgate
