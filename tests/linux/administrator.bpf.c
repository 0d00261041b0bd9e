// A program of the administrator's own behind the divert: counts the IPv4 packets that pass it and lets them
// go on. (The kernel's own IPv6 multicast reports come with a mark by accident: it shares its place with
// another field.)
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

__u64 packets;
__u64 marked_packets;

__u64 tries;

// Counts the UDP packets over IPv4 that come, and drops those whose payload begins with an odd byte.
SEC("tc")
int refuse_odd(struct __sk_buff* skb) {
  __u8 first;
  if (skb->protocol != bpf_htons(ETH_P_IP)) return TC_ACT_UNSPEC;
  if (bpf_skb_load_bytes(skb, ETH_HLEN + 20 + 8, &first, sizeof(first)) < 0) return TC_ACT_UNSPEC;
  __sync_fetch_and_add(&tries, 1);
  return first % 2 != 0 ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

SEC("tc")
int count(struct __sk_buff* skb) {
  if (skb->protocol != bpf_htons(ETH_P_IP)) return TC_ACT_OK;
  __sync_fetch_and_add(&packets, 1);
  if (skb->mark != 0) __sync_fetch_and_add(&marked_packets, 1);
  return TC_ACT_OK;
}
