// Several workers on threads of their own with the real sleep between them; run under ThreadSanitizer.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "linux/timer_waiter.hpp"
#include "pipeline/capture_loop.hpp"
#include "pipeline/drain_loop.hpp"
#include "support/fake_packet_io.hpp"
#include "support/packet_builder.hpp"

namespace headgate {
namespace {

using std::chrono::seconds;

constexpr std::size_t kWorkers = 3;
constexpr int kConnections = 40;  // 5-tuples
constexpr int kHosts = 7;

std::shared_ptr<const Classifier> classifier_of(ClassConfig config) {
  std::vector<std::unique_ptr<PacketMatcher>> matchers(1);
  return std::make_shared<const Classifier>(std::vector{std::move(config)}, std::move(matchers), 1);
}

ClassConfig one_bucket(std::uint64_t packets_per_second) {
  ClassConfig config{.name = "all", .rate = {.packets = PacketRate{packets_per_second}}};
  config.queue.packets = 100'000;
  return config;
}

ClassConfig by_destination(std::uint64_t packets_per_second) {
  ClassConfig config = one_bucket(packets_per_second);
  config.key.destination_address = true;
  return config;
}

ClassConfig by_connection(std::uint64_t packets_per_second) {
  ClassConfig config = by_destination(packets_per_second);
  config.key.source_address = config.key.ports = true;
  return config;
}

// Packet `number` of all; its place in its connection is the length of its payload.
Frame frame_number(int number) {
  const int connection = number % kConnections;
  return PacketBuilder()
      .ipv4("10.0.0.1", "10.0.1." + std::to_string(connection % kHosts))
      .udp(static_cast<std::uint16_t>(connection), 5000)
      .payload(static_cast<std::size_t>(18 + number / kConnections))
      .build();
}

struct Sent {
  std::size_t worker;
  int connection;
  int place;
};

// What all workers send, in the order in which they send it.
class Wire {
 public:
  void put(std::size_t worker, const Frame& frame) {
    const int connection = static_cast<int>(frame[34]) << 8 | static_cast<int>(frame[35]);
    const std::lock_guard lock(mutex_);
    sent_.push_back({worker, connection, static_cast<int>(frame.size()) - 14 - 20 - 8 - 18});
  }
  std::vector<Sent> sent() {
    const std::lock_guard lock(mutex_);
    return sent_;
  }

 private:
  std::mutex mutex_;
  std::vector<Sent> sent_;
};

class WireSink : public PacketSink {
 public:
  WireSink(Wire& wire, std::size_t worker) : wire_(wire), worker_(worker) {}
  void send(std::span<const OutgoingFrame> frames, std::span<bool> sent) override {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      Frame whole;
      for (const auto& part : frames[i].parts) whole.insert(whole.end(), part.begin(), part.end());
      wire_.put(worker_, whole);
      sent[i] = true;
    }
  }

 private:
  Wire& wire_;
  std::size_t worker_;
};

class Workers : public testing::Test {
 protected:
  struct Worker {
    Worker(Wire& wire, std::size_t number) : sink(wire, number) {}
    FakePacketSource source{256, SlotsReturn::in_any_order};
    WireSink sink;
    TimerWaiter waiter;
    std::vector<std::unique_ptr<HandOff>> hand_offs;
    std::optional<Shaper> shaper;
    std::optional<DrainLoop> drain_loop;
    std::optional<CaptureLoop> capture_loop;
    std::thread thread;
  };

  // `entries` of each hand-off ring.
  void start(const ClassConfig& config, std::size_t entries = 1024) {
    const auto classifier = classifier_of(config);
    for (std::size_t i = 0; i < kWorkers; ++i) workers_.push_back(std::make_unique<Worker>(wire_, i));
    for (const auto& worker : workers_) {
      worker->shaper.emplace(ShaperLimits{}, classifier->classes(), clock_.now());
      for (std::size_t i = 0; i < kWorkers; ++i)
        worker->hand_offs.push_back(std::make_unique<HandOff>(entries));
    }
    std::vector<PipelineWatch::Watched> watched;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      Worker& worker = *workers_[i];
      std::vector<DrainInput> inputs;
      for (const auto& from : workers_) inputs.push_back({*from->hand_offs[i], from->source});
      worker.drain_loop.emplace(inputs, worker.sink, worker.waiter, clock_, *worker.shaper, classifier, i);
      watched.push_back({worker.source, worker.drain_loop->health()});
    }
    watch_.emplace(switch_, watched);
    for (std::size_t i = 0; i < kWorkers; ++i) {
      Worker& worker = *workers_[i];
      std::vector<CaptureOutput> outputs;
      for (std::size_t to = 0; to < kWorkers; ++to)
        outputs.push_back({*worker.hand_offs[to], to == i ? nullptr : &workers_[to]->waiter});
      worker.capture_loop.emplace(worker.source, outputs, *watch_, clock_, classifier, i);
      worker.waiter.set_reader(*worker.capture_loop);
      worker.drain_loop->read_too(*worker.capture_loop);
    }
    for (const auto& worker : workers_)
      worker->thread = std::thread([&worker] { worker->drain_loop->run(); });
  }

