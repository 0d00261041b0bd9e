#include "linux/traffic_divert.hpp"

#include <net/if.h>
#include <net/if_arp.h>
#include <sys/utsname.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "linux/bpf_attachment.hpp"
#include "linux/capabilities.hpp"
#include "linux/divert_device.hpp"
#include "linux/divert_program.hpp"
#include "linux/leftovers.hpp"
#include "linux/netlink.hpp"
#include "linux/shape_lock.hpp"
#include "linux/wire.hpp"

namespace headgate {

namespace {

constexpr char kDropName[] = "headgate-drop";
constexpr char kReturnName[] = "headgate-return";
constexpr char kRefuseName[] = "headgate-refuse";

constexpr unsigned kVlanTagBytes = 4;
constexpr unsigned kLargestMtu = 65'535;  // of a veth device

bool can_be_shaped(const Link& link) {
  return link.hardware_type == ARPHRD_ETHER && (link.flags & IFF_LOOPBACK) == 0 &&
         !DivertDevice::is_one(link);
}

std::string list_of_candidates(Netlink& netlink) {
  std::string names;
  for (const Link& link : netlink.links())
    if (can_be_shaped(link)) names += (names.empty() ? "" : ", ") + link.name;
  return names.empty() ? "there is no Ethernet interface here" : "the Ethernet interfaces here are " + names;
}

std::string link_type_text(const Link& link) {
  if (!link.kind.empty()) return "its kind is " + link.kind;
  return "its link type is " + std::to_string(link.hardware_type);
}

Link find_interface(Netlink& netlink, const std::string& name) {
  const auto link = netlink.find_link(name);
  if (!link) throw std::runtime_error("no interface " + name + ": " + list_of_candidates(netlink));
  const std::string called = name == link->name ? name : name + " (" + link->name + ")";
  if ((link->flags & IFF_LOOPBACK) != 0)
    throw std::runtime_error(called + " is the loopback interface; " + list_of_candidates(netlink));
  if (DivertDevice::is_one(*link))
    throw std::runtime_error(called + " is a divert device of headgate itself (" + link->alias + "); " +
                             list_of_candidates(netlink));
  if (link->hardware_type != ARPHRD_ETHER)
    throw std::runtime_error(called + " has no Ethernet header (" + link_type_text(*link) +
                             "), and packets diverted from it would be lost; " + list_of_candidates(netlink));
  return *link;
}

std::optional<Link> find_forward_to(Netlink& netlink, const Link& interface, const DivertOptions& options) {
  if (options.forward_to.empty()) return std::nullopt;
  if (options.direction != Direction::ingress)
    throw std::runtime_error(options.interface + " to " + options.forward_to +
                             ": only what arrives can be forwarded (direction ingress)");
  const Link forward_to = find_interface(netlink, options.forward_to);
  if (forward_to.index == interface.index)
    throw std::runtime_error(
        options.interface + " cannot be forwarded to itself" +
        (options.forward_to == options.interface ? "" : ", also called " + options.forward_to));
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

DivertProgramOptions program_options(const DivertOptions& options, const Link& interface,
                                     const std::optional<Link>& forward_to, const DivertDevice& device) {
  return {.own_mark = options.mark,
          .divert_device = device.device().index,
          .return_device = forward_to ? forward_to->index : interface.index,
          .return_to_ingress = options.direction == Direction::ingress && !forward_to,
          .wire_device = forward_to ? forward_to->index : 0,
          .minds_tunnel_metadata = minds_tunnel_metadata(interface, options.direction),
          .minds_decryption = options.direction == Direction::ingress};
}

// What stands ahead of a program, and what follows from that; notes in `missing` that the program is gone.
std::string judge(const BpfAttachment& attachment, const std::string& hook, const std::string& consequence,
                  std::string& missing) {
  const BpfAttachment::Place place = attachment.place();
  if (!place.is_there) missing = "its program on " + hook + " was detached or replaced";
  if (!place.is_there || place.ahead.empty()) return {};
  return place.ahead + " runs ahead of headgate's on " + hook + ": " + consequence;
}

constexpr char kLost[] = "packets would be lost there";

// Of an end of the divert device, as it is now and as it was made.
std::string why_not_as_made(const std::optional<Link>& now, const Link& made) {
  if (!now) return "its divert device was deleted";
  if ((now->flags & IFF_UP) == 0) return "its divert device " + now->name + " was set down";
  if (now->mtu == made.mtu) return {};
  return "the MTU of its divert device " + now->name + " changed to " + std::to_string(now->mtu);
}

// XDP runs before all else that sees what arrives.
std::string xdp_obstruction(const Link& end) {
  if (!end.has_xdp) return {};
  return "an XDP program" + (end.xdp_program == 0 ? "" : " (" + program_text(end.xdp_program) + ")") +
         " runs ahead of headgate's on " + end.name + ": " + kLost;
}

DivertMethod choose_method(DivertMethod wanted, int program) {
  if (wanted == DivertMethod::clsact) return wanted;
  if (BpfAttachment::kernel_has_tcx(program)) return DivertMethod::tcx;
  if (wanted == DivertMethod::automatic) return DivertMethod::clsact;
  utsname system{};
  uname(&system);
  throw std::runtime_error(std::string("this kernel (") + system.release +
                           ") has no TCX, which came with Linux 6.6: set divert to \"auto\" or \"clsact\"");
}

}  // namespace

// The order of the members is the order in which things are made, and the reverse of the order in which they
// go.
struct TrafficDivert::State {
  explicit State(const DivertOptions& options)
      : direction(options.direction),
        interface(find_interface(netlink, options.interface)),
        forward_to(find_forward_to(netlink, interface, options)),
        lock(interface, direction),
        leftovers(remove_leftovers(netlink, interface, direction, forward_to ? Wires::keep : Wires::remove)),
        device(netlink, DivertDevice::alias(interface.name, direction), divert_mtu(interface),
               options.whole_super_packets ? DivertDevice::Offload::virtio : DivertDevice::Offload::none),
        program(program_options(options, interface, forward_to, device)),
        method(choose_method(options.method, program.divert())),
        drop(netlink, method, device.peer().index, TrafficHook::ingress, kDropName,
             method == DivertMethod::tcx ? program.drop_captured() : program.consume_captured()),
        give_back(netlink, method, device.device().index, TrafficHook::ingress, kReturnName,
                  program.return_shaped()),
        refuse(netlink, method, device.device().index, TrafficHook::egress, kRefuseName,
               program.refuse_foreign()),
        refuse_to_give_back(netlink, method, device.peer().index, TrafficHook::egress, kRefuseName,
                            program.refuse_foreign()) {
    program.set_divert_control(options.divert_control);
    program.set_control_limit(ControlLimit(options.control_limit));
    if (method == DivertMethod::clsact) clsact.emplace(netlink, interface.index);
    if (forward_to) wire.emplace(netlink, interface, *forward_to, program.wire());
  }

