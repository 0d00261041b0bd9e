#include "linux/kernel_assembler.hpp"

#include <linux/bpf.h>

#include <algorithm>

namespace headgate {

namespace {

constexpr std::uint8_t kGo = BPF_JMP | BPF_JA;

bool is_conditional(const KernelInstruction& instruction) {
  const unsigned kind = BPF_CLASS(instruction.code);
  return (kind == BPF_JMP || kind == BPF_JMP32) && instruction.code != kGo;
}

// The comparison that holds where this one does not.
std::optional<unsigned> opposite(unsigned comparison) {
  switch (comparison) {
    case BPF_JEQ:
      return BPF_JNE;
    case BPF_JNE:
      return BPF_JEQ;
    case BPF_JGT:
      return BPF_JLE;
    case BPF_JLE:
      return BPF_JGT;
    case BPF_JGE:
      return BPF_JLT;
    case BPF_JLT:
      return BPF_JGE;
    default:
      return std::nullopt;
  }
}

}  // namespace

void KnownOfPacket::meet(const KnownOfPacket& other) {
  min_length = std::min(min_length, other.min_length);
  steady &= other.steady;
}

KernelAssembler::Label KernelAssembler::new_label() {
  targets_.emplace_back();
  return targets_.size() - 1;
}

void KernelAssembler::put(const KernelInstruction& instruction) {
  if (reachable_) code_.push_back(instruction);
}

void KernelAssembler::go(Label to) {
  if (!reachable_) return;
  jump({.code = kGo}, to);
  reachable_ = false;
}

void KernelAssembler::go_if(KernelInstruction comparison, Label to) {
  if (reachable_) jump(comparison, to);
}

void KernelAssembler::jump(const KernelInstruction& instruction, Label to) {
  jumps_.push_back({code_.size(), to});
  code_.push_back(instruction);
  Target& target = targets_[to];
  if (target.reached) {
    target.known.meet(known_);
  } else {
    target.known = known_;
  }
  target.reached = true;
}

void KernelAssembler::here(Label label) {
  shorten_jumps_to(label);
  Target& target = targets_[label];
  target.position = code_.size();
  if (!target.reached) return;
  last_target_ = code_.size();
  if (reachable_) {
    known_.meet(target.known);
  } else {
    known_ = target.known;
  }
  reachable_ = true;
}

// A jump over nothing, or over nothing but another jump.
void KernelAssembler::shorten_jumps_to(Label label) {
  const std::size_t end = code_.size();
  if (reachable_ || jumps_.empty() || jumps_.back().at + 1 != end) return;
  if (jumps_.back().to == label) return drop_last_jump();
  if (jumps_.size() < 2 || last_target_ + 1 == end) return;
  Jump& before = jumps_[jumps_.size() - 2];
  KernelInstruction& comparison = code_[before.at];
  if (before.at + 2 != end || before.to != label || !is_conditional(comparison)) return;
  const std::optional<unsigned> inverted = opposite(BPF_OP(comparison.code));
  if (!inverted) return;
  comparison.code = static_cast<std::uint8_t>((comparison.code & ~0xf0U) | *inverted);
  before.to = jumps_.back().to;
  drop_last_jump();
}

void KernelAssembler::drop_last_jump() {
  jumps_.pop_back();
  code_.pop_back();
}

std::size_t KernelAssembler::most_jumps_on_a_way() const {
  std::vector<std::size_t> behind(code_.size() + 1);  // from each place to the end
  auto jump = jumps_.rbegin();
  for (std::size_t at = code_.size(); at-- > 0;) {
    behind[at] = behind[at + 1];
    if (jump == jumps_.rend() || jump->at != at) continue;
    const std::size_t there = behind[targets_[jump->to].position];
    behind[at] = is_conditional(code_[at]) ? std::max(there, behind[at + 1]) + 1 : there;
    ++jump;
  }
  return behind.front();
}

std::optional<std::vector<KernelInstruction>> KernelAssembler::finish() {
  if (code_.size() > kMaxInstructions || most_jumps_on_a_way() > kMaxJumpsOnAWay) return std::nullopt;
  for (const Jump& jump : jumps_)
    code_[jump.at].offset = static_cast<std::int16_t>(targets_[jump.to].position - jump.at - 1);
  return code_;
}

}  // namespace headgate
