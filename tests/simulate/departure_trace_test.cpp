#include "departure_trace.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/manual_clock.hpp"
#include "support/simulated_shape.hpp"
#include "trace_traffic.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;

class DepartureTraceTest : public testing::Test {
 protected:
  ~DepartureTraceTest() override { std::filesystem::remove(path_); }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("departures-" + std::to_string(getpid()) + ".pcapng"))
          .string();
};

// A tag that was taken out stands in the trace again, of what waited and of what left or was dropped at once.
TEST_F(DepartureTraceTest, HasTheFramesThatCameWithTheTimesAtWhichTheyLeft) {
  const ConfigResult read = parse_config(R"(
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "clients"
  match = "udp"
  rate  = "1000pps"
  queue = "1p"
)",
                                         "test.toml");
  ASSERT_TRUE(read.ok());
  CompiledMatches matches;
  const auto frame = [](std::uint16_t port) {
    return PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(port, 53).vlan(7).frame_size(1400).build();
  };
  ListedTraffic traffic;
  for (std::uint16_t port = 1; port <= 3; ++port) traffic.add(kTestStart, frame(port));
  const auto unmatched =
      PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").tcp(1, 2).vlan(7).frame_size(80).build();
  traffic.add(kTestStart, unmatched);
  DepartureTrace out(path_, "eth0/egress", read.config.shapes[0]);
  Simulation simulation(read.config.daemon, read.config.shapes[0], matches, kTestStart, &out);
  simulation.run(traffic, std::nullopt);
  out.finish();

  // The third finds no room; what no class takes leaves while the first still stands there.
  const std::vector<std::pair<Duration, std::vector<std::byte>>> expected = {
      {{}, unmatched}, {{}, frame(1)}, {{}, frame(3)}, {milliseconds(1), frame(2)}};
  std::vector<std::pair<Duration, std::vector<std::byte>>> written;
  TraceTraffic trace(path_);
  while (const OfferedPacket* packet = trace.next())
    written.push_back({packet->at - kTestStart, {packet->frame.begin(), packet->frame.end()}});
  std::sort(written.begin(), written.end());
  auto sorted = expected;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(written, sorted);
}

TEST_F(DepartureTraceTest, AFileThatCannotBeWrittenIsNamed) {
  const ShapeConfig shape;
  try {
    DepartureTrace("/nonexistent/out.pcapng", "eth0/egress", shape);
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/out.pcapng"), std::string::npos);
  }
}

}  // namespace
}  // namespace headgate
