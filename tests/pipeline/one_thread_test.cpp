// A drain thread that reads its source itself, and sleeps there; run under ThreadSanitizer.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "linux/real_time.hpp"
#include "linux/timer_waiter.hpp"
#include "pipeline/capture_loop.hpp"
#include "pipeline/drain_loop.hpp"
#include "support/fake_packet_io.hpp"
#include "support/packet_builder.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<ClassConfig> classes_of(std::uint64_t packets_per_second) {
  ClassConfig config{.name = "all", .rate = {.packets = PacketRate{packets_per_second}}};
  config.key.destination_address = true;
  config.queue.packets = 10'000;
  return {config};
}

std::shared_ptr<const Classifier> classifier_of(std::vector<ClassConfig> classes) {
  std::vector<std::unique_ptr<PacketMatcher>> matchers(classes.size());
  return std::make_shared<const Classifier>(std::move(classes), std::move(matchers), 1);
}

constexpr int kFlows = 7;

constexpr std::uint16_t kPort = 5000;  // no port of control traffic

Frame frame_number(std::uint16_t number) {
  return PacketBuilder()
      .ipv4("10.0.0.1", "10.0.1." + std::to_string(number % kFlows))
      .udp(number, kPort)
      .payload(18)
      .build();
}

// What frame_number() wrote into the source port.
std::uint16_t number_of(const Frame& frame) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(frame[34]) << 8 | static_cast<unsigned>(frame[35]));
}

class OneThread : public testing::Test {
 protected:
  OneThread() {
    waiter_.set_reader(capture_loop_);
    drain_loop_.read_too(capture_loop_);
  }
  void start() {
    thread_ = std::thread([this] { drain_loop_.run(); });
  }
  void stop() {
    drain_loop_.send_rest_at_end(true);
    capture_loop_.stop();
    thread_.join();
  }

  MonotonicClock clock_;
  FakePacketSource source_{256};
  RecordingSink sink_{clock_};
  TimerWaiter waiter_;
  FakeDeadManSwitch switch_;
  HandOff hand_off_{source_.slots() + CaptureLoop::kReservedEntries};
  std::shared_ptr<const Classifier> classifier_ = classifier_of(classes_of(50'000));
  Shaper shaper_{ShaperLimits{}, classes_of(50'000), clock_.now()};
  DrainLoop drain_loop_{{{hand_off_, source_}}, sink_, waiter_, clock_, shaper_, classifier_};
  PipelineWatch watch_{switch_, {{source_, drain_loop_.health()}}};
  CaptureLoop capture_loop_{source_, {{hand_off_, nullptr}}, watch_, clock_, classifier_};
  std::thread thread_;
};

TEST_F(OneThread, CarriesEveryPacketInTheOrderOfItsFlowThroughReconfigurationsAndAStop) {
  constexpr std::uint16_t kPackets = 3000;
  start();
  for (std::uint16_t i = 0; i < kPackets; ++i) {
    source_.add(frame_number(i));
    if (i % 500 != 250) continue;
    Reconfiguration reconfiguration(classifier_of(classes_of(20'000 + i)), {&waiter_});
    std::future<void> done = reconfiguration.done();
    capture_loop_.reconfigure(reconfiguration);
    done.get();
    ShaperStatistics snapshot;
    ASSERT_TRUE(drain_loop_.call(
        [&](Shaper& shaper, PacketSink&, Instant now) { snapshot = shaper.statistics(now); }, seconds(60)));
    EXPECT_EQ(snapshot.received.packets,
              snapshot.sent.packets + total(snapshot.dropped).packets + snapshot.queued.packets);
  }
  stop();

  EXPECT_EQ(source_.slots_out(), 0u);
  EXPECT_GT(switch_.resets, 0);
  const ShaperStatistics all = shaper_.statistics(clock_.now());
  EXPECT_EQ(all.received.packets, kPackets);
  EXPECT_EQ(all.sent.packets, kPackets);
  ASSERT_EQ(sink_.departures.size(), kPackets);
  std::vector<std::vector<std::uint16_t>> by_flow(kFlows);
  for (const auto& departure : sink_.departures) {
    const std::uint16_t number = number_of(departure.frame);
    by_flow[number % kFlows].push_back(number);
  }
  for (std::uint16_t i = 0; i < kPackets; ++i) {
    ASSERT_EQ(by_flow[i % kFlows][i / kFlows], i) << "order within flow " << i % kFlows;
  }
}

TEST_F(OneThread, SleepsUntilItsDeadlineAnArrivingPacketOrAWake) {
  const Instant deadline = clock_.now() + milliseconds(20);
  waiter_.prepare();
  waiter_.wait(deadline);
  EXPECT_GE(clock_.now(), deadline);

  const Instant soon = clock_.now() + Waiter::kSoon;
  waiter_.prepare();
  waiter_.wait(soon);
  EXPECT_GE(clock_.now(), soon);

  source_.add(frame_number(1));
  waiter_.prepare();
  waiter_.wait(clock_.now() + seconds(3600));  // or hangs
  EXPECT_TRUE(capture_loop_.look());

  waiter_.prepare();
  waiter_.wake();
  waiter_.wait(std::nullopt);  // or hangs
}

TEST_F(OneThread, TakesWhatArrivesWhileItSpins) {
  ASSERT_EQ(set_timer_slack(), "");
  waiter_.set_precision(Precision::high);
  const auto wait_until = [this](Instant deadline) {
    waiter_.prepare();
    waiter_.wait(deadline);
    return clock_.now();
  };
  int returned_early = 0;
  for (int i = 0; i < 1000 && returned_early < 10; ++i) {
    source_.add(frame_number(1));
    const Instant deadline = clock_.now() + Waiter::kSoon;
    if (wait_until(deadline) < deadline) {
      ++returned_early;
      EXPECT_TRUE(capture_loop_.look());
      EXPECT_GE(wait_until(deadline), deadline);  // nothing more has arrived
    } else {
      capture_loop_.look();  // the machine was too slow
    }
  }
  EXPECT_EQ(returned_early, 10);
}

TEST_F(OneThread, EndsWhenItsSourceFails) {
  source_.add(frame_number(1));
  source_.on_wait = [](auto) { throw std::runtime_error("device gone"); };
  start();
  thread_.join();
  EXPECT_EQ(sink_.departures.size(), 1u);
  EXPECT_NE(capture_loop_.failure(), nullptr);
  EXPECT_TRUE(drain_loop_.ended());
}

}  // namespace
}  // namespace headgate
