// Reads a trace of dropped packets, as headgated sends it: of one class, with the reason in the comment of each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "control/flow_key_text.hpp"
#include "pipeline/link_header.hpp"

namespace headgate {

struct DroppedPacket {
  std::uint64_t time = 0;    // nanoseconds since 1970
  std::string class_name;    // in full: "eth0/egress/dns"
  std::string reason;        // as in show: "queue_full"
  DecodedFlowKey headers;    // whole addresses, protocol and ports; MAC addresses only where it is not IP
  std::uint32_t length = 0;  // bytes on the wire
};

class DroppedPackets {
 public:
  using Take = std::function<void(const DroppedPacket&)>;

  // Whole blocks, in order (trace_blocks.hpp). Calls `take` for each packet in them.
  void read(std::string_view blocks, const Take& take);

 private:
  struct Interface {
    LinkHeader link_header;
    std::string class_name;
  };
  void read_interface(std::string_view block);
  DroppedPacket packet_of(std::string_view block) const;

  std::vector<Interface> interfaces_;
};

}  // namespace headgate
