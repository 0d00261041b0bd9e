// Capture by an AF_PACKET TPACKET_V2 ring. V2, not V3: V3's block timeout costs milliseconds.
#pragma once

#include <cstdint>
#include <memory>

#include "pipeline/packet_io.hpp"

namespace headgate {

struct PacketRingOptions {
  int interface_index = 0;
  unsigned mtu = 1500;        // slots hold mtu + headers; longer frames arrive clipped
  unsigned slots = 16'384;    // rounded up to a power of two
};

class PacketRing : public PacketSource {
 public:
  explicit PacketRing(const PacketRingOptions& options);  // throws std::system_error
  ~PacketRing() override;

  std::size_t receive(std::span<CapturedFrame> out) override;
  void wait(std::optional<Duration> timeout) override;
  void interrupt() override;
  void give_back(std::span<const std::uint32_t> slots) override;
  std::size_t slots() const override;

  // Any thread. Packets that found the ring full since construction (tp_drops accumulated).
  std::uint64_t lost() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headgate
