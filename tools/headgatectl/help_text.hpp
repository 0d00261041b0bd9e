// What --help and the command help print, written from the tables of commands and options.
#pragma once

#include <span>
#include <string>

#include "invocation.hpp"

namespace headgate {

std::string general_help(std::span<const Subcommand> subcommands);

std::string help_of(const Subcommand& command);

}  // namespace headgate
