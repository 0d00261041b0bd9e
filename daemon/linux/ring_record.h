// A packet in the BPF ring buffer, as copy_out.bpf.h writes it and BpfRing reads it. C, for both.
#pragma once

#include <linux/types.h>

// struct virtio_net_hdr of linux/virtio_net.h, which C++ cannot include.
struct ring_virtio_header {
  __u8 flags;
  __u8 gso_type;
  __u16 header_length;
  __u16 gso_size;
  __u16 checksum_start;
  __u16 checksum_offset;
};

// What user space gives back with the frame (pipeline/frame_prefix.hpp) stands right in front of it.
struct ring_record {
  __u64 time;       // when it was copied, by bpf_ktime_get_ns()
  __u32 channel;    // whose it is: BpfRing's number
  __u32 length;     // bytes of the frame, from its Ethernet header on, which may have been added
  __u16 vlan_tpid;  // of the tag that stands beside the frame, in the order of this machine; 0: none
  __u16 vlan_tci;
  __u32 cgroups;  // match_input
  __u32 mark;
  __u32 priority;
  __u32 tunnel;                      // place of the tunnel metadata; 0: none
  struct ring_virtio_header virtio;  // counts that tag as part of the frame
  __u8 frame[];
};

#define RING_FRAME_AT 46  // offset of the frame
