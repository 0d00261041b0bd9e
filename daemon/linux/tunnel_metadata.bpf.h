// Tunnel metadata beside a packet: where a tunnel device that takes its tunnel from each packet is to send it. User space gives
// back the bytes of a packet alone, so what stands beside it is kept here, once for all packets that have the same, and the
// packet's record names its place.
//
// Only of what leaves: the kernel gives metadata back for sending alone.
#pragma once

#include <linux/bpf.h>
#include <linux/errno.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "divert_memory.h"
#include "packet_headers.bpf.h"

// In tunnel_flags of bpf_skb_get_tunnel_key(), as linux/if_tunnel.h has them.
#define TUNNEL_HAS_CHECKSUM 0x01
#define TUNNEL_HAS_KEY 0x04
#define TUNNEL_HAS_SEQUENCE 0x08
#define TUNNEL_DONT_FRAGMENT 0x0100

// Of Linux 6.3, which older headers do not have: no key in the header of GRE.
#define NO_TUNNEL_KEY (1ULL << 4)

// Where all that has come stands; place 0 is that of none. Places are never given anew: a packet may wait for long.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, DIVERT_TUNNELS_MAX);
  __type(key, __u32);
  __type(value, struct divert_tunnel);
} tunnels SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, DIVERT_TUNNELS_MAX);
  __type(key, struct divert_tunnel);
  __type(value, __u32);
} tunnel_places SEC(".maps");

struct tunnels_known {
  struct bpf_spin_lock lock;
  __u32 count;
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct tunnels_known);
} tunnels_known SEC(".maps");

// What is being read, at each processor.
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct divert_tunnel);
} tunnel_read SEC(".maps");

static __always_inline void swap_addresses(struct bpf_tunnel_key* key) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const __u32 remote = key->remote_ipv6[i];
    key->remote_ipv6[i] = key->local_ipv6[i];
    key->local_ipv6[i] = remote;
  }
}

// For bpf_skb_set_tunnel_key().
static __always_inline __u64 flags_to_set(__u16 had, bool has_key) {
  __u64 flags = 0;
  if ((had & bpf_htons(TUNNEL_HAS_CHECKSUM)) == 0) flags |= BPF_F_ZERO_CSUM_TX;
  if (!has_key && (had & bpf_htons(TUNNEL_HAS_KEY)) == 0) flags |= NO_TUNNEL_KEY;
  if ((had & bpf_htons(TUNNEL_HAS_SEQUENCE)) != 0) flags |= BPF_F_SEQ_NUMBER;
  if ((had & bpf_htons(TUNNEL_DONT_FRAGMENT)) != 0) flags |= BPF_F_DONT_FRAGMENT;
  return flags;
}

static __always_inline long get_key(struct __sk_buff* skb, struct divert_tunnel* tunnel, __u64 family) {
  return bpf_skb_get_tunnel_key(skb, &tunnel->key, sizeof(tunnel->key), family | BPF_F_TUNINFO_FLAGS);
}

// Reads it as it is to be set: what is to be sent has the addresses of both ends the other way round.
static __always_inline bool read_tunnel(struct __sk_buff* skb, struct divert_tunnel* tunnel, bool has_key) {
  __builtin_memset(tunnel, 0, sizeof(*tunnel));
  __u64 family = 0;
  if (get_key(skb, tunnel, family) < 0) {
    family = BPF_F_TUNINFO_IPV6;
    if (get_key(skb, tunnel, family) < 0) return false;
  }
  tunnel->flags = family | flags_to_set(tunnel->key.tunnel_flags, has_key);
  tunnel->key.tunnel_flags = 0;
  swap_addresses(&tunnel->key);
  const long options = bpf_skb_get_tunnel_opt(skb, tunnel->options, sizeof(tunnel->options));
  if (options < 0) return options == -ENOENT;
  tunnel->option_bytes = options;
  return options % 4 == 0;  // the kernel takes no others
}

static __always_inline bool set_tunnel(struct __sk_buff* skb, const struct divert_tunnel* tunnel) {
  struct bpf_tunnel_key key = tunnel->key;
  if (bpf_skb_set_tunnel_key(skb, &key, sizeof(key), tunnel->flags) < 0) return false;
  const __u32 bytes = tunnel->option_bytes;
  if (bytes == 0) return true;
  // Older verifiers learn no lower bound from that comparison.
  __u64 last = (__u32)(bytes - 1);
  asm volatile("" : "+r"(last));
  if (last >= sizeof(tunnel->options)) return false;
  return bpf_skb_set_tunnel_opt(skb, (void*)tunnel->options, last + 1) == 0;
}

// 0: all places are taken.
static __always_inline __u32 take_tunnel_place(void) {
  const __u32 key = 0;
  struct tunnels_known* known = bpf_map_lookup_elem(&tunnels_known, &key);
  if (known == NULL) return 0;
  bpf_spin_lock(&known->lock);
  const __u32 place = known->count + 1 < DIVERT_TUNNELS_MAX ? ++known->count : 0;
  bpf_spin_unlock(&known->lock);
  return place;
}

// One that comes for the first time. It is set at once, for only what the kernel takes back can be kept.
static __always_inline __u32 keep_tunnel(struct __sk_buff* skb, const struct divert_tunnel* tunnel) {
  if (!set_tunnel(skb, tunnel)) return 0;
  const __u32 place = take_tunnel_place();
  if (place == 0) return 0;
  if (bpf_map_update_elem(&tunnels, &place, tunnel, BPF_ANY) < 0) return 0;
  if (bpf_map_update_elem(&tunnel_places, tunnel, &place, BPF_ANY) < 0) return 0;
  return place;
}

// The place of the packet's metadata; 0: there is no room for it, or the kernel would not take it back. `has_key`: any packet
// of the tunnel, whatever its metadata says of a key.
__noinline __u32 place_of_tunnel(struct __sk_buff* skb, bool has_key) {
  const __u32 key = 0;
  struct divert_tunnel* tunnel = bpf_map_lookup_elem(&tunnel_read, &key);
  if (tunnel == NULL || !read_tunnel(skb, tunnel, has_key)) return 0;
  const __u32* known = bpf_map_lookup_elem(&tunnel_places, tunnel);
  return known != NULL ? *known : keep_tunnel(skb, tunnel);
}

__noinline int give_tunnel_back(struct __sk_buff* skb, __u32 place) {
  const struct divert_tunnel* tunnel = bpf_map_lookup_elem(&tunnels, &place);
  return tunnel != NULL && set_tunnel(skb, tunnel);
}
