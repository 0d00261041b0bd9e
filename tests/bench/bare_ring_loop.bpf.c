// Takes packets off an interface's hook: copies each into the ring buffer and ends it there. By clsact with direct action.
//
// What bare_ring_loop sent itself has its mark and goes on. So does all that is not IPv4 or IPv6 without a VLAN tag. What
// finds no room in the ring is lost and counted.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bare_ring_record.h"

#define GO_ON (-1)

const volatile __u32 own_mark;  // set before loading

__u64 lost;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);  // its size is set before loading
} ring SEC(".maps");

// `room` is a constant, for the verifier takes no other size to reserve. It must know that at least one byte is copied, and
// learns no lower bound from `length != 0`: so the length less one is what is compared, in a register that the compiler
// knows nothing about.
static __always_inline int copy(struct __sk_buff* skb, const __u32 room) {
  struct bare_ring_record* record = bpf_ringbuf_reserve(&ring, sizeof(*record) + room, 0);
  if (!record) {
    __sync_fetch_and_add(&lost, 1);
    return TC_ACT_STOLEN;
  }
  __u64 last = skb->len - 1;
  asm volatile("" : "+r"(last));
  if (last >= room || bpf_skb_load_bytes(skb, 0, record + 1, last + 1) < 0) {
    bpf_ringbuf_discard(record, 0);
    return GO_ON;
  }
  record->length = last + 1;
  record->gso_size = skb->gso_size;
  bpf_ringbuf_submit(record, 0);
  return TC_ACT_STOLEN;
}

SEC("tc")
int take_out(struct __sk_buff* skb) {
  if (skb->mark == own_mark) {
    skb->mark = 0;
    return GO_ON;
  }
  if (skb->vlan_present) return GO_ON;
  if (skb->protocol != bpf_htons(ETH_P_IP) && skb->protocol != bpf_htons(ETH_P_IPV6)) return GO_ON;
  const __u32 length = skb->len;
  if (length <= 128) return copy(skb, 128);
  if (length <= 256) return copy(skb, 256);
  if (length <= 512) return copy(skb, 512);
  if (length <= 1024) return copy(skb, 1024);
  if (length <= 1600) return copy(skb, 1600);
  if (length <= 2048) return copy(skb, 2048);
  if (length <= 4096) return copy(skb, 4096);
  if (length <= 9216) return copy(skb, 9216);
  if (length <= 16384) return copy(skb, 16384);
  if (length <= 32768) return copy(skb, 32768);
  return copy(skb, 65792);
}

char program_license[] SEC("license") = "GPL";
