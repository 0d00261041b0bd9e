// The numbers that redis-cell's CL.THROTTLE answers with. The first three sequences are those of its README and of
// its tests, the others follow from its rules. Where it rounds a rate's interval down to the nanosecond, or a wait
// below a millisecond to nothing, there is no sequence: here both are exact.
#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <vector>

#include "headgate/redis/gcra.hpp"
#include "support/manual_clock.hpp"
#include "support/redis_server.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

using Numbers = std::array<std::int64_t, 5>;  // limited, limit, remaining, retry after, reset after

std::int64_t seconds_up(Duration time) {
  return std::chrono::ceil<std::chrono::seconds>(time).count();
}

// As gcra.hpp says.
Numbers numbers_of(const redis::Standing& standing) {
  const std::int64_t retry = standing || !standing.retry_after ? -1 : seconds_up(*standing.retry_after);
  return {standing ? 0 : 1, static_cast<std::int64_t>(standing.limit),
          static_cast<std::int64_t>(standing.remaining), retry, seconds_up(standing.reset_after)};
}

struct Call {
  int at;  // milliseconds
  std::uint64_t quantity;
  Numbers numbers;
};

// CL.THROTTLE key max_burst count period quantity
struct Sequence {
  const char* name;
  std::uint64_t max_burst, count;
  int period;  // seconds
  std::vector<Call> calls;
};

void PrintTo(const Sequence& sequence, std::ostream* out) {
  *out << sequence.name;
}

class RedisCell : public testing::TestWithParam<Sequence> {};

TEST_P(RedisCell, AnswersWithTheSameNumbers) {
  const Sequence& sequence = GetParam();
  test::RedisServer server;
  redis::Connection connection({server.address()});
  redis::Gcra gcra(connection, "cell", UnitRate(sequence.count, std::chrono::seconds(sequence.period)),
                   sequence.max_burst + 1);
  for (std::size_t i = 0; i < sequence.calls.size(); ++i) {
    const Call& call = sequence.calls[i];
    const Instant now = kTestStart + std::chrono::milliseconds(call.at);
    EXPECT_EQ(numbers_of(gcra.allow("user123", call.quantity, now)), call.numbers) << "call " << i;
  }
}

const Sequence kSequences[] = {
    {"Readme", 15, 30, 60, {{0, 1, {0, 16, 15, -1, 2}}, {0, 1, {0, 16, 14, -1, 4}}}},
    {"OneInTwoSeconds",
     0,
     1,
     2,
     {{0, 1, {0, 1, 0, -1, 2}},
      {0, 1, {1, 1, 0, 2, 2}},
      {2'000, 1, {0, 1, 0, -1, 2}},
      {2'001, 1, {1, 1, 0, 2, 2}}}},
    {"FiveAtOneASecond",
     4,
     1,
     1,
     {{0, 6, {1, 5, 5, -1, 0}},
      {0, 1, {0, 5, 4, -1, 1}},
      {0, 1, {0, 5, 3, -1, 2}},
      {0, 1, {0, 5, 2, -1, 3}},
      {0, 1, {0, 5, 1, -1, 4}},
      {0, 1, {0, 5, 0, -1, 5}},
      {0, 1, {1, 5, 0, 1, 5}},
      {3'000, 1, {0, 5, 2, -1, 3}},
      {3'100, 1, {0, 5, 1, -1, 4}},
      {4'000, 1, {0, 5, 1, -1, 4}},
      {8'000, 1, {0, 5, 4, -1, 1}},
      {9'500, 1, {0, 5, 4, -1, 1}},
      {9'500, 0, {0, 5, 4, -1, 1}},
      {9'500, 2, {0, 5, 2, -1, 3}},
      {9'500, 5, {1, 5, 2, 3, 3}}}},
    {"TenthsOfSeconds",
     2,
     10,
     1,
     {{0, 3, {0, 3, 0, -1, 1}},
      {0, 1, {1, 3, 0, 1, 1}},
      {0, 4, {1, 3, 0, -1, 1}},
      {99, 0, {0, 3, 0, -1, 1}},
      {100, 0, {0, 3, 1, -1, 1}},
      {100, 2, {1, 3, 1, 1, 1}},
      {200, 2, {0, 3, 0, -1, 1}},
      {500, 0, {0, 3, 3, -1, 0}}}},
    {"ThousandADay",
     99,
     1'000,
     86'400,
     {{0, 100, {0, 100, 0, -1, 8'640}},
      {0, 1, {1, 100, 0, 87, 8'640}},
      {86'400, 1, {0, 100, 0, -1, 8'640}},
      {4'320'000, 50, {1, 100, 49, 87, 4'407}},
      {4'363'200, 50, {1, 100, 49, 44, 4'364}},
      {4'406'400, 50, {0, 100, 0, -1, 8'640}},
      {99'999'999, 0, {0, 100, 100, -1, 0}}}},
};

INSTANTIATE_TEST_SUITE_P(Sequences, RedisCell, testing::ValuesIn(kSequences),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace headgate
