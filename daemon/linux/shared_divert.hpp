// What the diverts of a daemon have in common: the BPF programs, and the divert device of all whose packets are copied into
// ring buffers. Both are made when they are needed first; the device goes with the last that needs it.
//
// Main thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linux/cgroup_array.hpp"
#include "linux/divert_pair.hpp"
#include "linux/divert_programs.hpp"
#include "linux/hook_trial.hpp"
#include "linux/netlink.hpp"
#include "linux/network_maps.hpp"
#include "linux/worker_ring.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

class SharedDivert {
 public:
  // `workers`: how many will read ring buffers at the same time, at most. Throws std::runtime_error: a mark of 0.
  // `meanwhile` is called after each step that takes some time.
  SharedDivert(DivertMethod method, std::uint32_t mark, std::size_t workers,
               std::function<void()> meanwhile = {});
  ~SharedDivert();

  Netlink& netlink() { return netlink_; }
  std::uint32_t mark() const { return mark_; }
  DivertMethod wanted_method() const { return wanted_; }  // may be automatic
  // Loads them when it is asked first, and removes divert devices that dead daemons left. Throws a sentence: no permission.
  DivertPrograms& programs();
  DivertMethod method();  // tcx or clsact. Throws a sentence: no TCX in this kernel
  // What this kernel does not have, and what follows from it, a sentence each. Of TCX, as far as it has been asked for.
  std::vector<std::string> kernel_lacks() const;
  // What it has removed, one sentence each, told once.
  std::vector<std::string> take_swept() { return std::exchange(swept_, {}); }

  // What the programs on the hooks of all shapes may ask for.
  CgroupArray& cgroups() { return cgroups_; }
  SharedNetworkMaps& networks() { return networks_; }

  std::unique_ptr<WorkerRing> make_ring() { return std::make_unique<WorkerRing>(programs()); }

  // Loads the programs once more when it is asked first. Throws std::system_error.
  HookTrial& hook_trial();
  void forget_hook_trial() { hook_trial_.reset(); }  // and what it knows of classes

  // The device of all that copy. When the one that others have is not as it was made any more, another.
  std::shared_ptr<DivertPair> pair();
  void forget_look();  // at it, for something may have changed

  // An RCU grace period: the programs that ran when something was changed have ended. One period serves all that was
  // changed before it.
  std::uint64_t note_change() { return ++changes_; }
  void wait_for_programs(std::uint64_t change);

 private:
  DivertProgramsOptions program_options() const {
    return {.own_mark = mark_, .workers = workers_, .cgroups = cgroups_.map()};
  }

  Netlink netlink_;
  const DivertMethod wanted_;
  const std::uint32_t mark_;
  const std::size_t workers_;
  CgroupArray cgroups_;
  SharedNetworkMaps networks_;
  std::optional<DivertPrograms> programs_;
  std::optional<HookTrial> hook_trial_;
  std::optional<DivertMethod> method_;
  std::weak_ptr<DivertPair> pair_;
  std::vector<std::string> swept_;
  std::uint64_t changes_ = 0;
  std::uint64_t waited_for_ = 0;
};

}  // namespace headgate
