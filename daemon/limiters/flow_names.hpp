// Which number a scheduler's flow has by its class and name: a hash table of fixed size, all of its memory taken by the
// constructor. Each call takes constant time, averaged over the names.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

#include "headgate/scheduler.hpp"

namespace headgate {

class FlowNames {
 public:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  FlowNames(std::uint32_t flows, std::uint64_t seed)
      : seed_(seed), entries_(flows), heads_(std::bit_ceil(std::max(2U, flows)), kNone) {
    for (std::uint32_t flow = flows; flow > 0; --flow) give_back(flow - 1);
  }

  bool full() const { return free_ == kNone; }
  std::uint32_t flows() const { return flows_; }
  std::uint32_t class_of(std::uint32_t flow) const { return entries_[flow].name.of_class; }

  std::uint32_t find(const Scheduler::Flow& name) const {
    std::uint32_t flow = heads_[place_of(name)];
    while (flow != kNone && entries_[flow].name != name) flow = entries_[flow].next;
    return flow;
  }

  // There is room for it, and it is not there yet.
  std::uint32_t add(const Scheduler::Flow& name) {
    assert(!full() && find(name) == kNone);
    const std::uint32_t flow = free_;
    free_ = entries_[flow].next;
    std::uint32_t& head = heads_[place_of(name)];
    entries_[flow] = {name, head};
    head = flow;
    ++flows_;
    return flow;
  }

  void remove(std::uint32_t flow) {
    std::uint32_t* link = &heads_[place_of(entries_[flow].name)];
    while (*link != flow) link = &entries_[*link].next;
    *link = entries_[flow].next;
    give_back(flow);
    --flows_;
  }

 private:
  struct Entry {
    Scheduler::Flow name;
    std::uint32_t next = kNone;  // of its place, or free
  };

  void give_back(std::uint32_t flow) {
    entries_[flow].next = free_;
    free_ = flow;
  }

  // The finalizer of SplitMix64 (Steele, Lea, Flood 2014), once before the seed is mixed in and once after.
  static std::uint64_t mixed(std::uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58'476d'1ce4'e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d0'49bb'1331'11eb;
    return bits ^ (bits >> 31);
  }
  std::size_t place_of(const Scheduler::Flow& name) const {
    return mixed(mixed(name.name + seed_) ^ name.of_class ^ std::rotl(seed_, 32)) & (heads_.size() - 1);
  }

  std::uint64_t seed_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> heads_;  // of chains, by hash
  std::uint32_t free_ = kNone;
  std::uint32_t flows_ = 0;
};

}  // namespace headgate
