// The classes of a shape as a program in the kernel, which finds on the interface's hook what no class shapes, so that it goes
// on from there. What it cannot tell is taken out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/classic_match.hpp"
#include "linux/file_descriptor.hpp"
#include "linux/network_maps.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

struct HookClass {
  std::shared_ptr<const ClassicMatch> match;  // null: everything
  Selectors selectors;
  std::uint32_t cgroups = 0;  // the bits of those that the selectors name
  // Of the selectors' networks: load_networks().
  std::shared_ptr<const NetworkMaps> source;
  std::shared_ptr<const NetworkMaps> destination;
  bool control = false;   // takes control traffic, too
  bool unshaped = false;  // bypass
  bool operator==(const HookClass&) const = default;
};

// Those that the classes do not have yet. Throws std::system_error.
void load_networks(std::span<HookClass> classes, SharedNetworkMaps& maps);

// The bits of the classes whose packets go on, 64 in each.
using UnshapedClasses = std::vector<std::uint64_t>;

class HookMatches {
 public:
  // Whether any packet can go on by the verdict on its class.
  static bool may_let_go(std::span<const HookClass> classes);

  // Loads the program of classes that have their networks; `packets` and `programs` are maps of divert.bpf.c. Takes some milliseconds, with many classes more.
  // Throws a sentence that tells why all packets are taken out: the classes are too many for a program, or the kernel refuses
  // it.
  HookMatches(std::span<const HookClass> classes, int packets, int programs);

  int program() const { return program_.get(); }
  const UnshapedClasses& unshaped() const { return unshaped_; }

 private:
  UnshapedClasses unshaped_;
  FileDescriptor program_;
};

}  // namespace headgate
