// What runs in the kernel for each packet of a shaped interface.
//
//   divert          on the interface's egress or ingress hook: sends a packet to the divert device, or lets it go on
//   refuse_foreign  on the egress hooks of the divert device and of its peer: what the divert has not sent on the one, and
//                   headgated not on the other, ends before it is captured or given back
//   drop_captured   on the ingress hook of the divert device's peer: the packet has been captured when it was sent, and
//                   nobody else may see it, or the host's stack would answer it
//   consume_captured  the same by clsact, without being reported as a drop
//   return_shaped   on the ingress hook of the divert device: what headgated sent on its peer goes back to where it was
//                   diverted, and the divert lets it go on; what others sent there ends
//   wire            on the ingress hook of an inline interface, behind everything else: what has not been diverted
//                   leaves by the other end of the wire. Outlives headgated.
//
// All but consume_captured serve TCX and clsact with direct action, which read their return codes alike. "Go on" is
// -1, after which the administrator's own programs and filters still run; TC_ACT_OK skips them.
//
// A packet on the divert device is known as ours by the mark. Setting a mark takes a capability, so nobody who may not
// shape this host can have anything captured or given back.
#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "divert_memory.h"

#define GO_ON (-1)
#define VLAN_TAGS_MAX 2
#define EXTENSION_HEADERS_MAX 8
#define HOST_IDENTITY 139
#define SHIM6 140
#define VRRP 112
#define NANOSECONDS 1000000000ULL

// Set before loading.
const volatile __u32 own_mark;       // of packets that headgated sends itself
const volatile __u32 divert_device;  // ifindex
const volatile __u32 return_device;  // ifindex
const volatile __u64 return_flags;   // of bpf_redirect(): BPF_F_INGRESS, or 0 for egress
const volatile __u32 wire_device;    // ifindex; 0: no wire
const volatile __u64 patience_ns = 500 * 1000 * 1000;
const volatile __u8 minds_tunnel_metadata;  // what comes back without it would be lost or another packet
const volatile __u8 minds_decryption;       // likewise; false, too, where the kernel has no IPsec

// Shared with headgated by memory mapping. The dead-man switch: when the first packet that nobody has read
// since was diverted, as CLOCK_MONOTONIC nanoseconds; 0: everything has been read. Written on every packet's
// path, so each counter has a cache line to itself.
__u64 unread_since __attribute__((aligned(64)));
__u64 passed_unshaped __attribute__((aligned(64)));
__u32 diverting __attribute__((aligned(64)));  // 0: let everything go on
__u32 divert_control;                          // 1: a class takes control traffic too

struct divert_bound control_packets;  // of control traffic that is not diverted
struct divert_bound control_bits;

struct divert_count unshapable;       // went on, for it cannot be taken out
struct divert_count control_traffic;  // went on within its bounds
struct divert_count foreign;          // dropped on the divert device: sent there by others

// For each bound the time at which all that passed has been paid for. Packets are charged by several processors.
struct control_clocks {
  struct bpf_spin_lock lock;
  __u64 packets;  // CLOCK_MONOTONIC nanoseconds
  __u64 bits;
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct control_clocks);
} control_clocks SEC(".maps");

struct vlan_header {
  __be16 tci;
  __be16 encapsulated;
};

static __always_inline bool is_vlan_tag(__be16 ether_type) {
  return ether_type == bpf_htons(ETH_P_8021Q) || ether_type == bpf_htons(ETH_P_8021AD);
}

static __always_inline void count(struct divert_count* counter, __u64 packets, __u64 bytes) {
  __sync_fetch_and_add(&counter->packets, packets);
  __sync_fetch_and_add(&counter->bytes, bytes);
}

// Packets that a super-packet holds. Its sender may have left it to others to count them.
static __always_inline __u64 packets_in(struct __sk_buff* skb) {
  if (skb->gso_size == 0) return 1;
  if (skb->gso_segs != 0) return skb->gso_segs;
  return (skb->len + skb->gso_size - 1) / skb->gso_size;
}

// Functions that are not static are verified once, each by itself; in one piece the paths through them would multiply.

