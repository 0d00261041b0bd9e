// What bare_ring_loop.bpf.c puts into the ring for each packet. C, for both.
#pragma once

#include <linux/types.h>

struct bare_ring_record {
  __u32 length;    // of the frame, which follows
  __u32 gso_size;  // 0: no super-packet
};
