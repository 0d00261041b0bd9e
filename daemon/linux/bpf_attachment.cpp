#include "linux/bpf_attachment.hpp"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/pkt_sched.h>

#include <algorithm>
#include <climits>
#include <exception>
#include <string_view>
#include <utility>

#include "linux/descriptor_limit.hpp"
#include "linux/system_call.hpp"

namespace headgate {

namespace {

// Of enum bpf_attach_type and of the link's flags in Linux 6.6. libbpf 1.1 knows neither, but passes them on.
constexpr auto kTcxIngress = static_cast<bpf_attach_type>(46);
constexpr auto kTcxEgress = static_cast<bpf_attach_type>(47);
constexpr std::uint32_t kBefore = 1U << 3;

constexpr std::uint32_t kFirstHandle = 1;
constexpr std::string_view kNamePrefix = "headgate-";

// In front of everything, as far as the filters that are there allow it. Those of one priority must be of one
// kind and protocol; among bpf filters of one priority the newest runs first.
void choose_place(Filter& filter, const std::vector<Filter>& others) {
  filter.priority = 1;
  filter.handle = kFirstHandle;
  for (const Filter& other : others) {
    if (other.priority != filter.priority) continue;
    if (other.kind == filter.kind && other.protocol == filter.protocol) {
      filter.handle = std::max(filter.handle, other.handle + 1);
    } else {
      ++filter.priority;
      filter.handle = kFirstHandle;
    }
  }
}

bool has_place_of(const Filter& one, const Filter& other) {
  return one.priority == other.priority && one.handle == other.handle && one.kind == other.kind;
}

std::string other_program(std::uint32_t id) {
  return "another program (" + program_text(id) + ")";
}

std::string other_filter(const Filter& filter) {
  return "another filter (" + (filter.name.empty() ? "" : filter.name + ", ") + filter.kind + ", priority " +
         std::to_string(filter.priority) + ")";
}

// The kernel releases what a killed process held from the highest number on, and a capture ring takes it tens of
// milliseconds, while what is diverted is lost. So links go above everything else: the host is open first.
FileDescriptor released_first(FileDescriptor link) {
  constexpr std::size_t kShareOfOthers = 2;  // a half
  constexpr std::size_t kMostOthers = 16'384;
  const std::size_t others = std::min(descriptor_limit() / kShareOfOthers, kMostOthers);
  const int above = fcntl(link.get(), F_DUPFD_CLOEXEC, static_cast<int>(others));
  return above < 0 ? std::move(link) : FileDescriptor(above);
}

}  // namespace

std::uint32_t clsact_parent(TrafficHook hook) {
  return TC_H_MAKE(TC_H_CLSACT, hook == TrafficHook::ingress ? TC_H_MIN_INGRESS : TC_H_MIN_EGRESS);
}

bool BpfAttachment::kernel_has_tcx(int program) {
  // A kernel that knows TCX looks for the interface and does not find it; others find the attach type
  // invalid.
  const int link = bpf_link_create(program, INT_MAX, kTcxEgress, nullptr);
  return link == -ENODEV;
}

BpfAttachment::BpfAttachment(Netlink& netlink, DivertMethod method, int interface_index, TrafficHook hook,
                             std::string name, int program)
    : netlink_(netlink), interface_index_(interface_index), hook_(hook), program_id_(program_id(program)) {
  if (method == DivertMethod::clsact) {
    filter_ = {.parent = clsact_parent(hook), .protocol = ETH_P_ALL, .kind = "bpf", .name = std::move(name)};
    attach_filter(program);
    return;
  }
  LIBBPF_OPTS(bpf_link_create_opts, options, .flags = kBefore);
  tcx_link_ = released_first(FileDescriptor(
      check_system_call("attach " + name + " by TCX",
                        bpf_link_create(program, interface_index,
                                        hook == TrafficHook::ingress ? kTcxIngress : kTcxEgress, &options))));
}

void BpfAttachment::attach_filter(int program) {
  const bool made_clsact = netlink_.ensure_clsact(interface_index_);
  clsact_is_ours_ = made_clsact;
  try {
    choose_place(filter_, netlink_.filters(interface_index_, filter_.parent));
    netlink_.add_bpf_filter(interface_index_, filter_, program);
  } catch (...) {
    if (made_clsact) netlink_.delete_clsact(interface_index_);
    throw;
  }
}

BpfAttachment::~BpfAttachment() {
  if (filter_.kind.empty()) return;
  try {
    if (!was_replaced()) remove_filter(netlink_, interface_index_, filter_, clsact_is_ours_);
  } catch (const std::exception&) {
    // The next start or clean-up finds it.
  }
}

bool BpfAttachment::is_ours(const Filter& filter) const {
  return has_place_of(filter, filter_) && filter.program == program_id_;
}

// The filter that stands in our place is somebody else's to remove.
bool BpfAttachment::was_replaced() const {
  const std::vector<Filter> present = netlink_.filters(interface_index_, filter_.parent);
  return std::any_of(present.begin(), present.end(),
                     [this](const Filter& one) { return has_place_of(one, filter_) && !is_ours(one); });
}

BpfAttachment::Place BpfAttachment::place() const {
  return filter_.kind.empty() ? place_by_tcx() : place_by_clsact();
}

BpfAttachment::Place BpfAttachment::place_by_tcx() const {
  const auto programs = tcx_programs(interface_index_, hook_);
  if (!programs) return {};
  const auto ours = std::find(programs->begin(), programs->end(), program_id_);
  if (ours == programs->end()) return {.is_there = false, .ahead = {}};
  return {.is_there = true, .ahead = ours == programs->begin() ? "" : other_program(programs->front())};
}

// Where the kernel has TCX, its programs run before all filters.
BpfAttachment::Place BpfAttachment::place_by_clsact() const {
  Place place{.is_there = false, .ahead = {}};
  if (const auto programs = tcx_programs(interface_index_, hook_); programs && !programs->empty())
    place.ahead = other_program(programs->front());
  for (const Filter& filter : netlink_.filters(interface_index_, filter_.parent)) {
    if (is_ours(filter)) {
      place.is_there = true;
      break;
    }
    if (place.ahead.empty() && filter.chain == 0) place.ahead = other_filter(filter);
  }
  return place;
}

std::string first_of_others(Netlink& netlink, int interface_index, TrafficHook hook, std::uint32_t ours,
                            std::uint32_t end) {
  if (const auto programs = tcx_programs(interface_index, hook)) {
    for (const std::uint32_t program : *programs)
      if (program != ours) return other_program(program);
  }
  for (const Filter& filter : netlink.filters(interface_index, clsact_parent(hook))) {
    if (filter.program == end) break;
    if (filter.program != ours && filter.chain == 0) return other_filter(filter);
  }
  return {};
}

bool has_filters_of_headgate_alone(Netlink& netlink, int interface_index) {
  bool any = false;
  for (const TrafficHook hook : {TrafficHook::ingress, TrafficHook::egress}) {
    for (const Filter& filter : netlink.filters(interface_index, clsact_parent(hook))) {
      if (filter.kind != "bpf" || filter.name.rfind(kNamePrefix, 0) != 0) return false;
      any = true;
    }
  }
  return any;
}

ClsactHold::ClsactHold(Netlink& netlink, int interface_index)
    : netlink_(netlink), interface_index_(interface_index) {
  const bool made = netlink_.ensure_clsact(interface_index_);
  ours_ = made || has_filters_of_headgate_alone(netlink_, interface_index_);
}

ClsactHold::~ClsactHold() {
  if (!ours_) return;
  try {
    for (const TrafficHook hook : {TrafficHook::ingress, TrafficHook::egress})
      if (!netlink_.filters(interface_index_, clsact_parent(hook)).empty()) return;
    netlink_.delete_clsact(interface_index_);
  } catch (const std::exception&) {
    // The next start or clean-up finds it.
  }
}

void remove_filter(Netlink& netlink, int interface_index, const Filter& filter, bool with_clsact) {
  netlink.delete_filter(interface_index, filter);
  if (with_clsact && netlink.filters(interface_index, clsact_parent(TrafficHook::ingress)).empty() &&
      netlink.filters(interface_index, clsact_parent(TrafficHook::egress)).empty())
    netlink.delete_clsact(interface_index);
}

}  // namespace headgate
