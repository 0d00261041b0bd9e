// The BPF programs of divert.bpf.c, loaded for one shape, and the memory shared with them. While no program
// is attached anywhere they do nothing.
#pragma once

#include <cstdint>
#include <memory>

#include "headgate/clock.hpp"

struct divert_bpf;

namespace headgate {

class DivertProgram {
 public:
  // Loads them. Throws std::system_error with what the kernel or libbpf had to say.
  DivertProgram(std::uint32_t own_mark, int divert_device_index);
  ~DivertProgram();
  DivertProgram(const DivertProgram&) = delete;
  DivertProgram& operator=(const DivertProgram&) = delete;

  int divert() const;         // program descriptor: for the egress hook of the interface
  int drop_captured() const;  // program descriptor: for the ingress hook of the capture device

  // False makes the divert program let every packet go on, from the next one on. Initially false.
  void set_diverting(bool on);
  void set_divert_control(bool on);

  // The dead-man switch. Any thread.
  void reset();
  Duration unread_for(Instant now) const;  // zero: everything diverted has been read
  std::uint64_t passed_unshaped() const;   // packets
  std::uint64_t diverted() const;          // packets, a super-packet counting once

 private:
  divert_bpf* skeleton_;
};

}  // namespace headgate
