// What a configuration is read from: the file, then its drop-ins in order of their names.
//
// The drop-ins of /etc/headgate/headgate.toml are /etc/headgate/headgate.d/*.toml: of any file those in the directory beside it
// that has its name with ".d" in place of ".toml". A directory that is not there is no error. What begins with a dot is passed
// over.
#pragma once

#include <string>
#include <vector>

#include "config/config_file.hpp"
#include "config/file_text.hpp"

namespace headgate {

struct ConfigText {
  std::string name;  // of the file, for messages
  std::string text;
  bool operator==(const ConfigText&) const = default;
};
using ConfigTexts = std::vector<ConfigText>;  // not empty

struct ConfigTextsResult {
  ConfigTexts texts;                // meaningful only without errors
  std::vector<ConfigError> errors;  // of files that cannot be read
  bool ok() const { return errors.empty(); }
};

// Empty: the file has none, as it is a pipe.
std::string drop_in_directory(const std::string& path, FileUse use = FileUse::again);

ConfigTextsResult read_config_texts(const std::string& path, FileUse use = FileUse::again);

}  // namespace headgate
