// Random arrivals, many seeds: what must hold after every step, whatever comes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "core/shaper.hpp"
#include "support/naive_bucket.hpp"
#include "support/shaper_harness.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Random = std::mt19937_64;
using FlowId = std::pair<ClassIndex, std::uint32_t>;

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

struct Expected {
  Instant departure;
  std::uint32_t serial;
};

// With memory for all and nobody more than 10 ms late, every drop and every departure follows from the
// arrivals alone, however they are batched and whenever the drain thread wakes.
class AgainstNaiveBuckets {
 public:
  explicit AgainstNaiveBuckets(std::uint32_t seed)
      : random_(seed),
        classes_(random_classes(random_)),
        shaper_({.memory = DataSize{8 * 1024 * 1024}, .max_flows = 100}, classes_, kTestStart) {}

  void run() {
    flows_ = 1 + random_() % 30;
    longest_gap_ = log_uniform(random_, 10, 4'000'000);
    for (int step = 0; step < 400 && !testing::Test::HasFailure(); ++step) {
      admit_some();
      if (chance(random_, 70)) release_some();
      expect_law(shaper_.statistics(now_));
      expect_drops();
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
    std::vector<ArrivingPacket> batch;
    // Captured one after the other since the last admission.
    std::vector<Instant> arrivals(random_() % 40);
    for (Instant& arrival : arrivals) {
      arrival = last_admission_ + Duration(random_() % ((now_ - last_admission_).count() + 1));
    }
    std::sort(arrivals.begin(), arrivals.end());
    batch.reserve(arrivals.size());
    for (const Instant arrival : arrivals) batch.push_back(make(arrival));
    shaper_.admit(batch, now_);
    packets_.clear();
    last_admission_ = now_;
  }

  ArrivingPacket make(Instant arrival) {
    const FlowId id{static_cast<ClassIndex>(random_() % classes_.size()),
                    static_cast<std::uint32_t>(random_() % flows_)};
    const ClassConfig& config = classes_[id.first];
    const auto [bucket, added] = buckets_.try_emplace(id, config.rate, config.burst, config.queue);
    const std::uint32_t serial = serial_++;
    ArrivingPacket packet =
        packets_.make(classes_, id.first, {id.second, serial}, log_uniform(random_, 60, 1600), arrival);
    if (chance(random_, 10)) packet.charged_packets = static_cast<std::uint16_t>(1 + random_() % 44);
    const Count charge{packet.charged_packets, packet.charged_bytes};
    if (const auto departure = bucket->second.arrive(arrival, charge)) {
      expected_[id].push_back({*departure, serial});
    } else {
      expected_drops_[id.first] += charge;
    }
    return packet;
  }

  void release_some() {
    std::vector<DuePacket> due(1 + random_() % 50);
    due.resize(shaper_.release(now_, due));
    expect_law(shaper_.statistics(now_));
    Instant previous{};
    for (const DuePacket& packet : due) {
      const PacketIdentity identity = identity_of(shaper_, packet);
      auto& queue = expected_[{packet.class_index, identity.flow}];
      ASSERT_FALSE(queue.empty());
      ASSERT_EQ(identity.serial, queue.front().serial);
      ASSERT_EQ(packet.ideal, queue.front().departure);
      ASSERT_LE(packet.ideal, now_);
      ASSERT_GE(packet.ideal, previous);
      previous = packet.ideal;
      queue.pop_front();
      if (chance(random_, 90)) {
        shaper_.complete_sent({&packet, 1}, now_);
      } else {
        shaper_.complete_dropped({&packet, 1}, DropReason::send_failed);
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
    ASSERT_EQ(shaper_.next_release(), next);
  }

  void expect_drops() {
    const ShaperStatistics statistics = shaper_.statistics(now_);
    for (ClassIndex index = 0; index < classes_.size(); ++index) {
      ASSERT_EQ(dropped_for(statistics.classes[index], DropReason::queue_full), expected_drops_[index]);
    }
  }

  void drain() {
    while (!testing::Test::HasFailure()) {
      const auto next = shaper_.next_release();
      if (!next) break;
      now_ = std::max(now_, *next);
      release_everything_due();
    }
    EXPECT_EQ(shaper_.statistics(now_).queued, Count{});
  }

  Random random_;
  std::vector<ClassConfig> classes_;
  Shaper shaper_;
  NumberedPackets packets_;
  std::map<FlowId, NaiveBucket> buckets_;
  std::map<FlowId, std::deque<Expected>> expected_;
  std::map<ClassIndex, Count> expected_drops_;
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
      packets_.emplace(config.rate.packets->packets_per_second, 1'000'000'000,
                       config.burst.packets.value_or(1));
    }
    if (config.rate.bits) {
      bits_.emplace(config.rate.bits->bits_per_second, 8'000'000'000,
                    config.burst.bytes.value_or(DataSize{}).bytes);
    }
  }

  void depart(Instant instant, Count size) {
    const std::int64_t departure = instant.time_since_epoch().count();
    if (packets_) {
      EXPECT_GE(departure, packets_->earliest(size.packets));
      packets_->charge(departure, size.packets);
    }
    if (bits_) {
      EXPECT_GE(departure, bits_->earliest(size.bytes));
      bits_->charge(departure, size.bytes);
    }
  }

 private:
  std::optional<NaiveLimit> packets_;
  std::optional<NaiveLimit> bits_;
};

// Too little memory, too few flow records, flows that expire, wake-ups that come late and batches that end
// early.
class UnderShortage {
 public:
  explicit UnderShortage(std::uint32_t seed)
      : random_(seed),
        classes_(random_classes(random_)),
        chunks_(log_uniform(random_, 1, 400)),
        limits_{.memory = DataSize{chunks_ * 256},
                .max_flows = static_cast<std::uint32_t>(log_uniform(random_, 1, 60)),
                .idle = Duration(log_uniform(random_, 1'000, 1'000'000'000))},
        shaper_(limits_, classes_, kTestStart) {}

