#include "linux/leftovers.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include "linux/bpf_attachment.hpp"
#include "linux/divert_device.hpp"
#include "linux/live_mark.hpp"
#include "linux/shape_lock.hpp"
#include "linux/wire.hpp"

namespace headgate {

namespace {

constexpr auto kUntilMarked = std::chrono::milliseconds(100);

void remove_filters(Netlink& netlink, const Link& interface, Direction direction,
                    std::vector<std::string>& done) {
  for (const Filter& filter : netlink.filters(interface.index, clsact_parent(hook_of(direction)))) {
    if (filter.kind != "bpf" || filter.name != filter_name(direction)) continue;
    // That the qdisc was ours too is not known; empty, it serves nobody.
    remove_filter(netlink, interface.index, filter, true);
    done.push_back("removed filter " + filter.name + " from " + interface.name);
  }
}

void remove_wires(Netlink& netlink, const Link& interface, std::vector<std::string>& done) {
  for (std::string& line : Wire::remove_from(netlink, interface)) done.push_back(std::move(line));
}

void remove_device(Netlink& netlink, const Link& link, std::vector<std::string>& done) {
  // The end that is seen second has gone with the first.
  if (!netlink.find_link(link.index)) return;
  netlink.delete_link(link.index);
  done.push_back("removed divert device " + DivertDevice::pair_name(link) + " (" +
                 (link.alias.empty() ? "never named" : link.alias) + ")");
}

bool in_use(const Link& link) {
  return LiveMark::find_owner(link.index, LiveMark::Meaning::uses_device).has_value();
}

}  // namespace

std::string filter_name(Direction direction) {
  return std::string("headgate-") + name_of(direction);
}

std::vector<std::string> remove_leftovers(Netlink& netlink, Wires wires) {
  std::vector<std::string> done;
  const std::vector<Link> links = netlink.links();
  // Filters first, so that nothing is redirected to a device that is gone.
  for (const Link& link : links)
    for (const Direction direction : {Direction::egress, Direction::ingress})
      remove_filters(netlink, link, direction, done);
  if (wires == Wires::remove)
    for (const Link& link : links) remove_wires(netlink, link, done);
  for (const Link& link : links)
    if (DivertDevice::is_one(link)) remove_device(netlink, link, done);
  return done;
}

void remove_leftovers(Netlink& netlink, const Link& interface, Direction direction, Wires wires,
                      std::vector<std::string>& done) {
  remove_filters(netlink, interface, direction, done);
  if (direction == Direction::ingress && wires == Wires::remove) remove_wires(netlink, interface, done);
}

// A daemon that makes a device marks it a moment later.
void remove_left_devices(Netlink& netlink, std::vector<std::string>& done) {
  std::vector<Link> left = netlink.links();
  // One without an alias may be of a daemon that is about to give it one.
  const auto is_left = [](const Link& link) {
    return DivertDevice::is_one(link) && !link.alias.empty() && !in_use(link);
  };
  std::erase_if(left, [&](const Link& link) { return !is_left(link); });
  if (left.empty()) return;
  std::this_thread::sleep_for(kUntilMarked);
  for (const Link& link : left)
    if (!in_use(link)) remove_device(netlink, link, done);
}

void require_no_live_daemon(Netlink& netlink) {
  for (const Link& link : netlink.links()) {
    for (const Direction direction : {Direction::egress, Direction::ingress})
      if (const auto holder = ShapeLock::find_holder(link.index, direction))
        throw std::runtime_error(link.name + " " + name_of(direction) + " is being shaped by " + *holder +
                                 ": nothing was removed; stop it first");
    if (DivertDevice::is_one(link) && in_use(link))
      throw std::runtime_error(link.name + " (" + link.alias +
                               ") is in use by a live daemon: nothing was removed");
  }
}

}  // namespace headgate
