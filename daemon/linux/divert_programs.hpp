// The BPF programs of divert.bpf.c, loaded once for all shapes of a daemon, and what they share with it: a place for each
// shape, ring buffers of workers, and what packets get back that are sent. While no program is
// attached anywhere they do nothing.
//
// Main thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "linux/divert_memory.h"
#include "linux/hook_matches.hpp"
#include "vocabulary/config.hpp"

struct divert_bpf;

namespace headgate {

struct DivertProgramsOptions {
  std::uint32_t own_mark = 0;
  std::size_t workers = 1;  // at most so many will read ring buffers; those beyond cannot give back marks
  int cgroups = -1;         // map of CgroupArray; -1: this kernel has no cgroups
  std::uint32_t shapes = DIVERT_SHAPES_MAX;  // places, that of none included
  std::uint32_t let_go = DIVERT_LET_GO_MAX;  // counters of what is let go
};

class DivertPrograms {
 public:
  // Loads them. Throws std::system_error with what the kernel or libbpf had to say.
  explicit DivertPrograms(const DivertProgramsOptions& options);
  ~DivertPrograms();
  DivertPrograms(const DivertPrograms&) = delete;
  DivertPrograms& operator=(const DivertPrograms&) = delete;

  // Program descriptors, and the hooks they are for.
  int divert(Direction direction) const;  // of the interface
  int refuse_foreign() const;             // egress of the divert device and of the peer
  int consume_copied() const;             // with ring buffers: egress of the divert device, by clsact
  int copy_cut() const;                   // likewise: a packet socket on the divert device
  int drop_captured() const;              // ingress of the peer, by TCX
  int consume_captured() const;           // the same by clsact
  int return_shaped() const;              // ingress of the divert device

  // A worker's ring buffer, for the shapes that it serves: returns its number.
  std::uint32_t add_ring(int ring_map);
  void remove_ring(std::uint32_t ring);
  // The places of `restored` that the worker with this ring buffer may fill: from the first of these on. Empty: the marks
  // have no room for places, or there are too many workers.
  std::span<divert_restored> restored() const;
  struct Block {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  Block restored_block(std::uint32_t ring) const;

  // For packets that no class shapes. Shapes of the same classes get the same. Throws: HookMatches.
  std::shared_ptr<const HookMatches> load_matches(std::span<const HookClass> classes);
  void set_find_class(std::uint32_t place, int program);
  // Counters, in a row, of what was let go. None: there are not so many left.
  std::optional<std::uint32_t> take_let_go_counters(std::uint32_t count);
  void free_let_go_counters(std::uint32_t first, std::uint32_t count);
  std::vector<let_go_count> read_let_go(std::uint32_t first, std::uint32_t count) const;  // of all processors

  // What control traffic a shape has let go on, as the map has it.
  using ControlClocks = std::array<std::uint64_t, 3>;
  ControlClocks control_clocks(std::uint32_t place) const;
  void set_control_clocks(std::uint32_t place, const ControlClocks& clocks);

 private:
  friend class ShapePlace;

  struct Loaded {
    std::vector<HookClass> classes;
    std::weak_ptr<const HookMatches> matches;
  };

  std::uint32_t take_place();
  void free_place(std::uint32_t place);
  void set_hook(const divert_hook& hook, std::uint32_t place);
  void remove_hook(const divert_hook& hook);

  const std::uint32_t shapes_max_;
  const bool has_room_in_marks_;
  const std::uint32_t block_;  // places of `restored` for each worker
  divert_bpf* skeleton_;
  divert_shape* shapes_ = nullptr;
  std::vector<bool> places_taken_ = std::vector<bool>(shapes_max_);
  std::uint32_t last_place_ = 0;
  std::vector<bool> rings_taken_ = std::vector<bool>(DIVERT_RINGS_MAX);
  std::vector<bool> let_go_taken_;
  std::vector<Loaded> loaded_;
};

// A place among the shapes, zeroed, and the hooks that find it, for as long as this lives. A place that was freed is given again
// after all others.
class ShapePlace {
 public:
  // `programs` must outlive it. Throws std::runtime_error when there is no place left.
  explicit ShapePlace(DivertPrograms& programs);
  ~ShapePlace();  // no program may use it by then
  ShapePlace(const ShapePlace&) = delete;
  ShapePlace& operator=(const ShapePlace&) = delete;

  std::uint32_t number() const { return number_; }
  divert_shape& shape() const;
  void find_by(int device, std::uint32_t kind);  // divert_hook. Throws std::system_error

 private:
  DivertPrograms& programs_;
  const std::uint32_t number_;
  std::vector<divert_hook> hooks_;
};

}  // namespace headgate
