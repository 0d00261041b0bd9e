// A match expression, or a part of one, compiled by libpcap and run by its interpreter.
#pragma once

#include <pcap/pcap.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/classic_match.hpp"

namespace headgate {

// `outside`: the expression asks for what lies behind the end of the frame. By libpcap's rules the whole expression then
// does not match, also where the part that asks is negated.
enum class MatchVerdict : std::uint8_t { no, yes, outside };

class MatchProgram {
 public:
  MatchProgram() = default;
  ~MatchProgram() { pcap_freecode(&code_); }
  MatchProgram(MatchProgram&& other) noexcept;
  MatchProgram& operator=(MatchProgram&& other) noexcept;

  // For Ethernet; several threads may compile at once. False: `error` says why not. An expression that libpcap finds to
  // reject every packet while optimising is no error: rejects_all().
  bool compile(const std::string& expression, bool optimise, std::string& error);

  unsigned size() const { return code_.bf_len; }  // instructions
  bool rejects_all() const { return code_.bf_len == 0; }
  std::vector<ClassicInstruction> instructions() const;

  MatchVerdict run(std::span<const std::byte> frame) const;

  // False: certainly no frame of this EtherType is matched. Follows all ways through the program that the EtherType
  // leaves open.
  bool may_match(std::uint16_t ether_type) const;

 private:
  void tell_no_from_outside();

  bpf_program code_{};
};

}  // namespace headgate
