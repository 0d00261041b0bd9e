// Members of a request, read where they are needed. All throw RequestError.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "control/request_error.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

RequestError bad_request(std::string message);

const nlohmann::ordered_json& member(const nlohmann::ordered_json& request,
                                     const char* name);  // there must be one

std::string text(const nlohmann::ordered_json& value, const char* name);
std::string text_or_nothing(const nlohmann::ordered_json& request, const char* name);

// `direction`; none: it is left out.
std::optional<Direction> direction_of(const nlohmann::ordered_json& request);

}  // namespace headgate