  void run() {
    const std::uint64_t flows = log_uniform(random_, 1, 100);
    const std::uint64_t longest_gap = log_uniform(random_, 10, 100'000'000);
    for (int step = 0; step < 600 && !testing::Test::HasFailure(); ++step) {
      std::vector<ArrivingPacket> batch;
      for (auto count = random_() % 20; count > 0; --count) {
        const auto index = static_cast<ClassIndex>(random_() % classes_.size());
        const PacketIdentity identity{static_cast<std::uint32_t>(random_() % flows), serial_};
        // Stamped by a clock that may run a little behind or ahead.
        const Instant arrival = now_ + Duration(random_() % 20'000) - Duration(15'000);
        batch.push_back(packets_.make(classes_, index, identity, log_uniform(random_, 60, 1600), arrival));
        charges_[serial_++] = {{1, batch.back().charged_bytes}, arrival};
      }
      shaper_.admit(batch, now_);
      packets_.clear();
      check();
      if (chance(random_, 60)) release_some();
      now_ += Duration(random_() % longest_gap);
    }
    while (shaper_.next_release() && !testing::Test::HasFailure()) {
      now_ = std::max(now_, *shaper_.next_release());
      release_some();
    }
    check();
    expect_all_memory_back();
  }

 private:
  void check() {
    const ShaperStatistics statistics = shaper_.statistics(now_);
    expect_law(statistics);
    EXPECT_LE(statistics.queued.packets, chunks_);
    std::uint64_t flows = 0;
    for (const ClassStatistics& each : statistics.classes) flows += each.flows;
    EXPECT_LE(flows, limits_.max_flows);
  }

  void release_some() {
    std::vector<DuePacket> due(1 + random_() % 30);
    due.resize(shaper_.release(now_, due));
    for (const DuePacket& packet : due) {
      const PacketIdentity identity = identity_of(shaper_, packet);
      const FlowId id{packet.class_index, identity.flow};
      const auto& [charge, arrival] = charges_.at(identity.serial);
      EXPECT_GE(packet.ideal, arrival);
      EXPECT_LE(packet.ideal, now_);
      const auto [last, first] = last_serial_.try_emplace(id, identity.serial);
      EXPECT_TRUE(first || identity.serial > last->second);
      last->second = identity.serial;
      conformance_.try_emplace(id, classes_[packet.class_index]).first->second.depart(packet.ideal, charge);
    }
    shaper_.complete_sent(due, now_);
    check();
  }

  // After all is sent, as many packets of one chunk each fit as there are chunks (as far as flows allow).
  void expect_all_memory_back() {
    now_ += std::chrono::hours(24 * 365 * 10);
    EXPECT_EQ(shaper_.statistics(now_).queued, Count{});
    for (const ClassStatistics& each : shaper_.statistics(now_).classes) EXPECT_EQ(each.flows, 0u);
    const std::uint64_t fit = std::min<std::uint64_t>(chunks_, limits_.max_flows);
    for (std::uint32_t flow = 0; flow < fit; ++flow) {
      const ArrivingPacket packet = packets_.make(classes_, 0, {flow, 0}, 60, now_);
      shaper_.admit({&packet, 1}, now_);
    }
    EXPECT_EQ(shaper_.statistics(now_).queued.packets, fit);
  }

  Random random_;
  std::vector<ClassConfig> classes_;
  std::uint64_t chunks_;
  ShaperLimits limits_;
  Shaper shaper_;
  NumberedPackets packets_;
  std::map<std::uint32_t, std::pair<Count, Instant>> charges_;  // by serial
  std::map<FlowId, std::uint32_t> last_serial_;
  std::map<FlowId, ConformanceCheck> conformance_;
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
