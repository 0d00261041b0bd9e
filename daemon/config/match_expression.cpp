#include "config/match_expression.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "config/control_probes.hpp"
#include "config/match_program.hpp"
#include "config/match_structure.hpp"
#include "config/match_vocabulary.hpp"
#include "config/reading.hpp"

namespace headgate {
namespace {

constexpr std::size_t kMaxExpression = 2048;

// libpcap's time to compile grows faster than the square of a program's length, optimised faster than the cube: a hundred
// hosts take half a second as one program and 10 ms as seven. So a program gets at most this many primitives, and is
// halved when it comes to more instructions than this.
constexpr std::size_t kPrimitivesPerProgram = 16;
constexpr unsigned kMaxInstructions = 1'000;

// What cannot be taken apart is optimised up to here; beyond, the code runs as it is, which is only slower.
constexpr unsigned kMaxOptimised = 3'000;

constexpr std::uint16_t kIpv4 = 0x0800;
constexpr std::uint16_t kIpv6 = 0x86dd;

ClassicMatch::Kind code_kind(MatchNode::Kind kind) {
  switch (kind) {
    case MatchNode::Kind::any:
      return ClassicMatch::Kind::any;
    case MatchNode::Kind::all:
      return ClassicMatch::Kind::all;
    case MatchNode::Kind::negation:
      return ClassicMatch::Kind::negation;
    case MatchNode::Kind::primitive:
      break;
  }
  return ClassicMatch::Kind::program;
}

// One program, or several that `and`, `or` and `not` connect.
struct MatchTree {
  MatchNode::Kind kind = MatchNode::Kind::primitive;
  MatchProgram program;  // of a primitive
  std::vector<MatchTree> children;

  // As libpcap's code for the whole would: from the left, until one decides or asks for what is outside of the frame.
  MatchVerdict run(std::span<const std::byte> frame) const {
    switch (kind) {
      case MatchNode::Kind::primitive:
        return program.run(frame);
      case MatchNode::Kind::negation: {
        const MatchVerdict verdict = children.front().run(frame);
        if (verdict == MatchVerdict::outside) return verdict;
        return verdict == MatchVerdict::yes ? MatchVerdict::no : MatchVerdict::yes;
      }
      default: {
        const MatchVerdict goes_on = kind == MatchNode::Kind::any ? MatchVerdict::no : MatchVerdict::yes;
        for (const MatchTree& child : children) {
          if (const MatchVerdict verdict = child.run(frame); verdict != goes_on) return verdict;
        }
        return goes_on;
      }
    }
  }

  // False: certainly nothing of this EtherType.
  bool may_match(std::uint16_t ether_type) const {
    const auto may = [ether_type](const MatchTree& child) { return child.may_match(ether_type); };
    switch (kind) {
      case MatchNode::Kind::primitive:
        return program.may_match(ether_type);
      case MatchNode::Kind::negation:
        return true;
      case MatchNode::Kind::any:
        return std::any_of(children.begin(), children.end(), may);
      case MatchNode::Kind::all:
        return std::all_of(children.begin(), children.end(), may);
    }
    return true;
  }

  std::size_t programs() const {
    if (kind == MatchNode::Kind::primitive) return 1;
    std::size_t sum = 0;
    for (const MatchTree& child : children) sum += child.programs();
    return sum;
  }

  ClassicMatch code() const {
    ClassicMatch match{.kind = code_kind(kind), .program = program.instructions(), .children = {}};
    for (const MatchTree& child : children) match.children.push_back(child.code());
    return match;
  }

  bool rejects_all() const {
    const auto rejects = [](const MatchTree& child) { return child.rejects_all(); };
    if (kind == MatchNode::Kind::primitive) return program.rejects_all();
    if (kind == MatchNode::Kind::any) return std::all_of(children.begin(), children.end(), rejects);
    return kind == MatchNode::Kind::all && std::any_of(children.begin(), children.end(), rejects);
  }
};

class CompiledExpression : public PacketMatcher {
 public:
  explicit CompiledExpression(MatchTree tree) : tree_(std::move(tree)) {}
  bool matches(std::span<const std::byte> frame) const override {
    return tree_.run(frame) == MatchVerdict::yes;
  }
  bool may_match(std::uint16_t ether_type) const { return tree_.may_match(ether_type); }
  bool rejects_all() const { return tree_.rejects_all(); }

