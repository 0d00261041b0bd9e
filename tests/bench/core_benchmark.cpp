// Speed of the core alone: one thread admits, releases and completes packets in batches of 64, in virtual time.
//
//   build/release/bin/core_benchmark [--benchmark_filter=...]
//
// shape      offered load equal to the flows' rates: each flow sends in its own phase of a round, in random order, up to
//            half a round too late; so every packet leaves, and most wait.
// overload   each packet's flow is drawn anew: the same mean load, but queues grow until some overflow.
// shapes     as shape, with so many shapes of so many flows in one schedule; each batch is of one shape.
//
// tree       a link that is offered what it can carry, with so many classes in groups of 32, each with a guarantee and a
//            ceiling; packets come in rounds of the classes, as in shape.
//
// items_per_second counts packets that went all the way; `dropped` is the share that overflowed.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "core/memory_area.hpp"
#include "core/schedule.hpp"
#include "core/shaper.hpp"
#include "support/manual_clock.hpp"
#include "support/numbered_packets.hpp"

namespace headgate {
namespace {

constexpr std::size_t kBatch = 64;
constexpr std::uint64_t kPacketsPerSecond = 10'000'000;  // of virtual time

// Address space in pages of 2 MB, taken when they are touched first: while the benchmark warms up.
class HugePages : public MemoryArea {
 public:
  explicit HugePages(std::size_t bytes) : MemoryArea(map(bytes), bytes) {}
  ~HugePages() override { munmap(start(), size()); }
  bool grow(std::size_t bytes) override {
    set_usable(std::max(usable(), bytes));
    return true;
  }

 private:
  static std::byte* map(std::size_t bytes) {
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    madvise(memory, bytes, MADV_HUGEPAGE);
    return static_cast<std::byte*>(memory);
  }
};

class HugePageSource : public MemorySource {
 public:
  std::unique_ptr<MemoryArea> reserve(std::size_t bytes) override {
    return std::make_unique<HugePages>((bytes + kHugePage - 1) / kHugePage * kHugePage);
  }

