// A capture as a pcapng trace, for the client that asked for it. Main thread.
//
// One pcapng interface for each event captured, named "eth0/egress/dns received" and so on; of bare IP packets, one for
// all, "wg0/egress/dns". The comment of each packet is the event, "received", "sent" or "dropped: queue_full". Packets that were missed because the client read
// too slowly stand as dropped in the statistics of interface 0.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "headgate/clock.hpp"
#include "pipeline/packet_tap.hpp"

namespace headgate {

class CaptureStream {
 public:
  // `class_name` in full. `to_real_time`: from Instant to the time since 1970.
  CaptureStream(std::shared_ptr<PacketTap> tap, const std::string& class_name, Duration to_real_time);
  ~CaptureStream();  // closes the tap
  CaptureStream(const CaptureStream&) = delete;
  CaptureStream& operator=(const CaptureStream&) = delete;

  // Appends what there is, up to about kReadBytes. False: that was the end.
  bool read(std::string& out);

  static constexpr std::size_t kReadBytes = 256 * 1024;

 private:
  std::uint64_t real_time(Instant instant) const;

  const std::shared_ptr<PacketTap> tap_;
  const Duration to_real_time_;
  std::array<std::uint32_t, kPacketEventCount> interfaces_{};  // by event
  std::string preamble_;                                       // not yet read
  std::uint64_t missed_told_ = 0;
  Instant last_{};
};

}  // namespace headgate
