// Control traffic: what keeps the host reachable, and the bounds within which it goes on.
#pragma once

#include <linux/udp.h>

#include "divert_counts.bpf.h"
#include "packet_headers.bpf.h"

#define VRRP 112
#define NANOSECONDS 1000000000ULL

// For each bound the time at which all that passed has been paid for. Packets are charged by several processors.
struct control_clocks {
  struct bpf_spin_lock lock;
  __u64 packets;  // CLOCK_MONOTONIC nanoseconds
  __u64 bits;
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, DIVERT_SHAPES_MAX);
  __type(key, __u32);
  __type(value, struct control_clocks);
} control_clocks SEC(".maps");

// What is control traffic is read as daemon/core/header_parser.cpp reads it, within the same limits. Of it the functions
// return how many bytes of headers each packet of a super-packet has, of other traffic 0.

// DHCP and DHCPv6. The destination decides: their RFCs leave the source port free.
static __always_inline __u32 udp_control(struct __sk_buff* skb, const struct packet* packet, __u16 port,
                                         __u16 other) {
  struct {
    __be16 source;
    __be16 destination;
  } ports;
  const __u32 offset = packet->layout.transport;
  if (offset + sizeof(ports) > packet->layout.end || !READ(skb, packet, offset, &ports)) return 0;
  const bool known = ports.destination == bpf_htons(port) || ports.destination == bpf_htons(other);
  return known ? offset + sizeof(struct udphdr) : 0;
}

// Multicast listener discovery; router solicitation and advertisement, neighbour solicitation and advertisement, redirect.
static __always_inline __u32 icmpv6_control(struct __sk_buff* skb, const struct packet* packet) {
  __u8 type;
  const __u32 offset = packet->layout.transport;
  if (offset + sizeof(type) > packet->layout.end || !READ(skb, packet, offset, &type)) return 0;
  return (type >= 130 && type <= 137) || type == 143 ? offset : 0;
}

static __always_inline __u32 control_headers(struct __sk_buff* skb, const struct packet* packet) {
  const struct layout* layout = &packet->layout;
  const __u32 transport = layout->transport;
  if (transport == 0) return 0;
  if (layout->ipv4) {
    if (layout->protocol == IPPROTO_UDP) return udp_control(skb, packet, 67, 68);
    if (layout->protocol != IPPROTO_IGMP && layout->protocol != VRRP) return 0;
    return transport <= packet->input.length ? transport : 0;
  }
  if (layout->protocol == IPPROTO_UDP) return udp_control(skb, packet, 546, 547);
  if (layout->protocol == IPPROTO_ICMPV6) return icmpv6_control(skb, packet);
  return layout->protocol == VRRP ? transport : 0;
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
static __always_inline bool is_within_control_limit(const struct divert_shape* shape, __u32 place,
                                                    __u64 packets, __u64 bytes) {
  const __u64 packets_per_second = *(volatile __u64*)&shape->control_packets.per_second;
  const __u64 packets_burst = *(volatile __u64*)&shape->control_packets.burst_ns;
  const __u64 bits_per_second = *(volatile __u64*)&shape->control_bits.per_second;
  const __u64 bits_burst = *(volatile __u64*)&shape->control_bits.burst_ns;
  if (packets_per_second == 0 && bits_per_second == 0) return true;
  struct control_clocks* clocks = bpf_map_lookup_elem(&control_clocks, &place);
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
  const struct packet* packet = this_packet();
  struct divert_shape* shape = packet == NULL ? NULL : shape_of(packet);
  if (shape == NULL) return true;
  const __u64 packets = packets_in(skb, headers);
  const __u64 bytes = skb->len + (packets - 1) * headers;
  if (!is_within_control_limit(shape, packet->shape, packets, bytes)) return false;
  count(&shape->control_traffic, packets, bytes);
  return true;
}

// Of IP traffic, what does not keep the host reachable.
static __always_inline bool is_to_be_diverted(struct __sk_buff* skb, const struct divert_shape* shape,
                                              const struct packet* packet) {
  if (shape->divert_control) return true;
  const __u32 headers = control_headers(skb, packet);
  return headers == 0 || !goes_on_as_control(skb, place_of(packet, headers));
}
