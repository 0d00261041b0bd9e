#include "linux/divert_pair.hpp"

#include <net/if.h>

#include <atomic>
#include <stdexcept>
#include <utility>

#include "linux/outgoing_filter.hpp"

namespace headgate {

namespace {

constexpr char kDropName[] = "headgate-drop";
constexpr char kReturnName[] = "headgate-return";
constexpr char kRefuseName[] = "headgate-refuse";

constexpr char kLost[] = "packets would be lost there";

// Of an end, as it is now and as it was made.
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

}  // namespace

std::string judge_place(const BpfAttachment& attachment, const std::string& hook,
                        const std::string& consequence, std::string& missing) {
  const BpfAttachment::Place place = attachment.place();
  if (!place.is_there) missing = "its program on " + hook + " was detached or replaced";
  if (!place.is_there || place.ahead.empty()) return {};
  return place.ahead + " runs ahead of headgate's on " + hook + ": " + consequence;
}

// The order of the members is that in which things are made, and the reverse of that in which they go.
DivertPair::DivertPair(Netlink& netlink, DivertPrograms& programs, const DivertPairOptions& options)
    : netlink_(netlink),
      place_(programs),
      device_(netlink, options.alias, options.mtu, options.device, options.peer),
      drop_(netlink, options.method, peer().index, TrafficHook::ingress, kDropName,
            options.method == DivertMethod::tcx ? programs.drop_captured() : programs.consume_captured()),
      give_back_(netlink, options.method, device().index, TrafficHook::ingress, kReturnName,
                 programs.return_shaped()),
      refuse_(netlink, options.copies ? DivertMethod::clsact : options.method, device().index,
              TrafficHook::egress, kRefuseName,
              options.copies ? programs.consume_copied() : programs.refuse_foreign()),
      refuse_to_give_back_(netlink, options.method, peer().index, TrafficHook::egress, kRefuseName,
                           programs.refuse_foreign()) {
  if (options.copies) copies_cut_ = run_on_device(device().index, programs.copy_cut());
  for (const Link& end : {device(), peer()}) place_.find_by(end.index, DIVERT_FOREIGN);
}

void DivertPair::require_up() {
  for (const Link& end : {device(), peer()}) {
    const auto now = netlink_.find_link(end.index);
    if (!now || (now->flags & IFF_UP) == 0)
      throw std::runtime_error("divert device " + end.name + (now ? " is down" : " is gone"));
  }
}

DivertPair::Look DivertPair::look() {
  struct Place {
    const BpfAttachment& attachment;
    const Link& end;
    const char* hook;
  };
  Look look;
  for (const Place& place :
       {Place{drop_, peer(), " ingress"}, Place{give_back_, device(), " ingress"},
        Place{refuse_, device(), " egress"}, Place{refuse_to_give_back_, peer(), " egress"}}) {
    std::string found = judge_place(place.attachment, place.end.name + place.hook, kLost, look.missing);
    if (look.obstruction.empty()) look.obstruction = std::move(found);
  }
  for (const Link& end : {device(), peer()}) {
    const std::optional<Link> now = netlink_.find_link(end.index);
    if (std::string changed = why_not_as_made(now, end); !changed.empty()) look.missing = std::move(changed);
    if (now && look.obstruction.empty()) look.obstruction = xdp_obstruction(*now);
  }
  return look;
}

const DivertPair::Look& DivertPair::last_look() {
  if (!last_look_) last_look_ = look();
  return *last_look_;
}

Count DivertPair::take_foreign() {
  divert_count& counter = place_.shape().foreign;
  const Count now{.packets = std::atomic_ref(counter.packets).load(std::memory_order_relaxed),
                  .bytes = std::atomic_ref(counter.bytes).load(std::memory_order_relaxed)};
  Count fresh = now;
  fresh -= std::exchange(foreign_taken_, now);
  return fresh;
}

}  // namespace headgate
