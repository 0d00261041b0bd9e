// Single instructions of eBPF. Not to be included beside libpcap's headers, whose names clash with the kernel's.
#pragma once

#include <linux/bpf.h>

#include <array>
#include <cstdint>

#include "linux/kernel_assembler.hpp"

namespace headgate::bpf {

inline std::uint8_t opcode(unsigned bits) {
  return static_cast<std::uint8_t>(bits);
}
inline std::int32_t immediate(std::uint64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
}
inline KernelInstruction set(std::uint8_t destination, std::uint32_t value) {
  return {
      .code = opcode(BPF_ALU | BPF_MOV | BPF_K), .destination = destination, .immediate = immediate(value)};
}
inline KernelInstruction copy(std::uint8_t destination, std::uint8_t source) {
  return {.code = opcode(BPF_ALU64 | BPF_MOV | BPF_X), .destination = destination, .source = source};
}
inline KernelInstruction load(unsigned size, std::uint8_t destination, std::uint8_t address,
                              std::int16_t offset) {
  return {.code = opcode(BPF_LDX | BPF_MEM | size),
          .destination = destination,
          .source = address,
          .offset = offset};
}
inline KernelInstruction store(std::uint8_t address, std::int16_t offset, std::uint8_t source) {
  return {
      .code = opcode(BPF_STX | BPF_MEM | BPF_W), .destination = address, .source = source, .offset = offset};
}
// On 32 bits, as all of classic BPF.
inline KernelInstruction calculate(unsigned operation, std::uint8_t destination, std::uint32_t value) {
  return {
      .code = opcode(BPF_ALU | operation | BPF_K), .destination = destination, .immediate = immediate(value)};
}
inline KernelInstruction calculate_by(unsigned operation, std::uint8_t destination, std::uint8_t source) {
  return {.code = opcode(BPF_ALU | operation | BPF_X), .destination = destination, .source = source};
}
inline KernelInstruction add(std::uint8_t destination, std::uint32_t value) {
  return {
      .code = opcode(BPF_ALU64 | BPF_ADD | BPF_K), .destination = destination, .immediate = immediate(value)};
}
inline KernelInstruction add_register(std::uint8_t destination, std::uint8_t source) {
  return {.code = opcode(BPF_ALU64 | BPF_ADD | BPF_X), .destination = destination, .source = source};
}
inline KernelInstruction mask_address(std::uint8_t destination, std::uint32_t value) {
  return {
      .code = opcode(BPF_ALU64 | BPF_AND | BPF_K), .destination = destination, .immediate = immediate(value)};
}
inline KernelInstruction where(unsigned comparison, std::uint8_t left, std::uint32_t right) {
  return {.code = opcode(BPF_JMP32 | comparison | BPF_K), .destination = left, .immediate = immediate(right)};
}
inline KernelInstruction where_by(unsigned comparison, std::uint8_t left, std::uint8_t right) {
  return {.code = opcode(BPF_JMP32 | comparison | BPF_X), .destination = left, .source = right};
}
// On 64 bits: the verifier learns the bounds of an address.
inline KernelInstruction where_address(unsigned comparison, std::uint8_t left, std::uint32_t right) {
  return {.code = opcode(BPF_JMP | comparison | BPF_K), .destination = left, .immediate = immediate(right)};
}
inline KernelInstruction where_address_by(unsigned comparison, std::uint8_t left, std::uint8_t right) {
  return {.code = opcode(BPF_JMP | comparison | BPF_X), .destination = left, .source = right};
}
inline KernelInstruction to_host_order(std::uint8_t destination, std::int32_t bits) {
  return {.code = opcode(BPF_ALU | BPF_END | BPF_TO_BE), .destination = destination, .immediate = bits};
}

inline std::array<KernelInstruction, 2> map_address(std::uint8_t destination, int descriptor) {
  return {{{.code = opcode(BPF_LD | BPF_IMM | BPF_DW),
            .destination = destination,
            .source = BPF_PSEUDO_MAP_FD,
            .immediate = descriptor},
           {}}};
}
inline KernelInstruction call(bpf_func_id function) {
  return {.code = opcode(BPF_JMP | BPF_CALL), .immediate = function};
}

}  // namespace headgate::bpf
