// What the BPF programs know of one shape, by a place of its own among those of the daemon: what they are to do with its
// packets, its dead-man switch, and what they count.
//
// Main thread, except reset() and what only reads the switch or counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/control_limit.hpp"
#include "headgate/clock.hpp"
#include "linux/divert_programs.hpp"
#include "linux/hook_matches.hpp"
#include "linux/time_namespace.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

// Interface indices.
struct DivertPlaceOptions {
  int device = 0;  // that is shaped
  Direction direction = Direction::egress;
  int divert_device = 0;
  int return_device = 0;
  bool return_to_ingress = false;  // false: to the egress of return_device

  // Packets with what user space cannot give back to them go on.
  bool minds_tunnel_metadata = false;
  bool keeps_tunnel_metadata = false;  // that can be given back: with ring buffers, by places in marks
  bool tunnel_has_key = false;         // in every packet: not so of GRE
  bool minds_decryption = false;

  // With ring buffers, one for each of `workers`, which copy_to() names before anything is diverted.
  bool copies = false;
  std::uint32_t workers = 1;
  bool ends_packets = false;  // the hook knows how to: clsact
  bool raw_ip = false;        // the interface has no Ethernet header; only with ring buffers
};

class DivertPlace {
 public:
  // `programs` must outlive it. Throws std::runtime_error when there is no place left.
  DivertPlace(DivertPrograms& programs, const DivertPlaceOptions& options);
  ~DivertPlace();  // no program may use it by then
  DivertPlace(const DivertPlace&) = delete;
  DivertPlace& operator=(const DivertPlace&) = delete;

  std::uint32_t number() const { return place_.number(); }
  // For a divert device that serves this shape alone: what comes back there is this shape's.
  void serve_alone(int device);

  // What `worker` reads: the ring buffer, by its number in the programs, and the number of its channel.
  void copy_to(std::uint32_t worker, std::uint32_t ring, std::uint32_t channel);

  void ask_cgroups(std::uint32_t places);  // a bit for each; from the next packet on

  // With ring buffers, what no class shapes goes on by the verdict of a program, as soon as the ring buffers have been found
  // empty. Not before take_all_out() and an RCU grace period, if other rules were in force. Throws a sentence when that is
  // not possible.
  void let_go_by(std::span<const HookClass> classes);
  bool lets_go() const { return matches_ != nullptr; }
  void take_all_out();    // from the next packet on
  void forget_matches();  // after a grace period
  // What has gone on so since this was asked last: of each class of the last let_go_by(), and behind them of none.
  std::vector<Count> take_let_go();

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

  // What the programs know of it at this moment.
  divert_shape state() const { return shape_; }
  DivertPrograms::ControlClocks control_clocks() const { return programs_.control_clocks(number()); }

  HookCounts counts() const;            // but for foreign packets, which the divert device counts
  std::uint64_t found_no_room() const;  // packets, in a ring buffer
  // Packets that went to the divert device to be copied there, and those of them that were. Only what was lost in between
  // makes them differ, if the first is asked for first.
  std::uint64_t to_be_cut() const;
  std::uint64_t cut() const;

 private:
  void note_opening(Duration unread);
  Duration since_kernel_time(std::uint64_t nanoseconds, Instant now) const;  // of bpf_ktime_get_ns()
  void free_let_go_counters();

  DivertPrograms& programs_;
  ShapePlace place_;
  divert_shape& shape_;
  const Duration clock_offset_ = monotonic_offset();
  std::shared_ptr<const HookMatches> matches_;  // null: all packets are taken out
  std::uint32_t rules_ = 0;                     // that packets go on by, counted
  std::vector<let_go_count> let_go_taken_;      // of each of its counters, when they were asked last
  std::atomic<std::uint64_t> passed_at_reset_{0};
  std::atomic<std::uint64_t> openings_{0};
  std::atomic<Duration::rep> open_time_{0};
};

}  // namespace headgate
