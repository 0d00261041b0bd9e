// What the program on an interface's hook would do with a packet: it is run for one that nobody sends.
//
// The programs are loaded a second time, with maps of their own, and the kernel runs them in its test mode
// (BPF_PROG_TEST_RUN). They are told what those on the hook know at this moment: the state of the shape with its dead-man
// switch, the program that finds the class, how much control traffic has gone on. So it is their verdict, no counter of a
// shape moves, and no worker sees the packet.
//
// Limits: the packet has no socket, so it is of no cgroup, and no tunnel metadata. It is no super-packet. The kernel tests
// no packets that do not fit in a page with what it notes beside them. Kernels before Linux 5.9 cannot be told the interface.
//
// Main thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "linux/bpf_ring.hpp"
#include "linux/divert_place.hpp"
#include "linux/divert_programs.hpp"
#include "linux/hook_matches.hpp"
#include "pipeline/captured_copy.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/explanation.hpp"

namespace headgate {

struct HookTrialResult {
  HookVerdict verdict = HookVerdict::not_asked;
  std::string why_not_asked;           // a sentence
  std::optional<CapturedCopy> copied;  // what a worker would read
};

class HookTrial {
 public:
  // `options` as of the programs on the hooks. Throws std::system_error, as DivertPrograms.
  explicit HookTrial(DivertProgramsOptions options);

  // Of a shape's hook. `classes`: by which packets go on there, with their networks.
  struct Hook {
    int device = 0;  // ifindex
    Direction direction = Direction::egress;
    const DivertPlace& place;
    std::span<const HookClass> classes;
  };
  // A frame with an Ethernet header, also where the link has none.
  HookTrialResult run(const Hook& hook, std::span<const std::byte> frame, std::uint32_t mark);

 private:
  void prepare(const Hook& hook, ShapePlace& place);
  HookVerdict verdict_of(const divert_shape& after, std::int32_t returned, bool copied, bool unmarked) const;
  std::uint64_t let_go_so_far(const Hook& hook) const;
  std::optional<CapturedCopy> take_copy();

  DivertPrograms programs_;
  BpfRing ring_;
  std::unique_ptr<BpfRing::Channel> channel_;
  const std::uint32_t ring_number_;
  std::shared_ptr<const HookMatches> matches_;  // of the last run: most often the next has the same
};

}  // namespace headgate
