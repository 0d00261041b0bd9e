// A simulation as one HTML file that needs nothing else: template, style and script of page/, and the report as JSON
// (report_json.hpp), from which the script draws. Whoever has figures in that form makes the same page of them: tools/demo
// does of a live run.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace headgate {

std::string page_of(const nlohmann::ordered_json& report);

// page_parts.cpp, made of the files in page/.
extern const std::string_view kPageHtml;
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

}  // namespace headgate
