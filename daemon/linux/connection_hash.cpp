#include "linux/connection_hash.hpp"

#include <linux/if_ether.h>
#include <linux/in.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace headgate {

namespace {

constexpr std::uint32_t kNetwork = 0, kHash = 1, kScratch = 2;  // cells of the program's memory
constexpr std::uint32_t kTypeAt = 12, kTagBytes = 4;
constexpr std::uint32_t kMultiplier = 0x9e37'79b1;  // odd; the golden ratio's fraction

constexpr std::array kTags{std::uint32_t{ETH_P_8021Q}, std::uint32_t{ETH_P_8021AD}};

// TCP, UDP, SCTP, DCCP and UDP-Lite begin with their ports.
constexpr std::array kWithPorts{std::uint32_t{IPPROTO_TCP}, std::uint32_t{IPPROTO_UDP},
                                std::uint32_t{IPPROTO_SCTP}, std::uint32_t{IPPROTO_DCCP},
                                std::uint32_t{IPPROTO_UDPLITE}};

// Writes instructions; a jump to a label that comes later is completed when it comes.
class Assembler {
 public:
  enum class Label : std::uint8_t { first_tag, second_tag, type, ipv4, ipv6, ports, end, count };

  void put(std::uint32_t code, std::uint32_t value = 0) {
    program_.push_back({static_cast<std::uint16_t>(code), 0, 0, value});
  }
  void load(std::uint32_t size, std::uint32_t from_network) { put(BPF_LD | size | BPF_IND, from_network); }
  void go(Label to) {
    put(BPF_JMP | BPF_JA);
    open_[static_cast<std::size_t>(to)].push_back(program_.size() - 1);
  }
  // Where the accumulator is one of these.
  void go_if(std::span<const std::uint32_t> values, Label to) {
    for (const std::uint32_t value : values) go_where(BPF_JEQ, value, to);
  }
  void go_where(std::uint32_t comparison, std::uint32_t value, Label to) {
    program_.push_back({static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K), 0, 1, value});
    go(to);
  }
  void here(Label label) {
    for (const std::size_t jump : open_[static_cast<std::size_t>(label)])
      program_[jump].k = static_cast<std::uint32_t>(program_.size() - jump - 1);
  }
  // The accumulator goes into the hash.
  void mix() {
    put(BPF_LDX | BPF_MEM, kHash);
    put(BPF_ALU | BPF_XOR | BPF_X);
    put(BPF_ALU | BPF_MUL | BPF_K, kMultiplier);
    put(BPF_ST, kHash);
    put(BPF_LDX | BPF_MEM, kNetwork);
  }
  std::vector<sock_filter> program() const { return program_; }

 private:
  std::vector<sock_filter> program_;
  std::array<std::vector<std::size_t>, static_cast<std::size_t>(Label::count)> open_;
};

}  // namespace

std::vector<sock_filter> connection_hash_program() {
  using Label = Assembler::Label;
  Assembler code;
  const auto set_network = [&code](std::uint32_t at) { code.put(BPF_LDX | BPF_IMM, at); };
  code.put(BPF_LD | BPF_IMM, 0);
  code.put(BPF_ST, kHash);
  code.put(BPF_LD | BPF_H | BPF_ABS, kTypeAt);
  code.go_if(kTags, Label::first_tag);
  set_network(ETH_HLEN);
  code.go(Label::type);

  code.here(Label::first_tag);
  code.put(BPF_LD | BPF_H | BPF_ABS, kTypeAt + kTagBytes);
  code.go_if(kTags, Label::second_tag);
  set_network(ETH_HLEN + kTagBytes);
  code.go(Label::type);

  code.here(Label::second_tag);
  code.put(BPF_LD | BPF_H | BPF_ABS, kTypeAt + 2 * kTagBytes);
  set_network(ETH_HLEN + 2 * kTagBytes);

  code.here(Label::type);
  code.put(BPF_STX, kNetwork);
  code.go_where(BPF_JEQ, ETH_P_IP, Label::ipv4);
  code.go_where(BPF_JEQ, ETH_P_IPV6, Label::ipv6);
  code.put(BPF_RET | BPF_K, 0);

  code.here(Label::ipv4);
  for (const std::uint32_t address : {12U, 16U}) {
    code.load(BPF_W, address);
    code.mix();
  }
  code.load(BPF_B, 9);
  code.put(BPF_ST, kScratch);
  code.mix();
  code.load(BPF_H, 6);
  code.go_where(BPF_JSET, 0x3fff, Label::end);  // a fragment
  code.load(BPF_B, 0);
  code.put(BPF_ALU | BPF_AND | BPF_K, 0xf);
  code.put(BPF_ALU | BPF_LSH | BPF_K, 2);
  code.put(BPF_ALU | BPF_ADD | BPF_X);
  code.put(BPF_MISC | BPF_TAX);
  code.put(BPF_LD | BPF_MEM, kScratch);
  code.go_if(kWithPorts, Label::ports);
  code.go(Label::end);

  code.here(Label::ipv6);
  for (std::uint32_t address = 8; address < 40; address += 4) {
    code.load(BPF_W, address);
    code.mix();
  }
  code.put(BPF_MISC | BPF_TXA);
  code.put(BPF_ALU | BPF_ADD | BPF_K, 40);
  code.put(BPF_ST, kScratch);
  code.load(BPF_B, 6);
  code.put(BPF_LDX | BPF_MEM, kScratch);
  code.go_if(kWithPorts, Label::ports);
  code.go(Label::end);

  code.here(Label::ports);
  code.load(BPF_W, 0);
  code.mix();

  code.here(Label::end);
  code.put(BPF_LD | BPF_MEM, kHash);
  code.put(BPF_ALU | BPF_RSH | BPF_K, 16);  // its high bits depend on all that went in
  code.put(BPF_RET | BPF_A);
  return code.program();
}

}  // namespace headgate
