// Readers of the values of options, for the rows of commands.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "command.hpp"

namespace headgate {

// What was expected, as in "a whole number from 1 to 4096". The option and its text are said in front of it.
struct WrongValue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Gives std::uint64_t.
ValueReader number_from(std::uint64_t least, std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

// "0.5", a number of seconds without a unit. Gives Duration.
ValueReader seconds(double least, double most);

// "30s", "10m": a time as the configuration writes it, above 0. Gives Duration.
ValueReader time_with_unit();

}  // namespace headgate
