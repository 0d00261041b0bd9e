// What the programs of divert.bpf.c share with headgated by memory mapping. C, for both.
#pragma once

#include <linux/types.h>

struct divert_count {
  __u64 packets;
  __u64 bytes;
} __attribute__((aligned(64)));  // counted by several processors: a cache line to itself

// A bound of control traffic: so much a second, and what may pass at once as the time that it takes at that rate.
struct divert_bound {
  __u64 per_second;  // packets or bits; 0: no bound
  __u64 burst_ns;
};
