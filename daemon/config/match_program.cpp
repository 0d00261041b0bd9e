#include "config/match_program.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace headgate {
namespace {

constexpr unsigned kEtherTypeAt = 12;  // in the frame

// What a program returns. The interpreter returns 0 when it is led outside of the frame.
constexpr unsigned kOutside = 0;
constexpr unsigned kNo = 1;

struct CloseHandle {
  void operator()(pcap_t* handle) const { pcap_close(handle); }
};
using Handle = std::unique_ptr<pcap_t, CloseHandle>;

// What is known of the accumulator where several ways meet. Nothing: it may hold any value.
struct Reached {
  bool reached = false;
  std::optional<unsigned> accumulator;

  void join(std::optional<unsigned> other) {
    accumulator = reached && accumulator != other ? std::nullopt : other;
    reached = true;
  }
};

std::optional<unsigned> accumulator_behind(const bpf_insn& instruction, std::optional<unsigned> accumulator,
                                           unsigned ether_type) {
  switch (BPF_CLASS(instruction.code)) {
    case BPF_LD:
      if (instruction.code == (BPF_LD | BPF_H | BPF_ABS) && instruction.k == kEtherTypeAt) return ether_type;
      if (instruction.code == (BPF_LD | BPF_IMM)) return instruction.k;
      return std::nullopt;
    case BPF_ALU:
      return std::nullopt;
    case BPF_MISC:
      return BPF_MISCOP(instruction.code) == BPF_TXA ? std::nullopt : accumulator;
    default:
      return accumulator;
  }
}

// Whether a conditional jump is taken; nothing: either may be.
std::optional<bool> decided(const bpf_insn& jump, std::optional<unsigned> accumulator) {
  if (!accumulator || BPF_SRC(jump.code) != BPF_K) return std::nullopt;
  switch (BPF_OP(jump.code)) {
    case BPF_JEQ:
      return *accumulator == jump.k;
    case BPF_JGT:
      return *accumulator > jump.k;
    case BPF_JGE:
      return *accumulator >= jump.k;
    case BPF_JSET:
      return (*accumulator & jump.k) != 0;
    default:
      return std::nullopt;
  }
}

}  // namespace

MatchProgram::MatchProgram(MatchProgram&& other) noexcept : code_(std::exchange(other.code_, {})) {}

MatchProgram& MatchProgram::operator=(MatchProgram&& other) noexcept {
  std::swap(code_, other.code_);
  return *this;
}

bool MatchProgram::compile(const std::string& expression, bool optimise, std::string& error) {
  const Handle handle(pcap_open_dead(DLT_EN10MB, 65'535));
  if (!handle) {
    error = "libpcap cannot start";
    return false;
  }
  pcap_freecode(&code_);
  if (pcap_compile(handle.get(), &code_, expression.c_str(), optimise ? 1 : 0, PCAP_NETMASK_UNKNOWN) != 0) {
    error = pcap_geterr(handle.get());
    code_ = {};
    return error.find("rejects all packets") != std::string::npos;
  }
  tell_no_from_outside();
  return true;
}

void MatchProgram::tell_no_from_outside() {
  for (bpf_insn& instruction : std::span(code_.bf_insns, code_.bf_len)) {
    if (instruction.code == (BPF_RET | BPF_K) && instruction.k == kOutside) instruction.k = kNo;
  }
}

MatchVerdict MatchProgram::run(std::span<const std::byte> frame) const {
  if (rejects_all()) return MatchVerdict::no;
  const auto length = static_cast<unsigned>(frame.size());
  const unsigned result =
      bpf_filter(code_.bf_insns, reinterpret_cast<const unsigned char*>(frame.data()), length, length);
  if (result == kOutside) return MatchVerdict::outside;
  return result == kNo ? MatchVerdict::no : MatchVerdict::yes;
}

std::vector<ClassicInstruction> MatchProgram::instructions() const {
  std::vector<ClassicInstruction> copies;
  for (const bpf_insn& each : std::span(code_.bf_insns, code_.bf_len))
    copies.push_back({.code = each.code, .jump_if_true = each.jt, .jump_if_false = each.jf, .k = each.k});
  return copies;
}

bool MatchProgram::may_match(std::uint16_t ether_type) const {
  const std::span code(code_.bf_insns, code_.bf_len);
  std::vector<Reached> reached(code.size());
  const auto go = [&](std::size_t to, std::optional<unsigned> accumulator) {
    if (to < reached.size()) reached[to].join(accumulator);
  };
  if (!code.empty()) go(0, std::nullopt);
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!reached[i].reached) continue;
    const bpf_insn& instruction = code[i];
    const auto accumulator = accumulator_behind(instruction, reached[i].accumulator, ether_type);
    if (BPF_CLASS(instruction.code) == BPF_RET) {
      if (instruction.code != (BPF_RET | BPF_K) || instruction.k != kNo) return true;
    } else if (instruction.code == (BPF_JMP | BPF_JA)) {
      if (static_cast<int>(instruction.k) < 0) return true;  // a loop, of protochain: not followed
      go(i + 1 + instruction.k, accumulator);
    } else if (BPF_CLASS(instruction.code) == BPF_JMP) {
      const std::optional<bool> taken = decided(instruction, accumulator);
      if (taken.value_or(true)) go(i + 1 + instruction.jt, accumulator);
      if (!taken.value_or(false)) go(i + 1 + instruction.jf, accumulator);
    } else {
      go(i + 1, accumulator);
    }
  }
  return false;
}

}  // namespace headgate