  // Of Hooks; both note in `missing` what of ours is gone.
  std::string bypass(std::string& missing);
  std::string obstruction(std::string& missing);

  Netlink netlink;
  Direction direction;
  Link interface;
  std::optional<Link> forward_to;
  ShapeLock lock;
  std::vector<std::string> leftovers;
  DivertDevice device;
  DivertProgram program;
  DivertMethod method;
  BpfAttachment drop;
  BpfAttachment give_back;
  BpfAttachment refuse;
  BpfAttachment refuse_to_give_back;
  std::optional<ClsactHold> clsact;
  std::optional<Wire> wire;
  std::optional<BpfAttachment> divert;
};

// The wire is behind all else, so what keeps packets from the divert keeps them from the wire as well.
std::string TrafficDivert::State::bypass(std::string& missing) {
  const std::string hook = interface.name + " " + name_of(direction);
  std::string unshaped;
  if (divert) unshaped = judge(*divert, hook, "what it passes by is not shaped", missing);
  if (!wire || !missing.empty()) return unshaped;
  const std::string ahead = wire->ahead(program_id(program.divert()));
  if (ahead.empty()) return {};
  return ahead + " runs ahead of headgate's wire on " + hook +
         ": what it does not let go on is not forwarded";
}

std::string TrafficDivert::State::obstruction(std::string& missing) {
  struct Place {
    const BpfAttachment& attachment;
    const Link& end;
    const char* hook;
  };
  std::string first;
  for (const Place& place :
       {Place{drop, device.peer(), " ingress"}, Place{give_back, device.device(), " ingress"},
        Place{refuse, device.device(), " egress"}, Place{refuse_to_give_back, device.peer(), " egress"}}) {
    std::string found = judge(place.attachment, place.end.name + place.hook, kLost, missing);
    if (first.empty()) first = std::move(found);
  }
  for (const Link& end : {device.device(), device.peer()}) {
    const std::optional<Link> now = netlink.find_link(end.index);
    if (std::string changed = why_not_as_made(now, end); !changed.empty()) missing = std::move(changed);
    if (now && first.empty()) first = xdp_obstruction(*now);
  }
  return first;
}

TrafficDivert::TrafficDivert(const DivertOptions& options) {
  if (options.mark == 0) throw std::runtime_error("the mark must not be 0, which every other packet has too");
  require_capabilities({Capability::net_admin, Capability::net_raw, Capability::bpf});
  state_ = std::make_unique<State>(options);
}

TrafficDivert::~TrafficDivert() {
  detach();
}

void TrafficDivert::attach() {
  if (state_->divert) return;
  for (const Link& end : {state_->device.device(), state_->device.peer()}) {
    const auto now = state_->netlink.find_link(end.index);
    if (!now || (now->flags & IFF_UP) == 0)
      throw std::runtime_error("divert device " + end.name + (now ? " is down" : " is gone"));
  }
  state_->program.arm();
  state_->program.set_diverting(true);
  state_->divert.emplace(state_->netlink, state_->method, state_->interface.index, hook_of(state_->direction),
                         filter_name(state_->direction), state_->program.divert());
  if (state_->wire) state_->wire->keep(false);
}

void TrafficDivert::detach() {
  state_->program.set_diverting(false);
  state_->divert.reset();
}

bool TrafficDivert::attached() const {
  return state_->divert.has_value();
}
bool TrafficDivert::in_place() const {
  return attached() && hooks().missing.empty();
}
TrafficDivert::Hooks TrafficDivert::hooks() const {
  State& state = *state_;
  Hooks hooks;
  if (state.wire && !state.wire->in_place()) hooks.missing = "its wire was taken away";
  hooks.bypass = state.bypass(hooks.missing);
  hooks.obstruction = state.obstruction(hooks.missing);
  return hooks;
}
void TrafficDivert::keep_wire() {
  if (state_->wire) state_->wire->keep(true);
}
DivertMethod TrafficDivert::method() const {
  return state_->method;
}
int TrafficDivert::interface_index() const {
  return state_->interface.index;
}
int TrafficDivert::transmit_index() const {
  if (state_->forward_to) return state_->forward_to->index;
  return state_->direction == Direction::egress ? interface_index() : peer_index();
}
unsigned TrafficDivert::transmit_mtu() const {
  if (state_->forward_to) return state_->forward_to->mtu;
  return state_->direction == Direction::egress ? mtu() : state_->device.peer().mtu;
}
std::string TrafficDivert::device_name() const {
  return state_->device.device().name;
}
int TrafficDivert::device_index() const {
  return state_->device.device().index;
}
std::string TrafficDivert::peer_name() const {
  return state_->device.peer().name;
}
int TrafficDivert::peer_index() const {
  return state_->device.peer().index;
}
unsigned TrafficDivert::mtu() const {
  return state_->interface.mtu;
}
const std::vector<std::string>& TrafficDivert::swept() const {
  return state_->leftovers;
}

void TrafficDivert::set_divert_control(bool on) {
  state_->program.set_divert_control(on);
}
void TrafficDivert::set_control_limit(const Rate& limit) {
  state_->program.set_control_limit(ControlLimit(limit));
}
HookCounts TrafficDivert::counts() const {
  return state_->program.counts();
}
void TrafficDivert::reset(Instant now) {
  state_->program.reset(now);
}
Duration TrafficDivert::unread_for(Instant now) const {
  return state_->program.unread_for(now);
}
bool TrafficDivert::has_let_pass() const {
  return state_->program.has_let_pass();
}
UnshapedStatistics TrafficDivert::unshaped() const {
  const DivertProgram& program = state_->program;
  return {.packets = program.passed_unshaped(), .times = program.openings(), .open = program.open_time()};
}
std::uint64_t TrafficDivert::packets() const {
  return state_->device.packets();
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
