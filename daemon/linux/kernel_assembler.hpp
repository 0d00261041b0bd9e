// Writes eBPF instructions for the kernel, with jumps forward to labels.
//
// What cannot be reached is left out: the verifier refuses it. Along with the code goes what is known at each place of the
// packet on every way that leads there, so that nothing is checked twice.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "linux/match_input.h"

namespace headgate {

// struct bpf_insn of linux/bpf.h, which clashes with libpcap's.
struct KernelInstruction {
  std::uint8_t code = 0;
  std::uint8_t destination : 4 = 0;  // registers
  std::uint8_t source : 4 = 0;
  std::int16_t offset = 0;
  std::int32_t immediate = 0;
};
static_assert(sizeof(KernelInstruction) == 8);

// Of the packet.
struct KnownOfPacket {
  std::uint32_t min_length = 0;
  std::bitset<MATCH_INPUT_BYTES> steady;  // bytes that do not vary

  void meet(const KnownOfPacket& other);
};

class KernelAssembler {
 public:
  using Label = std::size_t;
  // A jump's offset has 16 bits.
  static constexpr std::size_t kMaxInstructions = 32'000;
  // Conditional jumps on one way through the code. Up to its end the verifier keeps the other way of each, at most 8192.
  static constexpr std::size_t kMaxJumpsOnAWay = 8'000;

  explicit KernelAssembler(const KnownOfPacket& known) : known_(known) {}

  Label new_label();
  void put(const KernelInstruction& instruction);
  void go(Label to);
  void go_if(KernelInstruction comparison, Label to);  // a jump but for its offset
  void here(Label label);

  bool reachable() const { return reachable_; }
  KnownOfPacket& known() { return known_; }  // at the end of the code

  // None: it exceeds one of the two.
  std::optional<std::vector<KernelInstruction>> finish();

 private:
  struct Jump {
    std::size_t at;
    Label to;
  };
  struct Target {
    bool reached = false;  // by a jump
    std::size_t position = 0;
    KnownOfPacket known;
  };

  void jump(const KernelInstruction& instruction, Label to);
  void shorten_jumps_to(Label label);
  void drop_last_jump();
  std::size_t most_jumps_on_a_way() const;

  std::vector<KernelInstruction> code_;
  std::vector<Jump> jumps_;  // by position
  std::vector<Target> targets_;
  std::size_t last_target_ = 0;  // where the last label is
  bool reachable_ = true;
  KnownOfPacket known_;
};

}  // namespace headgate
