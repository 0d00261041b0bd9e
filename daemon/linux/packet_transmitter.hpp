// Sends frames on an interface by sendmmsg on a packet socket, marked so that the divert lets them pass.
#pragma once

#include <cstdint>
#include <memory>

#include "pipeline/packet_io.hpp"

namespace headgate {

struct PacketTransmitterOptions {
  int interface_index = 0;
  std::uint32_t mark = 0;
  bool qdisc_bypass = false;
};

class PacketTransmitter : public PacketSink {
 public:
  explicit PacketTransmitter(const PacketTransmitterOptions& options);  // throws std::system_error
  ~PacketTransmitter() override;

  // ENOBUFS and a full socket buffer are retried for at most kRetry in all per call; what is not sent by then is given up.
  void send(std::span<const OutgoingFrame> frames, std::span<bool> sent) override;

  static constexpr Duration kRetry = std::chrono::milliseconds(5);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headgate
