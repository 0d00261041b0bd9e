// Turns the classes' match expressions, as libpcap compiles them to classic BPF, into a program for the kernel that finds
// the class of a packet on the hook, so that what is not shaped needs not be taken out.
//
// It says "take it out" where it cannot be sure, but never names a class, or none, where Classifier would say otherwise. For
// that it is given the frame without its tags, and no control traffic where a class has `control`:
//
//   neither IPv4 nor IPv6                 no class takes it
//   a read behind the end of the packet   the class does not take it, as MatchVerdict::outside
//   a read behind the bytes copied        take it out
//   a read of what varies by segment      take it out; also the length of a super-packet
//   code that cannot be translated        take it out: loops (protochain), and what libpcap does not make
//
// Of jumps the verifier follows both ways, and of what it knows of registers it forgets what nothing reads. So the code
// keeps nothing in registers from one class to the next, and loads the length anew for each check: of a register that has
// been compared the verifier knows more on the one way than on the other, and would look at what follows once for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/classic_match.hpp"
#include "linux/kernel_assembler.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Longest-prefix tries (BPF_MAP_TYPE_LPM_TRIE) of the networks, by their descriptors; -1: there are none of that kind. A key
// is the length of the prefix and the address as it stands in a packet.
struct NetworkTries {
  int ipv4 = -1;
  int ipv6 = -1;
};

// All that is set holds for a packet that the class takes.
struct ClassToTranslate {
  std::optional<ClassicMatch> match;
  std::uint64_t dscp = 0;           // the code points, bit n for n; 0: any
  std::vector<MarkSelector> marks;  // any of them; empty: any mark
  std::uint32_t cgroups = 0;        // any of the bits of match_input::cgroups; 0: any cgroup
  std::optional<NetworkTries> source;
  std::optional<NetworkTries> destination;
};

// Of all tries together; those of classes behind are left to user space. The verifier takes 64 maps for a program.
inline constexpr std::size_t kMaxTries = 60;

// A part of a program. Wants the address of a match_input in register 6, which must be a map's value; leaves its verdict
// in register 0, and the way at its end. Uses registers 1 to 5 and 64
// bytes of stack.
struct TranslatedMatches {
  std::vector<KernelInstruction> code;
  // Positions of classes of which it never is sure, as they cannot be translated. Of those that packets come to.
  std::vector<std::size_t> undecided;
};

// None: it comes to more than KernelAssembler has room for. At most MATCH_UNMATCHED classes. That the verifier takes as long
// a program is to be expected and not certain.
std::optional<TranslatedMatches> translate_matches(std::span<const ClassToTranslate> classes);

// Descriptors.
struct MatchProgramMaps {
  int input = -1;                // array, one for each processor, of one match_input
  int programs = -1;             // array of programs
  std::uint32_t next_entry = 0;  // in it: what runs next. Without it the packet goes on
};

// A program for BPF_PROG_TYPE_SCHED_CLS.
std::vector<KernelInstruction> whole_program(const TranslatedMatches& matches, const MatchProgramMaps& maps);

}  // namespace headgate