// What is control traffic is read as daemon/core/header_parser.cpp reads it, within the same limits. Of it the functions
// return how many bytes of headers each packet of a super-packet has, of other traffic 0. `end` is where the packet ends
// by its own word, as an offset in the frame.

// DHCP and DHCPv6. The destination decides: their RFCs leave the source port free.
static __always_inline __u32 udp_control(struct __sk_buff* skb, __u32 offset, __u32 end, __u16 port,
                                         __u16 other) {
  struct {
    __be16 source;
    __be16 destination;
  } ports;
  if (offset + sizeof(ports) > end || bpf_skb_load_bytes(skb, offset, &ports, sizeof(ports)) < 0) return 0;
  const bool known = ports.destination == bpf_htons(port) || ports.destination == bpf_htons(other);
  return known ? offset + sizeof(struct udphdr) : 0;
}

// Multicast listener discovery; router solicitation and advertisement, neighbour solicitation and advertisement, redirect.
static __always_inline __u32 icmpv6_control(struct __sk_buff* skb, __u32 offset, __u32 end) {
  __u8 type;
  if (offset + sizeof(type) > end || bpf_skb_load_bytes(skb, offset, &type, sizeof(type)) < 0) return 0;
  return (type >= 130 && type <= 137) || type == 143 ? offset : 0;
}

static __always_inline __u32 ipv4_control(struct __sk_buff* skb, __u32 offset) {
  struct iphdr ip;
  if (bpf_skb_load_bytes(skb, offset, &ip, sizeof(ip)) < 0) return 0;
  const bool fragment = (ip.frag_off & bpf_htons(0x3fff)) != 0;
  if (ip.version != 4 || ip.ihl < 5 || fragment) return 0;
  const __u32 header = ip.ihl * 4;
  const __u32 total = bpf_ntohs(ip.tot_len);
  const __u32 end = total < header ? skb->len : offset + total;
  offset += header;
  if (ip.protocol == IPPROTO_UDP) return udp_control(skb, offset, end, 67, 68);
  if (ip.protocol != IPPROTO_IGMP && ip.protocol != VRRP) return 0;
  return offset <= skb->len ? offset : 0;
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

__noinline __u32 ipv6_control(struct __sk_buff* skb, __u32 offset) {
  struct ipv6hdr ip;
  if (bpf_skb_load_bytes(skb, offset, &ip, sizeof(ip)) < 0 || ip.version != 6) return 0;
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
    if (bpf_skb_load_bytes(skb, offset, &extension, sizeof(extension)) < 0) return 0;
    const __u32 length = extension_length(next, extension.common.hdrlen);
    if (offset + length > end) return 0;
    if (next == IPPROTO_FRAGMENT && (extension.fragment & bpf_htons(0xfff9)) != 0) return 0;
    next = extension.common.nexthdr;
    offset += length;
  }
  if (next == IPPROTO_UDP) return udp_control(skb, offset, end, 546, 547);
  if (next == IPPROTO_ICMPV6) return icmpv6_control(skb, offset, end);
  return next == VRRP ? offset : 0;
}

// A clock as it stands now. A limit that was changed may have left it further ahead than the burst is by now.
static __always_inline __u64 set_right(__u64 clock, __u64 now, __u64 burst_ns) {
  if (clock < now) return now;
  return clock > now + burst_ns ? now + burst_ns : clock;
}

static __always_inline __u64 cost_ns(__u64 amount, __u64 per_second) {
  return per_second == 0 ? 0 : amount * NANOSECONDS / per_second;
}

