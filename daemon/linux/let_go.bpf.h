// Lets packets that no class shapes go on from the hook, by the verdict on their class, and counts them.
#pragma once

#include <bpf/bpf_helpers.h>

#include "copy_out.bpf.h"
#include "packet_headers.bpf.h"

#define TCP_FIN 0x01
#define TCP_PSH 0x08

// What went on by the verdict on its class: from a shape's place on by class, and behind them of none.
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, DIVERT_LET_GO_MAX);
  __type(key, __u32);
  __type(value, struct let_go_count);
} let_go SEC(".maps");

// What the worker has not sent yet must not be passed: packets are let go from when its ring buffer has been found empty.
static __always_inline bool may_let_go(struct divert_shape* shape, __u32 worker) {
  const __u32 rules = *(volatile __u32*)&shape->lets_go_by;
  if (rules == 0) return false;
  __u32* empty = &shape->found_empty[worker & (DIVERT_WORKERS_MAX - 1)];
  if (*empty == rules) return true;
  void* ring = bpf_map_lookup_elem(&ring_buffers, &channel_of(shape, worker)->ring);
  if (ring == NULL || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) != 0) return false;
  *empty = rules;
  return true;
}

static __always_inline void mark_varying(struct packet* packet, __u64 at, __u32 bytes, __u8 bits) {
  asm volatile("" : "+r"(at));  // or else a copy of it is compared
  if (at > MATCH_INPUT_BYTES - bytes) return;
  for (__u32 i = 0; i < bytes; ++i) packet->input.varying[at + i] = bits;
}

// Of eight bytes in memory, those from the nth on are all ones.
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTES_FROM(n) (~0ULL << (n)*8)
#else
#define BYTES_FROM(n) (~0ULL >> (n)*8)
#endif

// Of a TCP super-packet: match_input.h. False: it cannot be read.
__noinline int describe_super_packet(struct __sk_buff* skb) {
  struct packet* packet = this_packet();
  __u8 flags = 0;
  if (packet == NULL) return false;
  const __u32 payload = tcp_headers(skb, packet, &flags);
  if (payload == 0) return false;
  packet->varies = true;
  // Eight bytes at a time, and unrolled: a verifier that trusts nobody allows no address that varies with a loop.
#pragma unroll
  for (__u32 i = 0; i < MATCH_INPUT_BYTES; i += 8) {
    const __u64 behind = payload <= i ? ~0ULL : payload >= i + 8 ? 0 : BYTES_FROM(payload - i);
    *(__u64*)&packet->input.varying[i] = behind;
  }
  const __u32 transport = packet->layout.transport;
  if (packet->layout.ipv4) {
    __builtin_memset(&packet->input.varying[ETH_HLEN + offsetof(struct iphdr, tot_len)], 0xff,
                     4);  // and the id
    __builtin_memset(&packet->input.varying[ETH_HLEN + offsetof(struct iphdr, check)], 0xff, 2);
  } else {
    __builtin_memset(&packet->input.varying[ETH_HLEN + offsetof(struct ipv6hdr, payload_len)], 0xff, 2);
  }
  // What does not fit is not asked for: TCP headers across the end of the copied bytes are few.
  if (transport > MATCH_INPUT_BYTES - TCP_HEADER_BYTES) return false;
  mark_varying(packet, transport + 4, 4, 0xff);
  mark_varying(packet, transport + TCP_CHECKSUM_AT, 2, 0xff);
  mark_varying(packet, transport + TCP_FLAGS_AT, 1, flags & (TCP_FIN | TCP_PSH | TCP_CWR));
  return true;
}

// False: the class of the packet cannot be found.
static __always_inline bool is_to_be_matched(struct __sk_buff* skb, struct divert_shape* shape,
                                             struct packet* packet) {
  if (!may_let_go(shape, *(volatile __u32*)&packet->worker))
    return false;  // a verifier must not know the number
  packet->input.mark = skb->mark;
  packet->input.is_super_packet = skb->gso_size != 0;
  if (skb->gso_size != 0) return is_tcp(packet) && describe_super_packet(skb);
  if (packet->varies) __builtin_memset(packet->input.varying, 0, sizeof(packet->input.varying));
  packet->varies = false;
  return true;
}

// Counted as the packets that a super-packet holds, with the headers of each.
static __always_inline void count_let_go(struct __sk_buff* skb, const struct packet* packet, __u32 place) {
  struct let_go_count* counter = bpf_map_lookup_elem(&let_go, &place);
  const __u32 headers = repeated_headers(skb, packet);
  const __u64 packets_held = packets_in(skb, headers);
  const __u32 tag = skb->vlan_present ? sizeof(struct vlan_header) : 0;
  const __u64 bytes = skb->len + tag + (packets_held - 1) * (headers + tag);
  if (counter != NULL) {
    counter->packets += packets_held;
    counter->bytes += bytes;
  }
}

// By the verdict.
static __always_inline bool is_let_go(struct __sk_buff* skb, const struct divert_shape* shape,
                                      const struct packet* packet) {
  const __u32 verdict = packet->input.verdict;
  if (verdict == MATCH_UNMATCHED) {
    count_let_go(skb, packet, shape->let_go_at + shape->classes);
    return true;
  }
  if (verdict >= DIVERT_CLASSES_MAX || (shape->unshaped_classes[verdict / 64] >> (verdict % 64) & 1) == 0)
    return false;
  count_let_go(skb, packet, shape->let_go_at + verdict);
  return true;
}
