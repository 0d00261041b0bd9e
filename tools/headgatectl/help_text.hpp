// What --help and the command help print, written from the table of commands.
#pragma once

#include <string>
#include <vector>

#include "command.hpp"

namespace headgate {

std::string general_help(const std::vector<Command>& commands);

std::string help_of(const Command& command);

}  // namespace headgate
