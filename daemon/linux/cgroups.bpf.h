// Which of the cgroups that classes name the socket of a packet belongs to.
#pragma once

#include <bpf/bpf_helpers.h>

#include "divert_memory.h"
#include "packet_headers.bpf.h"

const volatile __u8 has_cgroups;  // set before loading: this kernel has, and the map below is there

// By place; headgated puts in those that there are. Of all shapes of a daemon.
struct {
  __uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
  __uint(max_entries, DIVERT_CGROUPS_MAX);
  __type(key, __u32);
  __type(value, __u32);
} cgroups SEC(".maps");

// Notes a bit for each of `asked` that the socket belongs to, by itself or by one below it. None of a packet without a socket.
// Bit by bit in memory, of which the verifier keeps no account: as a number each would double the states that it tells apart.
__noinline int find_cgroups(struct __sk_buff* skb, __u32 asked) {
  struct packet* packet = this_packet();
  if (!has_cgroups || packet == NULL) return 0;
#pragma unroll  // a verifier that trusts nobody follows a loop beyond its end
  for (__u32 place = 0; place < DIVERT_CGROUPS_MAX; ++place) {
    if ((asked >> place & 1) == 0) continue;
    if (bpf_skb_under_cgroup(skb, &cgroups, place) == 1) packet->input.cgroups |= 1U << place;
  }
  return 0;
}

static __always_inline void note_cgroups(struct __sk_buff* skb, const struct divert_shape* shape,
                                         struct packet* packet) {
  const __u32 asked = *(const volatile __u32*)&shape->cgroups_asked;
  packet->input.cgroups = 0;
  if (asked != 0) find_cgroups(skb, asked);
}
