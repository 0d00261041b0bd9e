#include "replaced_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "linux/file_descriptor.hpp"

namespace headgate {
namespace {

void write_all(int file, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw std::system_error(errno, std::generic_category(), "cannot write " + path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Removed again unless it took the place of another.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : path_(path), name_(path + ".XXXXXX") {
    file_ = FileDescriptor(mkostemp(name_.data(), O_CLOEXEC));
    if (!file_) fail("cannot create a file beside ");
  }
  ~NewFile() {
    if (!placed_) unlink(name_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void fill(std::string_view content, mode_t mode) {
    write_all(file_.get(), content, path_);
    if (fchmod(file_.get(), mode) < 0) fail("cannot write ");
  }

  void take_place() {
    if (std::rename(name_.c_str(), path_.c_str()) < 0) fail("cannot replace ");
    placed_ = true;
  }

  // False: the place is taken.
  bool take_free_place() {
    placed_ = renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0;
    if (!placed_ && errno != EEXIST) fail("cannot create ");
    return placed_;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw std::system_error(errno, std::generic_category(), what + path_);
  }

  std::string path_;
  std::string name_;
  FileDescriptor file_;
  bool placed_ = false;
};

}  // namespace

void replace_file(const std::string& path, std::string_view content, mode_t mode) {
  NewFile file(path);
  file.fill(content, mode);
  file.take_place();
}

bool create_file(const std::string& path, std::string_view content, mode_t mode) {
  NewFile file(path);
  file.fill(content, mode);
  return file.take_free_place();
}

}  // namespace headgate
