#include "linux/processor_share.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>

namespace headgate {

namespace {

// Where the hierarchy that counts processor time is mounted, by what /proc/self/cgroup says of it.
std::string mount_point_of(const std::string& controllers) {
  if (controllers.empty()) return "/sys/fs/cgroup";
  std::istringstream words(controllers);
  for (std::string word; std::getline(words, word, ',');)
    if (word == "cpu") return "/sys/fs/cgroup/" + controllers;
  return {};
}

}  // namespace

ProcessorShare::ProcessorShare(pid_t thread, const std::string& root)
    : schedstat_(root + "/proc/self/task/" + std::to_string(thread) + "/schedstat") {
  std::ifstream memberships(root + "/proc/self/cgroup");
  for (std::string line; std::getline(memberships, line);) {  // number:controllers:path
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string mount_point = mount_point_of(line.substr(first + 1, second - first - 1));
    if (mount_point.empty()) continue;
    for (std::string path = line.substr(second + 1); path.size() > 1; path.resize(path.rfind('/')))
      groups_.push_back({.path = path, .file = root + mount_point + path + "/cpu.stat"});
  }
  since_last();
}

ProcessorWait ProcessorShare::since_last() {
  ProcessorWait wait;
  for (Group& group : groups_) {
    const Duration throttled = throttled_time(group.file);
    if (throttled - group.throttled > wait.throttled) {
      wait.throttled = throttled - group.throttled;
      wait.throttled_by = group.path;
    }
    group.throttled = throttled;
  }
  const Duration waited = waiting_time();
  wait.waited = std::max(waited - waited_, Duration::zero());
  waited_ = waited;
  return wait;
}

Duration ProcessorShare::throttled_time(const std::string& file) {
  std::ifstream lines(file);
  std::string name;
  for (std::int64_t value = 0; lines >> name >> value;) {
    if (name == "throttled_usec") return std::chrono::microseconds(value);
    if (name == "throttled_time") return Duration(value);
  }
  return {};
}

Duration ProcessorShare::waiting_time() const {
  std::ifstream line(schedstat_);
  std::int64_t ran = 0;
  std::int64_t waited = 0;
  return line >> ran >> waited ? Duration(waited) : Duration::zero();
}

}  // namespace headgate
