// A simulation of a configuration given as text, and everything that happened in it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/config_file.hpp"
#include "simulation.hpp"
#include "summary.hpp"
#include "support/packet_builder.hpp"

namespace headgate {

// Packets as a test lists them.
class ListedTraffic : public Traffic {
 public:
  void add(Instant at, std::vector<std::byte> frame) {
    frames_.push_back(std::move(frame));
    packets_.push_back({.at = at, .length = static_cast<std::uint32_t>(frames_.back().size())});
  }
  void add(Instant at, const PacketBuilder& packet) { add(at, packet.build()); }

  const OfferedPacket* next() override {
    if (next_ == packets_.size()) return nullptr;
    packets_[next_].frame = frames_[next_];
    return &packets_[next_++];
  }

 private:
  std::vector<std::vector<std::byte>> frames_;
  std::vector<OfferedPacket> packets_;
  std::size_t next_ = 0;
};

class RecordingWitness : public SimulationWitness {
 public:
  void sent(ClassIndex class_index, Frame, const TalliedPacket& packet, Instant at) override {
    departures.push_back({class_index, packet, at, {}});
  }
  void dropped(ClassIndex class_index, Frame, const TalliedPacket& packet, DropReason reason,
               Instant at) override {
    drops.push_back({class_index, packet, at, reason});
  }

  struct Event {
    ClassIndex class_index;
    TalliedPacket packet;
    Instant at;
    DropReason reason;
  };
  std::vector<Event> departures;
  std::vector<Event> drops;

  std::vector<Instant> departures_of(ClassIndex class_index) const {
    std::vector<Instant> instants;
    for (const Event& event : departures)
      if (event.class_index == class_index) instants.push_back(event.at);
    return instants;
  }
};

struct SimulatedShape {
  // `witnessed`: departures and drops are recorded, one by one.
  SimulatedShape(const std::string& config, Instant start, bool witnessed = true)
      : read(parse_config(config, "test.toml")),
        simulation(read.config.daemon, read.config.shapes.at(0), matches, start,
                   witnessed ? &events : nullptr) {
    for (const ConfigError& error : read.errors) ADD_FAILURE() << error.to_string();
  }

  void run(Traffic& traffic, std::optional<Duration> until = std::nullopt) {
    simulation.run(traffic, until);
    summary = summarize(simulation, {});
    EXPECT_TRUE(adds_up(*summary));
  }

  CompiledMatches matches;
  RecordingWitness events;
  ConfigResult read;
  Simulation simulation;
  std::unique_ptr<const SimulationSummary> summary;
};

}  // namespace headgate
