// The text of a configuration, from a file, or where it is read but once also from a pipe; and of the files it names.
#pragma once

#include <cstdint>
#include <string>

namespace headgate {

enum class FileUse : std::uint8_t {
  again,  // must be a file that can be read again: a pipe is refused without waiting for a writer
  once    // may be a pipe, which is read to its end, and "-" is standard input
};

inline constexpr char kStandardInput[] = "-";

// Returns what is wrong; empty: `text` is the file's. Not blank, at most 1 MiB.
std::string read_file_text(const std::string& path, FileUse use, std::string& text);

// The same of a file with a list, which a reload reads again: not blank, at most 16 MiB.
std::string read_list_text(const std::string& path, std::string& text);

}  // namespace headgate
