// top where there is no terminal: a table, or a line of JSON, after each interval.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "text_table.hpp"
#include "top/full_screen.hpp"
#include "top/samples.hpp"

namespace headgate::top {

// Until interrupted, or the rounds are over. A daemon that is gone for a while does not end it; one that is not
// there at the beginning, or in the last round, does. Throws ControlError and what print() throws.
void show_plainly(const Task& task, bool json);

// Of the classes, or of the flows of the class that is open.
std::string plain_table(const Samples& samples, const View& view, const ScreenStyle& style);
nlohmann::ordered_json plain_json(const Samples& samples, const View& view);

}  // namespace headgate::top
