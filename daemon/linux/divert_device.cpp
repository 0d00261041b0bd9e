#include "linux/divert_device.hpp"

#include <net/if.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "linux/bulk_release.hpp"
#include "linux/link_offloads.hpp"
#include "linux/traffic_hook.hpp"

namespace headgate {

namespace {

constexpr int kPairsMax = 4096;
constexpr std::string_view kNamePrefix = "hg";
constexpr char kPeerSuffix = 'p';
constexpr std::string_view kAliasPrefix = "headgate ";
constexpr std::uint32_t kGroup = 0x6867;  // "hg": of all divert devices

}  // namespace

bool DivertDevice::is_one(const Link& link) {
  if (link.kind != "veth" || (link.group != kGroup && link.alias.rfind(kAliasPrefix, 0) != 0)) return false;
  const std::string name = pair_name(link);
  std::string_view number = name;
  if (number.rfind(kNamePrefix, 0) != 0) return false;
  number.remove_prefix(kNamePrefix.size());
  return !number.empty() &&
         std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string DivertDevice::pair_name(const Link& end) {
  std::string name = end.name;
  if (!name.empty() && name.back() == kPeerSuffix) name.pop_back();
  return name;
}

std::string DivertDevice::alias(const std::string& interface, Direction direction) {
  return std::string(kAliasPrefix) + name_of(direction) + " of " + interface;
}

namespace {

void set_offload(const Link& end, DivertDevice::Offload offload) {
  if (offload == DivertDevice::Offload::none) {
    turn_off_segmentation_and_checksum_offload(end.name);
  } else {
    leave_only_offloads_of_a_virtio_header(end.name);
  }
}

}  // namespace

DivertDevice::DivertDevice(Netlink& netlink, const std::string& alias, unsigned mtu, Offload device,
                           Offload peer)
    : netlink_(netlink) {
  make_pair(alias, mtu);
  try {
    device_mark_.emplace(device_.index, LiveMark::Meaning::uses_device);
    peer_mark_.emplace(peer_.index, LiveMark::Meaning::uses_device);
    set_offload(device_, device);
    set_offload(peer_, peer);
    // In this order the device has a carrier when it comes up and sends at once. In the other the kernel
    // notices the carrier some time later, and drops what is redirected there until then.
    netlink_.set_up(peer_.index);
    netlink_.set_up(device_.index);
  } catch (...) {
    netlink_.delete_link(device_.index);
    throw;
  }
}

void DivertDevice::make_pair(const std::string& alias, unsigned mtu) {
  for (int number = 0; number < kPairsMax; ++number) {
    const std::string name = std::string(kNamePrefix) + std::to_string(number);
    // Asked first, for a request that the kernel refuses costs more.
    if (if_nametoindex(name.c_str()) != 0) continue;
    try {
      netlink_.add_veth_pair(name, name + kPeerSuffix, alias, kGroup, mtu);
    } catch (const std::system_error& error) {
      if (error.code().value() != EEXIST) throw;
      continue;
    }
    const auto device = netlink_.find_link(name);
    const auto peer = netlink_.find_link(name + kPeerSuffix);
    if (!device || !peer) throw std::runtime_error(name + " vanished while it was being made");
    device_ = *device;
    peer_ = *peer;
    return;
  }
  throw std::runtime_error("all names from hg0 to hg" + std::to_string(kPairsMax - 1) + " are taken");
}

DivertDevice::~DivertDevice() {
  try {
    BulkRelease::delete_link(netlink_, device_.index);
  } catch (const std::exception&) {
    // The next start or clean-up finds it.
  }
}

// Dropped are those that the kernel could not make ready for hgN, and those that hgNp had no room for. The latter have
// been captured.
std::uint64_t DivertDevice::packets() {
  if (const auto link = netlink_.find_link(device_.index))
    packets_ = link->transmitted + link->transmit_dropped;
  return packets_;
}

}  // namespace headgate
