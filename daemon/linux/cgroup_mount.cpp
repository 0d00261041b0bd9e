#include "linux/cgroup_mount.hpp"

#include <array>
#include <fstream>
#include <iterator>
#include <sstream>

namespace headgate {

namespace {

bool is_octal(char letter) {
  return letter >= '0' && letter <= '7';
}

// Spaces and the like stand there as a backslash and three octal digits.
std::string unescape(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      result += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

struct Mount {
  std::string root;  // of the file system, that is to be seen there
  std::string point;
  std::string type;
};

// "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw"
Mount read_mount(const std::string& line) {
  std::istringstream words(line);
  std::string id, parent, device, word;
  Mount mount;
  words >> id >> parent >> device >> mount.root >> mount.point;
  while (words >> word && word != "-") continue;
  words >> mount.type;
  mount.point = unescape(mount.point);
  return mount;
}

}  // namespace

std::string find_cgroup_mount(std::string_view mountinfo) {
  std::istringstream lines{std::string(mountinfo)};
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    Mount mount = read_mount(line);
    if (mount.type != "cgroup2") continue;
    if (mount.root == "/") return mount.point;
    if (first.empty()) first = std::move(mount.point);
  }
  return first;
}

std::string find_cgroup_mount() {
  std::ifstream file("/proc/self/mountinfo");
  return find_cgroup_mount(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace headgate
