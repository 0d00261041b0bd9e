#include "linux/netlink.hpp"

#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/socket.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "linux/netlink_message.hpp"

namespace headgate {

namespace {

constexpr int kDumpTries = 10;
constexpr std::size_t kLongestName = IFNAMSIZ - 1;          // alternative names may be longer
constexpr std::uint32_t kFirstGroupToDelete = 0x6867'0000;  // "hg"

[[noreturn]] void fail(const std::string& attempt, int error, const std::string& explanation) {
  throw std::system_error(error, std::system_category(),
                          explanation.empty() ? attempt : attempt + " (" + explanation + ")");
}

// The text that the kernel sends along with an error (NETLINK_EXT_ACK), empty if none. The socket asks for
// capped acknowledgements, so the attributes follow the header of our message directly.
std::string explanation_of(nlmsgerr* error) {
  auto* header = reinterpret_cast<nlmsghdr*>(reinterpret_cast<char*>(error) - NLMSG_HDRLEN);
  if ((header->nlmsg_flags & NLM_F_ACK_TLVS) == 0 || (header->nlmsg_flags & NLM_F_CAPPED) == 0) return {};
  nlattr* text = nlmsg_find_attr(header, sizeof(nlmsgerr), NLMSGERR_ATTR_MSG);
  return text != nullptr ? nla_get_string(text) : std::string{};
}

ifinfomsg link_header(int index) {
  return {.ifi_family = AF_UNSPEC, .ifi_index = index};
}

tcmsg traffic_control_header(int index, std::uint32_t parent, std::uint32_t handle, std::uint32_t info = 0) {
  return {.tcm_family = AF_UNSPEC,
          .tcm_ifindex = index,
          .tcm_handle = handle,
          .tcm_parent = parent,
          .tcm_info = info};
}

std::uint32_t filter_info(const Filter& filter) {
  return TC_H_MAKE(static_cast<std::uint32_t>(filter.priority) << 16, htons(filter.protocol));
}

constexpr std::uint32_t kClsactHandle = TC_H_MAKE(TC_H_CLSACT, 0);

// The kernel lists a classifier itself, with handle 0, before its filters.
std::optional<Filter> parse_filter(nlmsghdr* header) {
  std::array<nlattr*, TCA_MAX + 1> attributes{};
  if (header->nlmsg_type != RTM_NEWTFILTER ||
      nlmsg_parse(header, sizeof(tcmsg), attributes.data(), TCA_MAX, nullptr) < 0)
    return std::nullopt;
  const auto& message = *static_cast<const tcmsg*>(nlmsg_data(header));
  if (message.tcm_handle == 0) return std::nullopt;
  Filter filter{.parent = message.tcm_parent,
                .priority = static_cast<std::uint16_t>(TC_H_MAJ(message.tcm_info) >> 16),
                .protocol = ntohs(static_cast<std::uint16_t>(TC_H_MIN(message.tcm_info))),
                .handle = message.tcm_handle};
  if (attributes[TCA_KIND] != nullptr) filter.kind = nla_get_string(attributes[TCA_KIND]);
  if (attributes[TCA_CHAIN] != nullptr) filter.chain = nla_get_u32(attributes[TCA_CHAIN]);
  if (filter.kind == "bpf" && attributes[TCA_OPTIONS] != nullptr) {
    std::array<nlattr*, TCA_BPF_MAX + 1> options{};
    if (nla_parse_nested(options.data(), TCA_BPF_MAX, attributes[TCA_OPTIONS], nullptr) == 0) {
      if (options[TCA_BPF_NAME] != nullptr) filter.name = nla_get_string(options[TCA_BPF_NAME]);
      if (options[TCA_BPF_ID] != nullptr) filter.program = nla_get_u32(options[TCA_BPF_ID]);
    }
  }
  return filter;
}

void parse_alternative_names(nlattr* list, Link& link) {
  nlattr* property = nullptr;
  int rest = 0;
  nla_for_each_nested(property, list, rest) {
    if (nla_type(property) == IFLA_ALT_IFNAME) link.alternative_names.emplace_back(nla_get_string(property));
  }
}

void parse_xdp(nlattr* nested, Link& link) {
  std::array<nlattr*, IFLA_XDP_MAX + 1> xdp{};
  if (nla_parse_nested(xdp.data(), IFLA_XDP_MAX, nested, nullptr) < 0) return;
  link.has_xdp = xdp[IFLA_XDP_ATTACHED] != nullptr && nla_get_u8(xdp[IFLA_XDP_ATTACHED]) != XDP_ATTACHED_NONE;
  if (xdp[IFLA_XDP_PROG_ID] != nullptr) link.xdp_program = nla_get_u32(xdp[IFLA_XDP_PROG_ID]);
}

}  // namespace

bool Link::is_called(const std::string& some_name) const {
  return name == some_name ||
         std::find(alternative_names.begin(), alternative_names.end(), some_name) != alternative_names.end();
}

std::string Link::all_names() const {
  std::string names = name;
  for (const std::string& alternative : alternative_names) names += ", " + alternative;
  return names;
}

// Of linux/if_tunnel.h, which does not go with net/if.h.
constexpr int kGreCollectMetadata = 18;
constexpr int kIptunCollectMetadata = 19;

bool has_nested(nlattr* outer, int type) {
  return nla_find(static_cast<nlattr*>(nla_data(outer)), nla_len(outer), type) != nullptr;
}

bool is_external(const std::string& kind, nlattr* data) {
  if (kind == "gre" || kind == "ip6gre") return has_nested(data, kGreCollectMetadata);
  if (kind == "ipip" || kind == "ip6tnl" || kind == "sit") return has_nested(data, kIptunCollectMetadata);
  return false;
}

std::optional<Link> parse_link(nlmsghdr* header) {
  std::array<nlattr*, IFLA_MAX + 1> attributes{};
  if ((header->nlmsg_type != RTM_NEWLINK && header->nlmsg_type != RTM_DELLINK) ||
      nlmsg_parse(header, sizeof(ifinfomsg), attributes.data(), IFLA_MAX, nullptr) < 0)
    return std::nullopt;
  const auto& message = *static_cast<const ifinfomsg*>(nlmsg_data(header));
  // A bridge tells of its ports in messages of its own family, with a part of the attributes.
  if (message.ifi_family != AF_UNSPEC) return std::nullopt;
  Link link{.index = message.ifi_index, .hardware_type = message.ifi_type, .flags = message.ifi_flags};
  if (attributes[IFLA_IFNAME] != nullptr) link.name = nla_get_string(attributes[IFLA_IFNAME]);
  if (attributes[IFLA_IFALIAS] != nullptr) link.alias = nla_get_string(attributes[IFLA_IFALIAS]);
  if (attributes[IFLA_GROUP] != nullptr) link.group = nla_get_u32(attributes[IFLA_GROUP]);
  if (attributes[IFLA_MTU] != nullptr) link.mtu = nla_get_u32(attributes[IFLA_MTU]);
  if (nlattr* address = attributes[IFLA_ADDRESS];
      address != nullptr && nla_len(address) == static_cast<int>(link.address.size()))
    std::copy_n(static_cast<const std::uint8_t*>(nla_data(address)), link.address.size(),
                link.address.begin());
  if (attributes[IFLA_LINKINFO] != nullptr) {
    std::array<nlattr*, IFLA_INFO_MAX + 1> info{};
    if (nla_parse_nested(info.data(), IFLA_INFO_MAX, attributes[IFLA_LINKINFO], nullptr) == 0 &&
        info[IFLA_INFO_KIND] != nullptr) {
      link.kind = nla_get_string(info[IFLA_INFO_KIND]);
      if (info[IFLA_INFO_DATA] != nullptr) link.external = is_external(link.kind, info[IFLA_INFO_DATA]);
    }
  }
  if (attributes[IFLA_PROP_LIST] != nullptr) parse_alternative_names(attributes[IFLA_PROP_LIST], link);
  if (attributes[IFLA_XDP] != nullptr) parse_xdp(attributes[IFLA_XDP], link);
  if (attributes[IFLA_STATS64] != nullptr) {
    rtnl_link_stats64 statistics{};  // copied, for the attribute is aligned to 4 bytes only
    nla_memcpy(&statistics, attributes[IFLA_STATS64], sizeof statistics);
    link.transmitted = statistics.tx_packets;
    link.transmit_dropped = statistics.tx_dropped;
  }
  return link;
}

Netlink::Netlink() : socket_(nullptr, nl_socket_free) {
  connect();
}

Netlink::~Netlink() = default;

void Netlink::connect() {
  socket_.reset(nl_socket_alloc());
  if (!socket_) throw std::bad_alloc();
  if (const int result = nl_connect(socket_.get(), NETLINK_ROUTE); result < 0)
    throw std::runtime_error(std::string("open a netlink socket: ") + nl_geterror(result));
  const int on = 1;
  setsockopt(nl_socket_get_fd(socket_.get()), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
  setsockopt(nl_socket_get_fd(socket_.get()), SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
}

Netlink::Outcome Netlink::exchange(NetlinkMessage& message, const Reader& read) {
  // A question without an acknowledgement has one answer, or an error.
  constexpr int kMoreComes = NLM_F_ACK | NLM_F_DUMP;
  struct Progress {
    const Reader& read;
    const bool one_answer;
    std::uint32_t sequence = 0;
    Outcome outcome;
    bool finished = false;
    std::exception_ptr exception;
  } progress{read, (nlmsg_hdr(message.get())->nlmsg_flags & kMoreComes) == 0, 0, {}, false, nullptr};

  const std::unique_ptr<nl_cb, void (*)(nl_cb*)> callbacks(nl_cb_alloc(NL_CB_DEFAULT), nl_cb_put);
  if (!callbacks) throw std::bad_alloc();
  const auto finish = [](nl_msg*, void* argument) -> int {
    static_cast<Progress*>(argument)->finished = true;
    return NL_STOP;
  };
  const auto valid = [](nl_msg* received, void* argument) -> int {
    auto* state = static_cast<Progress*>(argument);
    try {
      if (state->read) state->read(nlmsg_hdr(received));
    } catch (...) {  // must not pass through libnl
      state->exception = std::current_exception();
    }
    state->finished = state->one_answer;
    return state->one_answer ? NL_STOP : NL_OK;
  };
  const auto error = [](sockaddr_nl*, nlmsgerr* received, void* argument) -> int {
    auto* state = static_cast<Progress*>(argument);
    state->outcome = {.error = -received->error, .explanation = explanation_of(received)};
    state->finished = true;
    return NL_STOP;
  };
  // libnl's own check goes by acknowledgements.
  const auto check_sequence = [](nl_msg* received, void* argument) -> int {
    return nlmsg_hdr(received)->nlmsg_seq == static_cast<Progress*>(argument)->sequence ? NL_OK
                                                                                        : -NLE_SEQ_MISMATCH;
  };
  nl_cb_set(callbacks.get(), NL_CB_SEQ_CHECK, NL_CB_CUSTOM, check_sequence, &progress);
  nl_cb_set(callbacks.get(), NL_CB_VALID, NL_CB_CUSTOM, valid, &progress);
  nl_cb_set(callbacks.get(), NL_CB_FINISH, NL_CB_CUSTOM, finish, &progress);
  nl_cb_set(callbacks.get(), NL_CB_ACK, NL_CB_CUSTOM, finish, &progress);
  nl_cb_err(callbacks.get(), NL_CB_CUSTOM, error, &progress);

  if (progress.one_answer) nl_socket_disable_auto_ack(socket_.get());
  int result = nl_send_auto(socket_.get(), message.get());
  nl_socket_enable_auto_ack(socket_.get());
  progress.sequence = nlmsg_hdr(message.get())->nlmsg_seq;
  while (result >= 0 && !progress.finished) result = nl_recvmsgs(socket_.get(), callbacks.get());
  // The rest of an answer must not be taken for the next one.
  if (result < 0 && !progress.finished) connect();
  if (progress.exception) std::rethrow_exception(progress.exception);
  // libnl reports lost messages (ENOBUFS) as NLE_NOMEM.
  if (result == -NLE_DUMP_INTR || result == -NLE_NOMEM) return {.error = EAGAIN, .incomplete = true};
  if (result < 0 && progress.outcome.error == 0) return {.error = EIO, .explanation = nl_geterror(result)};
  return progress.outcome;
}

int Netlink::request(const std::string& attempt, NetlinkMessage& message,
                     std::initializer_list<int> expected) {
  const Outcome outcome = exchange(message, nullptr);
  if (outcome.error == 0 || std::find(expected.begin(), expected.end(), outcome.error) != expected.end())
    return outcome.error;
  fail(attempt, outcome.error, outcome.explanation);
}

int Netlink::dump(const std::string& attempt, NetlinkMessage& message, const std::function<void()>& restart,
                  const Reader& read, std::initializer_list<int> expected) {
  Outcome outcome;
  for (int tries = 0; tries < kDumpTries; ++tries) {
    restart();
    nlmsg_hdr(message.get())->nlmsg_seq = NL_AUTO_SEQ;
    nlmsg_hdr(message.get())->nlmsg_pid = NL_AUTO_PORT;
    outcome = exchange(message, read);
    if (!outcome.incomplete) break;
    connect();  // what is left of the dump must not be taken for the next one
  }
  if (outcome.error == 0 || std::find(expected.begin(), expected.end(), outcome.error) != expected.end())
    return outcome.error;
  fail(attempt, outcome.error, outcome.explanation);
}

std::optional<Link> Netlink::query_link(NetlinkMessage& message, const std::string& attempt) {
  std::optional<Link> link;
  const Outcome outcome = exchange(message, [&link](nlmsghdr* header) { link = parse_link(header); });
  // ERANGE: longer than any alternative name
  if (outcome.error == ENODEV || outcome.error == ERANGE || outcome.error == EINVAL) return std::nullopt;
  if (outcome.error != 0) fail(attempt, outcome.error, outcome.explanation);
  return link;
}

std::optional<Link> Netlink::find_link(const std::string& name) {
  NetlinkMessage message(RTM_GETLINK, NLM_F_REQUEST, link_header(0));
  message.put(name.size() > kLongestName ? IFLA_ALT_IFNAME : IFLA_IFNAME, name);
  return query_link(message, "look up interface " + name);
}

std::optional<Link> Netlink::find_link(int index) {
  NetlinkMessage message(RTM_GETLINK, NLM_F_REQUEST, link_header(index));
  return query_link(message, "look up interface " + std::to_string(index));
}

std::vector<Link> Netlink::links() {
  std::vector<Link> links;
  NetlinkMessage message(RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, link_header(0));
  dump(
      "list the interfaces", message, [&links] { links.clear(); },
      [&links](nlmsghdr* header) {
        if (auto link = parse_link(header)) links.push_back(std::move(*link));
      });
  return links;
}

void Netlink::add_veth_pair(const std::string& name, const std::string& peer, const std::string& alias,
                            std::uint32_t group, unsigned mtu) {
  NetlinkMessage message(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, link_header(0));
  message.put(IFLA_IFNAME, name);
  message.put(IFLA_MTU, mtu);
  message.put(IFLA_GROUP, group);
  message.nest(IFLA_LINKINFO, [&] {
    message.put(IFLA_INFO_KIND, std::string("veth"));
    message.nest(IFLA_INFO_DATA, [&] {
      message.nest(VETH_INFO_PEER, [&] {
        message.append(link_header(0));
        message.put(IFLA_IFNAME, peer);
        message.put(IFLA_MTU, mtu);
        message.put(IFLA_GROUP, group);
      });
    });
  });
  request("create " + name + " and " + peer, message);
  try {
    configure_veth_end(name, alias);
    configure_veth_end(peer, alias);
  } catch (...) {
    if (const auto link = find_link(name)) delete_link(link->index);
    throw;
  }
}

void Netlink::configure_veth_end(const std::string& name, const std::string& alias) {
  ifinfomsg header = link_header(0);
  header.ifi_flags = IFF_NOARP;
  header.ifi_change = IFF_NOARP;
  NetlinkMessage message(RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, header);
  message.put(IFLA_IFNAME, name);
  message.put(IFLA_IFALIAS, alias);
  request("set the alias of " + name, message);

  NetlinkMessage no_addresses(RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, link_header(0));
  no_addresses.put(IFLA_IFNAME, name);
  no_addresses.nest(IFLA_AF_SPEC, [&] {
    no_addresses.nest(AF_INET6,
                      [&] { no_addresses.put_byte(IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE); });
  });
  // Without IPv6 on the host, or with an MTU below 1280, there is nothing to turn off.
  request("turn off IPv6 addresses of " + name, no_addresses, {EAFNOSUPPORT, EOPNOTSUPP});
}

void Netlink::set_flag(int index, unsigned flag, bool on, const std::string& attempt,
                       std::initializer_list<int> expected) {
  ifinfomsg header = link_header(index);
  header.ifi_flags = on ? flag : 0;
  header.ifi_change = flag;
  NetlinkMessage message(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, header);
  request(attempt, message, expected);
}

void Netlink::set_up(int index) {
  set_flag(index, IFF_UP, true, "set interface " + std::to_string(index) + " up");
}

void Netlink::set_down(int index) {
  set_flag(index, IFF_UP, false, "set interface " + std::to_string(index) + " down");
}

void Netlink::set_promiscuous(int index, bool on) {
  const std::string attempt = "turn promiscuous mode of interface " + std::to_string(index);
  if (on) {
    set_flag(index, IFF_PROMISC, true, attempt + " on");
  } else {
    set_flag(index, IFF_PROMISC, false, attempt + " off", {ENODEV});
  }
}

void Netlink::delete_link(int index) {
  NetlinkMessage message(RTM_DELLINK, NLM_F_REQUEST | NLM_F_ACK, link_header(index));
  request("delete interface " + std::to_string(index), message, {ENODEV});
}

// If somebody else's daemon chooses the same at this moment, it does so to delete its own.
std::uint32_t Netlink::unused_group() {
  const std::vector<Link> present = links();
  std::uint32_t group = kFirstGroupToDelete;
  while (std::any_of(present.begin(), present.end(), [&](const Link& link) { return link.group == group; }))
    ++group;
  return group;
}

void Netlink::delete_links(const std::vector<int>& indices) {
  const std::uint32_t group = unused_group();
  for (const int index : indices) {
    NetlinkMessage message(RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, link_header(index));
    message.put(IFLA_GROUP, group);
    request("change the group of interface " + std::to_string(index), message, {ENODEV});
  }
  NetlinkMessage message(RTM_DELLINK, NLM_F_REQUEST | NLM_F_ACK, link_header(0));
  message.put(IFLA_GROUP, group);
  request("delete the interfaces of group " + std::to_string(group), message, {ENODEV});
}

std::string Netlink::qdisc_in_place_of_clsact(int index) {
  std::string kind;
  NetlinkMessage message(RTM_GETQDISC, NLM_F_REQUEST | NLM_F_DUMP, traffic_control_header(index, 0, 0));
  dump(
      "list the qdiscs of interface " + std::to_string(index), message, [&kind] { kind.clear(); },
      [&kind, index](nlmsghdr* header) {
        std::array<nlattr*, TCA_MAX + 1> attributes{};
        if (header->nlmsg_type != RTM_NEWQDISC ||
            nlmsg_parse(header, sizeof(tcmsg), attributes.data(), TCA_MAX, nullptr) < 0)
          return;
        const auto& qdisc = *static_cast<const tcmsg*>(nlmsg_data(header));
        // The kernel dumps the qdiscs of all interfaces.
        if (qdisc.tcm_ifindex == index && qdisc.tcm_parent == TC_H_CLSACT && attributes[TCA_KIND] != nullptr)
          kind = nla_get_string(attributes[TCA_KIND]);
      });
  return kind;
}

bool Netlink::ensure_clsact(int index) {
  NetlinkMessage message(RTM_NEWQDISC, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
                         traffic_control_header(index, TC_H_CLSACT, kClsactHandle));
  message.put(TCA_KIND, std::string("clsact"));
  if (request("add a clsact qdisc to interface " + std::to_string(index), message, {EEXIST}) == 0)
    return true;
  const std::string kind = qdisc_in_place_of_clsact(index);
  if (kind == "clsact") return false;
  throw std::system_error(
      EEXIST, std::system_category(),
      "the place of the clsact qdisc is taken by one of kind " + kind + ": remove it, or use TCX");
}

bool Netlink::has_clsact(int index) {
  return qdisc_in_place_of_clsact(index) == "clsact";
}

void Netlink::delete_clsact(int index) {
  NetlinkMessage message(RTM_DELQDISC, NLM_F_REQUEST | NLM_F_ACK,
                         traffic_control_header(index, TC_H_CLSACT, kClsactHandle));
  request("delete the clsact qdisc of interface " + std::to_string(index), message, {ENOENT, EINVAL, ENODEV});
}

void Netlink::add_bpf_filter(int index, const Filter& filter, int program) {
  NetlinkMessage message(RTM_NEWTFILTER, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
                         traffic_control_header(index, filter.parent, filter.handle, filter_info(filter)));
  message.put(TCA_KIND, std::string("bpf"));
  message.nest(TCA_OPTIONS, [&] {
    message.put(TCA_BPF_FD, static_cast<std::uint32_t>(program));
    message.put(TCA_BPF_NAME, filter.name);
    message.put(TCA_BPF_FLAGS, std::uint32_t{TCA_BPF_FLAG_ACT_DIRECT});
  });
  request("add filter " + filter.name + " to interface " + std::to_string(index), message);
}

std::vector<Filter> Netlink::filters(int index, std::uint32_t parent) {
  std::vector<Filter> filters;
  NetlinkMessage message(RTM_GETTFILTER, NLM_F_REQUEST | NLM_F_DUMP,
                         traffic_control_header(index, parent, 0));
  dump(
      "list the filters of interface " + std::to_string(index), message, [&filters] { filters.clear(); },
      [&filters](nlmsghdr* header) {
        if (auto filter = parse_filter(header)) filters.push_back(std::move(*filter));
      },
      {ENOENT, EINVAL, ENODEV});
  return filters;
}

void Netlink::delete_filter(int index, const Filter& filter) {
  NetlinkMessage message(RTM_DELTFILTER, NLM_F_REQUEST | NLM_F_ACK,
                         traffic_control_header(index, filter.parent, filter.handle, filter_info(filter)));
  message.put(TCA_KIND, filter.kind);
  request("delete filter " + filter.name + " of interface " + std::to_string(index), message,
          {ENOENT, EINVAL, ENODEV});
}

}  // namespace headgate
