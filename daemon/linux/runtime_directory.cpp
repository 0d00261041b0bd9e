#include "linux/runtime_directory.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "linux/system_call.hpp"

namespace headgate {

namespace {

constexpr mode_t kMode = 0755;  // the modes of what is in it say who may use that
constexpr mode_t kWritableByOthers = S_IWGRP | S_IWOTH;
constexpr char kServiceUser[] = "headgate";

bool may_own_it(uid_t user) {
  if (user == 0 || user == geteuid()) return true;
  const passwd* service = getpwnam(kServiceUser);
  return service != nullptr && service->pw_uid == user;
}

std::string octal(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

}  // namespace

void make_runtime_directory(const std::string& path) {
  if (geteuid() != 0 || mkdir(path.c_str(), kMode) < 0) return;
  const FileDescriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory) fchmod(directory.get(), kMode);  // whatever the umask was
}

FileDescriptor open_runtime_directory(const std::string& path) {
  make_runtime_directory(path);
  struct stat status {};
  check_system_call("look at the directory " + path, lstat(path.c_str(), &status));
  if (!S_ISDIR(status.st_mode))
    throw std::runtime_error(path + " is no directory, expected one for the locks of headgated");
  FileDescriptor directory(check_system_call(
      "open the directory " + path, open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
  check_system_call("look at the directory " + path, fstat(directory.get(), &status));
  if (!may_own_it(status.st_uid))
    throw std::runtime_error("the directory " + path + " belongs to user " + std::to_string(status.st_uid) +
                             ", who could hold the locks of headgated: expected root or " + kServiceUser);
  if ((status.st_mode & kWritableByOthers) != 0)
    throw std::runtime_error("the directory " + path + " may be written by others than its owner (mode " +
                             octal(status.st_mode) + "), who could hold the locks of headgated: expected " +
                             octal(kMode) + " or less");
  return directory;
}

}  // namespace headgate
