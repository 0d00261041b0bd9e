// A captured frame with what is kept in front of it, in memory of its own: of a packet that is asked about, and not sent.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "pipeline/frame_prefix.hpp"
#include "pipeline/packet_io.hpp"

namespace headgate {

class CapturedCopy {
 public:
  // Of a frame in its capture slot.
  explicit CapturedCopy(const CapturedFrame& captured)
      : captured_(captured),
        bytes_(captured.frame.data() - captured.prefix_bytes, captured.frame.data() + captured.frame.size()) {
  }

  // Of one that was in none.
  CapturedCopy(std::span<const std::byte> frame, const PacketNotes& notes)
      : captured_{.wire_length = static_cast<std::uint32_t>(frame.size()), .prefix_bytes = kWholePrefixBytes},
        bytes_(kWholePrefixBytes) {
    std::memcpy(bytes_.data(), &notes, sizeof notes);
    bytes_.insert(bytes_.end(), frame.begin(), frame.end());
  }

  // Valid as long as the copy.
  CapturedFrame captured() const {
    CapturedFrame captured = captured_;
    captured.frame = std::span(bytes_).subspan(captured.prefix_bytes);
    return captured;
  }

 private:
  CapturedFrame captured_;
  std::vector<std::byte> bytes_;
};

}  // namespace headgate