  // As the kernel shares packets: those of a connection come by one source.
  void arrive(int number) {
    workers_[static_cast<std::size_t>(number % kConnections) % kWorkers]->source.add(frame_number(number));
  }

  void change_to(const ClassConfig& config) {
    std::vector<Waiter*> waiters;
    for (const auto& worker : workers_) waiters.push_back(&worker->waiter);
    Reconfiguration reconfiguration(classifier_of(config), waiters);
    std::future<void> done = reconfiguration.done();
    for (const auto& worker : workers_) worker->capture_loop->reconfigure(reconfiguration);
    done.get();
  }

  void stop() {
    for (const auto& worker : workers_) {
      worker->drain_loop->send_rest_at_end(true);
      worker->source.wait_until_read();
      worker->capture_loop->stop();
    }
    for (const auto& worker : workers_) worker->thread.join();
    for (const auto& worker : workers_) EXPECT_EQ(worker->source.slots_out(), 0u);
  }

  void expect_all_sent(std::uint64_t packets) {
    std::uint64_t received = 0;
    for (const auto& worker : workers_) {
      const ShaperStatistics one = worker->shaper->statistics(clock_.now());
      EXPECT_EQ(one.received, one.sent);
      received += one.received.packets;
    }
    EXPECT_EQ(received, packets);
    EXPECT_EQ(wire_.sent().size(), packets);
  }

  void expect_order_in_connections() {
    std::map<int, int> places;
    for (const Sent& sent : wire_.sent()) ASSERT_EQ(sent.place, places[sent.connection]++) << sent.connection;
  }

  std::size_t senders() {
    std::set<std::size_t> numbers;
    for (const Sent& sent : wire_.sent()) numbers.insert(sent.worker);
    return numbers.size();
  }

  MonotonicClock clock_;
  Wire wire_;
  FakeDeadManSwitch switch_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::optional<PipelineWatch> watch_;
};

TEST_F(Workers, CarryEveryPacketInTheOrderOfItsConnectionWhateverBecomesOfItsFlow) {
  constexpr int kPackets = 6000;
  start(by_destination(20'000));
  const std::vector<ClassConfig> ways = {by_connection(3000), one_bucket(50'000),
                                         ClassConfig{.name = "all", .bypass = true}, by_destination(9000)};
  for (int i = 0; i < kPackets; ++i) {
    arrive(i);
    if (i % 300 == 150) change_to(ways[static_cast<std::size_t>(i / 300) % ways.size()]);
  }
  stop();
  expect_all_sent(kPackets);
  expect_order_in_connections();
  EXPECT_EQ(senders(), kWorkers);
  EXPECT_GT(switch_.resets, 0);
}

TEST_F(Workers, LeaveOneBucketToOneOfThem) {
  constexpr int kPackets = 2000;
  start(one_bucket(50'000));
  for (int i = 0; i < kPackets; ++i) arrive(i);
  stop();
  expect_all_sent(kPackets);
  expect_order_in_connections();
  EXPECT_EQ(senders(), 1u);
}

TEST_F(Workers, LoseNothingWhereHandOffRingsAreShort) {
  constexpr int kPackets = 4000;
  start(one_bucket(100'000), 32);
  for (int i = 0; i < kPackets; ++i) arrive(i);
  stop();
  expect_all_sent(kPackets);
  expect_order_in_connections();
}

TEST_F(Workers, AnswerRequestsWhileTheyChange) {
  start(by_destination(1000));
  for (int i = 0; i < 500; ++i) {
    arrive(i);
    if (i % 50 == 25) change_to(i % 100 == 25 ? one_bucket(1000) : by_connection(1000));
    for (const auto& worker : workers_) {
      ShaperStatistics one;
      ASSERT_TRUE(worker->drain_loop->call(
          [&one](Shaper& shaper, PacketSink&, Instant now) { one = shaper.statistics(now); }, seconds(60)));
      EXPECT_EQ(one.received.packets, one.sent.packets + total(one.dropped).packets + one.queued.packets);
    }
  }
  stop();
  expect_all_sent(500);
}

}  // namespace
}  // namespace headgate
