// Links, qdiscs and filters of the network namespace we run in, through libnl. Main thread only.
// Every call throws std::system_error naming what was tried, unless it says otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct nl_sock;

namespace headgate {

struct Link {
  int index = 0;
  std::string name;
  std::string alias;
  std::string kind;              // "veth", "tun", ... ; empty for plain devices
  unsigned hardware_type = 0;    // ARPHRD_*
  unsigned flags = 0;            // IFF_*
  unsigned mtu = 0;
  std::array<std::uint8_t, 6> address{};
};

class Netlink {
 public:
  Netlink();
  ~Netlink();
  Netlink(const Netlink&) = delete;
  Netlink& operator=(const Netlink&) = delete;

  std::optional<Link> find_link(const std::string& name);
  std::optional<Link> find_link(int index);
  std::vector<Link> links();

  // A veth pair, both ends down, IPv6 address generation off, both aliased. Throws EEXIST when a name is taken.
  void add_veth_pair(const std::string& name, const std::string& peer, const std::string& alias, unsigned mtu);
  void set_up(int index);
  void delete_link(int index);  // gone already: not an error

  // Clsact qdisc: true when this call made it, false when it was there.
  bool ensure_clsact(int index);
  bool has_clsact(int index);
  void delete_clsact(int index);

  // A direct-action cls_bpf filter on clsact. `name` is shown by tc and is how clean-up knows ours.
  struct BpfFilter {
    std::uint32_t parent = 0;  // TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS or TC_H_MIN_INGRESS)
    std::uint16_t priority = 0;
    std::uint32_t handle = 0;
    std::string name;
    bool is_bpf = true;        // other kinds of filter are listed too
  };
  void add_bpf_filter(int index, const BpfFilter& filter, int program_fd);
  std::vector<BpfFilter> filters(int index, std::uint32_t parent);
  void delete_filter(int index, const BpfFilter& filter);  // gone already: not an error

 private:
  std::unique_ptr<nl_sock, void (*)(nl_sock*)> socket_;
};

// Link changes as they happen (RTNLGRP_LINK). Readable descriptor for the main loop.
class LinkMonitor {
 public:
  LinkMonitor();
  ~LinkMonitor();
  int descriptor() const;
  // Reads what has arrived: calls `changed` for each new or changed link, `deleted` for each that is gone, `overrun`
  // when the kernel lost messages (re-read everything then).
  void dispatch(const std::function<void(const Link&)>& changed, const std::function<void(const Link&)>& deleted,
                const std::function<void()>& overrun);

 private:
  std::unique_ptr<nl_sock, void (*)(nl_sock*)> socket_;
};

}  // namespace headgate
