// TOML file → Config. Reports every semantic error, and the first syntax error, with its place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headgate/config.hpp"

namespace headgate {

struct ConfigError {
  std::string file;
  std::size_t line = 0;    // from 1; 0: no place in the file
  std::size_t column = 0;  // from 1
  std::string message;     // what is wrong, what was expected

  std::string to_string() const;  // "file:line:column: message"
};

// Notes that do not refuse the file: bps and kbps mean bytes, and the like.
struct ConfigWarning : ConfigError {};

struct ConfigResult {
  Config config;                    // meaningful only without errors
  std::vector<ConfigError> errors;  // in file order
  std::vector<ConfigWarning> warnings;
  bool ok() const { return errors.empty(); }
};

ConfigResult parse_config(std::string_view text, const std::string& file_name);
ConfigResult load_config(const std::string& path);  // an unreadable file is an error without a place

}  // namespace headgate
