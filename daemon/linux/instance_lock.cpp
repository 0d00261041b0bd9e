#include "linux/instance_lock.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <vector>

#include "linux/system_call.hpp"

namespace headgate {

namespace {

constexpr mode_t kMode = 0600;

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// False: another open file has it.
bool try_to_lock(const FileDescriptor& file) {
  struct flock lock = whole_file();
  if (fcntl(file.get(), F_OFD_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  check_system_call("lock a file in the runtime directory", -1);
  return false;
}

bool is_locked(const FileDescriptor& file) {
  struct flock lock = whole_file();
  return fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// False: whoever held it before removed it after we had opened it.
bool is_in_directory(const FileDescriptor& file, const FileDescriptor& directory, const std::string& name) {
  struct stat opened {};
  struct stat present {};
  return fstat(file.get(), &opened) == 0 &&
         fstatat(directory.get(), name.c_str(), &present, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == present.st_dev && opened.st_ino == present.st_ino;
}

// The service's user must be able to take over what root has left in its directory.
void give_to_owner_of(const FileDescriptor& directory, const FileDescriptor& file) {
  struct stat owner {};
  if (geteuid() != 0 || fstat(directory.get(), &owner) < 0) return;
  [[maybe_unused]] const int ignored = fchown(file.get(), owner.st_uid, owner.st_gid);
}

void write_process(const FileDescriptor& file) {
  const std::string text = std::to_string(getpid()) + "\n";
  [[maybe_unused]] const bool written =
      ftruncate(file.get(), 0) == 0 && pwrite(file.get(), text.data(), text.size(), 0) > 0;
}

pid_t read_process(const FileDescriptor& file) {
  std::array<char, 16> text{};
  if (pread(file.get(), text.data(), text.size() - 1, 0) <= 0) return 0;
  return static_cast<pid_t>(std::strtol(text.data(), nullptr, 10));
}

FileDescriptor open_directory(const std::string& path) {
  return FileDescriptor(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

FileDescriptor open_present(const FileDescriptor& directory, const std::string& name) {
  return FileDescriptor(openat(directory.get(), name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
}

std::vector<std::string> lock_files(const FileDescriptor& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(dup(directory.get())), closedir);
  if (!entries) return names;
  while (const dirent* entry = readdir(entries.get())) {
    std::string name = entry->d_name;
    if (name.ends_with(InstanceLock::kSuffix)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

std::optional<InstanceLock> InstanceLock::acquire(const std::string& name, const std::string& path) {
  const FileDescriptor directory = open_runtime_directory(path);
  for (;;) {
    FileDescriptor file(check_system_call(
        "open the lock " + path + "/" + name,
        openat(directory.get(), name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kMode)));
    if (!try_to_lock(file)) return std::nullopt;
    if (!is_in_directory(file, directory, name)) continue;
    give_to_owner_of(directory, file);
    write_process(file);
    return InstanceLock(name, path, std::move(file));
  }
}

// While it is still locked: nobody else can take this file for the lock from here on.
InstanceLock::~InstanceLock() {
  if (!file_) return;
  const FileDescriptor directory = open_directory(directory_);
  if (directory && is_in_directory(file_, directory, name_)) unlinkat(directory.get(), name_.c_str(), 0);
}

std::optional<pid_t> InstanceLock::find_holder(const std::string& name, const std::string& path) {
  const FileDescriptor directory = open_directory(path);
  if (!directory) return std::nullopt;
  const FileDescriptor file = open_present(directory, name);
  if (!file || !is_locked(file)) return std::nullopt;
  return read_process(file);
}

void InstanceLock::sweep(const std::string& path) {
  const FileDescriptor directory = open_directory(path);
  if (!directory) return;
  for (const std::string& name : lock_files(directory)) {
    const FileDescriptor file = open_present(directory, name);
    if (file && try_to_lock(file) && is_in_directory(file, directory, name))
      unlinkat(directory.get(), name.c_str(), 0);
  }
}

}  // namespace headgate
