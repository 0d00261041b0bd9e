#include "config/config_file.hpp"

#include "config/config_document.hpp"
#include "config/config_texts.hpp"

namespace headgate {

std::string ConfigError::to_string() const {
  if (line == 0) return file + ": " + message;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message;
}

ConfigResult parse_config(std::string_view text, const std::string& file_name,
                          const Surroundings& surroundings) {
  return ConfigDocument({{file_name, std::string(text)}}).read(surroundings);
}

ConfigResult load_config(const std::string& path, FileUse use, const Surroundings& surroundings) {
  ConfigTextsResult read = read_config_texts(path, use);
  if (read.ok()) return ConfigDocument(read.texts).read(surroundings);
  ConfigResult result;
  result.errors = std::move(read.errors);
  return result;
}

}  // namespace headgate
