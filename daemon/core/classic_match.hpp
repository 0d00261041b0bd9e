// A match expression as instructions of classic BPF, for those that have no libpcap.
#pragma once

#include <cstdint>
#include <vector>

namespace headgate {

// struct bpf_insn of pcap/bpf.h and struct sock_filter of linux/filter.h.
struct ClassicInstruction {
  std::uint16_t code = 0;
  std::uint8_t jump_if_true = 0;
  std::uint8_t jump_if_false = 0;
  std::uint32_t k = 0;
};
static_assert(sizeof(ClassicInstruction) == 8);

// One program, or several that `and`, `or` and `not` connect, evaluated in this order up to the first that decides. A
// program returns 0 where it asks for what lies outside of the packet, which decides all that it is a part of; 1 for no and
// all else for yes. One without instructions says no.
struct ClassicMatch {
  enum class Kind : std::uint8_t { program, any, all, negation };

  Kind kind = Kind::program;
  std::vector<ClassicInstruction> program;
  std::vector<ClassicMatch> children;
};

}  // namespace headgate
