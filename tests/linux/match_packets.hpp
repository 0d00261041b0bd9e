// Packets to be matched: ordinary ones, odd ones and super-packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "linux/match_input.h"

namespace headgate::test {

using Frame = std::vector<std::byte>;

// As a program on the hook describes a packet.
void describe(std::span<const std::byte> frame, match_input& input);

// TCP right behind IPv4 or IPv6, or UDP, whose lengths suit it.
struct TestSuperPacket {
  Frame frame;
  std::size_t segment_payload = 0;

  void describe(match_input& input) const;
  std::vector<Frame> segments() const;
};

class PacketMutator {
 public:
  explicit PacketMutator(std::uint32_t seed);

  Frame next();
  TestSuperPacket next_super_packet();

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }
  bool one_in(std::size_t chances) { return below(chances) == 0; }
  std::byte odd_byte();
  void change_byte(Frame& frame);
  void put_address(Frame& frame);
  void put_port(Frame& frame);

  std::mt19937_64 random_;
  std::vector<Frame> originals_;
};

}  // namespace headgate::test
