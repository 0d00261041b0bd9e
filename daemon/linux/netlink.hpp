// Links, qdiscs and filters of the network namespace we run in, through libnl. Main thread only.
// Every call throws std::system_error naming what was tried, unless it says otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct nl_sock;
struct nlmsghdr;

namespace headgate {

class NetlinkMessage;

struct Link {
  int index = 0;
  std::string name;
  std::vector<std::string> alternative_names;  // as by `ip link property add`
  std::string alias;
  std::string kind;  // "veth", "tun", ... ; empty for plain devices
  bool external =
      false;  // of a tunnel without Ethernet header: it takes its tunnel from metadata beside each packet
  std::uint32_t group = 0;     // as in ip-link(8)
  unsigned hardware_type = 0;  // ARPHRD_*
  unsigned flags = 0;          // IFF_*
  unsigned mtu = 0;
  std::array<std::uint8_t, 6> address{};
  std::uint64_t transmitted = 0;       // packets
  std::uint64_t transmit_dropped = 0;  // packets
  bool has_xdp = false;                // an XDP program is attached
  std::uint32_t xdp_program = 0;       // its id, where it is attached in one mode alone

  bool is_called(const std::string& some_name) const;  // by its name or an alternative one
  std::string all_names() const;                       // "eth0, wan0"
};

// A filter on a clsact qdisc. Ours are direct-action cls_bpf filters for all protocols; other kinds are
// listed too.
struct Filter {
  std::uint32_t parent = 0;    // TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS or TC_H_MIN_INGRESS)
  std::uint16_t priority = 0;  // lower runs first
  std::uint16_t protocol = 0;  // host byte order; ETH_P_ALL: every packet
  std::uint32_t handle = 0;
  std::string kind;           // "bpf"
  std::string name;           // of a bpf filter: shown by tc, and how clean-up knows ours
  std::uint32_t program = 0;  // id of a bpf filter's program
  std::uint32_t chain = 0;    // only those of chain 0 run by themselves
};

class Netlink {
 public:
  Netlink();
  ~Netlink();
  Netlink(const Netlink&) = delete;
  Netlink& operator=(const Netlink&) = delete;

  std::optional<Link> find_link(const std::string& name);  // or alternative name
  std::optional<Link> find_link(int index);
  std::vector<Link> links();

  // A veth pair, both ends down, without ARP and IPv6 address generation, both aliased. They are of the group from the
  // first instant: the alias comes later, and we might die in between. Fails with EEXIST when a name is taken; leaves
  // nothing behind when it fails.
  void add_veth_pair(const std::string& name, const std::string& peer, const std::string& alias,
                     std::uint32_t group, unsigned mtu);
  void set_up(int index);
  void set_down(int index);
  // The flag that the administrator sees; what others ask for by packet sockets is counted apart.
  void set_promiscuous(int index, bool on);  // turning it off where the interface is gone: not an error
  void delete_link(int index);               // gone already: not an error
  // All by one request, for which the kernel waits for its readers once. On the way there they are of another group.
  void delete_links(const std::vector<int>& indices);  // those gone already: not an error

  // Clsact qdisc: true when this call made it, false when it was there.
  bool ensure_clsact(int index);
  bool has_clsact(int index);
  void delete_clsact(int index);  // gone already: not an error

  // Adds a direct-action bpf filter, which must be new.
  void add_bpf_filter(int index, const Filter& filter, int program);
  std::vector<Filter> filters(int index,
                              std::uint32_t parent);    // in the order in which they run; none without clsact
  void delete_filter(int index, const Filter& filter);  // gone already: not an error

 private:
  struct Outcome {
    int error = 0;            // errno; 0: done
    std::string explanation;  // the kernel's words, if it gave any
    bool incomplete = false;  // the dump was inconsistent or messages were lost
  };
  using Reader = std::function<void(nlmsghdr*)>;

  void connect();
  Outcome exchange(NetlinkMessage& message, const Reader& read);
  // Waits for the acknowledgement. Returns 0, or errno where it is in `expected`; throws for other errors.
  int request(const std::string& attempt, NetlinkMessage& message, std::initializer_list<int> expected = {});
  // All messages of one consistent dump go through `read`; `restart` is called before each try. Returns as
  // request().
  int dump(const std::string& attempt, NetlinkMessage& message, const std::function<void()>& restart,
           const Reader& read, std::initializer_list<int> expected = {});
  std::optional<Link> query_link(NetlinkMessage& message, const std::string& attempt);
  void set_flag(int index, unsigned flag, bool on, const std::string& attempt,
                std::initializer_list<int> expected = {});
  std::uint32_t unused_group();
  void configure_veth_end(const std::string& name, const std::string& alias);
  std::string qdisc_in_place_of_clsact(int index);  // its kind; empty: none

  std::unique_ptr<nl_sock, void (*)(nl_sock*)> socket_;
};

// Changes of links (RTNLGRP_LINK), and of filters and qdiscs that went (RTNLGRP_TC), as they happen. Readable
// descriptor for the main loop.
class LinkMonitor {
 public:
  LinkMonitor();
  ~LinkMonitor();
  LinkMonitor(const LinkMonitor&) = delete;
  LinkMonitor& operator=(const LinkMonitor&) = delete;

  int descriptor() const;
  // Reads what has arrived, without blocking: calls `changed` for each new or changed link, `deleted` for
  // each that is gone, `filter_deleted` when some interface lost a filter or qdisc, `overrun` when the kernel lost
  // messages (re-read everything then).
  void dispatch(const std::function<void(const Link&)>& changed,
                const std::function<void(const Link&)>& deleted, const std::function<void()>& filter_deleted,
                const std::function<void()>& overrun);

 private:
  std::unique_ptr<nl_sock, void (*)(nl_sock*)> socket_;
};

}  // namespace headgate
