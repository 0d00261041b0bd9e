// The answers to requests that change what is in force, or compare it with the files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "control/control_handler.hpp"

namespace headgate {

// `request` has the members of the request as they were sent. All throw RequestError.
nlohmann::ordered_json answer_set(const nlohmann::ordered_json& request, DaemonControl& daemon,
                                  const std::string& who);
nlohmann::ordered_json answer_limit(const nlohmann::ordered_json& request, DaemonControl& daemon,
                                    const std::string& who);
nlohmann::ordered_json answer_unlimit(const nlohmann::ordered_json& request, DaemonControl& daemon,
                                      const std::string& who);
nlohmann::ordered_json answer_reload(DaemonControl& daemon, const std::string& who);
nlohmann::ordered_json answer_confirm(DaemonControl& daemon, const std::string& who);
nlohmann::ordered_json answer_undo(DaemonControl& daemon, const std::string& who);
nlohmann::ordered_json answer_diff(DaemonControl& daemon);
nlohmann::ordered_json answer_save(DaemonControl& daemon);

// How many bytes of a file come behind the request.
std::size_t try_bytes(const nlohmann::ordered_json& request);
nlohmann::ordered_json answer_try(const nlohmann::ordered_json& request, std::string text,
                                  DaemonControl& daemon, const std::string& who);

// `for_s`, of each request that may have it.
std::optional<Duration> time_of(const nlohmann::ordered_json& request);

}  // namespace headgate
