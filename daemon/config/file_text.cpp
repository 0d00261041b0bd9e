#include "config/file_text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace headgate {
namespace {

constexpr std::size_t kMaxFile = 1024 * 1024;
// Whoever writes a file without another name for the new one empties it first: what reads it then must not take every
// shape for removed.
constexpr char kEmpty[] =
    "the file is empty, as while it is being written: expected a [[shape]], or a comment where nothing is to "
    "be shaped";

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ > STDIN_FILENO) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

std::string system_message(int error) {
  return std::system_category().message(error);
}

bool is_stream(mode_t mode) {
  return S_ISFIFO(mode) || S_ISCHR(mode) || S_ISSOCK(mode);
}

int open_source(const std::string& path, FileUse use) {
  if (use == FileUse::again) return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  return path == kStandardInput ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

std::string refuse_kind(mode_t mode, FileUse use) {
  if (S_ISREG(mode)) return {};
  if (S_ISDIR(mode)) return "this is a directory, expected a file";
  if (!is_stream(mode)) return "this is not a regular file";
  if (use == FileUse::once) return {};
  return "this is not a regular file: headgated reads its file again at a reload, so only --check takes a "
         "pipe";
}

}  // namespace

std::string read_file_text(const std::string& path, FileUse use, std::string& text) {
  const Descriptor file(open_source(path, use));
  if (file.number() < 0) return "cannot open the file: " + system_message(errno);
  struct stat status {};
  if (fstat(file.number(), &status) != 0) return "cannot examine the file: " + system_message(errno);
  if (std::string refusal = refuse_kind(status.st_mode, use); !refusal.empty()) return refusal;
  std::array<char, 16 * 1024> piece;
  while (text.size() <= kMaxFile) {
    const ssize_t length = read(file.number(), piece.data(), piece.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return "cannot read the file: " + system_message(errno);
    if (length == 0) return text.empty() ? kEmpty : "";
    text.append(piece.data(), static_cast<std::size_t>(length));
  }
  return "the file is larger than 1 MiB, which is no configuration";
}

}  // namespace headgate
