#include "linux/available_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace headgate {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProgram = "headgated";

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;  // "max": no limit
}

std::string first_line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// proc_meminfo(5), in bytes.
std::optional<std::uint64_t> left_on_host(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kilobytes = 0;
    if (words >> name >> kilobytes && name == "MemAvailable:") return kilobytes * 1024;
  }
  return std::nullopt;
}

// The second number of proc_pid_statm(5) is resident pages.
std::uint64_t resident_bytes(const fs::path& process) {
  std::istringstream words(first_line_of(process / "statm"));
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  words >> size >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t held_by_headgated(const std::string& root) {
  std::uint64_t sum = 0;
  std::error_code error;
  for (fs::directory_iterator each(root + "/proc", error), end; !error && each != end;
       each.increment(error)) {
    const bool is_process = number_in(each->path().filename().native()).has_value();
    if (is_process && first_line_of(each->path() / "comm") == kProgram) sum += resident_bytes(each->path());
  }
  return sum;
}

// A line of cgroups(7) in /proc/self/cgroup: number:controllers:path.
struct Membership {
  std::string controllers;  // empty: version 2
  std::string path;
};

std::vector<Membership> memberships(const std::string& root) {
  std::vector<Membership> result;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    result.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return result;
}

bool has_memory(const std::string& controllers) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "memory") return true;
  }
  return false;
}

// From the group of the process up to the one that is mounted. A path that is another namespace's has no files here.
void look_at_groups(const std::string& root, const std::string& mount, std::string path, const char* file,
                    AvailableMemory& least) {
  for (;;) {
    while (path.ends_with('/')) path.pop_back();
    const std::string name = mount + path + "/" + file;
    const auto limit = number_in(first_line_of(root + name));
    if (limit && *limit < least.size.bytes) least = {DataSize{*limit}, name};
    if (path.empty()) return;
    path.erase(std::min(path.rfind('/'), path.size()));
  }
}

}  // namespace

std::optional<AvailableMemory> available_memory(Held held, const std::string& root) {
  const auto left = left_on_host(root);
  if (!left) return std::nullopt;
  AvailableMemory least{DataSize{*left}, "MemAvailable of /proc/meminfo"};
  if (held == Held::counts) least.size.bytes += held_by_headgated(root);
  for (const auto& [controllers, path] : memberships(root)) {
    if (controllers.empty()) {
      look_at_groups(root, "/sys/fs/cgroup", path, "memory.max", least);
      look_at_groups(root, "/sys/fs/cgroup/unified", path, "memory.max", least);
    } else if (has_memory(controllers)) {
      look_at_groups(root, "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", least);
    }
  }
  return least;
}

}  // namespace headgate
