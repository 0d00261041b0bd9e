// What headgated says would become of a packet, for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "described_packet.hpp"
#include "text_table.hpp"

namespace headgate {

// `reply` is that of an "explain" request.
std::string explain_screen(const nlohmann::ordered_json& reply, const DescribedPacket& packet,
                           const ScreenStyle& style);

// In one line: of packet `number` of a trace.
std::string explain_line(const nlohmann::ordered_json& reply, const DescribedPacket& packet,
                         std::size_t number, const ScreenStyle& style);

}  // namespace headgate
