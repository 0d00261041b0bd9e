// Writes a file so that whoever reads it sees all of it, as it was or as it is now.
#pragma once

#include <string>
#include <string_view>

namespace headgate {

// By a new file in the same directory that takes its place, mode 0644. Its name does not end as `path` does until then. Throws
// std::system_error; then the file is as it was and no other is left.
void replace_file(const std::string& path, std::string_view content);

}  // namespace headgate
