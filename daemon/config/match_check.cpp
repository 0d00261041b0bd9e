#include "config/match_check.hpp"

#include <set>

#include "config/characters.hpp"
#include "config/table_reader.hpp"

namespace headgate {
namespace {

struct PlacedMatch {
  std::string expression;
  Place place;
  bool control = false;
};

void add_matches_of(const toml::table& shape, std::vector<PlacedMatch>& matches) {
  const toml::array* classes = shape["class"].as_array();
  if (classes == nullptr) return;
  for (const toml::node& node : *classes) {
    const toml::table* table = node.as_table();
    if (table == nullptr) continue;
    const toml::node* match = table->get("match");
    if (match == nullptr || !match->is_string() || is_blank(match->as_string()->get())) continue;
    matches.push_back({match->as_string()->get(), place_of(*match), (*table)["control"].value_or(false)});
  }
}

}  // namespace

std::vector<std::string> match_warnings(const CompiledMatch& match, bool control) {
  std::vector<std::string> warnings;
  if (match.never)
    warnings.emplace_back(
        "never matches: a class gets IPv4 and IPv6 packets only, and it takes none of them");
  if (match.control.empty() || control) return warnings;
  std::string names;
  for (std::size_t i = 0; i < match.control.size(); ++i) {
    if (i > 0) names += i + 1 == match.control.size() ? " and " : ", ";
    names += match.control[i];
  }
  warnings.push_back(
      "names " + names +
      ", which is control traffic: up to the shape's control_limit it is not shaped, and in no "
      "class without control = true; write control = true to have it in this one");
  return warnings;
}

void check_matches(const toml::array& shapes, CompiledMatches& matches,
                   const CompiledMatches::Meanwhile& meanwhile, Findings& findings) {
  std::vector<PlacedMatch> placed;
  for (const toml::node& node : shapes) {
    if (const toml::table* shape = node.as_table()) add_matches_of(*shape, placed);
  }
  std::set<std::string> expressions;
  for (const PlacedMatch& match : placed) expressions.insert(match.expression);
  matches.compile_all(expressions, meanwhile);
  for (const PlacedMatch& match : placed) {
    const CompiledMatch compiled = matches.get(match.expression);
    if (!compiled.error.empty()) findings.add_error(match.place, "match: " + compiled.error);
    for (const std::string& warning : match_warnings(compiled, match.control))
      findings.add_warning(match.place, "match: " + warning);
  }
}

}  // namespace headgate