 private:
  static constexpr std::size_t kHugePage = 2 * 1024 * 1024;
};

enum class Order { rounds, drawn };

// What tells one packet from the next, in few bytes: that it must be read is not the shaper's cost.
struct Arrival {
  std::uint32_t flow = 0;
  std::uint32_t flow_hash = 0;
};

// So many, prepared, that the flows repeat in no pattern.
std::vector<Arrival> random_arrivals(Order order, const std::vector<ClassConfig>& classes,
                                     std::uint32_t flows) {
  std::mt19937_64 random(1);
  const std::uint64_t seed = class_hash_seed(classes[0].name, 1);
  std::vector<std::uint32_t> phases(flows);
  std::iota(phases.begin(), phases.end(), 0);
  std::shuffle(phases.begin(), phases.end(), random);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> round(flows);  // time in it, and flow
  std::vector<Arrival> packets;
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

void run(benchmark::State& state, Order order, std::size_t shapes) {
  const auto flows = static_cast<std::uint32_t>(state.range(0));
  const auto frame_bytes = static_cast<std::size_t>(state.range(1));
  const std::vector<std::byte> frame(frame_bytes);
  const std::vector<ClassConfig> classes{
      shaped_class("clients", packets_per_second(kPacketsPerSecond / flows / shapes), {.packets = 100})};
  const ShaperLimits limits{.memory = DataSize{1024 * 1024 * 1024},
                            .max_flows = std::max(flows, ShaperLimits{}.max_flows)};
  HugePageSource memory;
  Schedule schedule(
      {.memory = limits.memory, .max_flows = limits.max_flows * static_cast<std::uint32_t>(shapes)}, memory,
      kTestStart);
  std::vector<std::unique_ptr<Shaper>> shapers;
  for (std::size_t i = 0; i < shapes; ++i) {
    shapers.push_back(std::make_unique<Shaper>(limits, classes, memory));
    schedule.add(*shapers.back());
  }
  const std::vector<Arrival> prepared = random_arrivals(order, classes, flows);
  const auto packets_memory = memory.reserve(prepared.size() * sizeof(Arrival));
  const std::span<Arrival> packets(reinterpret_cast<Arrival*>(packets_memory->start()), prepared.size());
  std::copy(prepared.begin(), prepared.end(), packets.begin());
  std::array<ArrivingPacket, kBatch> batch;  // filled again and again, as the worker does
  for (ArrivingPacket& packet : batch) {
    packet.frame = frame;
    packet.charged_bytes = static_cast<std::uint32_t>(frame.size());
    packet.class_index = 0;
  }
  std::array<DuePacket, kBatch> due;
  Instant now = kTestStart;
  std::vector<std::size_t> next_packet(shapes);
  std::size_t shape = 0;
  std::size_t sent = 0;
  const auto step = [&] {
    std::size_t& next = next_packet[shape];
    for (std::size_t i = 0; i < kBatch; ++i) {
      set_flow_number(batch[i].key, packets[next + i].flow);
      batch[i].flow_hash = packets[next + i].flow_hash;
      batch[i].arrival = now;
    }
    next = next + kBatch < packets.size() ? next + kBatch : 0;
    shapers[shape]->admit(batch, now);
    shape = shape + 1 < shapes ? shape + 1 : 0;
    while (const std::size_t count = schedule.release(now, due)) {
      schedule.complete_sent(std::span(due).first(count), now);
      sent += count;
    }
    schedule.grow_ahead();
    now += Duration(kBatch * 1'000'000'000 / kPacketsPerSecond);
  };
  // Until every flow has a record and queues have the length that they keep.
  for (std::size_t warm = 0; warm < 8ull * flows * shapes + 1'000'000; warm += kBatch) step();
  sent = 0;
  for (auto _ : state) step();
  state.SetItemsProcessed(static_cast<std::int64_t>(sent));
  ShaperStatistics statistics = shapers[0]->statistics(now);
  const auto share_of = [&](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(statistics.received.packets);
  };
  state.counters["dropped"] = share_of(total(statistics.dropped).packets);
  state.counters["queued"] = static_cast<double>(statistics.queued.packets);
  for (const auto& shaper : shapers) {
    shaper->drop_all(DropReason::stop);
    schedule.remove(*shaper);
  }
}

void shape(benchmark::State& state) {
  run(state, Order::rounds, 1);
}

void overload(benchmark::State& state) {
  run(state, Order::drawn, 1);
}

void shapes(benchmark::State& state) {
  run(state, Order::rounds, static_cast<std::size_t>(state.range(2)));
}

std::vector<ClassConfig> classes_of_tree(std::uint32_t count, std::uint64_t link, TreeConfig& tree) {
  constexpr std::uint32_t kClassesOfAGroup = 32;
  std::vector<ClassConfig> classes;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i % kClassesOfAGroup == 0)
      tree.groups.push_back({.name = "group " + std::to_string(i / kClassesOfAGroup)});
    ClassConfig config = shaped_class("class " + std::to_string(i), {}, {.packets = 100});
    config.place = {
        .parent = tree.groups.back().name, .ceiling = BitRate{4 * link / count}, .weight = 1 + i % 4};
    config.guarantee = BitRate{link / count / 2};
    classes.push_back(config);
  }
  return classes;
}

void tree(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  const auto frame_bytes = static_cast<std::size_t>(state.range(1));
  const std::uint64_t link = kPacketsPerSecond * frame_bytes * 8;
  const std::vector<std::byte> frame(frame_bytes);
  TreeConfig config{.rate = BitRate{link}, .groups = {}};
  const std::vector<ClassConfig> classes = classes_of_tree(count, link, config);
  const ShaperLimits limits{.memory = DataSize{1024 * 1024 * 1024}};
  HugePageSource memory;
  Schedule schedule({.memory = limits.memory, .max_flows = limits.max_flows}, memory, kTestStart);
  Shaper shaper(limits, classes, memory, config);
  schedule.add(shaper);
  std::vector<std::uint32_t> hashes;
  for (const ClassConfig& one : classes) hashes.push_back(hash_key({}, class_hash_seed(one.name, 1)));
  const std::vector<Arrival> order = random_arrivals(Order::rounds, classes, count);
  std::array<ArrivingPacket, kBatch> batch;
  std::array<DuePacket, kBatch> due;
  Instant now = kTestStart;
  std::size_t next = 0;
  std::size_t sent = 0;
  const auto step = [&] {
    for (std::size_t i = 0; i < kBatch; ++i) {
      batch[i].frame = frame;
      batch[i].charged_bytes = static_cast<std::uint32_t>(frame_bytes);
      batch[i].class_index = static_cast<ClassIndex>(order[next + i].flow);
      batch[i].flow_hash = hashes[order[next + i].flow];
      batch[i].arrival = now;
    }
    next = next + kBatch < order.size() ? next + kBatch : 0;
    shaper.admit(batch, now);
    while (const std::size_t released = schedule.release(now, due)) {
      schedule.complete_sent(std::span(due).first(released), now);
      sent += released;
    }
    schedule.grow_ahead();
    now += Duration(kBatch * 1'000'000'000 / kPacketsPerSecond);
  };
  for (std::size_t warm = 0; warm < 1'000'000; warm += kBatch) step();
  sent = 0;
  for (auto _ : state) step();
  state.SetItemsProcessed(static_cast<std::int64_t>(sent));
  const ShaperStatistics statistics = shaper.statistics(now);
  state.counters["dropped"] = static_cast<double>(total(statistics.dropped).packets) /
                              static_cast<double>(statistics.received.packets);
  state.counters["queued"] = static_cast<double>(statistics.queued.packets);
  shaper.drop_all(DropReason::stop);
  schedule.remove(shaper);
}

BENCHMARK(tree)->ArgNames({"classes", "bytes"})->Args({1'000, 64})->Args({4'000, 64})->MinTime(1.0);

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

BENCHMARK(shapes)
    ->ArgNames({"flows", "bytes", "shapes"})
    ->Args({1'000, 64, 20})
    ->Args({100'000, 64, 20})
    ->MinTime(1.0);

}  // namespace
}  // namespace headgate
