#include "linux/match_translator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "config/match_expression.hpp"
#include "linux/match_packets.hpp"
#include "linux/match_runner.hpp"
#include "linux/network_lab.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {
namespace {

using Program = std::vector<ClassicInstruction>;

constexpr std::uint32_t kNo = 1, kYes = 0xffff;

ClassicInstruction statement(unsigned code, std::uint32_t k = 0) {
  return {.code = static_cast<std::uint16_t>(code), .k = k};
}
ClassicInstruction jump(unsigned comparison, std::uint32_t k, std::uint8_t if_true, std::uint8_t if_false) {
  return {.code = static_cast<std::uint16_t>(BPF_JMP | comparison),
          .jump_if_true = if_true,
          .jump_if_false = if_false,
          .k = k};
}
ClassicInstruction set_accumulator(std::uint32_t value) {
  return statement(BPF_LD | BPF_IMM, value);
}
ClassicInstruction set_index(std::uint32_t value) {
  return statement(BPF_LDX | BPF_IMM, value);
}

// Yes where A is `value` in the end.
Program with_result(Program program, std::uint32_t value) {
  program.push_back(jump(BPF_JEQ | BPF_K, value, 0, 1));
  program.push_back(statement(BPF_RET | BPF_K, kYes));
  program.push_back(statement(BPF_RET | BPF_K, kNo));
  return program;
}

ClassToTranslate class_of(Program program) {
  ClassToTranslate result;
  result.match = ClassicMatch{.program = std::move(program)};
  return result;
}
ClassToTranslate class_of(const std::string& expression) {
  const CompiledMatch compiled = compile_match(expression);
  ClassToTranslate result;
  result.match = compiled.code ? *compiled.code : ClassicMatch{};
  EXPECT_EQ(compiled.error, "") << expression;
  return result;
}

TranslatedMatches translated(const std::vector<ClassToTranslate>& classes) {
  auto result = translate_matches(classes);
  if (!result) throw std::runtime_error("too long");
  return *result;
}

match_input described(const Frame& frame) {
  match_input input{};
  describe(frame, input);
  return input;
}

std::uint32_t verdict_of(MatchRunner& runner, const match_input& input) {
  runner.inputs()[0] = input;
  runner.run(1);
  return runner.inputs()[0].verdict;
}
std::uint32_t verdict_of(const std::vector<ClassToTranslate>& classes, const match_input& input) {
  MatchRunner runner(translated(classes));
  return verdict_of(runner, input);
}
std::uint32_t verdict_of(const std::vector<ClassToTranslate>& classes, const Frame& frame) {
  return verdict_of(classes, described(frame));
}

// As the interpreter has it.
std::uint32_t interpreted(const Program& program, const Frame& frame) {
  const auto length = static_cast<unsigned>(frame.size());
  const unsigned result = bpf_filter(reinterpret_cast<const bpf_insn*>(program.data()),
                                     reinterpret_cast<const unsigned char*>(frame.data()), length, length);
  return result > kNo ? 0 : MATCH_UNMATCHED;
}

void make_ipv4(Frame& frame) {
  if (frame.size() > 12) frame[12] = std::byte{0x08};
  if (frame.size() > 13) frame[13] = std::byte{0x00};
  if (frame.size() > 14) frame[14] = std::byte{0x45};
}

// IPv4; the other bytes count up.
Frame counting(std::size_t bytes) {
  Frame frame(bytes);
  for (std::size_t i = 0; i < bytes; ++i) frame[i] = static_cast<std::byte>(i);
  make_ipv4(frame);
  return frame;
}

class MatchTranslator : public testing::Test {
 protected:
  void SetUp() override {
    if (!NetworkLab::permitted()) GTEST_SKIP() << "NOT TESTED: this needs root";
  }
};

struct Calculation {
  std::string name;
  Program program;
  std::uint32_t result;
};

TEST_F(MatchTranslator, KnowsEachInstruction) {
  constexpr std::uint32_t kA = 0x8000'0105;
  const auto by_constant = [&](unsigned operation, std::uint32_t k) {
    return Program{set_accumulator(kA), statement(BPF_ALU | operation | BPF_K, k)};
  };
  const auto by_index = [&](unsigned operation, std::uint32_t x) {
    return Program{set_accumulator(kA), set_index(x), statement(BPF_ALU | operation | BPF_X)};
  };
  const std::vector<Calculation> calculations{
      {"word", {statement(BPF_LD | BPF_W | BPF_ABS, 20)}, 0x1415'1617},
      {"half", {statement(BPF_LD | BPF_H | BPF_ABS, 21)}, 0x1516},
      {"byte", {statement(BPF_LD | BPF_B | BPF_ABS, 22)}, 0x16},
      {"indexed word", {set_index(5), statement(BPF_LD | BPF_W | BPF_IND, 20)}, 0x191a'1b1c},
      {"indexed half", {set_index(5), statement(BPF_LD | BPF_H | BPF_IND, 20)}, 0x191a},
      {"indexed byte", {set_index(5), statement(BPF_LD | BPF_B | BPF_IND, 20)}, 0x19},
      {"length", {statement(BPF_LD | BPF_LEN)}, 100},
      {"length to X", {statement(BPF_LDX | BPF_LEN), statement(BPF_MISC | BPF_TXA)}, 100},
      {"header length", {statement(BPF_LDX | BPF_B | BPF_MSH, 0x25), statement(BPF_MISC | BPF_TXA)}, 20},
      {"header length keeps A", {set_accumulator(9), statement(BPF_LDX | BPF_B | BPF_MSH, 0x25)}, 9},
      {"A to memory",
       {set_accumulator(7), statement(BPF_ST, 0), set_accumulator(1), statement(BPF_LD | BPF_MEM, 0)},
       7},
      {"X to memory",
       {set_index(8), statement(BPF_STX, 15), set_index(1), statement(BPF_LDX | BPF_MEM, 15),
        statement(BPF_MISC | BPF_TXA)},
       8},
      {"A to X",
       {set_accumulator(6), statement(BPF_MISC | BPF_TAX), set_accumulator(0), statement(BPF_MISC | BPF_TXA)},
       6},
      {"A and X begin as 0", {statement(BPF_ALU | BPF_ADD | BPF_X)}, 0},
      {"add", by_constant(BPF_ADD, 0x8000'0000), 0x105},
      {"subtract", by_constant(BPF_SUB, 0x8000'0106), 0xffff'ffff},
      {"multiply", by_constant(BPF_MUL, 3), 0x8000'030f},
      {"divide", by_constant(BPF_DIV, 3), 0x2aaa'ab01},
      {"remainder", by_constant(BPF_MOD, 7), 0x8000'0105 % 7},
      {"and", by_constant(BPF_AND, 0x8000'0004), 0x8000'0004},
      {"or", by_constant(BPF_OR, 0xf000'0000), 0xf000'0105},
      {"exclusive or", by_constant(BPF_XOR, 0xffff'ffff), 0x7fff'fefa},
      {"left", by_constant(BPF_LSH, 4), 0x1050},
      {"right", by_constant(BPF_RSH, 4), 0x0800'0010},
      {"negative", by_constant(BPF_NEG, 0), 0x7fff'fefb},
      {"add X", by_index(BPF_ADD, 3), 0x8000'0108},
      {"subtract X", by_index(BPF_SUB, 3), 0x8000'0102},
      {"multiply X", by_index(BPF_MUL, 3), 0x8000'030f},
      {"divide by X", by_index(BPF_DIV, 3), 0x2aaa'ab01},
      {"remainder by X", by_index(BPF_MOD, 7), 0x8000'0105 % 7},
      {"and X", by_index(BPF_AND, 3), 1},
      {"or X", by_index(BPF_OR, 3), 0x8000'0107},
      {"exclusive or X", by_index(BPF_XOR, 3), 0x8000'0106},
      {"left by X", by_index(BPF_LSH, 3), 0x828},
      {"right by X", by_index(BPF_RSH, 3), 0x1000'0020},
      {"left by X, all of it", by_index(BPF_LSH, 32), 0},
      {"right by X, all of it", by_index(BPF_RSH, 0xffff'ffff), 0},
  };
  for (const Calculation& each : calculations) {
    SCOPED_TRACE(each.name);
    const Program program = with_result(each.program, each.result);
    EXPECT_EQ(interpreted(program, counting(100)), 0U) << "the expectation is libpcap's";
    EXPECT_EQ(verdict_of({class_of(program)}, counting(100)), 0U);
    EXPECT_EQ(verdict_of({class_of(with_result(each.program, each.result + 1))}, counting(100)),
              MATCH_UNMATCHED);
  }
}

TEST_F(MatchTranslator, KnowsEachJump) {
  const std::vector<std::uint32_t> values{0, 1, 5, 0x7fff'ffff, 0x8000'0000, 0xffff'ffff};
  for (const unsigned comparison : {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET}) {
    for (const bool by_index : {false, true}) {
      for (const std::uint32_t left : values) {
        for (const std::uint32_t right : values) {
          // In three forms: with something behind both ways, or only behind one.
          for (const std::uint8_t form : {0, 1, 2}) {
            Program program{set_accumulator(left), set_index(right)};
            program.push_back(
                jump(comparison | (by_index ? BPF_X : BPF_K), right, form == 2 ? 1 : 0, form == 2 ? 0 : 1));
            program.push_back(statement(BPF_RET | BPF_K, form == 0 ? kYes : kNo));
            program.push_back(statement(BPF_RET | BPF_K, form == 0 ? kNo : kYes));
            ASSERT_EQ(verdict_of({class_of(program)}, counting(60)), interpreted(program, counting(60)))
                << comparison << ' ' << left << ' ' << right;
          }
        }
      }
    }
  }
}

TEST_F(MatchTranslator, JumpsAlways) {
  const Program program{statement(BPF_JMP | BPF_JA, 1), statement(BPF_RET | BPF_K, kNo),
                        statement(BPF_RET | BPF_K, kYes)};
  EXPECT_EQ(verdict_of({class_of(program)}, counting(60)), 0U);
}

TEST_F(MatchTranslator, ReturnsTheAccumulator) {
  for (const std::uint32_t value : {0U, 1U, 2U, 0xffff'ffffU}) {
    const Program program{set_accumulator(value), statement(BPF_RET | BPF_A)};
    EXPECT_EQ(verdict_of({class_of(program)}, counting(60)), value > 1 ? 0 : MATCH_UNMATCHED) << value;
  }
}

ClassToTranslate negation_of(const ClassToTranslate& each) {
  ClassToTranslate result;
  result.match = ClassicMatch{.kind = ClassicMatch::Kind::negation, .program = {}, .children = {*each.match}};
  return result;
}

// Some go on to match where there is something to be read, others are the negation of what does not.
TEST_F(MatchTranslator, MatchesNothingThatReadsBehindTheEndOfThePacket) {
  struct Read {
    Program program;
    std::uint32_t end;  // of what is read
  };
  std::vector<Read> reads;
  for (const auto& [size, bytes] : {std::pair(BPF_W, 4U), std::pair(BPF_H, 2U), std::pair(BPF_B, 1U)}) {
    reads.push_back({{statement(BPF_LD | size | BPF_ABS, 50)}, 50 + bytes});
    reads.push_back({{set_index(10), statement(BPF_LD | size | BPF_IND, 40)}, 50 + bytes});
    reads.push_back({{set_index(0xffff'fffe), statement(BPF_LD | size | BPF_IND, 20)}, 0xffff'ffff});
    reads.push_back({{set_index(1), statement(BPF_LD | size | BPF_IND, 0xffff'ffff)}, 0xffff'ffff});
    reads.push_back({{statement(BPF_LD | size | BPF_ABS, 0xffff'ffff)}, 0xffff'ffff});
    reads.push_back({{statement(BPF_LD | size | BPF_ABS, 0x8000'0000)}, 0xffff'ffff});
  }
  reads.push_back({{statement(BPF_LDX | BPF_B | BPF_MSH, 50)}, 51});
  for (Read& read : reads) {
    for (const bool reads_yes : {true, false}) {
      Program program = read.program;
      program.push_back(statement(BPF_RET | BPF_K, reads_yes ? kYes : kNo));
      const ClassToTranslate one = reads_yes ? class_of(program) : negation_of(class_of(program));
      MatchRunner runner(translated({one}));
      for (std::uint32_t length = 34; length < 60; ++length) {
        ASSERT_EQ(verdict_of(runner, described(counting(length))), length >= read.end ? 0 : MATCH_UNMATCHED)
            << "a read up to " << read.end << " of " << length;
      }
    }
  }
}

TEST_F(MatchTranslator, DividesByZeroAsAReadBehindTheEnd) {
  for (const unsigned operation : {BPF_DIV, BPF_MOD}) {
    const Program program{set_index(0), statement(BPF_ALU | operation | BPF_X),
                          statement(BPF_RET | BPF_K, kNo)};
    EXPECT_EQ(verdict_of({negation_of(class_of(program))}, counting(60)), MATCH_UNMATCHED);
  }
}

TEST_F(MatchTranslator, ReturnsZeroAsAReadBehindTheEnd) {
  EXPECT_EQ(verdict_of({negation_of(class_of({statement(BPF_RET | BPF_K, 0)}))}, counting(60)),
            MATCH_UNMATCHED);
  EXPECT_EQ(verdict_of({negation_of(class_of({statement(BPF_RET | BPF_K, kNo)}))}, counting(60)), 0U);
  const Program from_accumulator{set_accumulator(0), statement(BPF_RET | BPF_A)};
  EXPECT_EQ(verdict_of({negation_of(class_of(from_accumulator))}, counting(60)), MATCH_UNMATCHED);
}

// Of each length, with numbers from both ends of what there is, in any order; every other leads to "no", and the first of
// those with the same number decides.
TEST_F(MatchTranslator, FindsEachNumberOfAList) {
  std::mt19937 random(5);
  for (std::size_t length = 1; length <= 60; ++length) {
    std::vector<std::uint32_t> numbers{0, 0xffff'ffff, 0x8000'0000, 0x7fff'ffff};
    while (numbers.size() < length) numbers.push_back(numbers.size() % 3 == 0 ? random() : random() % 40);
    std::shuffle(numbers.begin(), numbers.end(), random);
    numbers.resize(length);
    Program program{statement(BPF_LD | BPF_W | BPF_ABS, 40)};
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t to_yes = length - i;
      program.push_back(
          jump(BPF_JEQ | BPF_K, numbers[i], static_cast<std::uint8_t>(i % 2 == 0 ? to_yes : to_yes - 1), 0));
    }
    program.push_back(statement(BPF_RET | BPF_K, kNo));
    program.push_back(statement(BPF_RET | BPF_K, kYes));
    MatchRunner runner(translated({class_of(program)}));
    for (const std::uint32_t number : numbers) {
      for (const std::uint32_t value : {number, number + 1, number - 1}) {
        Frame frame = counting(60);
        for (unsigned i = 0; i < 4; ++i) frame[40 + i] = static_cast<std::byte>(value >> (24 - 8 * i));
        ASSERT_EQ(verdict_of(runner, described(frame)), interpreted(program, frame))
            << value << " of " << length;
      }
    }
  }
}

TEST_F(MatchTranslator, TakesOutWhatReadsBehindTheBytesThatAreCopied) {
  for (const auto& [size, bytes] : {std::pair(BPF_W, 4U), std::pair(BPF_H, 2U), std::pair(BPF_B, 1U)}) {
    for (const bool indexed : {false, true}) {
      for (std::uint32_t at = MATCH_INPUT_BYTES - 6; at < MATCH_INPUT_BYTES + 4; ++at) {
        Program program{set_index(200)};
        program.push_back(indexed ? statement(BPF_LD | size | BPF_IND, at - 200)
                                  : statement(BPF_LD | size | BPF_ABS, at));
        program.push_back(statement(BPF_RET | BPF_K, kYes));
        MatchRunner runner(translated({class_of(program)}));
        for (std::uint32_t length = MATCH_INPUT_BYTES - 6; length < MATCH_INPUT_BYTES + 10; ++length) {
          const std::uint32_t end = at + bytes;
          const std::uint32_t verdict = end > length              ? MATCH_UNMATCHED
                                        : end > MATCH_INPUT_BYTES ? MATCH_TAKE_OUT
                                                                  : 0;
          ASSERT_EQ(verdict_of(runner, described(counting(length))), verdict)
              << bytes << " bytes at " << at << " of " << length;
        }
      }
    }
  }
}

TEST_F(MatchTranslator, TakesOutWhatItCannotTranslate) {
  const ClassicInstruction yes = statement(BPF_RET | BPF_K, kYes);
  const std::vector<Program> programs{
      {set_accumulator(1), jump(BPF_JA, static_cast<std::uint32_t>(-2), 0, 0), yes},  // a loop
      {set_accumulator(1), jump(BPF_JEQ | BPF_K, 1, 1, 0), yes},                      // leads out of it
      {set_accumulator(1)},                                                           // so does this
      {statement(BPF_LD | BPF_MEM, 3), yes},                                          // nothing is in it yet
      {statement(BPF_ST, 16), yes},
      {statement(BPF_ALU | BPF_LSH | BPF_K, 32), yes},
      {statement(BPF_ALU | 0xb0), yes},
      {statement(BPF_LDX | BPF_H | BPF_ABS, 0), yes},
      {statement(0x1234), yes}};
  for (const Program& program : programs) {
    const auto matches =
        translated({class_of("udp port 53"), class_of(program), class_of("udp"), class_of(program)});
    EXPECT_THAT(matches.undecided, testing::ElementsAre(1)) << "nothing comes to the last one";
    MatchRunner runner(matches);
    const Frame dns = PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(4000, 53).build();
    const Frame other = PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(4000, 54).build();
    EXPECT_EQ(verdict_of(runner, described(dns)), 0U);
    EXPECT_EQ(verdict_of(runner, described(other)), MATCH_TAKE_OUT);
  }
}

TEST_F(MatchTranslator, TakesTheFirstClassThatMatches) {
  const std::vector<ClassToTranslate> classes{class_of("udp port 53"), class_of("net 10.0.0.0/8 and not tcp"),
                                              class_of(Program{}), class_of("ip6")};
  MatchRunner runner(translated(classes));
  const auto verdict = [&runner](const PacketBuilder& packet) {
    return verdict_of(runner, described(packet.build()));
  };
  EXPECT_EQ(verdict(PacketBuilder().ipv4("10.0.0.1", "192.0.2.1").udp(1, 53)), 0U);
  EXPECT_EQ(verdict(PacketBuilder().ipv6("fd77::1", "fd77::2").udp(1, 53)), 0U);
  EXPECT_EQ(verdict(PacketBuilder().ipv4("10.0.0.1", "192.0.2.1").udp(1, 54)), 1U);
  EXPECT_EQ(verdict(PacketBuilder().ipv6("fd77::1", "fd77::2").udp(1, 54)), 3U);
  EXPECT_EQ(verdict(PacketBuilder().ipv4("10.0.0.1", "192.0.2.1").tcp(1, 53)), MATCH_UNMATCHED);
}

TEST_F(MatchTranslator, TakesEverythingWhereAClassHasNoMatch) {
  EXPECT_EQ(verdict_of({class_of("ip6"), ClassToTranslate{}, class_of("ip")}, counting(60)), 1U);
  EXPECT_EQ(verdict_of(std::vector<ClassToTranslate>{}, counting(60)), MATCH_UNMATCHED);
}

TEST_F(MatchTranslator, AsksForCodePoints) {
  ClassToTranslate expedited;
  expedited.dscp = std::uint64_t{1} << 46 | 1;
  MatchRunner runner(translated({expedited}));
  for (unsigned code_point = 0; code_point < 64; ++code_point) {
    for (const PacketBuilder& packet : {PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(1, 2),
                                        PacketBuilder().ipv6("fd77::1", "fd77::2").udp(1, 2)}) {
      const Frame frame = PacketBuilder(packet).dscp(static_cast<std::uint8_t>(code_point)).build();
      EXPECT_EQ(verdict_of(runner, described(frame)),
                code_point == 46 || code_point == 0 ? 0 : MATCH_UNMATCHED);
    }
  }
}

TEST_F(MatchTranslator, AsksForTheMark) {
  ClassToTranslate marked = class_of("ip or ip6");
  marked.marks = {{.value = 0x8000'0010, .mask = 0xf000'00ff}, {.value = 7}};
  MatchRunner runner(translated({marked}));
  match_input input = described(PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(1, 2).build());
  EXPECT_EQ(verdict_of(runner, input), MATCH_UNMATCHED);
  input.mark = 0x8ab0'cd10;
  EXPECT_EQ(verdict_of(runner, input), 0U);
  input.mark = 7;
  EXPECT_EQ(verdict_of(runner, input), 0U);
  input.mark = 0x8000'0007;
  EXPECT_EQ(verdict_of(runner, input), MATCH_UNMATCHED);
}

TEST_F(MatchTranslator, AsksForAnyOfTheCgroups) {
  ClassToTranslate one = class_of("udp"), other = class_of("ip");
  one.cgroups = 0x8000'0001;
  other.cgroups = 0x10;
  MatchRunner runner(translated({one, other}));
  match_input input = described(PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(1, 2).build());
  EXPECT_EQ(verdict_of(runner, input), MATCH_UNMATCHED);
  input.cgroups = 0x8000'0000;
  EXPECT_EQ(verdict_of(runner, input), 0U);
  input.cgroups = 0x7fff'fff1;
  EXPECT_EQ(verdict_of(runner, input), 0U);
  input.cgroups = 0x7fff'fff0;
  EXPECT_EQ(verdict_of(runner, input), 1U);
  input.cgroups = 0x7fff'ffee;
  EXPECT_EQ(verdict_of(runner, input), MATCH_UNMATCHED);
}

TEST_F(MatchTranslator, LooksAddressesUp) {
  const NetworkTrie some4({{.address = {10, 0, 0, 0}, .bits = 8}, {.address = {192, 0, 2, 7}, .bits = 32}},
                          4);
  const NetworkTrie some6(
      {{.address = {0xfd, 0x77}, .bits = 16},
       {.address = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}, .bits = 128}},
      16);
  ClassToTranslate from, to, both;
  from.source = NetworkTries{.ipv4 = some4.descriptor(), .ipv6 = some6.descriptor()};
  to.destination = NetworkTries{.ipv4 = some4.descriptor()};
  to.match = class_of("udp").match;
  both = from;
  both.destination = NetworkTries{.ipv6 = some6.descriptor()};
  MatchRunner runner(translated({both, from, to}));
  const auto verdict = [&runner](const PacketBuilder& packet) {
    return verdict_of(runner, described(packet.build()));
  };
  EXPECT_EQ(verdict(PacketBuilder().ipv4("10.255.0.1", "8.8.8.8").tcp(1, 2)), 1U);
  EXPECT_EQ(verdict(PacketBuilder().ipv4("192.0.2.7", "8.8.8.8").tcp(1, 2)), 1U);
  EXPECT_EQ(verdict(PacketBuilder().ipv4("192.0.2.8", "10.1.1.1").udp(1, 2)), 2U);
  EXPECT_EQ(verdict(PacketBuilder().ipv4("192.0.2.8", "10.1.1.1").tcp(1, 2)), MATCH_UNMATCHED);
  EXPECT_EQ(verdict(PacketBuilder().ipv6("fd77::1", "2001:db8::1").udp(1, 2)), 1U);
  EXPECT_EQ(verdict(PacketBuilder().ipv6("fd77::1", "fd77::2").udp(1, 2)), 0U);
  EXPECT_EQ(verdict(PacketBuilder().ipv6("2001:db8::7", "fd77::2").udp(1, 2)), 0U);
  EXPECT_EQ(verdict(PacketBuilder().ipv6("2001:db8::6", "fd77::2").udp(1, 2)), MATCH_UNMATCHED);
  EXPECT_EQ(verdict(PacketBuilder().ipv6("fd77::1", "2001:db8::7").udp(1, 2)), 0U);
  EXPECT_EQ(verdict(PacketBuilder().ipv6("fd77::1", "2001:db8::8").udp(1, 2)), 1U);
  EXPECT_EQ(verdict(PacketBuilder().ipv6("fd78::1", "fd77::2").udp(1, 2)), MATCH_UNMATCHED);
}

TEST_F(MatchTranslator, LeavesMoreTriesThanAProgramMayHaveToUserSpace) {
  std::vector<NetworkTrie> tries;
  std::vector<ClassToTranslate> classes;
  for (std::uint8_t i = 0; i <= kMaxTries; ++i) {
    tries.emplace_back(std::vector<NetworkTrie::Network>{{.address = {10, i}, .bits = 16}}, 4);
    classes.emplace_back();
    classes.back().source = NetworkTries{.ipv4 = tries.back().descriptor()};
  }
  const TranslatedMatches matches = translated(classes);
  EXPECT_THAT(matches.undecided, testing::ElementsAre(kMaxTries));
  MatchRunner runner(matches);
  EXPECT_EQ(verdict_of(runner, described(PacketBuilder().ipv4("10.59.0.1", "8.8.8.8").tcp(1, 2).build())),
            59U);
  EXPECT_EQ(verdict_of(runner, described(PacketBuilder().ipv4("10.60.0.1", "8.8.8.8").tcp(1, 2).build())),
            MATCH_TAKE_OUT);
}

TEST_F(MatchTranslator, MatchesOnlyIpv4AndIpv6WithTheirWholeHeaders) {
  MatchRunner runner(translated({ClassToTranslate{}}));
  const Frame v4 = PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(1, 2).payload(30).build();
  const Frame v6 = PacketBuilder().ipv6("fd77::1", "fd77::2").udp(1, 2).payload(30).build();
  const auto verdict_with = [&runner](Frame frame, std::size_t at, unsigned value) {
    frame[at] = static_cast<std::byte>(value);
    return verdict_of(runner, described(frame));
  };
  for (std::size_t length = 0; length < 60; ++length) {
    EXPECT_EQ(
        verdict_of(runner, described(Frame(v4.begin(), v4.begin() + static_cast<std::ptrdiff_t>(length)))),
        length >= 34 ? 0 : MATCH_UNMATCHED);
    EXPECT_EQ(
        verdict_of(runner, described(Frame(v6.begin(), v6.begin() + static_cast<std::ptrdiff_t>(length)))),
        length >= 54 ? 0 : MATCH_UNMATCHED);
  }
  for (unsigned first = 0; first < 256; ++first) {
    EXPECT_EQ(verdict_with(v4, 14, first), first >= 0x45 && first <= 0x4f ? 0 : MATCH_UNMATCHED);
    EXPECT_EQ(verdict_with(v6, 14, first), first >> 4 == 6 ? 0 : MATCH_UNMATCHED);
    EXPECT_EQ(verdict_with(v4, 12, first), first == 0x08 ? 0 : MATCH_UNMATCHED);
    EXPECT_EQ(verdict_with(v6, 13, first), first == 0xdd ? 0 : MATCH_UNMATCHED);
  }
}

match_input described_super_packet(PacketBuilder builder) {
  match_input input{};
  TestSuperPacket{.frame = builder.payload(3000).build(), .segment_payload = 1000}.describe(input);
  return input;
}

TEST_F(MatchTranslator, DecidesOnSuperPacketsByWhatTheirSegmentsShare) {
  const match_input v4 = described_super_packet(PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").tcp(1, 80));
  const match_input v6 = described_super_packet(PacketBuilder().ipv6("fd77::1", "fd77::2").tcp(1, 80));
  for (const auto* expression :
       {"tcp port 80", "host 10.0.0.1 or host fd77::1", "net 10.0.0.0/8 or net fd77::/64",
        "not udp and not portrange 1000-2000", "ip[8] = 64 or ip6[7] = 64", "tcp or tcp[2000:4] = 1",
        "ip6 or tcp[tcpflags] & (tcp-syn|tcp-ack) = tcp-ack"}) {
    EXPECT_EQ(verdict_of({class_of(expression)}, v4), 0U) << expression;
    EXPECT_EQ(verdict_of({class_of(expression)}, v6), 0U) << expression;
  }
  for (const auto* expression : {"len > 100", "ip[2:2] > 100", "ip[4:2] = 0", "ip[10:2] = 0", "tcp[4:4] = 0",
                                 "tcp[16:2] = 0", "tcp[20] = 0", "ether[250] = 3", "tcp[2000:4] = 1"}) {
    EXPECT_EQ(verdict_of({class_of(expression)}, v4), MATCH_TAKE_OUT) << expression;
  }
  EXPECT_EQ(verdict_of({class_of("ip6[4:2] > 100")}, v6), MATCH_TAKE_OUT);
}

TEST_F(MatchTranslator, TakesOutASuperPacketForFlagsThatNotAllSegmentsHave) {
  match_input input = described_super_packet(PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").tcp(1, 80));
  constexpr std::size_t kFlags = 14 + 20 + 13;
  constexpr std::uint8_t kPushAndAck = 0x18, kPush = 0x08;
  input.bytes[kFlags] = kPushAndAck;
  input.varying[kFlags] = kPush;
  EXPECT_EQ(verdict_of({class_of("tcp[tcpflags] & tcp-syn != 0")}, input), MATCH_UNMATCHED);
  EXPECT_EQ(verdict_of({class_of("tcp[tcpflags] & (tcp-syn|tcp-ack) = tcp-ack")}, input), 0U);
  EXPECT_EQ(verdict_of({class_of("tcp[tcpflags] & tcp-push != 0")}, input), MATCH_TAKE_OUT);
  EXPECT_EQ(verdict_of({class_of("tcp[13] = 0x18")}, input), MATCH_TAKE_OUT);
}

// What is compared by its bits is looked at as a whole when it is needed later.
TEST_F(MatchTranslator, LooksAtAllBitsOfWhatIsReadAgainBehindATestOfSome) {
  const Program program{statement(BPF_LD | BPF_B | BPF_ABS, 47), jump(BPF_JSET | BPF_K, 0x02, 1, 0),
                        statement(BPF_RET | BPF_A), statement(BPF_RET | BPF_K, kNo)};
  match_input input = described(counting(60));
  input.bytes[47] = 0x18;
  EXPECT_EQ(verdict_of({class_of(program)}, input), 0U);
  input.varying[47] = 0x08;
  EXPECT_EQ(verdict_of({class_of(program)}, input), MATCH_TAKE_OUT);
}

TEST_F(MatchTranslator, LooksAtAllBitsOfWhatIsLoadedAgainBehindATestOfSome) {
  const Program program{statement(BPF_LD | BPF_B | BPF_ABS, 47), jump(BPF_JSET | BPF_K, 0x02, 2, 0),
                        statement(BPF_LD | BPF_B | BPF_ABS, 47), statement(BPF_RET | BPF_A),
                        statement(BPF_RET | BPF_K, kNo)};
  match_input input = described(counting(60));
  input.bytes[47] = 0x18;
  EXPECT_EQ(verdict_of({class_of(program)}, input), 0U);
  input.varying[47] = 0x08;
  EXPECT_EQ(verdict_of({class_of(program)}, input), MATCH_TAKE_OUT);
}

TEST_F(MatchTranslator, LooksAtEachBitOfALongNumber) {
  for (const bool word : {false, true}) {
    const unsigned bits = word ? 32 : 16;
    for (unsigned bit = 0; bit < bits; ++bit) {
      const ClassicInstruction load = statement(BPF_LD | (word ? BPF_W : BPF_H) | BPF_ABS, 40);
      const ClassicInstruction yes = statement(BPF_RET | BPF_K, kYes);
      match_input input = described(counting(60));
      input.varying[40 + (bits - 1 - bit) / 8] = static_cast<std::uint8_t>(1U << bit % 8);
      const auto verdict_of_mask = [&](std::uint32_t mask) {
        return verdict_of({class_of({load, statement(BPF_ALU | BPF_AND | BPF_K, mask), yes})}, input);
      };
      EXPECT_EQ(verdict_of({class_of({load, yes})}, input), MATCH_TAKE_OUT) << bit;
      EXPECT_EQ(verdict_of_mask(1U << bit), MATCH_TAKE_OUT) << bit;
      EXPECT_EQ(verdict_of_mask(~(1U << bit)), 0U) << bit;
    }
  }
}

TEST_F(MatchTranslator, LearnsNoMoreOfTheLengthFromAnIndexedReadThanItsOffset) {
  const Program program{set_index(0), statement(BPF_LD | BPF_B | BPF_IND, 50),
                        statement(BPF_LD | BPF_B | BPF_ABS, 51), statement(BPF_RET | BPF_K, kYes)};
  EXPECT_EQ(verdict_of({class_of(program)}, counting(51)), MATCH_UNMATCHED);
  EXPECT_EQ(verdict_of({class_of(program)}, counting(52)), 0U);
}

TEST_F(MatchTranslator, LooksAtWhatVariesOnEachWayThatHasNotYet) {
  // One way reads bytes 40-43, the other does not; what follows reads them on both.
  const Program program{statement(BPF_LD | BPF_B | BPF_ABS, 0), jump(BPF_JEQ | BPF_K, 0, 0, 1),
                        statement(BPF_LD | BPF_W | BPF_ABS, 40), statement(BPF_LD | BPF_H | BPF_ABS, 41),
                        statement(BPF_RET | BPF_K, kYes)};
  for (const std::uint8_t first : {0, 1}) {
    match_input input = described(counting(60));
    input.bytes[0] = first;
    EXPECT_EQ(verdict_of({class_of(program)}, input), 0U);
    input.varying[42] = 1;
    EXPECT_EQ(verdict_of({class_of(program)}, input), MATCH_TAKE_OUT);
  }
}

// Any instructions in any order, with jumps to anywhere behind them.
Program random_program(std::mt19937& random) {
  constexpr std::size_t kInstructions = 24;
  const auto below = [&random](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  const auto any_of = [&](std::initializer_list<unsigned> choices) {
    return choices.begin()[below(choices.size())];
  };
  const auto number = [&] { return below(3) == 0 ? static_cast<std::uint32_t>(random()) : below(70); };
  Program program{set_accumulator(number()), statement(BPF_ST, 0), statement(BPF_ST, 1),
                  statement(BPF_ST, 15)};
  while (program.size() < kInstructions) {
    const auto left = static_cast<std::uint32_t>(kInstructions - program.size());
    const unsigned size = any_of({BPF_W, BPF_H, BPF_B});
    const std::uint32_t cell = any_of({0, 1, 15});
    switch (below(12)) {
      case 0:
        program.push_back(statement(BPF_LD | size | BPF_ABS, below(10) == 0 ? number() : below(50)));
        break;
      case 1:
        program.push_back(statement(BPF_ALU | BPF_AND | BPF_K, 0x3f));
        program.push_back(statement(BPF_MISC | BPF_TAX));
        program.push_back(statement(BPF_LD | size | BPF_IND, below(20)));
        break;
      case 2:
        program.push_back(statement(BPF_LD | size | BPF_IND, number()));
        break;
      case 3:
        program.push_back(statement(BPF_LDX | BPF_B | BPF_MSH, below(60)));
        break;
      case 4:
        program.push_back(statement(any_of({BPF_LD, BPF_LDX}) | any_of({BPF_IMM, BPF_LEN}), number()));
        break;
      case 5:
        program.push_back(statement(any_of({BPF_LD, BPF_LDX}) | BPF_MEM, cell));
        break;
      case 6:
        program.push_back(statement(any_of({BPF_ST, BPF_STX}), cell));
        break;
      case 7:
        program.push_back(statement(BPF_MISC | any_of({BPF_TAX, BPF_TXA})));
        break;
      case 8:
        program.push_back(statement(BPF_ALU | BPF_X |
                                    any_of({BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_MOD, BPF_AND, BPF_OR,
                                            BPF_XOR, BPF_LSH, BPF_RSH})));
        break;
      case 9:
        program.push_back(statement(
            BPF_ALU | any_of({BPF_ADD, BPF_SUB, BPF_MUL, BPF_AND, BPF_OR, BPF_XOR, BPF_DIV, BPF_MOD}),
            number() | 1));
        break;
      case 10:
        program.push_back(statement(BPF_ALU | any_of({BPF_LSH, BPF_RSH, BPF_NEG}), below(32)));
        break;
      default:
        program.push_back(jump(any_of({BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET}) | any_of({BPF_K, BPF_X}),
                               number(), static_cast<std::uint8_t>(below(left)),
                               static_cast<std::uint8_t>(below(left))));
    }
  }
  program.push_back(jump(any_of({BPF_JEQ, BPF_JGT, BPF_JSET}) | BPF_K, number(), 0, 1));
  program.push_back(statement(BPF_RET | BPF_K, kYes));
  program.push_back(below(4) == 0 ? statement(BPF_RET | BPF_A) : statement(BPF_RET | BPF_K, kNo));
  return program;
}

#ifdef NDEBUG
constexpr int kPrograms = 1500;
#else
constexpr int kPrograms = 200;
#endif
constexpr std::size_t kFrames = 200;

Frame random_frame(std::mt19937& random) {
  Frame frame(34 + random() % 80);
  for (std::byte& byte : frame) byte = static_cast<std::byte>(random() % 3 == 0 ? random() : random() % 8);
  make_ipv4(frame);
  return frame;
}

TEST_F(MatchTranslator, AgreesWithTheInterpreterOnAnyProgram) {
  std::mt19937 random(42);
  std::size_t matched = 0;
  for (int i = 0; i < kPrograms; ++i) {
    const Program program = random_program(random);
    MatchRunner runner(translated({class_of(program)}));
    std::vector<Frame> frames;
    for (match_input& input : runner.inputs().first(kFrames)) {
      frames.push_back(random_frame(random));
      describe(frames.back(), input);
    }
    runner.run(kFrames);
    for (std::size_t f = 0; f < kFrames; ++f) {
      const std::uint32_t expected = interpreted(program, frames[f]);
      if (expected == 0) ++matched;
      ASSERT_EQ(runner.inputs()[f].verdict, expected) << "program " << i << ", frame " << f;
    }
  }
  EXPECT_GT(matched, kPrograms * kFrames / 10) << "else nothing much is compared";
}

// A few bits of the bytes that may vary.
void make_some_vary(std::mt19937& random, match_input& input) {
  for (int bytes = 0; bytes < 6; ++bytes) {
    const std::size_t at = 16 + random() % 70;
    const bool steady = (at >= 22 && at < 24) || (at >= 26 && at < 34);
    if (!steady) input.varying[at] = static_cast<std::uint8_t>(1U << random() % 8);
  }
}

TEST_F(MatchTranslator, NeverDecidesByWhatVaries) {
  constexpr int kVariants = 4;
  std::mt19937 random(43);
  std::size_t decided = 0;
  for (int i = 0; i < kPrograms; ++i) {
    const Program program = random_program(random);
    MatchRunner runner(translated({class_of(program)}));
    std::vector<Frame> frames;
    for (match_input& input : runner.inputs().first(kFrames)) {
      frames.push_back(random_frame(random));
      describe(frames.back(), input);
      make_some_vary(random, input);
    }
    runner.run(kFrames);
    for (std::size_t f = 0; f < kFrames; ++f) {
      const match_input& input = runner.inputs()[f];
      if (input.verdict == MATCH_TAKE_OUT) continue;
      ++decided;
      for (int variant = 0; variant < kVariants; ++variant) {
        Frame frame = frames[f];
        for (std::size_t at = 0; at < frame.size(); ++at)
          frame[at] ^= static_cast<std::byte>(random() & input.varying[at]);
        ASSERT_EQ(input.verdict, interpreted(program, frame)) << "program " << i << ", frame " << f;
      }
    }
  }
  EXPECT_GT(decided, kPrograms * kFrames / 10) << "else nothing much is compared";
}

std::string hundred_hosts(int network) {
  std::string hosts = "host 10.0." + std::to_string(network) + ".1";
  for (int i = 2; i <= 100; ++i) hosts += " or 10.0." + std::to_string(network) + "." + std::to_string(i);
  return hosts;
}

TEST_F(MatchTranslator, LoadsTwentyClassesOfAHundredHosts) {
  std::vector<ClassToTranslate> classes;
  for (int i = 0; i < 20; ++i) classes.push_back(class_of(hundred_hosts(i)));
  const TranslatedMatches matches = translated(classes);
  MatchRunner runner(matches);
  const auto verdict = [&runner](const std::string& address) {
    return verdict_of(runner, described(PacketBuilder().ipv4("192.0.2.1", address).udp(1, 2).build()));
  };
  EXPECT_EQ(verdict("10.0.0.1"), 0U);
  EXPECT_EQ(verdict("10.0.19.100"), 19U);
  EXPECT_EQ(verdict("10.0.20.100"), MATCH_UNMATCHED);
  const Frame frame = PacketBuilder().ipv4("192.0.2.1", "192.0.2.2").udp(1, 2).build();
  for (match_input& input : runner.inputs()) describe(frame, input);
  std::printf("%zu instructions; %s; %u ns a packet\n", matches.code.size(), runner.statistics().c_str(),
              runner.run(MatchRunner::kBatch));
}

// The longest that is not refused can be loaded.
void expect_limit(const ClassToTranslate& each, std::size_t more_than_enough) {
  std::vector<ClassToTranslate> classes(more_than_enough, each);
  EXPECT_FALSE(translate_matches(classes).has_value());
  while (!translate_matches(classes)) classes.pop_back();
  const TranslatedMatches matches = translated(classes);
  MatchRunner runner(matches);
  const Frame frame = PacketBuilder().ipv4("192.0.2.1", "10.0.2.2").udp(1, 2).build();
  EXPECT_EQ(verdict_of(runner, described(frame)), MATCH_UNMATCHED);
  std::printf("%zu classes, %zu instructions; %s\n", classes.size(), matches.code.size(),
              runner.statistics().c_str());
}

TEST_F(MatchTranslator, RefusesWhatHasTooManyInstructions) {
  Program program{statement(BPF_LD | BPF_B | BPF_ABS, 8)};
  for (std::uint32_t i = 0; i < 400; ++i) program.push_back(statement(BPF_ALU | BPF_ADD | BPF_K, i));
  expect_limit(class_of(with_result(program, 1)), 85);
}

TEST_F(MatchTranslator, RefusesTooManyHosts) {
  expect_limit(class_of(hundred_hosts(1)), 60);
}

TEST_F(MatchTranslator, RefusesWhatHasTooManyJumpsInARow) {
  Program program;
  for (std::uint32_t at = 0; at < 100; ++at) {
    program.push_back(statement(BPF_LD | BPF_B | BPF_ABS, at % 14));
    program.push_back(jump(BPF_JSET | BPF_K, 0x80, static_cast<std::uint8_t>(2 * (99 - at)), 0));
  }
  program.push_back(statement(BPF_RET | BPF_K, kNo));
  program.push_back(statement(BPF_RET | BPF_K, kNo));
  expect_limit(class_of(program), 85);
}

// Runs where it is meant to: with the input of the processor, and with another program behind it.
TEST_F(MatchTranslator, MakesAProgramThatGoesOnWithAnother) {
  ProgramChain chain(translated({class_of("udp"), class_of("tcp")}));
  chain.describe_to_all_processors(described(PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").tcp(1, 2).build()));
  EXPECT_EQ(chain.run(), -1) << "nothing is behind it";
  EXPECT_EQ(chain.verdict(), 1U);
  chain.describe_to_all_processors(described(PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(1, 2).build()));
  chain.put_program_behind(77);
  EXPECT_EQ(chain.run(), 77);
  EXPECT_EQ(chain.verdict(), 0U);
}

}  // namespace
}  // namespace headgate::test
