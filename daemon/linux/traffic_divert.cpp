#include "linux/traffic_divert.hpp"

#include <net/if.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "linux/bpf_attachment.hpp"
#include "linux/capabilities.hpp"
#include "linux/divert_device.hpp"
#include "linux/divert_pair.hpp"
#include "linux/divert_place.hpp"
#include "linux/leftovers.hpp"
#include "linux/link_kind.hpp"
#include "linux/netlink.hpp"
#include "linux/shape_lock.hpp"
#include "linux/wire.hpp"

namespace headgate {

namespace {

constexpr unsigned kVlanTagBytes = 4;
constexpr unsigned kLargestMtu = 65'535;  // of a veth device

// Only what is copied into ring buffers needs no Ethernet header.
bool can_be_shaped(const Link& link, const DivertOptions& options) {
  const auto header = link_header_of(link);
  if (!header || (link.flags & IFF_LOOPBACK) != 0 || DivertDevice::is_one(link)) return false;
  return header == LinkHeader::ethernet ||
         (options.copies && why_not_shapable(link, options.direction).empty());
}

std::string list_of_candidates(Netlink& netlink, const DivertOptions& options) {
  std::string names;
  for (const Link& link : netlink.links())
    if (can_be_shaped(link, options)) names += (names.empty() ? "" : ", ") + link.name;
  if (options.copies)
    return names.empty() ? "there is none here that can be shaped" : "the interfaces here are " + names;
  return names.empty() ? "there is no Ethernet interface here" : "the Ethernet interfaces here are " + names;
}

// Why it cannot be shaped, after its name; empty: it can.
std::string refusal_of(const Link& link, const DivertOptions& options) {
  const auto header = link_header_of(link);
  if ((link.flags & IFF_LOOPBACK) != 0) return "is the loopback interface";
  if (DivertDevice::is_one(link)) return "is a divert device of headgate itself (" + link.alias + ")";
  if (!header) return "has neither Ethernet frames nor bare IP packets (" + link_kind_text(link) + ")";
  if (header == LinkHeader::ethernet) return {};
  if (options.copies) return why_not_shapable(link, options.direction);
  return "has no Ethernet header (" + link_kind_text(link) + "), which needs capture = \"bpf\"";
}

Link find_interface(Netlink& netlink, const std::string& name, const DivertOptions& options) {
  const auto link = netlink.find_link(name);
  if (!link) throw std::runtime_error("no interface " + name + ": " + list_of_candidates(netlink, options));
  const std::string called = name == link->name ? name : name + " (" + link->name + ")";
  if (const std::string refusal = refusal_of(*link, options); !refusal.empty())
    throw std::runtime_error(called + " " + refusal + "; " + list_of_candidates(netlink, options));
  return *link;
}

std::optional<Link> find_forward_to(Netlink& netlink, const Link& interface, const DivertOptions& options) {
  if (options.forward_to.empty()) return std::nullopt;
  if (options.direction != Direction::ingress)
    throw std::runtime_error(options.interface + " to " + options.forward_to +
                             ": only what arrives can be forwarded (direction ingress)");
  const Link forward_to = find_interface(netlink, options.forward_to, options);
  if (forward_to.index == interface.index)
    throw std::runtime_error(
        options.interface + " cannot be forwarded to itself" +
        (options.forward_to == options.interface ? "" : ", also called " + options.forward_to));
  if (link_header_of(forward_to) != link_header_of(interface)) {
    const bool without = link_header_of(interface) == LinkHeader::none;
    throw std::runtime_error(options.interface + " cannot be forwarded to " + options.forward_to + ": " +
                             (without ? options.interface : options.forward_to) +
                             " has no Ethernet header, and the other has one");
  }
  if (!takes_packets_of_sockets(forward_to))
    throw std::runtime_error(options.interface + " cannot be forwarded to " + options.forward_to + " (" +
                             link_kind_text(forward_to) + ")");
  return forward_to;
}

// Room for what a VLAN device on the interface sends: a frame of its MTU behind two tags, also where a packet socket
// accepts no tag above the MTU.
unsigned divert_mtu(const Link& interface) {
  return std::min(interface.mtu + 2 * kVlanTagBytes, kLargestMtu);
}

// Whether tunnel metadata beside a packet matters there: what arrives may have it for whoever comes next, and a tunnel
// device reads it of what it sends. A network card and a veth device send without looking at it.
bool minds_tunnel_metadata(const Link& interface, Direction direction) {
  return direction == Direction::ingress || (!interface.kind.empty() && interface.kind != "veth");
}

std::shared_ptr<DivertPair> make_pair_for_one(SharedDivert& common, const DivertOptions& options,
                                              const Link& interface) {
  const auto whole =
      options.whole_super_packets ? DivertDevice::Offload::virtio : DivertDevice::Offload::none;
  return std::make_shared<DivertPair>(
      common.netlink(), common.programs(),
      DivertPairOptions{.alias = DivertDevice::alias(interface.name, options.direction),
                        .mtu = divert_mtu(interface),
                        .method = common.method(),
                        .device = whole,
                        .peer = options.copies ? DivertDevice::Offload::virtio : whole,
                        .copies = options.copies});
}

bool shares_pair(const DivertOptions& options) {
  return options.copies && options.shared;
}

DivertPlaceOptions place_options(SharedDivert& common, const DivertOptions& options, const Link& interface,
                                 const std::optional<Link>& forward_to, const DivertPair& pair) {
  return {.device = interface.index,
          .direction = options.direction,
          .divert_device = pair.device().index,
          .return_device = forward_to ? forward_to->index : interface.index,
          .return_to_ingress = options.direction == Direction::ingress && !forward_to,
          .minds_tunnel_metadata = minds_tunnel_metadata(interface, options.direction),
          .keeps_tunnel_metadata = shares_pair(options) && options.direction == Direction::egress,
          .tunnel_has_key = interface.kind == "vxlan" || interface.kind == "geneve",
          .minds_decryption = options.direction == Direction::ingress,
          .copies = options.copies,
          .workers = static_cast<std::uint32_t>(options.workers),
          .ends_packets = common.method() == DivertMethod::clsact,
          .raw_ip = link_header_of(interface) == LinkHeader::none};
}

}  // namespace

// The order of the members is the order in which things are made, and the reverse of the order in which they
// go.
struct TrafficDivert::State {
  State(SharedDivert& own_common, const DivertOptions& options)
      : common(own_common),
        direction(options.direction),
        interface(find_interface(netlink, options.interface, options)),
        forward_to(find_forward_to(netlink, interface, options)),
        lock(interface, direction),
        swept(common.take_swept()),
        pair(shares_pair(options) ? common.pair() : make_pair_for_one(common, options, interface)),
        shared(shares_pair(options)),
        copies(options.copies),
        place(common.programs(), place_options(common, options, interface, forward_to, *pair)) {
    remove_leftovers(netlink, interface, direction, forward_to ? Wires::keep : Wires::remove, swept);
    if (!shared) place.serve_alone(pair->device().index);
    place.set_divert_control(options.divert_control);
    place.set_control_limit(ControlLimit(options.control_limit));
    if (common.method() == DivertMethod::clsact) clsact.emplace(netlink, interface.index);
    if (forward_to) wire.emplace(netlink, interface, *forward_to);
  }

