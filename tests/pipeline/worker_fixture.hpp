// A worker in virtual time, with shapes of one part each: fakes at both ends, and nobody but the test.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "pipeline/worker.hpp"
#include "support/fake_packet_io.hpp"
#include "support/heap_memory.hpp"
#include "support/packet_builder.hpp"

namespace headgate {

inline std::shared_ptr<const Classifier> classifier_of(std::vector<ClassConfig> configs) {
  std::vector<std::unique_ptr<PacketMatcher>> matchers(configs.size());
  return std::make_shared<const Classifier>(std::move(configs), std::move(matchers), 1);
}

// Takes everything; a bucket for each destination.
inline ClassConfig class_of(std::uint64_t packets_per_second, std::uint64_t capacity = 1000) {
  ClassConfig config{.name = "all", .rate = {.packets = PacketRate{packets_per_second}}};
  config.key.destination_address = true;
  config.queue.packets = capacity;
  return config;
}

inline ClassConfig free_class() {
  return {.name = "all", .bypass = true};
}

// A frame to host `host`, told apart by its length.
inline Frame frame_to(int host, std::size_t payload = 18) {
  return PacketBuilder()
      .ipv4("10.0.0.1", "10.0.1." + std::to_string(host))
      .udp(4000, 5000)
      .payload(payload)
      .build();
}

class WorkerFixture : public testing::Test {
 protected:
  // A shape with its port at the worker.
  struct TestShape {
    TestShape(WorkerFixture& fixture, const ClassConfig& config, const ShaperLimits& limits,
              std::size_t slots)
        : source(slots),
          sink(fixture.clock),
          shaper(limits, {config}, fixture.memory),
          watch(dead_man_switch, {{.source = source,
                                   .health = fixture.worker.health(),
                                   .waiter = fixture.waiter,
                                   .inputs = {}}}) {}

    FakePacketSource source;
    RecordingSink sink;
    FakeDeadManSwitch dead_man_switch;
    PacketTaps taps;
    Shaper shaper;
    ShapeWatch watch;
    std::optional<Port> port;
  };

  ~WorkerFixture() override {
    for (const auto& shape : shapes_) {
      worker.remove_port(*shape->port);
      shape->shaper.drop_all(DropReason::stop);
      worker.schedule().remove(shape->shaper);
    }
  }

  TestShape& add_shape(const ClassConfig& config, const ShaperLimits& limits = {}, std::size_t slots = 1024,
                       SuperPacketCut cut = SuperPacketCut::none,
                       LinkHeader link_header = LinkHeader::ethernet) {
    shapes_.push_back(std::make_unique<TestShape>(*this, config, limits, slots));
    TestShape& shape = *shapes_.back();
    shape.port.emplace(PortOptions{.source = shape.source,
                                   .sink = shape.sink,
                                   .shaper = shape.shaper,
                                   .taps = shape.taps,
                                   .watch = shape.watch,
                                   .classifier = classifier_of({config}),
                                   .super_packet_cut = cut,
                                   .link_header = link_header},
                       clock);
    worker.schedule().add(shape.shaper);
    worker.add_port(*shape.port);
    return shape;
  }

  // Runs until nothing is left to do.
  void run() {
    waiter.on_idle = [this] { worker.stop(); };
    worker.run();
  }

  static void expect_law(TestShape& shape, Instant now) {
    const ShaperStatistics statistics = shape.shaper.statistics(now);
    Count sum = statistics.sent;
    sum += total(statistics.dropped);
    sum += statistics.queued;
    EXPECT_EQ(statistics.received, sum);
  }

  std::uint64_t dropped(TestShape& shape, DropReason reason) {
    return shape.shaper.statistics(clock.now()).dropped[static_cast<std::size_t>(reason)].packets;
  }

  ManualClock clock;
  FakeWaiter waiter{clock};
  HeapMemory memory;
  Worker worker{{}, memory, waiter, clock};

 private:
  std::vector<std::unique_ptr<TestShape>> shapes_;
};

}  // namespace headgate
