#include "config/match_structure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "config/match_expression.hpp"
#include "config/match_program.hpp"
#include "support/packet_builder.hpp"

namespace headgate {
namespace {

std::string expression_of(const std::string& expression) {
  const auto structure = match_structure(expression);
  return structure ? structure->to_expression() : "none";
}

TEST(MatchStructure, GivesEachIdentifierTheQualifiersItInherits) {
  EXPECT_EQ(expression_of("host 10.0.0.1 or 10.0.0.2"), "host 10.0.0.1 or host 10.0.0.2");
  EXPECT_EQ(expression_of("tcp src port 80 or 443"), "tcp src port 80 or tcp src port 443");
  EXPECT_EQ(expression_of("port (80 or 443) and host 10.0.0.1"), "(port 80 or port 443) and host 10.0.0.1");
  EXPECT_EQ(expression_of("src or dst net 10.0.0.0/8 or 11.0.0.0/8"),
            "src or dst net 10.0.0.0 / 8 or src or dst net 11.0.0.0 / 8");
  EXPECT_EQ(expression_of("net 10.0.0.0 mask 255.0.0.0 or 11.0.0.0 mask 255.0.0.0"),
            "net 10.0.0.0 mask 255.0.0.0 or net 11.0.0.0 mask 255.0.0.0");
  EXPECT_EQ(expression_of("host 10.0.0.1 and (port 80 or 81) or 10.0.0.2"),
            "(host 10.0.0.1 and (port 80 or port 81)) or host 10.0.0.2")
      << "what stands in parentheses leaves the qualifiers behind them alone";
  EXPECT_EQ(expression_of("port 80 or not 443"), "port 80 or not (port 443)");
}

TEST(MatchStructure, BindsAndAndOrAlike) {
  EXPECT_EQ(expression_of("tcp or udp and ip"), "(tcp or udp) and ip");
  EXPECT_EQ(expression_of("tcp and udp or ip"), "(tcp and udp) or ip");
  EXPECT_EQ(expression_of("!tcp && ip || udp"), "(not (tcp) and ip) or udp");
}

TEST(MatchStructure, LeavesArithmeticWhole) {
  EXPECT_EQ(expression_of("tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 or udp"),
            "tcp [ tcpflags ] & ( tcp-syn | tcp-fin ) != 0 or udp");
  EXPECT_EQ(expression_of("(ip[0] & 0xf) != 5 and (len > 100 or greater 5)"),
            "( ip [ 0 ] & 0xf ) != 5 and (len > 100 or greater 5)");
}

TEST(MatchStructure, IsNoneWhereAPartChangesWhatStandsBehindIt) {
  for (const auto* expression : {"mpls or host 10.0.0.1", "pppoes and ip", "host 10.0.0.1 or geneve"}) {
    const auto structure = match_structure(expression);
    const bool harmless = structure && compile_match(expression).programs == 1;
    EXPECT_TRUE(!structure || harmless) << expression;
  }
}

TEST(MatchStructure, IsNoneForWhatIsNoExpression) {
  for (const auto* expression :
       {"", "(", ")", "host 10.0.0.1 or", "or", "(host 10.0.0.1", "host 10.0.0.1)", "()",
        "port (80 or host 10.0.0.1)", "not", "host 10.0.0.1 or (10.0.0.2 or port 80)"}) {
    EXPECT_EQ(match_structure(expression), std::nullopt) << expression;
  }
  EXPECT_EQ(match_structure(std::string(1000, '(') + "ip" + std::string(1000, ')')), std::nullopt);
  EXPECT_EQ(match_structure(std::string(2000, '!') + "ip"), std::nullopt);
}

// Against libpcap, which compiles the same expression as one program.

class RandomExpression {
 public:
  explicit RandomExpression(std::uint32_t seed) : random_(seed) {}

  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }

  std::string expression(std::size_t operands, int depth = 0) {
    std::string text = operand(depth, false);
    for (std::size_t i = 1; i < operands; ++i) {
      text += pick({" or ", " or ", " || ", " and ", " && "}) + operand(depth, true);
    }
    return text;
  }

  std::vector<std::byte> frame() {
    PacketBuilder builder;
    const bool ipv6 = below(3) == 0;
    if (below(12) == 0) return builder.arp(address(), address()).build();
    if (ipv6) {
      builder.ipv6(address6(), address6());
    } else {
      builder.ipv4(address(), address());
    }
    const auto from = static_cast<std::uint16_t>(below(12));
    const auto to = static_cast<std::uint16_t>(below(12));
    if (below(8) == 0) return builder.protocol(static_cast<std::uint8_t>(below(120))).payload(20).build();
    if (below(2) == 0) return builder.udp(from, to).payload(below(60)).build();
    if (below(3) == 0 && !ipv6) builder.fragment(below(2) == 0 ? 0 : 8, true);
    return builder.tcp(from, to).payload(below(60)).build();
  }

