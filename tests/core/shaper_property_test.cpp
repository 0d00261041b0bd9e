// Random arrivals for several shapes in one schedule, many seeds: what must hold after every step, whatever comes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "core/schedule.hpp"
#include "core/shaper.hpp"
#include "support/heap_memory.hpp"
#include "support/naive_bucket.hpp"
#include "support/shaper_harness.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;

using Random = std::mt19937_64;
using FlowId = std::tuple<ShapeNumber, ClassIndex, std::uint32_t>;

std::uint64_t log_uniform(Random& random, std::uint64_t least, std::uint64_t most) {
  const double exponent = std::uniform_real_distribution<>(std::log(least), std::log(most))(random);
  return std::clamp(static_cast<std::uint64_t>(std::exp(exponent)), least, most);
}

bool chance(Random& random, unsigned percent) {
  return random() % 100 < percent;
}

ClassConfig random_class(Random& random, ClassIndex index) {
  Rate rate;
  Burst burst;
  QueueCapacity queue;
  const auto kind = random() % 3;
  if (kind != 1) rate.packets = PacketRate{log_uniform(random, 1, 2'000'000)};
  if (kind != 0) rate.bits = BitRate{log_uniform(random, 1'000, 20'000'000'000)};
  if (rate.packets && chance(random, 50)) burst.packets = log_uniform(random, 1, 50);
  if (rate.bits && chance(random, 50)) burst.bytes = DataSize{log_uniform(random, 1, 20'000)};
  if (chance(random, 60)) queue.packets = log_uniform(random, 1, 100);
  if (chance(random, 40)) queue.bytes = DataSize{log_uniform(random, 100, 100'000)};
  const bool one_rate = !(rate.packets && rate.bits);
  if (one_rate && chance(random, 40)) queue.time = Duration(log_uniform(random, 1'000, 1'000'000'000));
  if (!queue.packets && !queue.bytes && !queue.time) queue.packets = 100;
  return shaped_class("class" + std::to_string(index), rate, queue, burst);
}

std::vector<ClassConfig> random_classes(Random& random) {
  std::vector<ClassConfig> classes;
  for (auto count = 1 + random() % 3; count > 0; --count) {
    classes.push_back(random_class(random, static_cast<ClassIndex>(classes.size())));
  }
  return classes;
}

// Shapes of random classes in one schedule.
class RandomShapes {
 public:
  struct Shape {
    Shape(const ShaperLimits& shaper_limits, std::vector<ClassConfig> class_configs, MemorySource& memory)
        : limits(shaper_limits), classes(std::move(class_configs)), shaper(limits, classes, memory) {}

    ShaperLimits limits;
    std::vector<ClassConfig> classes;
    Shaper shaper;
  };

  template <typename RandomLimits>
  RandomShapes(Random& random, const ScheduleLimits& limits, RandomLimits random_limits)
      : schedule_(limits, memory_, kTestStart) {
    for (auto count = 1 + random() % 3; count > 0; --count) {
      shapes_.push_back(std::make_unique<Shape>(random_limits(), random_classes(random), memory_));
      schedule_.add(shapes_.back()->shaper);
    }
  }
  ~RandomShapes() {
    for (const auto& shape : shapes_) {
      shape->shaper.drop_all(DropReason::stop);
      schedule_.remove(shape->shaper);
    }
  }

  Schedule& schedule() { return schedule_; }
  std::size_t size() const { return shapes_.size(); }
  Shape& operator[](std::size_t number) { return *shapes_[number]; }

 private:
  HeapMemory memory_;
  Schedule schedule_;
  std::vector<std::unique_ptr<Shape>> shapes_;  // by number
};

struct Expected {
  Instant departure;
  std::uint32_t serial;
};

// With memory for all and nobody more than 10 ms late, every drop and every departure follows from the
// arrivals alone, however they are batched, whenever the worker wakes, and whatever other shapes it has.
class AgainstNaiveBuckets {
 public:
  explicit AgainstNaiveBuckets(std::uint32_t seed)
      : random_(seed), shapes_(random_, {.memory = DataSize{24 * 1024 * 1024}, .max_flows = 300}, [] {
          return ShaperLimits{.memory = DataSize{8 * 1024 * 1024}, .max_flows = 100};
        }) {}

  void run() {
    flows_ = 1 + random_() % 30;
    longest_gap_ = log_uniform(random_, 10, 4'000'000);
    for (int step = 0; step < 400 && !testing::Test::HasFailure(); ++step) {
      admit_some();
      if (chance(random_, 70)) release_some();
      expect_laws_and_drops();
      now_ += Duration(random_() % longest_gap_);
      if (now_ - last_complete_release_ > milliseconds(5)) {
        now_ = std::max(last_admission_, last_complete_release_ + milliseconds(5));
        admit_some();
        release_everything_due();
      }
    }
    drain();
  }

 private:
  void admit_some() {
    for (ShapeNumber shape = 0; shape < shapes_.size(); ++shape) admit_some_of(shape);
    last_admission_ = now_;
    shapes_.schedule().grow_ahead();
  }

  void admit_some_of(ShapeNumber shape) {
    std::vector<ArrivingPacket> batch;
    // Captured one after the other since the last admission.
    std::vector<Instant> arrivals(random_() % 40);
    for (Instant& arrival : arrivals) {
      arrival = last_admission_ + Duration(random_() % ((now_ - last_admission_).count() + 1));
    }
    std::sort(arrivals.begin(), arrivals.end());
    batch.reserve(arrivals.size());
    for (const Instant arrival : arrivals) batch.push_back(make(shape, arrival));
    shapes_[shape].shaper.admit(batch, now_);
    packets_.clear();
  }

  ArrivingPacket make(ShapeNumber shape, Instant arrival) {
    const std::vector<ClassConfig>& classes = shapes_[shape].classes;
    const auto index = static_cast<ClassIndex>(random_() % classes.size());
    const auto flow = static_cast<std::uint32_t>(random_() % flows_);
    const FlowId id{shape, index, flow};
    const ClassConfig& config = classes[index];
    const auto [bucket, added] = buckets_.try_emplace(id, config.rate, config.burst, config.queue);
    const std::uint32_t serial = serial_++;
    ArrivingPacket packet =
        packets_.make(classes, index, {flow, serial}, log_uniform(random_, 60, 1600), arrival);
    if (chance(random_, 10)) packet.charged_packets = static_cast<std::uint16_t>(1 + random_() % 44);
    if (const auto departure = bucket->second.arrive(arrival, packet.cost())) {
      expected_[id].push_back({*departure, serial});
    } else {
      expected_drops_[{shape, index}] += packet.cost();
    }
    return packet;
  }

  void release_some() {
    std::vector<DuePacket> due(1 + random_() % 50);
    Schedule& schedule = shapes_.schedule();
    due.resize(schedule.release(now_, due));
    expect_laws_and_drops();
    Instant previous{};
    for (const DuePacket& packet : due) {
      const PacketIdentity identity = identity_of(schedule, packet);
      auto& queue = expected_[{packet.shape, packet.class_index, identity.flow}];
      ASSERT_FALSE(queue.empty());
      ASSERT_EQ(identity.serial, queue.front().serial);
      ASSERT_EQ(packet.ideal, queue.front().departure);
      ASSERT_LE(packet.ideal, now_);
      ASSERT_GE(packet.ideal, previous);
      previous = packet.ideal;
      queue.pop_front();
      if (chance(random_, 90)) {
        schedule.complete_sent({&packet, 1}, now_);
      } else {
        schedule.complete_dropped({&packet, 1}, DropReason::send_failed);
      }
    }
    released_ = due.size();
  }

  void release_everything_due() {
    do {
      release_some();
    } while (released_ > 0 && !testing::Test::HasFailure());
    last_complete_release_ = now_;
    std::optional<Instant> next;
    for (const auto& [id, queue] : expected_) {
      if (!queue.empty() && (!next || queue.front().departure < *next)) next = queue.front().departure;
    }
    ASSERT_EQ(shapes_.schedule().next_release(), next);
  }

  void expect_laws_and_drops() {
    for (ShapeNumber shape = 0; shape < shapes_.size(); ++shape) {
      const ShaperStatistics statistics = shapes_[shape].shaper.statistics(now_);
      expect_law(statistics);
      ASSERT_EQ(statistics.shifts, ScheduleShifts{});
      for (ClassIndex index = 0; index < statistics.classes.size(); ++index) {
        ASSERT_EQ(dropped_for(statistics.classes[index], DropReason::queue_full),
                  (expected_drops_[{shape, index}]));
      }
    }
  }

  void drain() {
    while (!testing::Test::HasFailure()) {
      const auto next = shapes_.schedule().next_release();
      if (!next) break;
      now_ = std::max(now_, *next);
      release_everything_due();
    }
    for (ShapeNumber shape = 0; shape < shapes_.size(); ++shape)
      EXPECT_EQ(shapes_[shape].shaper.statistics(now_).queued, Count{});
  }

  Random random_;
  RandomShapes shapes_;
  NumberedPackets packets_;
  std::map<FlowId, NaiveBucket> buckets_;
  std::map<FlowId, std::deque<Expected>> expected_;
  std::map<std::pair<ShapeNumber, ClassIndex>, Count> expected_drops_;
  std::uint64_t flows_ = 0;
  std::uint64_t longest_gap_ = 0;
  Instant now_ = kTestStart;
  Instant last_admission_ = kTestStart;
  Instant last_complete_release_ = kTestStart;
  std::size_t released_ = 0;
  std::uint32_t serial_ = 0;
};

TEST(ShaperProperties, EveryDropAndDepartureIsTheNaiveBuckets) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    AgainstNaiveBuckets(seed).run();
    if (HasFailure()) return;
  }
}

// One flow as it may leave: checks each departure by exact fractions, whatever else happened.
class ConformanceCheck {
 public:
  explicit ConformanceCheck(const ClassConfig& config) {
    if (config.rate.packets) {
      packets_.emplace(config.rate.packets->packets, config.rate.packets->seconds * 1'000'000'000ULL,
                       config.burst.packets.value_or(1));
    }
    if (config.rate.bits) {
      bits_.emplace(config.rate.bits->bits_per_second, 8'000'000'000,
                    config.burst.bytes.value_or(DataSize{}).bytes);
    }
  }

  // `after_loss`: a packet may have been paid for and dropped before it left. Then the bucket goes on from a fraction of a
  // nanosecond, and this from the next departure, which is rounded.
  void depart(Instant instant, Cost size, bool after_loss) {
    const std::int64_t departure = instant.time_since_epoch().count();
    const std::int64_t rounding = after_loss ? 1 : 0;
    if (packets_) {
      EXPECT_GE(departure + rounding, packets_->earliest(size.packets));
      packets_->charge(departure, size.packets);
    }
    if (bits_) {
      EXPECT_GE(departure + rounding, bits_->earliest(size.bytes));
      bits_->charge(departure, size.bytes);
    }
  }

 private:
  std::optional<NaiveLimit> packets_;
  std::optional<NaiveLimit> bits_;
};

// Too little memory, too few flow records, flows that expire, wake-ups that come late and batches that end early; shapes
// that are suspended or emptied, and in some runs a host that has no more memory.
class UnderShortage {
 public:
  explicit UnderShortage(std::uint32_t seed)
      : random_(seed),
        shapes_(random_, random_schedule_limits(), [this] { return random_limits(); }),
        suspended_(shapes_.size()),
        lost_(shapes_.size()) {}

  void run() {
    flows_ = log_uniform(random_, 1, 100);
    const std::uint64_t longest_gap = log_uniform(random_, 10, 100'000'000);
    for (int step = 0; step < 600 && !testing::Test::HasFailure(); ++step) {
      for (ShapeNumber shape = 0; shape < shapes_.size(); ++shape) {
        if (!suspended_[shape]) admit_some(shape);
        if (chance(random_, 2)) suspend_or_resume(shape);
        if (chance(random_, 1)) drop_all(shape);
      }
      packets_.clear();
      if (chance(random_, 50)) shapes_.schedule().grow_ahead();
      check();
      if (chance(random_, 60)) release_some();
      now_ += Duration(random_() % longest_gap);
    }
    for (ShapeNumber shape = 0; shape < shapes_.size(); ++shape) {
      if (suspended_[shape]) suspend_or_resume(shape);
    }
    while (shapes_.schedule().next_release() && !testing::Test::HasFailure()) {
      now_ = std::max(now_, *shapes_.schedule().next_release());
      release_some();
    }
    check();
    expect_all_memory_back();
  }

 private:
  static std::uint64_t chunks(const ShaperLimits& limits) { return limits.memory.bytes / 256; }

  // Sometimes less than the shapes may use together.
  ScheduleLimits random_schedule_limits() {
    ample_ = chance(random_, 50);
    if (ample_) return {.memory = DataSize{1200 * 256}, .max_flows = 180};
    return {.memory = DataSize{log_uniform(random_, 1, 400) * 256},
            .max_flows = static_cast<std::uint32_t>(log_uniform(random_, 1, 100))};
  }

  ShaperLimits random_limits() {
    return {.memory = DataSize{log_uniform(random_, 1, 400) * 256},
            .max_flows = static_cast<std::uint32_t>(log_uniform(random_, 1, 60)),
            .idle = Duration(log_uniform(random_, 1'000, 1'000'000'000))};
  }

  void admit_some(ShapeNumber shape) {
    const std::vector<ClassConfig>& classes = shapes_[shape].classes;
    std::vector<ArrivingPacket> batch;
    for (auto count = random_() % 20; count > 0; --count) {
      const auto index = static_cast<ClassIndex>(random_() % classes.size());
      const PacketIdentity identity{static_cast<std::uint32_t>(random_() % flows_), serial_};
      // Stamped by a clock that may run a little behind or ahead.
      const Instant arrival = now_ + Duration(random_() % 20'000) - Duration(15'000);
      batch.push_back(packets_.make(classes, index, identity, log_uniform(random_, 60, 1600), arrival));
      costs_[serial_++] = {batch.back().cost(), arrival};
    }
    shapes_[shape].shaper.admit(batch, now_);
  }

  void suspend_or_resume(ShapeNumber shape) {
    if (suspended_[shape]) {
      shapes_[shape].shaper.resume(now_);
    } else {
      shapes_[shape].shaper.suspend();
    }
    suspended_[shape] = !suspended_[shape];
  }

  void drop_all(ShapeNumber shape) {
    shapes_[shape].shaper.drop_all(DropReason::stop);
    EXPECT_EQ(shapes_[shape].shaper.statistics(now_).queued, Count{});
  }

  void check() {
    for (ShapeNumber number = 0; number < shapes_.size(); ++number) {
      RandomShapes::Shape& shape = shapes_[number];
      const ShaperStatistics statistics = shape.shaper.statistics(now_);
      expect_law(statistics);
      EXPECT_LE(statistics.queued.packets, chunks(shape.limits));
      std::uint64_t flows = 0;
      for (const ClassStatistics& each : statistics.classes) flows += each.flows;
      EXPECT_LE(flows, shape.limits.max_flows);
      for (const DropReason reason : {DropReason::pool_full, DropReason::stop})
        if (statistics.dropped[static_cast<std::size_t>(reason)].packets > 0) lost_[number] = true;
    }
  }

  void release_some() {
    std::vector<DuePacket> due(1 + random_() % 30);
    Schedule& schedule = shapes_.schedule();
    due.resize(schedule.release(now_, due));
    for (const DuePacket& packet : due) {
      EXPECT_FALSE(suspended_[packet.shape]);
      const PacketIdentity identity = identity_of(schedule, packet);
      const FlowId id{packet.shape, packet.class_index, identity.flow};
      const auto& [cost, arrival] = costs_.at(identity.serial);
      EXPECT_GE(packet.ideal, arrival);
      EXPECT_LE(packet.ideal, now_);
      const auto [last, first] = last_serial_.try_emplace(id, identity.serial);
      EXPECT_TRUE(first || identity.serial > last->second);
      last->second = identity.serial;
      conformance_.try_emplace(id, shapes_[packet.shape].classes[packet.class_index])
          .first->second.depart(packet.ideal, cost, lost_[packet.shape]);
    }
    schedule.complete_sent(due, now_);
    check();
  }

  // After all is sent, as many packets of one chunk each fit as there are chunks (as far as flows allow).
  void expect_all_memory_back() {
    now_ += std::chrono::hours(24 * 365 * 10);
    for (ShapeNumber number = 0; number < shapes_.size(); ++number) {
      RandomShapes::Shape& shape = shapes_[number];
      EXPECT_EQ(shape.shaper.statistics(now_).queued, Count{});
      for (const ClassStatistics& each : shape.shaper.statistics(now_).classes) EXPECT_EQ(each.flows, 0u);
      if (!ample_) continue;
      const std::uint64_t fit = std::min<std::uint64_t>(chunks(shape.limits), shape.limits.max_flows);
      for (std::uint32_t flow = 0; flow < fit; ++flow) {
        const ArrivingPacket packet = packets_.make(shape.classes, 0, {flow, 0}, 60, now_);
        shape.shaper.admit({&packet, 1}, now_);
      }
      EXPECT_EQ(shape.shaper.statistics(now_).queued.packets, fit);
    }
  }

  Random random_;
  bool ample_ = false;  // the schedule has room for all that the shapes may use
  RandomShapes shapes_;
  std::vector<bool> suspended_;  // by shape
  std::vector<bool> lost_;       // by shape: something has been dropped that was queued
  NumberedPackets packets_;
  std::map<std::uint32_t, std::pair<Cost, Instant>> costs_;  // and arrivals, by serial
  std::map<FlowId, std::uint32_t> last_serial_;
  std::map<FlowId, ConformanceCheck> conformance_;
  std::uint64_t flows_ = 0;
  Instant now_ = kTestStart;
  std::uint32_t serial_ = 0;
};

TEST(ShaperProperties, OrderConformanceTheLawAndTheBoundsHoldUnderAnyShortage) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    UnderShortage(seed).run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace headgate
