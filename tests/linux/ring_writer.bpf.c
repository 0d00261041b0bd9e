// Writes records as divert.bpf.c does, one each time it runs; what it writes is said by the test.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "../../daemon/linux/ring_record.h"

#define FRAME_MAX 2048

__u32 channel;
__u32 length;    // of the frame
__u32 number;    // in its first bytes
__u32 discards;  // the record, instead of handing it over
__u32 found_no_room;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);
} ring SEC(".maps");

SEC("tc")
int write_record(struct __sk_buff* skb) {
  struct ring_record* record = bpf_ringbuf_reserve(&ring, RING_FRAME_AT + FRAME_MAX, 0);
  if (!record) {
    ++found_no_room;
    return 0;
  }
  record->time = bpf_ktime_get_ns();
  record->channel = channel;
  record->length = length;
  record->vlan_tpid = 0x8100;
  record->vlan_tci = 5;
  record->cgroups = number + 3;
  record->mark = number + 1;
  record->priority = number + 2;
  __builtin_memcpy(record->frame, &number, sizeof(number));
  if (discards) {
    bpf_ringbuf_discard(record, 0);
  } else {
    bpf_ringbuf_submit(record, 0);
  }
  return 0;
}

char program_license[] SEC("license") = "GPL";
