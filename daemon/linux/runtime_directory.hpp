// The directory of the control socket and of the locks. Only root and the user of the service may write in it: whoever
// else could would be able to hold a lock, or to put something else in its place.
#pragma once

#include <string>

#include "linux/file_descriptor.hpp"

namespace headgate {

inline constexpr char kRuntimeDirectory[] = "/run/headgate";

// Root makes it where systemd has not, for a headgated by hand. Does nothing where it is there, or may not be made.
void make_runtime_directory(const std::string& path = kRuntimeDirectory);

// Throws std::system_error when it cannot be opened, and std::runtime_error that says what is wrong when it is a
// symbolic link, belongs to a user without business here or may be written by others than its owner.
FileDescriptor open_runtime_directory(const std::string& path = kRuntimeDirectory);

}  // namespace headgate
