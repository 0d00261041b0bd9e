// Speed of the shaper alone: one thread admits, releases and completes packets in batches of 64, in virtual time.
//
//   build/release/bin/core_benchmark [--benchmark_filter=...]
//
// shape      offered load equal to the flows' rates: each flow sends in its own phase of a round, in random order, up to
//            half a round too late; so every packet leaves, and most wait.
// overload   each packet's flow is drawn anew: the same mean load, but queues grow until some overflow.
//
// items_per_second counts packets that went all the way; `dropped` is the share that overflowed.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory_resource>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "core/shaper.hpp"
#include "linux/huge_pages.hpp"
#include "support/manual_clock.hpp"
#include "support/numbered_packets.hpp"

namespace headgate {
namespace {

constexpr std::size_t kBatch = 64;
constexpr std::uint64_t kPacketsPerSecond = 10'000'000;  // of virtual time

enum class Order { rounds, drawn };

// What tells one packet from the next, in few bytes: that it must be read is not the shaper's cost.
struct Arrival {
  std::uint32_t flow = 0;
  std::uint32_t flow_hash = 0;
};

// So many, prepared, that the flows repeat in no pattern.
std::pmr::vector<Arrival> random_arrivals(Order order, const std::vector<ClassConfig>& classes,
                                          std::uint32_t flows) {
  std::mt19937_64 random(1);
  const std::uint64_t seed = class_hash_seed(classes[0].name, 1);
  std::vector<std::uint32_t> phases(flows);
  std::iota(phases.begin(), phases.end(), 0);
  std::shuffle(phases.begin(), phases.end(), random);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> round(flows);  // time in it, and flow
  std::pmr::vector<Arrival> packets(huge_pages());
  while (packets.size() < std::max<std::size_t>(1 << 18, 4ull * flows) || packets.size() % flows != 0 ||
         packets.size() % kBatch != 0) {
    if (packets.size() % flows == 0) {
      for (std::uint32_t i = 0; i < flows; ++i) round[i] = {phases[i] + random() % (flows / 2 + 1), i};
      std::sort(round.begin(), round.end());
    }
    const std::uint32_t flow = order == Order::rounds ? round[packets.size() % flows].second
                                                      : static_cast<std::uint32_t>(random() % flows);
    packets.push_back({flow, hash_key(numbered_key(flow), seed)});
  }
  return packets;
}

void run(benchmark::State& state, Order order) {
  const auto flows = static_cast<std::uint32_t>(state.range(0));
  const auto frame_bytes = static_cast<std::size_t>(state.range(1));
  const std::vector<std::byte> frame(frame_bytes);
  const std::vector<ClassConfig> classes{
      shaped_class("clients", packets_per_second(kPacketsPerSecond / flows), {.packets = 100})};
  const ShaperLimits limits{.memory = DataSize{1024 * 1024 * 1024},
                            .max_flows = std::max(flows, ShaperLimits{}.max_flows),
                            .table_memory = huge_pages()};
  Shaper shaper(limits, classes, kTestStart);
  const std::pmr::vector<Arrival> packets = random_arrivals(order, classes, flows);
  std::array<ArrivingPacket, kBatch> batch;  // filled again and again, as the capture loop does
  for (ArrivingPacket& packet : batch) {
    packet.frame = frame;
    packet.charged_bytes = static_cast<std::uint32_t>(frame.size());
    packet.class_index = 0;
  }
  std::array<DuePacket, kBatch> due;
  Instant now = kTestStart;
  std::size_t next = 0;
  std::size_t sent = 0;
  const auto step = [&] {
    for (std::size_t i = 0; i < kBatch; ++i) {
      set_flow_number(batch[i].key, packets[next + i].flow);
      batch[i].flow_hash = packets[next + i].flow_hash;
      batch[i].arrival = now;
    }
    next = next + kBatch < packets.size() ? next + kBatch : 0;
    shaper.admit(batch, now);
    while (const std::size_t count = shaper.release(now, due)) {
      shaper.complete_sent(std::span(due).first(count), now);
      sent += count;
    }
    now += Duration(kBatch * 1'000'000'000 / kPacketsPerSecond);
  };
  // Until every flow has a record and queues have the length that they keep.
  for (std::size_t warm = 0; warm < 8ull * flows + 1'000'000; warm += kBatch) step();
  sent = 0;
  for (auto _ : state) step();
  state.SetItemsProcessed(static_cast<std::int64_t>(sent));
  const ShaperStatistics statistics = shaper.statistics(now);
  const auto share_of = [&](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(statistics.received.packets);
  };
  state.counters["dropped"] = share_of(total(statistics.dropped).packets);
  state.counters["queued"] = static_cast<double>(statistics.queued.packets);
}

void shape(benchmark::State& state) {
  run(state, Order::rounds);
}

void overload(benchmark::State& state) {
  run(state, Order::drawn);
}

BENCHMARK(shape)
    ->ArgNames({"flows", "bytes"})
    ->Args({1, 64})
    ->Args({1'000, 64})
    ->Args({100'000, 64})
    ->Args({1'000'000, 64})
    ->Args({1'000, 1514})
    ->MinTime(1.0);

BENCHMARK(overload)
    ->ArgNames({"flows", "bytes"})
    ->Args({1'000, 64})
    ->Args({100'000, 64})
    ->Args({1'000'000, 64})
    ->MinTime(1.0);

}  // namespace
}  // namespace headgate
