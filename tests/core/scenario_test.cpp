// Plays every file of tests/scenarios; each is a test of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/scenario.hpp"
#include "support/shaper_harness.hpp"

namespace headgate {
namespace {

// For the messages of a failed comparison.
std::string line_of(Duration time, const ScenarioFlow& flow, const std::vector<ClassConfig>& classes) {
  return std::to_string(time.count()) + "ns " + classes[flow.class_index].name + ":" + flow.name;
}

// The worker's part: admits, releases, and goes from one instant at which something happens to the
// next.
class Player {
 public:
  explicit Player(const Scenario& scenario)
      : scenario_(scenario), classes_(scenario.classes), shaper_(scenario.limits, classes_, kTestStart) {}

  void play() {
    while (const auto time = next_time()) {
      now_ = *time;
      apply_changes();
      admit();
      release();
      expect_law(shaper_.statistics(instant(now_)));
    }
  }

  std::vector<ScenarioSent> sent;
  std::vector<ScenarioDrop> dropped;

 private:
  static Instant instant(Duration time) { return kTestStart + time; }

  std::optional<Duration> next_time() const {
    std::optional<Duration> next;
    const auto consider = [&](Duration time) { next = next ? std::min(*next, time) : time; };
    if (next_packet_ < scenario_.packets.size()) consider(scenario_.packets[next_packet_].time);
    if (next_change_ < scenario_.changes.size()) consider(scenario_.changes[next_change_].time);
    if (const auto due = shaper_.next_release()) consider(*due - kTestStart);
    if (!next) return next;
    if (scenario_.asleep && *next > scenario_.asleep->first) next = std::max(*next, scenario_.asleep->second);
    return std::max(*next, now_);
  }

  void apply_changes() {
    for (; next_change_ < scenario_.changes.size() && scenario_.changes[next_change_].time <= now_;
         ++next_change_) {
      const ScenarioChange& change = scenario_.changes[next_change_];
      classes_[change.class_index] = change.config;
      shaper_.reconfigure(
          classes_, [](ArrivingPacket&) { ADD_FAILURE() << "a change must not move packets"; },
          instant(now_));
    }
  }

  void admit() {
    for (; next_packet_ < scenario_.packets.size() && scenario_.packets[next_packet_].time <= now_;
         ++next_packet_) {
      const ScenarioPacket& packet = scenario_.packets[next_packet_];
      const auto number =
          static_cast<std::uint32_t>(flows_.try_emplace(packet.flow, flows_.size()).first->second);
      const ArrivingPacket arriving = frames_.make(classes_, packet.flow.class_index, {number, serial_++},
                                                   packet.bytes, instant(packet.time));
      shaper_.admit({&arriving, 1}, instant(now_));
      note_drops(packet);
    }
  }

  // Who lost a packet to the last admission, and why: what the counters of flows and classes say more than
  // before.
  void note_drops(const ScenarioPacket& arrived) {
    const ShaperStatistics statistics = shaper_.statistics(instant(now_));
    for (ClassIndex index = 0; index < classes_.size(); ++index) {
      std::map<ScenarioFlow, std::uint64_t> lost;
      std::uint64_t by_known_flows = 0;
      shaper_.visit_flows(index, 0, 1'000'000, [&](const FlowStatistics& flow) {
        const ScenarioFlow name = name_of_flow(index, flow_number(flow.key));
        lost[name] = flow.dropped.packets - std::exchange(flow_drops_[name], flow.dropped.packets);
        by_known_flows += lost[name];
      });
      const auto& counts = statistics.classes[index].dropped;
      for (std::size_t reason = 0; reason < kDropReasonCount; ++reason) {
        std::uint64_t more = counts[reason].packets -
                             std::exchange(class_drops_[index][reason].packets, counts[reason].packets);
        if (more > by_known_flows) lost[arrived.flow] += more - by_known_flows;  // a flow without a record
        for (auto& [flow, packets] : lost) {
          for (; packets > 0 && more > 0; --packets, --more) {
            dropped.push_back({arrived.time, flow, static_cast<DropReason>(reason)});
          }
        }
      }
    }
  }

  void release() {
    std::vector<DuePacket> due(64);
    do {
      due.resize(shaper_.release(instant(now_), due));
      for (const DuePacket& packet : due) {
        sent.push_back({now_, name_of_flow(packet.class_index, identity_of(shaper_, packet).flow)});
      }
      shaper_.complete_sent(due, instant(now_));
    } while (due.size() == 64);
  }

  ScenarioFlow name_of_flow(ClassIndex index, std::uint32_t number) const {
    for (const auto& [flow, flow_number] : flows_) {
      if (flow.class_index == index && flow_number == number) return flow;
    }
    return {index, "unknown"};
  }

  const Scenario& scenario_;
  std::vector<ClassConfig> classes_;
  LoneShaper shaper_;
  NumberedPackets frames_;
  std::map<ScenarioFlow, std::size_t> flows_;
  std::map<ScenarioFlow, std::uint64_t> flow_drops_;
  std::map<ClassIndex, DropCounts> class_drops_;
  std::size_t next_packet_ = 0;
  std::size_t next_change_ = 0;
  Duration now_{};
  std::uint32_t serial_ = 0;
};

std::vector<std::filesystem::path> scenario_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(HEADGATE_SCENARIOS)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class ScenarioTest : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(ScenarioTest, Holds) {
  const Scenario scenario = read_scenario(GetParam());
  Player player(scenario);
  player.play();
  const auto& classes = scenario.classes;
  std::vector<std::string> expected;
  std::vector<std::string> actual;
  for (const auto& each : scenario.sent) expected.push_back("sent " + line_of(each.time, each.flow, classes));
  for (const auto& each : player.sent) actual.push_back("sent " + line_of(each.time, each.flow, classes));
  EXPECT_EQ(actual, expected);

  std::sort(player.dropped.begin(), player.dropped.end());
  expected.clear();
  actual.clear();
  const auto line = [&](const ScenarioDrop& drop) {
    return "dropped " + line_of(drop.time, drop.flow, classes) + " " + std::string(name_of(drop.reason));
  };
  for (const auto& each : scenario.dropped) expected.push_back(line(each));
  for (const auto& each : player.dropped) actual.push_back(line(each));
  EXPECT_EQ(actual, expected);
}

std::string file_name(const testing::TestParamInfo<std::filesystem::path>& file) {
  return file.param.stem().string();
}

INSTANTIATE_TEST_SUITE_P(Files, ScenarioTest, testing::ValuesIn(scenario_files()), file_name);

TEST(ScenarioFolder, IsNotEmpty) {
  EXPECT_GE(scenario_files().size(), 20u);
}

}  // namespace
}  // namespace headgate
