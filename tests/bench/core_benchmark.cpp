// Speed of the shaper alone: one thread admits, releases and completes packets in batches of 64, in virtual time.
//
//   build/release/bin/core_benchmark [--benchmark_filter=...]
//
// Random order of flows; the load equals the rates of all flows together, so that packets wait about as often as not.
// items_per_second counts packets that went all the way; `dropped` is the share that overflowed.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "core/shaper.hpp"
#include "support/manual_clock.hpp"
#include "support/numbered_packets.hpp"

namespace headgate {
namespace {

constexpr std::size_t kBatch = 64;
constexpr std::uint64_t kPacketsPerSecond = 10'000'000;  // of virtual time

// So many packets, prepared, that the caches do not hold them and the flows repeat in no pattern.
std::vector<ArrivingPacket> random_packets(const std::vector<ClassConfig>& classes, std::uint32_t flows,
                                           std::span<const std::byte> frame) {
  std::mt19937_64 random(1);
  const std::uint64_t seed = class_hash_seed(classes[0].name, 1);
  std::vector<ArrivingPacket> packets(std::max<std::size_t>(1 << 20, 4 * flows));
  for (ArrivingPacket& packet : packets) {
    packet.frame = frame;
    packet.key = numbered_key(static_cast<std::uint32_t>(random() % flows));
    packet.flow_hash = hash_key(packet.key, seed);
    packet.charged_bytes = static_cast<std::uint32_t>(frame.size());
    packet.class_index = 0;
  }
  return packets;
}

void shape(benchmark::State& state) {
  const auto flows = static_cast<std::uint32_t>(state.range(0));
  const auto frame_bytes = static_cast<std::size_t>(state.range(1));
  const std::vector<std::byte> frame(frame_bytes);
  const std::vector<ClassConfig> classes{
      shaped_class("clients", packets_per_second(kPacketsPerSecond / flows), {.packets = 100})};
  const ShaperLimits limits{.memory = DataSize{1024 * 1024 * 1024}, .max_flows = std::max(flows, 1024u)};
  Shaper shaper(limits, classes, kTestStart);
  std::vector<ArrivingPacket> packets = random_packets(classes, flows, frame);
  std::array<DuePacket, kBatch> due;
  Instant now = kTestStart;
  std::size_t next = 0;
  std::size_t sent = 0;
  std::size_t offered = 0;
  const auto step = [&] {
    const std::span<ArrivingPacket> batch(&packets[next], kBatch);
    for (ArrivingPacket& packet : batch) packet.arrival = now;
    next = next + 2 * kBatch <= packets.size() ? next + kBatch : 0;
    shaper.admit(batch, now);
    offered += kBatch;
    while (const std::size_t count = shaper.release(now, due)) {
      shaper.complete_sent(std::span(due).first(count), now);
      sent += count;
    }
    now += Duration(kBatch * 1'000'000'000 / kPacketsPerSecond);
  };
  // Until every flow has a record and queues have the length that they keep.
  for (std::size_t warm = 0; warm < 8ull * flows + 1'000'000; warm += kBatch) step();
  sent = offered = 0;
  for (auto _ : state) step();
  state.SetItemsProcessed(static_cast<std::int64_t>(sent));
  const Count queued = shaper.statistics(now).queued;
  state.counters["dropped"] = 1.0 - static_cast<double>(sent) / static_cast<double>(offered);
  state.counters["queued"] = static_cast<double>(queued.packets);
}

BENCHMARK(shape)
    ->ArgNames({"flows", "bytes"})
    ->Args({1, 64})
    ->Args({1'000, 64})
    ->Args({100'000, 64})
    ->Args({1'000'000, 64})
    ->Args({1'000, 1514})
    ->MinTime(1.0);

}  // namespace
}  // namespace headgate
