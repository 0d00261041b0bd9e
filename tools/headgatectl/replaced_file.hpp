// Writes a file so that whoever reads it sees all of it, as it was or as it is now.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace headgate {

// By a new file in the same directory that takes its place. Its name does not end as `path` does until then. Throws
// std::system_error; then the file is as it was and no other is left.
void replace_file(const std::string& path, std::string_view content, mode_t mode = 0644);

// The same where no file is so far. False: there is one, which stays.
bool create_file(const std::string& path, std::string_view content, mode_t mode);

}  // namespace headgate
