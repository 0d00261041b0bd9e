// What the programs of divert.bpf.c are told before loading, and what they know of each shape.
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "divert_memory.h"

// Set before loading.
const volatile __u32 own_mark;       // of packets that headgated sends itself
const volatile __u32 own_mark_bits;  // by which it is known; the others are a place in `restored`
const volatile __u8 has_ipsec;       // the kernel

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, DIVERT_SHAPES_MAX);
  __type(key, __u32);
  __type(value, struct divert_shape);
} shapes SEC(".maps");

// The shape's place, by the hook.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, DIVERT_HOOKS_MAX);
  __type(key, struct divert_hook);
  __type(value, __u32);
} hooks SEC(".maps");

// By the place that the mark of a packet names. The first is that of most packets.
struct divert_restored restored[DIVERT_RESTORED_MAX];

static __always_inline struct divert_shape* shape_at(__u32 place) {
  return bpf_map_lookup_elem(&shapes, &place);
}

// A divert_hook.
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FIRST_AND_SECOND(first, second) ((__u64)(second) << 32 | (first))
#else
#define FIRST_AND_SECOND(first, second) ((__u64)(first) << 32 | (second))
#endif

// 0: of none.
static __always_inline __u32 place_by_hook(__u32 device, __u32 kind) {
  // Written in one piece: a verifier that trusts nobody lets no half of it be written where an address may have stood.
  __u64 hook = FIRST_AND_SECOND(device, kind);
  asm volatile("" : "+r"(hook));
  const __u32* place = bpf_map_lookup_elem(&hooks, &hook);
  return place == NULL ? 0 : *place;
}
