// What another program prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace headgate {

// Its standard output and error together, once it has ended; found by PATH, with nothing on its standard input. None: there is no
// such program. Throws std::system_error.
std::optional<std::string> program_output(const std::vector<std::string>& command);

}  // namespace headgate
