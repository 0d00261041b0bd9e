// Why a packet that headgate received was not sent. The names are part of the stable JSON.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headgate {

enum class DropReason : std::uint8_t {
  queue_full,  // its bucket was at capacity (packets, bytes or predicted wait)
  pool_full,   // its shape's packet memory was used up and its queue was the longest, or the host had no more
  flow_table_full,  // a new flow, but every flow record was in use
  clipped,          // the capture slot was shorter than the frame; a clipped frame is never forwarded
  send_failed,      // the kernel refused it
  stop,             // still queued when the time to send the rest at a stop was over
  overtaken,        // younger packets had passed it while the dead-man switch was open
  starved,          // it came while its worker had no processor, and its bucket was full when it was read
  aqm,              // queue management dropped it, so that its queue stays short
  too_old,          // in a tree or managed queue: its turn came later than its queue's time limit
  policed,          // it exceeded the limiter of its class, which has no queue
};

inline constexpr std::size_t kDropReasonCount = 11;

inline constexpr std::array<std::string_view, kDropReasonCount> kDropReasonNames = {
    "queue_full", "pool_full", "flow_table_full", "clipped", "send_failed", "stop", "overtaken",
    "starved",    "aqm",       "too_old",         "policed"};

constexpr std::string_view name_of(DropReason reason) {
  return kDropReasonNames[static_cast<std::size_t>(reason)];
}

}  // namespace headgate
