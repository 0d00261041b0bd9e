// The veth pair hgN / hgNp that diverted packets go to: hgN is the redirect's target, the capture listens to what is sent
// on it. At hgNp, the peer, a packet ends; what is sent there goes back to the shaped interface. Made by the constructor
// with the lowest free N, both ends up; deleted by the destructor.
//
// The capture does not wait for the packets at hgNp: between the two ends each processor has a queue of its own, so that a
// flow that is sent by two of them could be reordered there.
#pragma once

#include <optional>
#include <string>

#include "linux/live_mark.hpp"
#include "linux/netlink.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

class DivertDevice {
 public:
  // What an end hands on: packets of the MTU with complete checksums, or also TCP super-packets and checksums still
  // to be made, as far as a virtio header describes them.
  enum class Offload { none, virtio };

  // `netlink` must outlive this object.
  DivertDevice(Netlink& netlink, const std::string& alias, unsigned mtu, Offload device, Offload peer);
  ~DivertDevice();
  DivertDevice(const DivertDevice&) = delete;
  DivertDevice& operator=(const DivertDevice&) = delete;

  const Link& device() const { return device_; }  // as it was when made
  const Link& peer() const { return peer_; }      // likewise

  // Packets that came to hgN since it was made, to be captured. When it is gone: the last figure known.
  std::uint64_t packets();

  static bool is_one(const Link& link);           // by name, kind and alias
  static std::string pair_name(const Link& end);  // hgN, of either end
  // Of a device that serves one shape, and of one that serves all whose packets are copied into ring buffers.
  static std::string alias(const std::string& interface, Direction direction);
  static constexpr char kSharedAlias[] = "headgate divert of all shapes";

 private:
  void make_pair(const std::string& alias, unsigned mtu);

  Netlink& netlink_;
  Link device_;
  Link peer_;
  std::optional<LiveMark> device_mark_;  // that the pair is in use, by whichever end one looks
  std::optional<LiveMark> peer_mark_;
  std::uint64_t packets_ = 0;
};

}  // namespace headgate
