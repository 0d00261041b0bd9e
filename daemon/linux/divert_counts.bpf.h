// Counters that several processors write.
#pragma once

#include <bpf/bpf_helpers.h>

#include "divert_memory.h"

static __always_inline void count(struct divert_count* counter, __u64 packets, __u64 bytes) {
  __sync_fetch_and_add(&counter->packets, packets);
  __sync_fetch_and_add(&counter->bytes, bytes);
}