 private:
  MatchTree tree_;  // read only from here on, so threads share it
};

// None: libpcap refuses it, or it has too many instructions.
std::optional<MatchTree> compile_small(const std::string& expression) {
  std::string error;
  MatchTree tree;
  if (!tree.program.compile(expression, false, error) || tree.program.size() > kMaxInstructions)
    return std::nullopt;
  if (!tree.program.compile(expression, true, error)) return std::nullopt;
  return tree;
}

std::optional<MatchTree> compile_node(const MatchNode& node, std::size_t primitives_per_program);

// Neighbours that together have few enough primitives become one program.
std::optional<MatchTree> compile_children(const MatchNode& node, std::size_t primitives_per_program) {
  MatchTree tree;
  tree.kind = node.kind;
  MatchNode group{.kind = node.kind, .text = {}, .children = {}};
  std::size_t primitives = 0;
  const auto end_group = [&] {
    if (group.children.empty()) return true;
    const MatchNode part = group.children.size() == 1 ? group.children.front() : group;
    std::optional<MatchTree> compiled = compile_node(part, primitives_per_program);
    if (compiled) tree.children.push_back(std::move(*compiled));
    group.children.clear();
    primitives = 0;
    return compiled.has_value();
  };
  for (const MatchNode& child : node.children) {
    const std::size_t more = child.primitives();
    if (primitives + more > primitives_per_program && !end_group()) return std::nullopt;
    group.children.push_back(child);
    primitives += more;
  }
  if (!end_group()) return std::nullopt;
  return tree;
}

std::optional<MatchTree> compile_node(const MatchNode& node, std::size_t primitives_per_program) {
  const std::size_t primitives = node.primitives();
  if (primitives <= primitives_per_program) {
    if (auto tree = compile_small(node.to_expression())) return tree;
    if (primitives == 1) return std::nullopt;
    primitives_per_program = std::max<std::size_t>(primitives / 2, 1);
  }
  return compile_children(node, primitives_per_program);
}

// None: libpcap takes only the whole, or refuses it.
std::optional<MatchTree> compile_in_parts(const std::string& expression) {
  const std::optional<MatchNode> structure = match_structure(expression);
  if (!structure) return std::nullopt;
  if (structure->primitives() <= kPrimitivesPerProgram) {
    if (auto tree = compile_small(expression)) return tree;
  }
  return compile_node(*structure, kPrimitivesPerProgram);
}

// As libpcap sees it. False: `error` is in its words.
bool compile_whole(const std::string& expression, MatchProgram& program, std::string& error) {
  if (!program.compile(expression, false, error)) return false;
  return program.size() > kMaxOptimised || program.compile(expression, true, error);
}

// libpcap's words, made plain.
std::string explain(const std::string& expression, std::string reason) {
  static constexpr std::string_view kPrefix = "can't parse filter expression: ";
  if (reason.starts_with(kPrefix)) reason.erase(0, kPrefix.size());
  return quoted(expression) + ": " + reason + ", expected an expression of pcap-filter(7)";
}

// Empty: libpcap may see it.
std::string check_text(const std::string& expression) {
  if (expression.size() > kMaxExpression) {
    return "the expression has " + std::to_string(expression.size()) + " characters, expected at most " +
           std::to_string(kMaxExpression) + "; match networks, or spread it over several classes";
  }
  if (expression.find('\0') != std::string::npos) return quoted(expression) + " holds a NUL character";
  return check_match_words(expression).error;
}

}  // namespace

CompiledMatch compile_match(const std::string& expression) {
  CompiledMatch result;
  result.error = check_text(expression);
  if (!result.error.empty()) return result;
  std::optional<MatchTree> tree = compile_in_parts(expression);
  if (!tree) {
    tree.emplace();
    std::string reason;
    if (!compile_whole(expression, tree->program, reason)) {
      result.error = explain(expression, std::move(reason));
      return result;
    }
  }
  result.programs = tree->programs();
  result.code = std::make_shared<const ClassicMatch>(tree->code());
  const auto matcher = std::make_shared<const CompiledExpression>(std::move(*tree));
  if (matcher->rejects_all()) {
    result.error = quoted(expression) + " can match no packet";
    return result;
  }
  result.never = !matcher->may_match(kIpv4) && !matcher->may_match(kIpv6);
  if (!result.never) result.control = control_protocols_named(expression, *matcher);
  result.matcher = matcher;
  return result;
}

}  // namespace headgate
