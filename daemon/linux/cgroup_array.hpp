// The cgroups that classes name, in an array in the kernel (BPF_MAP_TYPE_CGROUP_ARRAY) that the programs of all shapes read.
//
// A cgroup has a place as long as anybody holds it. It is put there when it appears, another of the same path takes its place
// when it was made anew, and the place is empty while there is none: look() finds out.
//
// A place that nobody holds any more is given to another cgroup after all others that are free: what is in a ring buffer with
// its bit has long been read by then.
//
// Main thread; places are let go by any.
#pragma once

#include <sys/types.h>

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/cgroup_places.hpp"
#include "linux/file_descriptor.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

class CgroupArray {
 public:
  // `mount`: where cgroup v2 is mounted; empty: looked for when it is needed.
  explicit CgroupArray(std::string mount = {});

  int map() const { return map_.get(); }  // descriptor; -1: this kernel has no cgroups

  // A place for each, in their order and without repetitions; those that have one keep it. Throws std::runtime_error with a
  // sentence when there are more than kMaxCgroups, those counted that are about to go.
  CgroupPlaces hold(const std::vector<std::string>& paths);

  // About once a second.
  void look();
  bool is_mounted() const { return !mount_.empty(); }  // at the last look(), if anything was held then

 private:
  // What tells a cgroup from another of the same path.
  struct Identity {
    dev_t device = 0;
    ino_t number = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Place {
    std::weak_ptr<const CgroupPlace> held;
    std::string path;   // empty: free
    Identity identity;  // of what is in the map; zero: nothing
  };

  std::shared_ptr<const CgroupPlace> hold_one(const std::string& path);
  void free_what_nobody_holds();
  void look_at(unsigned number);
  void clear(unsigned number);

  const std::string given_mount_;
  std::string mount_;
  FileDescriptor map_;
  std::array<Place, kMaxCgroups> places_;
  std::deque<unsigned> free_;  // the longest first
};

// The bits of ArrivingPacket::cgroups that these have.
std::uint32_t bits_of(const CgroupPlaces& places);

}  // namespace headgate
