// The counters of a daemon as metrics: its reply to {"command":"show","instances":false} as text.
//
// Labels are interface, direction, class, group, plan, budget, reason and place, as the configuration names them: never addresses. The
// interfaces of a pattern count together, as in "veth*", those that are gone included, so that series do not come and go
// with them. Classes beyond kMostMeasuredClasses are left out and counted in headgate_omitted_classes.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "metrics_writer.hpp"

namespace headgate {

// A class takes about 6 KB of text.
inline constexpr std::size_t kMostMeasuredClasses = 1000;

// What is to be asked for.
nlohmann::ordered_json metrics_request();

// Writes all of it. Throws nlohmann::json::exception where `show` is no such reply. A member that an older daemon does not have is left out.
void write_metrics(MetricsWriter& writer, const nlohmann::ordered_json& show);

// Where no daemon answers: headgate_up 0, and nothing else.
void write_metrics_without_daemon(MetricsWriter& writer);

// The same as whole texts.
std::string metrics_text(const nlohmann::ordered_json& show, MetricsFormat format);
std::string metrics_text_without_daemon(MetricsFormat format);

}  // namespace headgate
