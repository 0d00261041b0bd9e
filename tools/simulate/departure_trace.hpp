// What departs of a simulation, when, as a pcapng trace; and what is dropped, as packets of an interface of its own, each with
// its class and why.
//
// Interfaces: "eth0/egress sent" and "eth0/egress dropped", and the same again for packets without an Ethernet header, where
// there are some. A packet's comment is its class, or "clients dropped: queue_full". What the traffic did not have of a
// frame is left out here, too.
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "control/pcapng_writer.hpp"
#include "simulation.hpp"

namespace headgate {

class DepartureTrace : public SimulationWitness {
 public:
  // `title`: "eth0/egress". Throws std::system_error.
  DepartureTrace(const std::string& path, std::string title, const ShapeConfig& shape);

  void sent(ClassIndex class_index, Frame frame, const TalliedPacket& packet, Instant at) override;
  void dropped(ClassIndex class_index, Frame frame, const TalliedPacket& packet, DropReason reason,
               Instant at) override;

  // Writes what is left. Throws std::system_error when the file could not be written.
  void finish();

 private:
  std::uint32_t interface_for(bool dropped, LinkHeader link_header);
  void put(bool dropped, Frame frame, const TalliedPacket& packet, Instant at, const std::string& comment);
  std::string class_name(ClassIndex class_index) const;
  void write();

  const std::string path_;
  const std::string title_;
  const ShapeConfig& shape_;
  std::ofstream file_;
  std::string buffer_;
  PcapngWriter writer_{buffer_};
  std::array<std::array<std::optional<std::uint32_t>, 2>, 2> interfaces_;  // by dropped, by link header
  std::uint32_t interface_count_ = 0;
  std::vector<std::byte> frame_;
};

}  // namespace headgate
