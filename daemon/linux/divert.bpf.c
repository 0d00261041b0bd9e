// What runs in the kernel for each packet of a shaped interface.
//
//   divert          on the interface's egress or ingress hook: sends a packet to the divert device, or lets it go on
//   drop_captured   on the ingress hook of the divert device's peer: the packet has been captured when it was sent, and
//                   nobody else may see it, or the host's stack would answer it
//   return_shaped   on the ingress hook of the divert device: what was sent on its peer goes back to where it was
//                   diverted, and the divert lets it go on
//   wire            on the ingress hook of an inline interface, behind everything else: what has not been diverted
//                   leaves by the other end of the wire. Outlives headgated.
//
// The same programs serve TCX and clsact with direct action, which read their return codes alike. "Go on" is
// -1, after which the administrator's own programs and filters still run; 0 would skip them.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define GO_ON (-1)
#define VLAN_TAGS_MAX 2
#define EXTENSION_HEADERS_MAX 8
#define HOST_IDENTITY 139
#define SHIM6 140

// Set before loading.
const volatile __u32 own_mark;       // of packets that headgated sends itself
const volatile __u32 divert_device;  // ifindex
const volatile __u32 return_device;  // ifindex
const volatile __u64 return_flags;   // of bpf_redirect(): BPF_F_INGRESS, or 0 for egress
const volatile __u32 wire_device;    // ifindex; 0: no wire
const volatile __u64 patience_ns = 500 * 1000 * 1000;

// Shared with headgated by memory mapping. The dead-man switch: when the first packet that nobody has read
// since was diverted, as CLOCK_MONOTONIC nanoseconds; 0: everything has been read. Written on every packet's
// path, so each counter has a cache line to itself.
__u64 unread_since __attribute__((aligned(64)));
__u64 diverted_packets __attribute__((aligned(64)));
__u64 passed_unshaped __attribute__((aligned(64)));
__u32 diverting __attribute__((aligned(64)));  // 0: let everything go on
__u32 divert_control;                          // 1: a class takes control traffic too

struct vlan_header {
  __be16 tci;
  __be16 encapsulated;
};

static __always_inline bool is_vlan_tag(__be16 ether_type) {
  return ether_type == bpf_htons(ETH_P_8021Q) || ether_type == bpf_htons(ETH_P_8021AD);
}

// What is control traffic is read as daemon/core/header_parser.cpp reads it, within the same limits. `end` is where the
// packet ends by its own word, as an offset in the frame.

// DHCP and DHCPv6. The destination decides: their RFCs leave the source port free.
static __always_inline bool is_udp_to(struct __sk_buff* skb, __u32 offset, __u32 end, __u16 port,
                                      __u16 other) {
  struct {
    __be16 source;
    __be16 destination;
  } ports;
  if (offset + sizeof(ports) > end || bpf_skb_load_bytes(skb, offset, &ports, sizeof(ports)) < 0)
    return false;
  return ports.destination == bpf_htons(port) || ports.destination == bpf_htons(other);
}

// Router solicitation and advertisement, neighbour solicitation and advertisement, redirect.
static __always_inline bool is_neighbour_discovery(struct __sk_buff* skb, __u32 offset, __u32 end) {
  __u8 type;
  if (offset + sizeof(type) > end || bpf_skb_load_bytes(skb, offset, &type, sizeof(type)) < 0) return false;
  return type >= 133 && type <= 137;
}

static __always_inline bool is_ipv4_control(struct __sk_buff* skb, __u32 offset) {
  struct iphdr ip;
  if (bpf_skb_load_bytes(skb, offset, &ip, sizeof(ip)) < 0) return false;
  const bool fragment = (ip.frag_off & bpf_htons(0x3fff)) != 0;
  if (ip.version != 4 || ip.ihl < 5 || ip.protocol != IPPROTO_UDP || fragment) return false;
  const __u32 header = ip.ihl * 4;
  const __u32 total = bpf_ntohs(ip.tot_len);
  return is_udp_to(skb, offset + header, total < header ? skb->len : offset + total, 67, 68);
}

