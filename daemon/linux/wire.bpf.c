// What runs on the ingress hook of an inline interface, behind everything else: what has not been diverted leaves by the other
// end of the wire. Outlives headgated.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

const volatile __u32 wire_device;  // ifindex; set before loading

SEC("tc")
int wire(struct __sk_buff* skb) {
  return bpf_redirect(wire_device, 0);
}

char program_license[] SEC("license") = "GPL";
