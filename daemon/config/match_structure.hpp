// How `and`, `or` and `not` connect the primitives of a match expression, so that a long one can be compiled in parts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headgate {

struct MatchNode {
  enum class Kind : std::uint8_t { primitive, any, all, negation };

  Kind kind = Kind::primitive;
  std::string text;                 // of a primitive, with the qualifiers that it inherits: "host 10.0.0.2"
  std::vector<MatchNode> children;  // evaluated in this order, up to the first that decides

  std::size_t primitives() const;
  std::string to_expression() const;  // means the same to libpcap
};

// Reads as libpcap does: `and` and `or` bind alike, from the left, and a number or address alone takes the qualifiers of
// the primitive before it. None: the expression cannot be taken apart, because it is wrong, or because a part changes
// what the parts behind it mean (mpls, pppoes, geneve).
std::optional<MatchNode> match_structure(std::string_view expression);

}  // namespace headgate
