#include "config/file_text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

namespace headgate {
namespace {

// What a file may hold. Whoever writes a file without another name for the new one empties it first: what reads it then
// must not take every shape, or every element of a list, for removed.
struct Bounds {
  std::size_t longest;  // bytes
  std::string_view too_long;
  std::string_view empty;
  std::string_view no_file;
};

constexpr Bounds kConfiguration{
    .longest = 1024 * 1024,
    .too_long = "the file is larger than 1 MiB, which is no configuration",
    .empty =
        "the file is empty, as while it is being written: expected a [[shape]], or a comment where "
        "nothing is to be shaped",
    .no_file =
        "this is not a regular file: headgated reads its file again at a reload, so only --check takes "
        "a pipe"};

constexpr Bounds kList{
    .longest = 16 * 1024 * 1024,
    .too_long = "the file is larger than 16 MiB, which is no list",
    .empty =
        "the file is empty, as while it is being written: expected a list, or a comment where it has no "
        "element",
    .no_file = "this is not a regular file: headgated reads it again at a reload"};

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

std::string refuse_kind(mode_t mode, FileUse use, const Bounds& bounds) {
  if (S_ISREG(mode)) return {};
  if (S_ISDIR(mode)) return "this is a directory, expected a file";
  if (!is_stream(mode)) return "this is not a regular file";
  if (use == FileUse::once) return {};
  return std::string(bounds.no_file);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::string read_within(const Bounds& bounds, const std::string& path, FileUse use, std::string& text) {
  const Descriptor file(open_source(path, use));
  if (file.number() < 0) return "cannot open the file: " + system_message(errno);
  struct stat status {};
  if (fstat(file.number(), &status) != 0) return "cannot examine the file: " + system_message(errno);
  if (std::string refusal = refuse_kind(status.st_mode, use, bounds); !refusal.empty()) return refusal;
  std::array<char, 16 * 1024> piece;
  while (text.size() <= bounds.longest) {
    const ssize_t length = read(file.number(), piece.data(), piece.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return "cannot read the file: " + system_message(errno);
    if (length == 0) return std::string(is_blank(text) ? bounds.empty : "");
    text.append(piece.data(), static_cast<std::size_t>(length));
  }
  return std::string(bounds.too_long);
}

}  // namespace

std::string read_file_text(const std::string& path, FileUse use, std::string& text) {
  return read_within(kConfiguration, path, use, text);
}

std::string read_list_text(const std::string& path, std::string& text) {
  return read_within(kList, path, FileUse::again, text);
}

}  // namespace headgate
