#include "host_report.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "program_output.hpp"

namespace headgate {
namespace {

namespace fs = std::filesystem;

const fs::path kInterfaces = "/sys/class/net";
constexpr std::size_t kInterfacesWithOffloads = 32;  // asking for them starts a program for each

// "" where there is none, as of the speed of a link that is down.
std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Of "KEY=value" or "KEY=\"value\"".
std::string value_in(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key + "=")) continue;
    line.erase(0, key.size() + 1);
    std::erase(line, '"');
    return line;
  }
  return "";
}

std::string target_of(const fs::path& link) {
  std::error_code error;
  return fs::read_symlink(link, error).filename();
}

std::size_t queues(const fs::path& interface, const std::string& prefix) {
  std::error_code error;
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(interface / "queues", error))
    if (entry.path().filename().string().starts_with(prefix)) ++count;
  return count;
}

void add(std::string& line, const char* name, const std::string& value) {
  if (!value.empty()) line += std::string("  ") + name + " " + value;
}

// "vlan", "bridge", ...; of what /sys does not name whether there is hardware behind it.
std::string kind_of(const fs::path& interface) {
  std::error_code error;
  const std::string named = value_in(interface / "uevent", "DEVTYPE");
  if (!named.empty()) return named;
  if (fs::exists(interface / "tun_flags", error)) return "tun";
  return fs::exists(interface / "device", error) ? "device" : "virtual";
}

std::string interface_line(const fs::path& interface) {
  std::string line = interface.filename();
  add(line, "kind", kind_of(interface));
  add(line, "driver", target_of(interface / "device/driver"));
  add(line, "link type", first_line(interface / "type"));
  add(line, "mtu", first_line(interface / "mtu"));
  add(line, "state", first_line(interface / "operstate"));
  add(line, "flags", first_line(interface / "flags"));
  add(line, "speed", first_line(interface / "speed"));
  add(line, "queues",
      std::to_string(queues(interface, "rx-")) + "/" + std::to_string(queues(interface, "tx-")));
  add(line, "master", target_of(interface / "master"));
  add(line, "mac", first_line(interface / "address"));
  return line + "\n";
}

// Of the lines of ethtool -k, "tx-checksumming: on", the names of what is on.
std::string offloads_line(const std::string& interface) {
  const auto output = program_output({"ethtool", "-k", interface});
  if (!output) return "";
  std::istringstream lines(*output);
  std::string names;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = line.find(": on");
    const std::size_t begin = line.find_first_not_of(" \t");
    if (end != std::string::npos) names += " " + line.substr(begin, end - begin);
  }
  return "  offloads on:" + (names.empty() ? " none" : names) + "\n";
}

}  // namespace

std::string kernel_text() {
  utsname name{};
  uname(&name);
  return std::string(name.sysname) + " " + name.release + " " + name.version + " " + name.machine + "\n";
}

std::string distribution_text() {
  const std::string name = value_in("/etc/os-release", "PRETTY_NAME");
  return (name.empty() ? "not known: /etc/os-release does not say" : name) + "\n";
}

std::string interfaces_text() {
  std::error_code error;
  std::set<fs::path> interfaces;
  for (const auto& entry : fs::directory_iterator(kInterfaces, error))
    if (entry.is_directory(error)) interfaces.insert(entry.path());
  std::string text;
  std::size_t asked = 0;
  for (const fs::path& interface : interfaces) {
    text += interface_line(interface);
    if (asked++ < kInterfacesWithOffloads) text += offloads_line(interface.filename());
  }
  return text.empty() ? "not known: /sys/class/net cannot be read\n" : text;
}

}  // namespace headgate
