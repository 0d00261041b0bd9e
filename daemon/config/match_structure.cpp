#include "config/match_structure.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace headgate {
namespace {

constexpr auto kProtocols =
    std::to_array<std::string_view>({"link", "ether", "ip", "ip6", "arp", "rarp", "tcp", "udp", "sctp",
                                     "icmp", "icmp6", "igmp", "igrp", "pim", "vrrp", "carp", "ah", "esp"});
constexpr auto kKinds =
    std::to_array<std::string_view>({"host", "net", "port", "portrange", "proto", "protochain", "gateway"});
// They move the headers that the primitives behind them look at.
constexpr auto kMoving =
    std::to_array<std::string_view>({"vlan", "mpls", "pppoes", "geneve", "vxlan", "batadv"});
// Primitives of one word that are no protocol names above.
constexpr auto kWords = std::to_array<std::string_view>({"multicast", "broadcast", "atalk", "aarp", "decnet",
                                                         "lat", "sca", "moprc", "mopdl", "iso", "esis",
                                                         "isis", "clnp", "stp", "ipx", "netbeui", "pppoed"});
constexpr int kDeepest = 100;  // parentheses; bounds the recursion

template <typename Words>
bool is_one_of(std::string_view word, const Words& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_direction(std::string_view word) {
  return word == "src" || word == "dst";
}

bool is_qualifier(std::string_view word) {
  return is_direction(word) || is_one_of(word, kProtocols) || is_one_of(word, kKinds);
}

bool is_space(char letter) {
  return std::string_view(" \t\r\n").find(letter) != std::string_view::npos;
}

bool is_sign(char letter) {
  return std::string_view("()!&|[]<>=+*/%^").find(letter) != std::string_view::npos;
}

struct Token {
  enum class Kind : std::uint8_t { word, sign, opening, closing, conjunction, disjunction, negation, end };
  Kind kind = Kind::end;
  std::string_view text;
};

Token sign_at(std::string_view rest) {
  using Kind = Token::Kind;
  for (const std::string_view two : {"&&", "||", "!=", "<=", ">=", "==", "<<", ">>"}) {
    if (!rest.starts_with(two)) continue;
    return {two == "&&" ? Kind::conjunction : (two == "||" ? Kind::disjunction : Kind::sign),
            rest.substr(0, 2)};
  }
  const std::string_view one = rest.substr(0, 1);
  if (one == "(") return {Kind::opening, one};
  if (one == ")") return {Kind::closing, one};
  return {one == "!" ? Kind::negation : Kind::sign, one};
}

Token word_at(std::string_view rest) {
  using Kind = Token::Kind;
  const auto* end =
      std::find_if(rest.begin(), rest.end(), [](char letter) { return is_space(letter) || is_sign(letter); });
  const std::string_view word = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  if (word == "and") return {Kind::conjunction, word};
  if (word == "or") return {Kind::disjunction, word};
  return {word == "not" ? Kind::negation : Kind::word, word};
}

std::vector<Token> tokens_of(std::string_view expression) {
  std::vector<Token> tokens;
  while (!expression.empty()) {
    if (is_space(expression.front())) {
      expression.remove_prefix(1);
      continue;
    }
    tokens.push_back(is_sign(expression.front()) ? sign_at(expression) : word_at(expression));
    expression.remove_prefix(tokens.back().text.size());
  }
  tokens.push_back({});
  return tokens;
}

class NotSplittable {};

// Recursive descent over the grammar of libpcap. Throws NotSplittable.
class Parser {
 public:
  explicit Parser(std::string_view expression) : tokens_(tokens_of(expression)) {}

  MatchNode read_whole() {
    MatchNode node = read_chain({}).node;
    if (kind() != Token::Kind::end) throw NotSplittable();
    return node;
  }

 private:
  using Kind = Token::Kind;

  // `qualifiers` are what an identifier behind it takes; empty: none may follow.
  struct Operand {
    MatchNode node;
    std::string qualifiers;
  };

  const Token& token(std::size_t ahead) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  Kind kind(std::size_t ahead = 0) const { return token(ahead).kind; }
  std::string_view text(std::size_t ahead = 0) const { return token(ahead).text; }
  bool at_connective(std::size_t ahead = 0) const {
    return kind(ahead) == Kind::conjunction || kind(ahead) == Kind::disjunction;
  }
  bool at_end_of_primitive(std::size_t ahead = 0) const {
    return at_connective(ahead) || kind(ahead) == Kind::closing || kind(ahead) == Kind::end;
  }

  // What stands between parentheses, or all. An identifier may be the first operand only among identifiers alone.
  Operand read_chain(const std::string& inherited, bool identifiers_alone = false) {
    if (++depth_ > kDeepest) throw NotSplittable();
    Operand chain = read_operand(inherited, identifiers_alone, identifiers_alone);
    while (at_connective()) {
      const auto joined = kind() == Kind::conjunction ? MatchNode::Kind::all : MatchNode::Kind::any;
      ++at_;
      Operand next = read_operand(chain.qualifiers, true, identifiers_alone);
      chain.node = join(joined, std::move(chain.node), std::move(next.node));
      chain.qualifiers = std::move(next.qualifiers);
    }
    --depth_;
    return chain;
  }

  static MatchNode join(MatchNode::Kind joined, MatchNode first, MatchNode second) {
    if (first.kind != joined) {
      MatchNode node{.kind = joined, .text = {}, .children = {}};
      node.children.push_back(std::move(first));
      first = std::move(node);
    }
    first.children.push_back(std::move(second));
    return first;
  }

  Operand read_operand(const std::string& inherited, bool may_be_identifier, bool identifiers_alone) {
    if (kind() == Kind::negation) {
      if (++depth_ > kDeepest) throw NotSplittable();
      ++at_;
      Operand operand = read_operand(inherited, may_be_identifier, identifiers_alone);
      MatchNode negation{.kind = MatchNode::Kind::negation, .text = {}, .children = {}};
      negation.children.push_back(std::move(operand.node));
      operand.node = std::move(negation);
      --depth_;
      return operand;
    }
    if (kind() == Kind::opening && group_is_logical()) return read_group(inherited, identifiers_alone);
    if (kind() != Kind::word) return read_opaque(identifiers_alone);
    if (is_qualifier(text())) return read_qualified(identifiers_alone);
    if (may_be_identifier && !inherited.empty() && starts_identifier()) return read_identifier(inherited);
    return read_opaque(identifiers_alone);
  }

  // Whether the parenthesis here closes before `and`, `or`, another one or the end, not within arithmetic.
  bool group_is_logical() const {
    std::size_t ahead = 0;
    for (int depth = 0;; ++ahead) {
      if (kind(ahead) == Kind::end) throw NotSplittable();
      if (kind(ahead) == Kind::opening) ++depth;
      if (kind(ahead) == Kind::closing && --depth == 0) break;
    }
    return at_end_of_primitive(ahead + 1);
  }

  Operand read_group(const std::string& inherited, bool identifiers_alone) {
    ++at_;
    const bool of_identifiers =
        identifiers_alone || (kind() == Kind::word && !is_qualifier(text()) && !inherited.empty());
    Operand group = read_chain(inherited, of_identifiers);
    if (kind() != Kind::closing) throw NotSplittable();
    ++at_;
    group.qualifiers = inherited;
    return group;
  }

  // A primitive that begins with qualifiers: "src host 10.0.0.1", "port (80 or 443)", "tcp".
  Operand read_qualified(bool identifiers_alone) {
    if (identifiers_alone) throw NotSplittable();
    const std::size_t begin = at_;
    std::string qualifiers;
    bool more_than_protocol = false;
    while (kind() == Kind::word && is_qualifier(text())) {
      more_than_protocol = more_than_protocol || !is_one_of(text(), kProtocols);
      const bool two_directions =
          is_direction(text()) && at_connective(1) && is_direction(text(2));  // "src or dst" is one qualifier
      for (int words = two_directions ? 3 : 1; words > 0; --words) append_word(qualifiers);
    }
    if (more_than_protocol) {
      if (kind() == Kind::opening) return read_group_of_identifiers(qualifiers);
      if (kind() == Kind::word && starts_identifier()) return read_identifier(qualifiers);
    }
    at_ = begin;
    return read_opaque(false);
  }

  Operand read_group_of_identifiers(const std::string& qualifiers) {
    ++at_;
    Operand group = read_chain(qualifiers, true);
    if (kind() != Kind::closing) throw NotSplittable();
    ++at_;
    group.qualifiers = qualifiers;
    return group;
  }

  // A number, address or name, and perhaps a mask, up to the end of the primitive.
  bool starts_identifier() const { return at_end_of_primitive(text(1) == "/" || text(1) == "mask" ? 3 : 1); }

  Operand read_identifier(const std::string& qualifiers) {
    std::string primitive = qualifiers;
    while (!at_end_of_primitive()) append_word(primitive);
    return {{.kind = MatchNode::Kind::primitive, .text = std::move(primitive), .children = {}}, qualifiers};
  }

  // Whatever else: a protocol alone, `greater 100`, `tcp[tcpflags] & (tcp-syn|tcp-fin) != 0`.
  Operand read_opaque(bool identifiers_alone) {
    const bool unknown = !is_one_of(text(), kProtocols) && !is_one_of(text(), kWords);
    if (identifiers_alone || (unknown && starts_identifier())) throw NotSplittable();
    std::string primitive;
    for (int depth = 0; depth > 0 || !at_end_of_primitive();) {
      if (kind() == Kind::end || kind() == Kind::negation || at_connective()) throw NotSplittable();
      if (is_one_of(text(), kMoving)) throw NotSplittable();
      if (kind() == Kind::opening) ++depth;
      if (kind() == Kind::closing) --depth;
      append_word(primitive);
    }
    if (primitive.empty()) throw NotSplittable();
    return {{.kind = MatchNode::Kind::primitive, .text = std::move(primitive), .children = {}}, {}};
  }

  void append_word(std::string& words) {
    if (!words.empty()) words += ' ';
    words += text();
    ++at_;
  }

  const std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::size_t MatchNode::primitives() const {
  if (kind == Kind::primitive) return 1;
  std::size_t sum = 0;
  for (const MatchNode& child : children) sum += child.primitives();
  return sum;
}

std::string MatchNode::to_expression() const {
  if (kind == Kind::primitive) return text;
  if (kind == Kind::negation) return "not (" + children.front().to_expression() + ")";
  std::string expression;
  for (const MatchNode& child : children) {
    if (!expression.empty()) expression += kind == Kind::any ? " or " : " and ";
    const bool group = child.kind == Kind::any || child.kind == Kind::all;
    expression += group ? "(" + child.to_expression() + ")" : child.to_expression();
  }
  return expression;
}

std::optional<MatchNode> match_structure(std::string_view expression) {
  try {
    return Parser(expression).read_whole();
  } catch (const NotSplittable&) {
    return std::nullopt;
  }
}

}  // namespace headgate
