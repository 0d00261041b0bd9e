#include "config/cgroup_grammar.hpp"

#include <algorithm>
#include <array>

#include "config/characters.hpp"

namespace headgate {
namespace {

constexpr std::string_view kExpected =
    ", expected a path below the root of cgroup v2 such as \"system.slice/backup.service\"";

// Where it is mounted on most hosts, the longest first.
constexpr auto kMountPoints = std::to_array<std::string_view>({"/sys/fs/cgroup/unified/", "/sys/fs/cgroup/"});

constexpr std::size_t kMaxPart = 255;
constexpr std::size_t kMaxPath = 3000;

Reading refuse_path(std::string_view text, std::string_view problem) {
  return refuse(quoted(text) + std::string(problem) + std::string(kExpected));
}

// What is wrong with a part of a path; empty: nothing.
std::string_view problem_of(std::string_view part) {
  if (part.empty()) return " has two slashes in a row";
  if (part == "." || part == "..") return " has a part that is \".\" or \"..\"";
  return part.size() > kMaxPart ? " has a part of more than 255 bytes" : "";
}

std::string_view problem_of_path(std::string_view path) {
  if (path.size() > kMaxPath) return " has more than 3000 bytes";
  if (path.find_first_of(std::string_view("\0\n", 2)) != std::string_view::npos)
    return " has a character that no cgroup has";
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view problem = problem_of(path.substr(begin, end - begin));
    if (!problem.empty()) return problem;
    begin = end + 1;
  }
  return {};
}

}  // namespace

Reading read_cgroup(std::string_view text, std::vector<std::string>& paths) {
  if (is_blank(text)) return refuse_path(text, " is not a cgroup");
  for (const std::string_view mount_point : kMountPoints) {
    if (!text.starts_with(mount_point) || text.size() == mount_point.size()) continue;
    return refuse(quoted(text) + " begins with where cgroup v2 is mounted: did you mean " +
                  quoted(text.substr(mount_point.size())) + "?");
  }
  std::string_view path = text;
  if (path.starts_with('/')) path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty()) return refuse_path(text, " is the root, which every socket belongs to");
  const std::string_view problem = problem_of_path(path);
  if (!problem.empty()) return refuse_path(text, problem);
  if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.emplace_back(path);
  return {};
}

}  // namespace headgate
