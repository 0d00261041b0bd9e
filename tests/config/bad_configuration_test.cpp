// The table of bad configurations and command lines in bad/, each with the exact messages that it must give:
//   bad/NAME.toml and bad/NAME.expected (a line for each error, files named without their directory), and
//   bad/command_lines.json (arguments and errors).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/command_line.hpp"
#include "config/config_file.hpp"

namespace headgate {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) ADD_FAILURE() << "cannot read " << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(BadConfiguration, IsRefusedWithItsExactMessages) {
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(BAD_CONFIGURATIONS)) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    std::string messages;
    for (const ConfigError& error : parse_config(content_of(entry.path()), entry.path().filename()).errors) {
      messages += error.to_string() + "\n";
    }
    const std::string expected = content_of(fs::path(entry.path()).replace_extension(".expected"));
    EXPECT_NE(expected, "") << entry.path();
    EXPECT_EQ(messages, expected) << entry.path();
  }
  EXPECT_GE(files, 200U);
}

// The messages are one line each, so that they can be logged, and within what a terminal shows.
TEST(BadConfiguration, IsReportedInPlainLines) {
  for (const fs::directory_entry& entry : fs::directory_iterator(BAD_CONFIGURATIONS)) {
    if (entry.path().extension() != ".toml") continue;
    for (const ConfigError& error : parse_config(content_of(entry.path()), "bad.toml").errors) {
      for (const char letter : error.message) {
        EXPECT_GE(static_cast<unsigned char>(letter), 0x20) << entry.path();
      }
      EXPECT_GT(error.line, 0U) << entry.path();
      EXPECT_GT(error.column, 0U) << entry.path();
    }
  }
}

TEST(BadCommandLine, IsRefusedWithItsExactMessages) {
  const auto table = nlohmann::json::parse(content_of(fs::path(BAD_CONFIGURATIONS) / "command_lines.json"));
  EXPECT_GE(table.size(), 60U);
  for (const auto& row : table) {
    const auto expected = row.at("errors").get<std::vector<std::string>>();
    EXPECT_FALSE(expected.empty()) << row;
    EXPECT_EQ(parse_command_line(row.at("arguments").get<std::vector<std::string>>()).errors, expected)
        << row;
  }
}

}  // namespace
}  // namespace headgate
