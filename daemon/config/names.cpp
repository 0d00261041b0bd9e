#include "config/names.hpp"

#include <algorithm>
#include <string>

#include "config/characters.hpp"

namespace headgate {
namespace {

constexpr std::size_t kMaxInterfaceName = 127;  // ALTIFNAMSIZ - 1, of an alternative name
constexpr std::size_t kMaxName = 64;
constexpr std::size_t kMaxSocketAddress = 107;  // sockaddr_un::sun_path without its NUL
constexpr std::size_t kProcessSuffix = 8;       // ".4194304": the socket is made under a name that ends so
constexpr std::size_t kMaxControlPath = kMaxSocketAddress - kProcessSuffix;

// hg, digits, and perhaps p
bool is_own_device(std::string_view name) {
  if (!name.starts_with("hg")) return false;
  name.remove_prefix(2);
  if (name.ends_with('p')) name.remove_suffix(1);
  return !name.empty() && std::all_of(name.begin(), name.end(), is_digit);
}

bool no_part_of_interface(char letter) {
  const auto code = static_cast<unsigned char>(letter);
  return letter == '/' || letter == ':' || code <= 0x20 || code == 0x7f;
}

bool no_part_of_name(char letter) {
  return !is_letter(letter) && !is_digit(letter) && letter != '-' && letter != '_' && letter != '.';
}

// Of a class, a group or a plan.
Reading check_name(std::string_view name, const std::string& noun, std::string_view example) {
  if (name.empty()) return refuse("an empty text is no name, expected one such as " + quoted(example));
  if (name.size() > kMaxName) {
    return refuse(quoted(name) + " has " + std::to_string(name.size()) + " characters, expected at most " +
                  std::to_string(kMaxName));
  }
  if (std::any_of(name.begin(), name.end(), no_part_of_name)) {
    return refuse(quoted(name) + " is no name of a " + noun +
                  ", expected letters, digits, \"-\", \"_\" and \".\"");
  }
  return {};
}

}  // namespace

Reading check_interface_name(std::string_view name) {
  if (name.empty()) return refuse("an empty text is no interface, expected a name such as \"eth0\"");
  if (name.size() > kMaxInterfaceName) {
    return refuse(quoted(name) + " has " + std::to_string(name.size()) +
                  " characters, but names of interfaces have at most " + std::to_string(kMaxInterfaceName));
  }
  if (name == "." || name == ".." || std::any_of(name.begin(), name.end(), no_part_of_interface)) {
    return refuse(quoted(name) + " cannot be the name of an interface, expected a name such as \"eth0\"");
  }
  if (name == "lo") {
    return refuse(
        "\"lo\" is the loopback interface, which headgate leaves alone, expected an interface such "
        "as "
        "\"eth0\"");
  }
  if (is_own_device(name)) {
    return refuse(quoted(name) +
                  " is the name of a device of headgate itself, expected an interface of the host, such as "
                  "\"eth0\"");
  }
  return {};
}

Reading check_class_name(std::string_view name) {
  return check_name(name, "class", "clients");
}

// `held_by` says "link" of the link.
Reading check_group_name(std::string_view name) {
  if (name == "link") return refuse("\"link\" means the link itself, expected another name");
  return check_name(name, "group", "office");
}

// `headgatectl plan` says "none" of a member that is to have no plan.
Reading check_plan_name(std::string_view name) {
  if (name == "none") return refuse("\"none\" means no plan, expected another name");
  return check_name(name, "plan", "gold");
}

Reading check_budget_name(std::string_view name) {
  return check_name(name, "budget", "uplink");
}

Reading check_control_path(std::string_view path) {
  if (!path.starts_with('/') || path.ends_with('/') || path.find('\0') != std::string_view::npos) {
    return refuse(
        quoted(path) +
        " is not the absolute path of a socket, expected one such as \"/run/headgate/control.sock\"");
  }
  if (path.size() > kMaxControlPath) {
    return refuse(quoted(path) + " has " + std::to_string(path.size()) + " bytes, expected at most " +
                  std::to_string(kMaxControlPath));
  }
  return {};
}

}  // namespace headgate