// Charges both bounds, or neither and returns false.
static __always_inline bool is_within_control_limit(__u64 packets, __u64 bytes) {
  const __u64 packets_per_second = *(volatile __u64*)&control_packets.per_second;
  const __u64 packets_burst = *(volatile __u64*)&control_packets.burst_ns;
  const __u64 bits_per_second = *(volatile __u64*)&control_bits.per_second;
  const __u64 bits_burst = *(volatile __u64*)&control_bits.burst_ns;
  if (packets_per_second == 0 && bits_per_second == 0) return true;
  const __u32 key = 0;
  struct control_clocks* clocks = bpf_map_lookup_elem(&control_clocks, &key);
  if (clocks == NULL) return false;
  const __u64 packets_cost = cost_ns(packets, packets_per_second);
  const __u64 bits_cost = cost_ns(bytes * 8, bits_per_second);
  const __u64 now = bpf_ktime_get_ns();
  bpf_spin_lock(&clocks->lock);
  clocks->packets = set_right(clocks->packets, now, packets_burst);
  clocks->bits = set_right(clocks->bits, now, bits_burst);
  const bool within =
      clocks->packets + packets_cost <= now + packets_burst && clocks->bits + bits_cost <= now + bits_burst;
  if (within) {
    clocks->packets += packets_cost;
    clocks->bits += bits_cost;
  }
  bpf_spin_unlock(&clocks->lock);
  return within;
}

__noinline int goes_on_as_control(struct __sk_buff* skb, __u32 headers) {
  const __u64 packets = packets_in(skb);
  const __u64 bytes = skb->len + (packets - 1) * headers;
  if (!is_within_control_limit(packets, bytes)) return false;
  count(&control_traffic, packets, bytes);
  return true;
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
  if (ether_type != bpf_htons(ETH_P_IP) && ether_type != bpf_htons(ETH_P_IPV6)) return false;
  if (divert_control) return true;
  const __u32 headers =
      ether_type == bpf_htons(ETH_P_IP) ? ipv4_control(skb, offset) : ipv6_control(skb, offset);
  return headers == 0 || !goes_on_as_control(skb, headers);
}

// User space gives back the bytes of a packet, not what the kernel notes beside them. Without its tunnel metadata a
// packet finds no way into the tunnel, and one that IPsec has decrypted is refused as one that came in the clear.
__noinline int cannot_be_taken_out(struct __sk_buff* skb) {
  if (minds_tunnel_metadata) {
    // Of a length that every kernel knows. Metadata of IPv6 is another error than none.
    struct bpf_tunnel_key key;
    const __u32 length = offsetof(struct bpf_tunnel_key, tunnel_label);
    if (bpf_skb_get_tunnel_key(skb, &key, length, 0) != -EINVAL) return true;
  }
  if (minds_decryption) {
    struct bpf_xfrm_state state;
    if (bpf_skb_get_xfrm_state(skb, 0, &state, sizeof(state), 0) == 0) return true;
  }
  return false;
}

static __always_inline void count_unshapable(struct __sk_buff* skb) {
  // On egress the kernel has worked out what a super-packet comes to on the wire.
  const __u32 length = skb->len, wire_length = skb->wire_len;
  count(&unshapable, packets_in(skb), wire_length > length ? wire_length : length);
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
  if ((minds_tunnel_metadata || minds_decryption) && cannot_be_taken_out(skb)) {
    count_unshapable(skb);
    return GO_ON;
  }
  if (reader_is_dead()) {
    __sync_fetch_and_add(&passed_unshaped, 1);
    return GO_ON;
  }
  skb->mark = own_mark;
  return bpf_redirect(divert_device, 0);
}

static __always_inline int drop_foreign(struct __sk_buff* skb) {
  count(&foreign, 1, skb->len);
  return TC_ACT_SHOT;
}

// What others have attached behind it does not run: it could only lose the packet.
SEC("tc")
int refuse_foreign(struct __sk_buff* skb) {
  return skb->mark == own_mark ? TC_ACT_OK : drop_foreign(skb);
}

SEC("tc")
int drop_captured(struct __sk_buff* skb) {
  return TC_ACT_SHOT;
}

// TCX does not know this code and would let the packet go on.
SEC("tc")
int consume_captured(struct __sk_buff* skb) {
  return TC_ACT_STOLEN;
}

// While nothing is diverted nobody takes the mark off again, so none is left on.
SEC("tc")
int return_shaped(struct __sk_buff* skb) {
  if (skb->mark != own_mark) return drop_foreign(skb);
  if (!*(volatile __u32*)&diverting) skb->mark = 0;
  return bpf_redirect(return_device, return_flags);
}

SEC("tc")
int wire(struct __sk_buff* skb) {
  return bpf_redirect(wire_device, 0);
}

char program_license[] SEC("license") = "GPL";
