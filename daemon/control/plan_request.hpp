// Makes a network a member of a plan while the daemon runs, or takes it out.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "control/control_handler.hpp"

namespace headgate {

struct PlanRequest {
  std::string class_name;
  std::string member;
  std::optional<std::string> plan;  // none: a member of none
  std::string rate;              // in place of a plan: of one that is named after it; empty: a plan is named
  std::optional<Duration> time;  // for so long
};

// The reply. Throws RequestError. Ten thousand come in a second: it looks at the configuration alone and asks no worker.
nlohmann::ordered_json answer(const PlanRequest& request, DaemonControl& daemon, const std::string& who);

}  // namespace headgate