// Length in bytes of an IPv6 extension header that can be skipped, or 0.
static __always_inline __u32 extension_length(__u8 type, __u8 length) {
  switch (type) {
    case IPPROTO_HOPOPTS:
    case IPPROTO_ROUTING:
    case IPPROTO_DSTOPTS:
    case IPPROTO_MH:
    case HOST_IDENTITY:
    case SHIM6:
      return (length + 1) * 8;
    case IPPROTO_FRAGMENT:
      return 8;
    case IPPROTO_AH:
      return (length + 2) * 4;
    default:
      return 0;
  }
}

static __always_inline bool is_ipv6_control(struct __sk_buff* skb, __u32 offset) {
  struct ipv6hdr ip;
  if (bpf_skb_load_bytes(skb, offset, &ip, sizeof(ip)) < 0 || ip.version != 6) return false;
  __u8 next = ip.nexthdr;
  offset += sizeof(ip);
  const __u32 payload = bpf_ntohs(ip.payload_len);
  const __u32 end = payload == 0 || offset + payload > skb->len ? skb->len : offset + payload;
#pragma unroll
  for (int i = 0; i < EXTENSION_HEADERS_MAX; ++i) {
    if (extension_length(next, 0) == 0) break;
    struct {
      struct ipv6_opt_hdr common;
      __be16 fragment;
    } extension;
    if (bpf_skb_load_bytes(skb, offset, &extension, sizeof(extension)) < 0) return false;
    const __u32 length = extension_length(next, extension.common.hdrlen);
    if (offset + length > end) return false;
    if (next == IPPROTO_FRAGMENT && (extension.fragment & bpf_htons(0xfff9)) != 0) return false;
    next = extension.common.nexthdr;
    offset += length;
  }
  if (next == IPPROTO_UDP) return is_udp_to(skb, offset, end, 546, 547);
  return next == IPPROTO_ICMPV6 && is_neighbour_discovery(skb, offset, end);
}

// Only IPv4 and IPv6, also behind VLAN tags, and of these not what keeps the host reachable.
static __always_inline bool is_to_be_diverted(struct __sk_buff* skb) {
  __be16 ether_type;
  __u32 offset = ETH_HLEN;
  if (bpf_skb_load_bytes(skb, offsetof(struct ethhdr, h_proto), &ether_type, sizeof(ether_type)) < 0)
    return false;
  // One of them may stand beside the frame.
  for (int tags = skb->vlan_present ? 1 : 0; tags < VLAN_TAGS_MAX; ++tags) {
    if (!is_vlan_tag(ether_type)) break;
    struct vlan_header tag;
    if (bpf_skb_load_bytes(skb, offset, &tag, sizeof(tag)) < 0) return false;
    ether_type = tag.encapsulated;
    offset += sizeof(tag);
  }
  if (ether_type == bpf_htons(ETH_P_IP)) return divert_control || !is_ipv4_control(skb, offset);
  if (ether_type == bpf_htons(ETH_P_IPV6)) return divert_control || !is_ipv6_control(skb, offset);
  return false;
}

// True when nobody has read diverted packets for too long. Otherwise notes that one more is going to be
// unread.
static __always_inline bool reader_is_dead(void) {
  const __u64 since = *(volatile __u64*)&unread_since;
  const __u64 now = bpf_ktime_get_ns();
  if (since == 0) {
    *(volatile __u64*)&unread_since = now;
    return false;
  }
  // `since` may be a little younger than `now`: another processor may have set it meanwhile.
  return now > since && now - since > patience_ns;
}

SEC("tc")
int divert(struct __sk_buff* skb) {
  if (skb->mark == own_mark) {
    skb->mark = 0;
    return GO_ON;
  }
  if (!diverting || !is_to_be_diverted(skb)) return GO_ON;
  if (reader_is_dead()) {
    __sync_fetch_and_add(&passed_unshaped, 1);
    return GO_ON;
  }
  __sync_fetch_and_add(&diverted_packets, 1);
  return bpf_redirect(divert_device, 0);
}

SEC("tc")
int drop_captured(struct __sk_buff* skb) {
  return TC_ACT_SHOT;
}

// While nothing is diverted nobody takes the mark off again, so none is put on.
SEC("tc")
int return_shaped(struct __sk_buff* skb) {
  skb->mark = *(volatile __u32*)&diverting ? own_mark : 0;
  return bpf_redirect(return_device, return_flags);
}

SEC("tc")
int wire(struct __sk_buff* skb) {
  return bpf_redirect(wire_device, 0);
}

char program_license[] SEC("license") = "GPL";
