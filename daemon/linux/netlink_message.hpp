// rtnetlink messages, built and read attribute by attribute: libnl 3.7 has no objects for clsact and cls_bpf,
// and its caches are not wanted. Only for the files that talk netlink.
#pragma once

#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <memory>
#include <optional>
#include <string>

#include "linux/netlink.hpp"

namespace headgate {

class NetlinkMessage {
 public:
  template <typename Header>
  NetlinkMessage(int type, int flags, const Header& header)
      : message_(nlmsg_alloc_simple(type, flags), nlmsg_free) {
    check(message_ != nullptr
              ? nlmsg_append(get(), const_cast<Header*>(&header), sizeof header, NLMSG_ALIGNTO)
              : -NLE_NOMEM);
  }

  void put(int attribute, const std::string& text) { check(nla_put_string(get(), attribute, text.c_str())); }
  void put(int attribute, std::uint32_t number) { check(nla_put_u32(get(), attribute, number)); }
  void put_byte(int attribute, std::uint8_t number) { check(nla_put_u8(get(), attribute, number)); }

  // Calls `fill` for what stands inside the nested attribute.
  template <typename Fill>
  void nest(int attribute, Fill fill) {
    nlattr* nested = nla_nest_start(get(), attribute);
    check(nested != nullptr ? 0 : -NLE_NOMEM);
    fill();
    nla_nest_end(get(), nested);
  }

  template <typename Header>
  void append(const Header& header) {
    check(nlmsg_append(get(), const_cast<Header*>(&header), sizeof header, NLMSG_ALIGNTO));
  }

  nl_msg* get() { return message_.get(); }

 private:
  static void check(int result) {
    if (result < 0) throw std::bad_alloc();
  }

  std::unique_ptr<nl_msg, decltype(&nlmsg_free)> message_;
};

// Of an RTM_NEWLINK or RTM_DELLINK message; none for one of another kind or one that is malformed.
std::optional<Link> parse_link(nlmsghdr* header);

}  // namespace headgate
