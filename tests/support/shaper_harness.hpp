// A shaper in virtual time with numbered packets, and the law checked after every step.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "core/shaper.hpp"
#include "support/lone_shaper.hpp"
#include "support/manual_clock.hpp"
#include "support/numbered_packets.hpp"

namespace headgate {

inline void expect_law(const Count& received, const Count& sent, const DropCounts& dropped,
                       const Count& queued) {
  Count accounted = sent;
  accounted += total(dropped);
  accounted += queued;
  EXPECT_EQ(received.packets, accounted.packets);
  EXPECT_EQ(received.bytes, accounted.bytes);
}

inline void expect_law(const ShaperStatistics& statistics) {
  expect_law(statistics.received, statistics.sent, statistics.dropped, statistics.queued);
  for (const ClassStatistics& each : statistics.classes) {
    SCOPED_TRACE("class " + each.name);
    expect_law(each.received, each.sent, each.dropped, each.queued);
  }
}

inline const Count& dropped_for(const ClassStatistics& statistics, DropReason reason) {
  return statistics.dropped[static_cast<std::size_t>(reason)];
}

struct Departure {
  Instant released;
  Instant ideal;
  PacketIdentity packet;
};

class ShaperHarness {
 public:
  explicit ShaperHarness(std::vector<ClassConfig> class_configs, ShaperLimits limits = {},
                         const TreeConfig& tree = {})
      : classes(std::move(class_configs)), shaper(limits, classes, kTestStart, tree) {}

  // One packet, captured now.
  void arrive(std::uint32_t flow, std::size_t bytes = 100, ClassIndex index = 0) {
    arrive_in_batch({{flow, serial_++}}, bytes, index);
  }
  void arrive_in_batch(const std::vector<PacketIdentity>& identities, std::size_t bytes = 100,
                       ClassIndex index = 0) {
    std::vector<ArrivingPacket> batch;
    batch.reserve(identities.size());
    for (const PacketIdentity& identity : identities) {
      batch.push_back(packets_.make(classes, index, identity, bytes, now));
    }
    admit(batch);
  }
  void admit(std::span<const ArrivingPacket> batch) {
    shaper.admit(batch, now);
    packets_.clear();
    expect_law(shaper.statistics(now));
  }
  ArrivingPacket make(std::uint32_t flow, std::size_t bytes, Instant arrival, ClassIndex index = 0) {
    return packets_.make(classes, index, {flow, serial_++}, bytes, arrival);
  }

  // Releases what is due now and sends it.
  std::vector<Departure> release(std::size_t at_most = 1'000'000) {
    std::vector<DuePacket> due(std::min<std::size_t>(at_most, 1024));
    std::vector<Departure> departures;
    while (departures.size() < at_most) {
      due.resize(std::min(due.size(), at_most - departures.size()));
      const std::size_t count = shaper.release(now, due);
      complete(std::span(due).first(count), departures);
      if (count < due.size()) break;
    }
    return departures;
  }

  std::vector<Departure> release_all(std::size_t batch) {
    std::vector<DuePacket> due(batch);
    std::vector<Departure> departures;
    while (const std::size_t count = shaper.release_all(due, now))
      complete(std::span(due).first(count), departures);
    return departures;
  }

  // Runs as a worker does, awake at every due time, until `end` or until nothing is queued.
  std::vector<Departure> run(std::optional<Instant> end = std::nullopt) {
    std::vector<Departure> departures;
    while (const auto next = shaper.next_release()) {
      if (end && *next > *end) break;
      now = std::max(now, *next);
      const std::vector<Departure> more = release();
      EXPECT_FALSE(more.empty()) << "nothing was due at the time that next_release() named";
      if (more.empty()) return departures;
      departures.insert(departures.end(), more.begin(), more.end());
    }
    if (end) now = std::max(now, *end);
    return departures;
  }

  ShaperStatistics statistics() { return shaper.statistics(now); }
  ClassStatistics class_statistics(ClassIndex index = 0) { return statistics().classes[index]; }

  std::vector<ClassConfig> classes;
  Instant now = kTestStart;
  LoneShaper shaper;

 private:
  void complete(std::span<const DuePacket> due, std::vector<Departure>& departures) {
    for (const DuePacket& packet : due)
      departures.push_back({now, packet.ideal, identity_of(shaper, packet)});
    expect_law(shaper.statistics(now));
    shaper.complete_sent(due, now);
    expect_law(shaper.statistics(now));
  }

  NumberedPackets packets_;
  std::uint32_t serial_ = 0;
};

}  // namespace headgate