  // The peer, from where a program sends the packets on, where what arrives is given back, or no packet socket can send.
  const Link& transmits_on() const {
    if (forward_to) return *forward_to;
    return direction == Direction::egress && takes_packets_of_sockets(interface) ? interface : pair->peer();
  }

  int program() const { return common.programs().divert(direction); }
  std::string bypass(std::string& missing);  // of Hooks; notes in `missing` what of ours is gone

  SharedDivert& common;
  Netlink& netlink = common.netlink();
  Direction direction;
  Link interface;
  std::optional<Link> forward_to;
  ShapeLock lock;
  std::vector<std::string> swept;
  std::shared_ptr<DivertPair> pair;
  bool shared;
  bool copies;
  DivertPlace place;
  Count foreign;                   // that this divert has taken over from the pair
  std::uint64_t takes_all_by = 0;  // SharedDivert::note_change()
  std::optional<ClsactHold> clsact;
  std::optional<Wire> wire;
  std::optional<BpfAttachment> divert;
};

// The wire is behind all else, so what keeps packets from the divert keeps them from the wire as well.
std::string TrafficDivert::State::bypass(std::string& missing) {
  const std::string hook = interface.name + " " + name_of(direction);
  std::string unshaped;
  if (divert) unshaped = judge_place(*divert, hook, "what it passes by is not shaped", missing);
  if (!wire || !missing.empty()) return unshaped;
  const std::string ahead = wire->ahead(program_id(program()));
  if (ahead.empty()) return {};
  return ahead + " runs ahead of headgate's wire on " + hook +
         ": what it does not let go on is not forwarded";
}

// The programs first, for without the permission to load them nothing else is worth an attempt.
TrafficDivert::TrafficDivert(SharedDivert& common, const DivertOptions& options) {
  common.programs();
  state_ = std::make_unique<State>(common, options);
}

TrafficDivert::~TrafficDivert() {
  detach();
}

void TrafficDivert::attach() {
  if (state_->divert) return;
  state_->pair->require_up();
  state_->place.arm();
  state_->place.set_diverting(true);
  state_->divert.emplace(state_->netlink, method(), state_->interface.index, hook_of(state_->direction),
                         filter_name(state_->direction), state_->program());
  if (state_->wire) state_->wire->keep(false);
}

// What is copied into a ring buffer is there when this returns: a program that runs at this moment is waited for, which TCX
// does by itself.
void TrafficDivert::detach() {
  state_->place.set_diverting(false);
  if (!attached()) return;
  state_->divert.reset();
  if (method() == DivertMethod::clsact) state_->common.wait_for_programs(state_->common.note_change());
}

void TrafficDivert::copy_to(std::size_t worker, const WorkerRing& ring, const BpfRing::Channel& channel) {
  state_->place.copy_to(static_cast<std::uint32_t>(worker), ring.number(), channel.number());
}

std::uint32_t TrafficDivert::place() const {
  return state_->shared ? state_->place.number() : 0;
}

void TrafficDivert::let_go_by(std::span<const HookClass> classes) {
  take_all_out();
  state_->place.let_go_by(classes);
}

void TrafficDivert::begin_take_all_out() {
  if (!lets_go() || state_->takes_all_by != 0) return;
  state_->place.take_all_out();
  state_->takes_all_by = state_->common.note_change();
}

void TrafficDivert::take_all_out() {
  begin_take_all_out();
  if (!lets_go()) return;
  if (attached()) state_->common.wait_for_programs(state_->takes_all_by);  // else detach() has
  state_->takes_all_by = 0;
  state_->place.forget_matches();
}

bool TrafficDivert::lets_go() const {
  return state_->place.lets_go();
}

std::vector<Count> TrafficDivert::take_let_go() {
  return state_->place.take_let_go();
}

void TrafficDivert::ask_cgroups(std::uint32_t places) {
  state_->place.ask_cgroups(places);
}

CaptureCounts TrafficDivert::copy_counts() const {
  return {.seen = state_->place.cut(), .lost = state_->place.found_no_room()};
}

HookTrialResult TrafficDivert::try_hook(std::span<const HookClass> classes, std::span<const std::byte> frame,
                                        std::uint32_t mark) const {
  try {
    return state_->common.hook_trial().run({.device = state_->interface.index,
                                            .direction = state_->direction,
                                            .place = state_->place,
                                            .classes = classes},
                                           frame, mark);
  } catch (const std::exception& error) {
    return {.why_not_asked = error.what(), .copied = {}};
  }
}

bool TrafficDivert::attached() const {
  return state_->divert.has_value();
}
bool TrafficDivert::in_place() const {
  return attached() && hooks().missing.empty();
}
TrafficDivert::Hooks TrafficDivert::hooks() const {
  State& state = *state_;
  const DivertPair::Look look = state.shared ? state.pair->last_look() : state.pair->look();
  Hooks hooks{.missing = look.missing, .obstruction = look.obstruction, .bypass = {}};
  std::string missing;
  if (state.wire && !state.wire->in_place()) missing = "its wire was taken away";
  hooks.bypass = state.bypass(missing);
  if (hooks.missing.empty()) hooks.missing = missing;
  return hooks;
}
void TrafficDivert::keep_wire() {
  if (state_->wire) state_->wire->keep(true);
}
DivertMethod TrafficDivert::method() const {
  return state_->common.method();
}
int TrafficDivert::interface_index() const {
  return state_->interface.index;
}
int TrafficDivert::transmit_index() const {
  return state_->transmits_on().index;
}
unsigned TrafficDivert::transmit_mtu() const {
  return state_->transmits_on().mtu;
}
const Link& TrafficDivert::interface() const {
  return state_->interface;
}
LinkHeader TrafficDivert::link_header() const {
  return *link_header_of(state_->interface);
}
LinkHeader TrafficDivert::transmit_header() const {
  return *link_header_of(state_->transmits_on());
}
std::string TrafficDivert::device_name() const {
  return state_->pair->device().name;
}
int TrafficDivert::device_index() const {
  return state_->pair->device().index;
}
std::string TrafficDivert::peer_name() const {
  return state_->pair->peer().name;
}
int TrafficDivert::peer_index() const {
  return state_->pair->peer().index;
}
unsigned TrafficDivert::mtu() const {
  return state_->interface.mtu;
}
const std::vector<std::string>& TrafficDivert::swept() const {
  return state_->swept;
}

void TrafficDivert::set_divert_control(bool on) {
  state_->place.set_divert_control(on);
}
void TrafficDivert::set_control_limit(const Rate& limit) {
  state_->place.set_control_limit(ControlLimit(limit));
}
// What others have sent on a device of many is counted by the divert that asks first.
HookCounts TrafficDivert::counts() const {
  state_->foreign += state_->pair->take_foreign();
  HookCounts counts = state_->place.counts();
  counts.foreign = state_->foreign;
  return counts;
}
void TrafficDivert::reset(Instant now) {
  state_->place.reset(now);
}
Duration TrafficDivert::unread_for(Instant now) const {
  return state_->place.unread_for(now);
}
bool TrafficDivert::has_let_pass() const {
  return state_->place.has_let_pass();
}
UnshapedStatistics TrafficDivert::unshaped() const {
  const DivertPlace& place = state_->place;
  return {.packets = place.passed_unshaped(), .times = place.openings(), .open = place.open_time()};
}
std::uint64_t TrafficDivert::packets() const {
  return state_->copies ? state_->place.to_be_cut() : state_->pair->packets();
}

std::vector<std::string> TrafficDivert::sweep(bool keep_wires) {
  require_capabilities({Capability::net_admin});
  Netlink netlink;
  require_no_live_daemon(netlink);
  InstanceLock::sweep();
  return remove_leftovers(netlink, keep_wires ? Wires::keep : Wires::remove);
}

std::vector<std::string> TrafficDivert::remove_wire(const std::string& interface) {
  Netlink netlink;
  const auto link = netlink.find_link(interface);
  return link ? Wire::remove_from(netlink, *link) : std::vector<std::string>{};
}

}  // namespace headgate
