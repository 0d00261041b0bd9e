#include "linux/wire.hpp"

#include <linux/if_ether.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>
#include <string_view>

#include "linux/bpf_attachment.hpp"
#include "linux/bpf_support.hpp"

#include "wire.skel.h"

namespace headgate {

namespace {

// The filter's name is the record of what else must be undone with it: nothing else outlives the process.
constexpr std::string_view kNamePrefix = "headgate-wire to ";
constexpr std::string_view kPromiscuousSuffix = ", promiscuous";

constexpr std::uint16_t kLastPriority = 0xffff;

bool is_wire(const Filter& filter) {
  return filter.kind == "bpf" && filter.name.rfind(kNamePrefix, 0) == 0;
}

bool set_promiscuous_mode(const Filter& wire) {
  return wire.name.size() >= kPromiscuousSuffix.size() &&
         wire.name.compare(wire.name.size() - kPromiscuousSuffix.size(), std::string::npos,
                           kPromiscuousSuffix) == 0;
}

std::vector<Filter> filters_at(Netlink& netlink, int interface) {
  return netlink.filters(interface, clsact_parent(TrafficHook::ingress));
}

// Behind everything, as far as the filters that are there allow it; but in front of an older wire, so that the
// new one is in force before the old one goes.
void choose_last_place(Filter& filter, const std::vector<Filter>& others) {
  filter.priority = kLastPriority;
  filter.handle = 1;
  for (auto other = others.rbegin(); other != others.rend(); ++other) {
    if (other->priority != filter.priority) continue;
    if (is_wire(*other)) {
      filter.handle = std::max(filter.handle, other->handle + 1);
    } else {
      --filter.priority;
      filter.handle = 1;
    }
  }
}

// The program of wire.bpf.c, loaded.
class WireProgram {
 public:
  explicit WireProgram(int to) : skeleton_(open_skeleton()) {
    skeleton_->rodata->wire_device = static_cast<std::uint32_t>(to);
    if (const int result = wire_bpf::load(skeleton_.get()); result < 0) fail_to_load(-result);
  }
  int descriptor() const { return bpf_program__fd(skeleton_->progs.wire); }

 private:
  static wire_bpf* open_skeleton() {
    keep_bpf_complaints();
    wire_bpf* const skeleton = wire_bpf::open();
    if (skeleton == nullptr) fail_to_load(errno);
    return skeleton;
  }
  struct Destroy {
    void operator()(wire_bpf* skeleton) const { wire_bpf::destroy(skeleton); }
  };
  std::unique_ptr<wire_bpf, Destroy> skeleton_;
};

}  // namespace

// The filter holds the program.
Wire::Wire(Netlink& netlink, const Link& from, const Link& to)
    : netlink_(netlink), from_(from.index), to_(to.index) {
  const WireProgram program(to_);
  program_id_ = program_id(program.descriptor());
  const bool made_clsact = netlink_.ensure_clsact(from_);
  const std::vector<Filter> others = filters_at(netlink_, from_);
  std::vector<Filter> older;
  std::copy_if(others.begin(), others.end(), std::back_inserter(older), is_wire);
  kept_ = !older.empty();
  clsact_is_ours_ = made_clsact || has_filters_of_headgate_alone(netlink_, from_);
  const bool promiscuous_by_us =
      (from.flags & IFF_PROMISC) == 0 || std::any_of(older.begin(), older.end(), set_promiscuous_mode);
  filter_ = {.parent = clsact_parent(TrafficHook::ingress),
             .protocol = ETH_P_ALL,
             .kind = "bpf",
             .name = std::string(kNamePrefix) + to.name};
  if (promiscuous_by_us) filter_.name += kPromiscuousSuffix;
  choose_last_place(filter_, others);
  try {
    netlink_.add_bpf_filter(from_, filter_, program.descriptor());
  } catch (...) {
    if (made_clsact) netlink_.delete_clsact(from_);
    throw;
  }
  for (const Filter& one : older) netlink_.delete_filter(from_, one);
  if (promiscuous_by_us) netlink_.set_promiscuous(from_, true);
}

Wire::~Wire() {
  if (kept_) return;
  try {
    if (set_promiscuous_mode(filter_)) netlink_.set_promiscuous(from_, false);
    remove_filter(netlink_, from_, filter_, clsact_is_ours_);
  } catch (const std::exception&) {
    // The next start or clean-up finds it.
  }
}

bool Wire::in_place() const {
  const auto from = netlink_.find_link(from_);
  if (!from || (from->flags & IFF_PROMISC) == 0 || !netlink_.find_link(to_)) return false;
  const std::vector<Filter> present = filters_at(netlink_, from_);
  return std::any_of(present.begin(), present.end(), [this](const Filter& one) {
    return one.handle == filter_.handle && one.priority == filter_.priority && one.program == program_id_;
  });
}

std::string Wire::ahead(std::uint32_t divert) const {
  return first_of_others(netlink_, from_, TrafficHook::ingress, divert, program_id_);
}

std::vector<std::string> Wire::remove_from(Netlink& netlink, const Link& from) {
  std::vector<std::string> done;
  for (const Filter& filter : filters_at(netlink, from.index)) {
    if (!is_wire(filter)) continue;
    const bool promiscuous = set_promiscuous_mode(filter);
    if (promiscuous) netlink.set_promiscuous(from.index, false);
    // That the qdisc was ours too is not known; empty, it serves nobody.
    remove_filter(netlink, from.index, filter, true);
    std::string to = filter.name.substr(kNamePrefix.size());
    if (promiscuous) to.resize(to.size() - kPromiscuousSuffix.size());
    done.push_back("removed the wire from " + from.name + " to " + to +
                   (promiscuous ? " and promiscuous mode" : ""));
  }
  return done;
}

}  // namespace headgate
