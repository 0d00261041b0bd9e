#include "config/interface_pattern.hpp"

#include <fnmatch.h>

#include <optional>
#include <utility>

#include "config/names.hpp"

namespace headgate {
namespace {

constexpr std::string_view kOwnDevices = "hg";

// Where the brackets that begin at `open` end: the place of their "]". None: they do not. Classes such as [:digit:] are in
// no name, for they have a colon.
std::optional<std::size_t> end_of_brackets(std::string_view text, std::size_t open) {
  std::size_t at = open + 1;
  if (at < text.size() && (text[at] == '!' || text[at] == '^')) ++at;
  const std::size_t first = at;
  for (; at < text.size(); ++at) {
    if (text[at] == ']' && at > first) return at;
  }
  return std::nullopt;
}

// The place of the "-" of a range that ends before it begins, in the brackets from `open` to `end`.
std::optional<std::size_t> reversed_range(std::string_view text, std::size_t open, std::size_t end) {
  for (std::size_t at = open + 2; at + 1 < end; ++at) {
    if (text[at] != '-' || text[at - 1] == '!' || text[at - 1] == '^') continue;
    if (static_cast<unsigned char>(text[at - 1]) > static_cast<unsigned char>(text[at + 1])) return at;
  }
  return std::nullopt;
}

Reading check_brackets(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;  // what follows stands for itself
      continue;
    }
    if (text[at] != '[') continue;
    const std::optional<std::size_t> end = end_of_brackets(text, at);
    if (!end && text.substr(at + 1).starts_with("]")) {
      return refuse(quoted(text) +
                    " has nothing between \"[\" and \"]\", expected a pattern such as \"eth[0-9]\"");
    }
    if (!end) {
      return refuse(quoted(text) + " has a \"[\" without its \"]\", did you mean " +
                    quoted(std::string(text) + "]") + "?");
    }
    if (const auto range = reversed_range(text, at, *end)) {
      std::string meant(text);
      std::swap(meant[*range - 1], meant[*range + 1]);
      return refuse(quoted(text) + " has a range that ends before it begins, did you mean " + quoted(meant) +
                    "?");
    }
    at = *end;
  }
  return {};
}

}  // namespace

bool is_interface_pattern(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

bool matches_pattern(const std::string& pattern, const std::string& interface) {
  return interface != "lo" && !interface.starts_with(kOwnDevices) &&
         fnmatch(pattern.c_str(), interface.c_str(), 0) == 0;
}

Reading check_interface(std::string_view text) {
  Reading reading = check_interface_name(text);
  if (!reading.ok() || !is_interface_pattern(text)) return reading;
  if (text.starts_with(kOwnDevices)) {
    return refuse(quoted(text) +
                  " matches nothing, for a pattern never takes what begins with \"hg\", as headgate's own "
                  "devices do: expected another pattern, such as \"veth*\", or the name of one interface");
  }
  return check_brackets(text);
}

Reading check_forward_to(std::string_view text) {
  Reading reading = check_interface_name(text);
  if (!reading.ok() || !is_interface_pattern(text)) return reading;
  return refuse(
      quoted(text) +
      " is a pattern, but packets are forwarded to one interface, expected its name, such as \"eth1\"");
}

}  // namespace headgate
