#include "linux/cgroup_array.hpp"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "linux/cgroup_mount.hpp"
#include "linux/divert_memory.h"
#include "linux/timer_waiter.hpp"

namespace headgate {

static_assert(kMaxCgroups == DIVERT_CGROUPS_MAX);

namespace {

bool is_cgroup_mount(const std::string& path) {
  struct statfs system {};
  return !path.empty() && statfs(path.c_str(), &system) == 0 && system.f_type == CGROUP2_SUPER_MAGIC;
}

}  // namespace

CgroupArray::CgroupArray(std::string mount)
    : given_mount_(std::move(mount)),
      mount_(given_mount_),
      map_(bpf_map_create(BPF_MAP_TYPE_CGROUP_ARRAY, "headgate_cgroup", sizeof(std::uint32_t),
                          sizeof(std::uint32_t), DIVERT_CGROUPS_MAX, nullptr)) {
  for (unsigned number = 0; number < places_.size(); ++number) free_.push_back(number);
}

CgroupPlaces CgroupArray::hold(const std::vector<std::string>& paths) {
  free_what_nobody_holds();
  CgroupPlaces places;
  for (const std::string& path : paths) {
    const auto is_it = [&path](const auto& place) { return place->path == path; };
    if (std::none_of(places.begin(), places.end(), is_it)) places.push_back(hold_one(path));
  }
  look();
  return places;
}

std::shared_ptr<const CgroupPlace> CgroupArray::hold_one(const std::string& path) {
  for (const Place& place : places_)
    if (place.path == path)
      if (auto held = place.held.lock()) return held;
  if (free_.empty()) {
    throw std::runtime_error("there is no place for the cgroup " + path + ": at most " +
                             std::to_string(kMaxCgroups) +
                             " different ones are in force at a time, at a reload those before it included");
  }
  const unsigned number = free_.front();
  auto held = std::make_shared<const CgroupPlace>(
      CgroupPlace{.path = path, .number = number, .since = MonotonicClock().now()});
  places_[number] = {.held = held, .path = path, .identity = {}};
  free_.pop_front();
  return held;
}

void CgroupArray::look() {
  free_what_nobody_holds();
  if (free_.size() == places_.size()) return;
  if (given_mount_.empty() && !is_cgroup_mount(mount_)) mount_ = find_cgroup_mount();
  for (unsigned number = 0; number < places_.size(); ++number)
    if (!places_[number].path.empty()) look_at(number);
}

void CgroupArray::free_what_nobody_holds() {
  for (unsigned number = 0; number < places_.size(); ++number) {
    if (places_[number].path.empty() || !places_[number].held.expired()) continue;
    clear(number);
    places_[number] = {};
    free_.push_back(number);
  }
}

// The map holds a cgroup that has been removed, and it costs memory, until another takes its place.
void CgroupArray::clear(unsigned number) {
  Place& place = places_[number];
  if (place.identity == Identity{}) return;
  bpf_map_delete_elem(map_.get(), &number);
  place.identity = {};
}

void CgroupArray::look_at(unsigned number) {
  Place& place = places_[number];
  const std::string path = mount_ + "/" + place.path;
  struct stat there {};
  if (mount_.empty() || stat(path.c_str(), &there) != 0) return clear(number);
  if (Identity{there.st_dev, there.st_ino} == place.identity) return;
  const FileDescriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || fstat(directory.get(), &there) != 0) return clear(number);
  const auto descriptor = static_cast<std::uint32_t>(directory.get());
  if (bpf_map_update_elem(map_.get(), &number, &descriptor, BPF_ANY) != 0) return clear(number);
  place.identity = {there.st_dev, there.st_ino};
}

std::uint32_t bits_of(const CgroupPlaces& places) {
  std::uint32_t bits = 0;
  for (const auto& place : places) bits |= std::uint32_t{1} << place->number;
  return bits;
}

}  // namespace headgate
