// One dropped packet as a line for people, and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dropped_packets.hpp"
#include "text_table.hpp"

namespace headgate {

// "14:03:07.123456  eth0/egress/clients  queue_full  10.0.0.1 → 10.0.0.2 udp 5000→53  142 B", in local time.
std::string drop_line(const DroppedPacket& packet, const ScreenStyle& style);

nlohmann::ordered_json drop_json(const DroppedPacket& packet);

}  // namespace headgate
