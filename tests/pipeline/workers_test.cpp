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
#include "pipeline/worker.hpp"
#include "support/fake_packet_io.hpp"
#include "support/heap_memory.hpp"
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
  struct Part {
    Part(Wire& wire, std::size_t number, Clock& clock)
        : sink(wire, number), worker({}, memory, waiter, clock) {}
    FakePacketSource source{256, SlotsReturn::in_any_order};
    WireSink sink;
    HeapMemory memory;
    TimerWaiter waiter;
    Worker worker;
    std::vector<std::unique_ptr<HandOff>> hand_offs;  // to each other part
    PacketTaps taps;
    std::optional<Shaper> shaper;
    std::optional<Port> port;
    std::thread thread;
  };

  // `entries` of each hand-off ring.
  void start(const ClassConfig& config, std::size_t entries = 1024) {
    classifier_ = classifier_of(config);
    for (std::size_t i = 0; i < kWorkers; ++i) {
      parts_.push_back(std::make_unique<Part>(wire_, i, clock_));
      Part& part = *parts_.back();
      part.source.wake_when_frames_come(part.waiter);
      part.shaper.emplace(ShaperLimits{}, classifier_->classes(), part.memory);
      for (std::size_t to = 0; to < kWorkers; ++to)
        part.hand_offs.push_back(to == i ? nullptr : std::make_unique<HandOff>(entries));
    }
    std::vector<ShapeWatch::Watched> watched;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      std::vector<const HandOff*> inputs;
      for (const auto& from : parts_)
        if (from->hand_offs[i]) inputs.push_back(from->hand_offs[i].get());
      Part& part = *parts_[i];
      watched.push_back({part.source, part.worker.health(), part.waiter, inputs});
    }
    watch_.emplace(switch_, watched);
    for (std::size_t i = 0; i < kWorkers; ++i) start(i);
  }

  void start(std::size_t number) {
    Part& part = *parts_[number];
    std::vector<std::optional<PortPeer>> peers(kWorkers);
    for (std::size_t other = 0; other < kWorkers; ++other) {
      if (other == number) continue;
      Part& peer = *parts_[other];
      peers[other].emplace(PortPeer{.to = *part.hand_offs[other],
                                    .from = *peer.hand_offs[number],
                                    .source = peer.source,
                                    .waiter = peer.waiter});
    }
    part.port.emplace(PortOptions{.source = part.source,
                                  .sink = part.sink,
                                  .shaper = *part.shaper,
                                  .taps = part.taps,
                                  .watch = *watch_,
                                  .classifier = classifier_,
                                  .part = number,
                                  .peers = std::move(peers)},
                      clock_);
    part.worker.schedule().add(*part.shaper);
    part.worker.add_port(*part.port);
    part.worker.expect_run();
    part.thread = std::thread([&part] { part.worker.run(); });
  }

  // As the kernel shares packets: those of a connection come by one source.
  void arrive(int number) {
    parts_[static_cast<std::size_t>(number % kConnections) % kWorkers]->source.add(frame_number(number));
  }

  void change_to(const ClassConfig& config) {
    const auto classifier = classifier_of(config);
    std::vector<Reconfiguration::Part> changes;
    for (const auto& part : parts_)
      changes.push_back({.change = part->shaper->prepare(classifier->classes()), .waiter = &part->waiter});
    Reconfiguration reconfiguration(classifier, std::move(changes));
    std::future<void> done = reconfiguration.done();
    for (const auto& part : parts_)
      part->worker.ask([&port = *part->port, &reconfiguration](Instant) { port.begin(reconfiguration); });
    done.get();
  }

  // Takes over what has come, and sends what is queued.
  void stop() {
    std::array<std::promise<void>, kWorkers> ended;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      parts_[i]->worker.ask([&port = *parts_[i]->port, &end = ended[i]](Instant) {
        port.begin_end([&end] { end.set_value(); });
      });
    }
    for (std::promise<void>& end : ended) end.get_future().wait();
    for (const auto& part : parts_) {
      part->worker
          .ask([&](Instant now) {
            while (part->worker.send_some(*part->port, now + seconds(60))) {
            }
            const ShaperStatistics one = part->shaper->statistics(now);
            EXPECT_EQ(one.received, one.sent);
            received_.push_back(one.received);
            part->worker.remove_port(*part->port);
            part->worker.schedule().remove(*part->shaper);
          })
          .get();
    }
    for (const auto& part : parts_) part->worker.stop();
    for (const auto& part : parts_) part->thread.join();
    for (const auto& part : parts_) EXPECT_EQ(part->source.slots_out(), 0u);
  }

  void expect_all_sent(std::uint64_t packets) {
    Count received;
    for (const Count& one : received_) received += one;
    EXPECT_EQ(received.packets, packets);
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
  std::shared_ptr<const Classifier> classifier_;
  std::optional<ShapeWatch> watch_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Count> received_;  // at the end, by part
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
    for (const auto& part : parts_) {
      ShaperStatistics one;
      ASSERT_TRUE(part->worker.call([&](Instant now) { one = part->shaper->statistics(now); }, seconds(60)));
      EXPECT_EQ(one.received.packets, one.sent.packets + total(one.dropped).packets + one.queued.packets);
    }
  }
  stop();
  expect_all_sent(500);
}

}  // namespace
}  // namespace headgate
