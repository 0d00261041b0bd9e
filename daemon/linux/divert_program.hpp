// The BPF programs of divert.bpf.c, loaded for one shape, and the memory shared with them. While no program
// is attached anywhere they do nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/control_limit.hpp"
#include "headgate/clock.hpp"
#include "headgate/statistics.hpp"
#include "linux/time_namespace.hpp"

struct divert_bpf;

namespace headgate {

// Interface indices.
struct DivertProgramOptions {
  std::uint32_t own_mark = 0;
  int divert_device = 0;
  int return_device = 0;
  bool return_to_ingress = false;  // false: to the egress of return_device
  int wire_device = 0;             // 0: no wire

  // Packets with what user space cannot give back to them go on.
  bool minds_tunnel_metadata = false;
  bool minds_decryption = false;
};

class DivertProgram {
 public:
  // Loads them. Throws std::system_error with what the kernel or libbpf had to say.
  explicit DivertProgram(const DivertProgramOptions& options);
  ~DivertProgram();
  DivertProgram(const DivertProgram&) = delete;
  DivertProgram& operator=(const DivertProgram&) = delete;

  // Program descriptors, and the hooks they are for.
  int divert() const;            // egress or ingress of the interface
  int refuse_foreign() const;    // egress of the divert device and of the peer
  int drop_captured() const;     // ingress of the peer, by TCX
  int consume_captured() const;  // the same by clsact
  int return_shaped() const;     // ingress of the divert device
  int wire() const;              // ingress of the interface

  // False makes the divert program let every packet go on, from the next one on. Initially false.
  void set_diverting(bool on);
  void set_divert_control(bool on);
  // Of control traffic that is not diverted. From the next packet on; what has passed already stays charged.
  void set_control_limit(const ControlLimit& limit);

  // The dead-man switch. reset(): one thread at a time, the rest any thread.
  void reset(Instant now);
  void arm();                              // as after a reset, without judging the time before
  Duration unread_for(Instant now) const;  // zero: everything diverted has been read
  bool has_let_pass() const;               // packets have passed unshaped since the last opening ended
  std::uint64_t passed_unshaped() const;   // packets
  std::uint64_t openings() const;          // how often packets passed unshaped until a reset()
  Duration open_time() const;              // and for how long in all

  HookCounts counts() const;

 private:
  void note_opening(Duration unread);
  Duration since_kernel_time(std::uint64_t nanoseconds, Instant now) const;  // of bpf_ktime_get_ns()

  const Duration clock_offset_ = monotonic_offset();
  std::atomic<std::uint64_t> passed_at_reset_{0};
  std::atomic<std::uint64_t> openings_{0};
  std::atomic<Duration::rep> open_time_{0};
  divert_bpf* skeleton_;
};

}  // namespace headgate
