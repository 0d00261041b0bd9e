// What top asks headgated.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "top/view.hpp"

namespace headgate::top {

inline constexpr std::size_t kFlowsAsked =
    500;  // the largest by what they have sent, dropped and queued so far

nlohmann::ordered_json show_request(const View& view);
nlohmann::ordered_json flows_request(const std::string& class_name);

}  // namespace headgate::top