 private:
  std::string pick(std::initializer_list<const char*> choices) {
    return choices.begin()[below(choices.size())];
  }
  std::string address() { return "10.0." + std::to_string(below(2)) + "." + std::to_string(below(6)); }
  std::string address6() { return "2001:db8::" + std::to_string(below(6)); }
  std::string port() { return std::to_string(below(12)); }

  std::string operand(int depth, bool may_inherit) {
    if (below(8) == 0) return pick({"not ", "!"}) + operand(depth, may_inherit);
    if (depth < 3 && below(6) == 0) {
      const Inherited before = inherited_;
      std::string group = "(" + expression(1 + below(4), depth + 1) + ")";
      inherited_ = before;
      return group;
    }
    const bool wrong = below(100) == 0;  // then libpcap must refuse the whole
    if (may_inherit && (wrong || (inherited_ != Inherited::nothing && below(2) == 0)))
      return identifier(wrong);
    return primitive();
  }

  std::string identifier(bool wrong) {
    const bool host = (inherited_ == Inherited::host) != wrong;
    if (below(8) == 0)
      return host ? "(" + address() + " or " + address() + ")" : "(" + port() + " or " + port() + ")";
    return host ? address() : port();
  }

  std::string primitive() {
    inherited_ = Inherited::nothing;
    switch (below(14)) {
      case 0:
        return pick({"tcp", "udp", "icmp", "ip", "ip6", "arp", "esp", "multicast", "igmp"});
      case 1:
        return "len > " + std::to_string(40 + below(60));
      case 2:
        return "tcp[13] & (1 | 16) != 0";
      case 3:
        return "(ip[8] + 1) > 5";
      case 4:
        return "ip6 host " + address6();
      case 5:
        return "portrange 3-" + std::to_string(4 + below(6));
      case 6:
        return "net 10.0." + std::to_string(below(2)) + ".0/24";
      case 7:
      case 8:
        inherited_ = Inherited::host;
        return pick({"", "src ", "dst ", "src or dst ", "src and dst "}) + "host " + address();
      case 9:
        inherited_ = Inherited::port;
        return pick({"tcp ", "udp "}) + "dst port " + port();
      default:
        inherited_ = Inherited::port;
        return pick({"port ", "src port ", "dst port "}) + port();
    }
  }

  enum class Inherited : std::uint8_t { nothing, host, port };  // by an identifier that stands here
  Inherited inherited_ = Inherited::nothing;
  std::mt19937 random_;
};

TEST(MatchStructure, MeansToLibpcapWhatTheWholeExpressionMeans) {
  RandomExpression random(20240301);
  std::size_t in_parts = 0;
  std::size_t refused = 0;
  std::size_t matches = 0;
  for (int round = 0; round < 120; ++round) {
    const std::string expression = random.expression(1 + random.below(40));
    if (expression.size() > 2048) continue;
    MatchProgram whole;
    std::string error;
    const bool taken = whole.compile(expression, false, error);
    const CompiledMatch match = compile_match(expression);
    if (match.matcher == nullptr) {
      ASSERT_EQ(taken, match.error.ends_with("can match no packet")) << expression << "\n" << match.error;
      ++refused;
      continue;
    }
    ASSERT_TRUE(taken) << expression;
    if (match.programs > 1) ++in_parts;
    for (int i = 0; i < 100; ++i) {
      auto frame = random.frame();
      const bool wanted = whole.run(frame) == MatchVerdict::yes;
      matches += wanted ? 1 : 0;
      ASSERT_EQ(match.matcher->matches(frame), wanted) << expression;
      // Where it is asked for what is cut off, the optimiser may have found that it does not matter.
      frame.resize(random.below(frame.size() + 1));
      const MatchVerdict cut = whole.run(frame);
      if (cut == MatchVerdict::outside) continue;
      ASSERT_EQ(match.matcher->matches(frame), cut == MatchVerdict::yes) << expression << "\n"
                                                                         << frame.size();
    }
  }
  EXPECT_GT(in_parts, 30U);
  EXPECT_GT(refused, 5U);
  EXPECT_GT(matches, 1'000U);
}

}  // namespace
}  // namespace headgate
