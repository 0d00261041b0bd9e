#include "config/config_texts.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace headgate {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxDropIns = 1000;

void read_text(const std::string& path, const std::string& name, FileUse use, ConfigTextsResult& result) {
  std::string text;
  if (std::string problem = read_file_text(path, use, text); !problem.empty()) {
    result.errors.push_back({name, 0, 0, std::move(problem)});
  } else {
    result.texts.push_back({name, std::move(text)});
  }
}

bool is_drop_in(const fs::path& path) {
  return path.extension() == ".toml" && path.filename().string().front() != '.';
}

// In order.
std::vector<std::string> drop_ins_in(const std::string& directory, std::vector<ConfigError>& errors) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (is_drop_in(entry->path())) paths.push_back(entry->path().string());
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    errors.push_back({directory, 0, 0, "cannot read the directory of drop-ins: " + error.message()});
  if (paths.size() > kMaxDropIns) {
    errors.push_back({directory, 0, 0,
                      "there are " + std::to_string(paths.size()) + " drop-ins, expected at most " +
                          std::to_string(kMaxDropIns)});
    paths.clear();
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

std::string drop_in_directory(const std::string& path, FileUse use) {
  if (use == FileUse::once) {
    std::error_code error;
    if (path == kStandardInput || !fs::is_regular_file(path, error)) return {};
  }
  return fs::path(path).replace_extension(".d").string();
}

ConfigTextsResult read_config_texts(const std::string& path, FileUse use) {
  ConfigTextsResult result;
  const std::string name = use == FileUse::once && path == kStandardInput ? "standard input" : path;
  read_text(path, name, use, result);
  const std::string directory = drop_in_directory(path, use);
  if (directory.empty() || !result.ok()) return result;
  for (const std::string& drop_in : drop_ins_in(directory, result.errors))
    read_text(drop_in, drop_in, FileUse::again, result);
  return result;
}

}  // namespace headgate
