// Shell patterns of interface names, as in fnmatch(3): "veth*", "eth?", "ppp[0-9]".
#pragma once

#include <string>
#include <string_view>

#include "config/reading.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Whether the text is a pattern and not a name: it has "*", "?" or "[".
bool is_interface_pattern(std::string_view text);

// The shape stands for its instances, and is none itself.
inline bool is_template(const ShapeConfig& shape) {
  return shape.pattern.empty() && is_interface_pattern(shape.interface);
}

// Never "lo", nor a name that begins as those of headgate's own devices: "hg".
bool matches_pattern(const std::string& pattern, const std::string& interface);

// What a shape may have as its interface: a name (config/names.hpp) or a pattern.
Reading check_interface(std::string_view text);

// Where one interface is meant: patterns are refused.
Reading check_forward_to(std::string_view text);

}  // namespace headgate
