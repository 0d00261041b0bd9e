// The screen of `headgatectl show`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "text_table.hpp"

namespace headgate {

struct ShowOptions {
  bool bytes = false;  // count bytes, not packets
  bool all = false;    // each interface of a pattern, too
};

// `reply` is that of a "show" request. With an earlier reply of the same daemon, `previous`, the rates
// between the two are shown as well; null: none.
std::string show_screen(const nlohmann::ordered_json& reply, const nlohmann::ordered_json& previous,
                        const ShowOptions& options, const ScreenStyle& style);

// Seconds from one reply of a daemon to a later one; 0 when they are not of the same process.
double seconds_between(const nlohmann::ordered_json& earlier, const nlohmann::ordered_json& later);

// Of a shape or a pattern: "eth0 egress", or "eth0 to eth1".
std::string link_name(const nlohmann::ordered_json& shape);

// What a class or group may have of what is above it: "1000pps fair", ">=2mbit <=10mbit", "budget uplink".
std::string limits_text(const nlohmann::ordered_json& item);

// What its link may have: "100mbit", "budget uplink"; "": it has none.
std::string link_limit(const nlohmann::ordered_json& shape);

// "headgated 0.1.0, process 1234, up 2 h 13 min, /etc/headgate/headgate.toml"
std::string daemon_line(const nlohmann::ordered_json& reply);

}  // namespace headgate
