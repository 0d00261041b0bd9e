// TOML file with its drop-ins (config_texts.hpp) → Config. Reports every semantic error, and the first syntax error of each
// file, with its place.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/compiled_matches.hpp"
#include "config/file_text.hpp"
#include "vocabulary/available_memory.hpp"
#include "vocabulary/config.hpp"

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

// What reading a file takes from, and does for, the program that reads it.
struct Surroundings {
  CompiledMatches* matches = nullptr;     // where expressions are compiled; null: for this call only
  CompiledMatches::Meanwhile meanwhile;   // called while that, or reading lists of networks, takes its time
  std::optional<AvailableMemory> memory;  // what the sizes in the file must fit into; none: not looked at
};

ConfigResult parse_config(std::string_view text, const std::string& file_name,
                          const Surroundings& surroundings = {});
// An unreadable file is an error without a place.
ConfigResult load_config(const std::string& path, FileUse use = FileUse::again,
                         const Surroundings& surroundings = {});

}  // namespace headgate
