#include "linux/classic_program.hpp"

namespace headgate {

namespace {

struct Access {
  Live reads = 0;
  Live writes = 0;
};

// None: no such instruction.
std::optional<Access> access_of_load(const ClassicInstruction& instruction, Live target) {
  const unsigned mode = BPF_MODE(instruction.code), size = BPF_SIZE(instruction.code);
  const bool to_index = BPF_CLASS(instruction.code) == BPF_LDX;
  switch (mode) {
    case BPF_IMM:
    case BPF_LEN:
      return size == BPF_W ? std::optional(Access{0, target}) : std::nullopt;
    case BPF_MEM:
      if (size != BPF_W || instruction.k >= BPF_MEMWORDS) return std::nullopt;
      return Access{1U << instruction.k, target};
    case BPF_MSH:
      return to_index && size == BPF_B ? std::optional(Access{0, target}) : std::nullopt;
    case BPF_ABS:
    case BPF_IND:
      if (to_index || (size != BPF_W && size != BPF_H && size != BPF_B)) return std::nullopt;
      return Access{mode == BPF_IND ? kLiveX : 0, target};
    default:
      return std::nullopt;
  }
}

std::optional<Access> access_of_calculation(const ClassicInstruction& instruction) {
  const bool by_index = BPF_SRC(instruction.code) == BPF_X;
  switch (BPF_OP(instruction.code)) {
    case BPF_LSH:
    case BPF_RSH:
      if (!by_index && instruction.k > kMaxShift) return std::nullopt;
      break;
    case BPF_NEG:
      return by_index ? std::nullopt : std::optional(Access{kLiveA, kLiveA});
    case BPF_ADD:
    case BPF_SUB:
    case BPF_MUL:
    case BPF_DIV:
    case BPF_OR:
    case BPF_AND:
    case BPF_MOD:
    case BPF_XOR:
      break;
    default:
      return std::nullopt;
  }
  return Access{by_index ? kLiveA | kLiveX : kLiveA, kLiveA};
}

std::optional<Access> access_of_jump(const ClassicInstruction& instruction) {
  switch (BPF_OP(instruction.code)) {
    case BPF_JA:
      return BPF_SRC(instruction.code) == BPF_K ? std::optional(Access{}) : std::nullopt;
    case BPF_JEQ:
    case BPF_JGT:
    case BPF_JGE:
    case BPF_JSET:
      return Access{BPF_SRC(instruction.code) == BPF_X ? kLiveA | kLiveX : kLiveA, 0};
    default:
      return std::nullopt;
  }
}

std::optional<Access> access_of(const ClassicInstruction& instruction) {
  if (instruction.code > 0xff) return std::nullopt;
  switch (BPF_CLASS(instruction.code)) {
    case BPF_LD:
      return access_of_load(instruction, kLiveA);
    case BPF_LDX:
      return access_of_load(instruction, kLiveX);
    case BPF_ST:
    case BPF_STX:
      if ((instruction.code & ~0x07U) != 0 || instruction.k >= BPF_MEMWORDS) return std::nullopt;
      return Access{BPF_CLASS(instruction.code) == BPF_ST ? kLiveA : kLiveX, 1U << instruction.k};
    case BPF_ALU:
      return access_of_calculation(instruction);
    case BPF_JMP:
      return access_of_jump(instruction);
    case BPF_RET:
      if (instruction.code == (BPF_RET | BPF_K)) return Access{};
      return instruction.code == (BPF_RET | BPF_A) ? std::optional(Access{kLiveA, 0}) : std::nullopt;
    default:
      if (instruction.code == (BPF_MISC | BPF_TAX)) return Access{kLiveA, kLiveX};
      return instruction.code == (BPF_MISC | BPF_TXA) ? std::optional(Access{kLiveX, kLiveA}) : std::nullopt;
  }
}

}  // namespace

std::optional<std::vector<Live>> live_before(std::span<const ClassicInstruction> program) {
  std::vector<Live> live(program.size());
  for (std::size_t at = program.size(); at-- > 0;) {
    const ClassicInstruction& instruction = program[at];
    const std::optional<Access> access = access_of(instruction);
    if (!access) return std::nullopt;
    const std::size_t left = program.size() - at - 1;  // instructions that follow
    Live after = 0;
    const auto follow = [&](std::size_t distance) {
      if (distance >= left) return false;
      after |= live[at + 1 + distance];
      return true;
    };
    bool inside = true;
    if (instruction.code == (BPF_JMP | BPF_JA)) {
      inside = follow(instruction.k);
    } else if (BPF_CLASS(instruction.code) == BPF_JMP) {
      inside = follow(instruction.jump_if_true) && follow(instruction.jump_if_false);
    } else if (BPF_CLASS(instruction.code) != BPF_RET) {
      inside = follow(0);
    }
    if (!inside) return std::nullopt;
    live[at] = (after & ~access->writes) | access->reads;
  }
  const bool reads_unwritten_memory = !live.empty() && (live.front() & (kLiveA - 1)) != 0;
  return reads_unwritten_memory ? std::nullopt : std::optional(live);
}

std::vector<unsigned> ways_to(std::span<const ClassicInstruction> program) {
  std::vector<unsigned> ways(program.size());
  for (std::size_t at = 0; at < program.size(); ++at) {
    const ClassicInstruction& instruction = program[at];
    if (instruction.code == (BPF_JMP | BPF_JA)) {
      ++ways[at + 1 + instruction.k];
    } else if (BPF_CLASS(instruction.code) == BPF_JMP) {
      ++ways[at + 1 + instruction.jump_if_true];
      ++ways[at + 1 + instruction.jump_if_false];
    } else if (BPF_CLASS(instruction.code) != BPF_RET) {
      ++ways[at + 1];
    }
  }
  return ways;
}

}  // namespace headgate
