// What the programs of divert.bpf.c share with headgated by memory mapping. C, for both.
#pragma once

#include <linux/bpf.h>
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

// Shapes of a daemon, each of one direction of one interface. Place 0 is that of none.
#define DIVERT_SHAPES_MAX 4096

// What a packet gets back that headgated sends, and which shape it is of if it is sent on the divert device's peer.
struct divert_restored {
  __u32 mark;
  __u32 priority;
  __u32 tunnel;  // place of its tunnel metadata; 0: it has none
  __u32 shape;
};

// Tunnel metadata, as it is set. Every byte counts where they are compared.
#define DIVERT_TUNNELS_MAX 4096
#define DIVERT_TUNNEL_OPTIONS 64
struct divert_tunnel {
  struct bpf_tunnel_key key;
  __u32 option_bytes;
  __u64 flags;  // of bpf_skb_set_tunnel_key()
  __u8 options[DIVERT_TUNNEL_OPTIONS];
};

// Places of these: as many as the low 16 bits of a mark can name.
#define DIVERT_RESTORED_MAX 65536

// So long diverted packets may stay unread before the dead-man switch lets further ones pass, in nanoseconds.
#define DIVERT_PATIENCE_NS (500 * 1000 * 1000)

#define DIVERT_WORKERS_MAX 64  // of a shape
#define DIVERT_RINGS_MAX 256   // ring buffers of a daemon

// Places in the array of programs: what finds the class of a shape's packets stands behind these, by the shape's place.
#define DIVERT_MATCHED 0
#define DIVERT_FIND_CLASS 1
#define DIVERT_PROGRAMS (DIVERT_FIND_CLASS + DIVERT_SHAPES_MAX)

// Of a shape with more, all packets are taken out. A multiple of 64.
#define DIVERT_CLASSES_MAX 1024

// Of all shapes of a daemon: a bit for each in a number of 32 bits.
#define DIVERT_CGROUPS_MAX 32

// Of one class at one processor: what went on by the verdict on it. Of a super-packet, the packets that it holds.
struct let_go_count {
  __u64 packets;
  __u64 bytes;
};

// Of all shapes; each has as many as it has classes, and one more.
#define DIVERT_LET_GO_MAX 16384

// By which a hook knows its shape. On an interface: DIVERT_EGRESS, DIVERT_INGRESS. On the ends of a divert device:
// DIVERT_FOREIGN, who counts what others send there; and where it serves one shape alone, DIVERT_RETURN.
struct divert_hook {
  __u32 device;  // ifindex
  __u32 kind;
};
#define DIVERT_EGRESS 0
#define DIVERT_INGRESS 1
#define DIVERT_RETURN 2
#define DIVERT_FOREIGN 3
#define DIVERT_HOOKS_MAX (4 * DIVERT_SHAPES_MAX)

// What a worker reads: a ring buffer, and the number by which the worker knows what is this shape's.
struct divert_channel {
  __u32 ring;
  __u32 number;
};

// What the programs and headgated share of one shape. What is written on every packet's path has a cache line to itself.
struct divert_shape {
  // Set before anything is diverted.
  __u32 divert_device;         // ifindex
  __u32 return_device;         // ifindex
  __u64 return_flags;          // of bpf_redirect(): BPF_F_INGRESS, or 0 for egress
  __u32 let_go_at;             // place of its first class's counters
  __u32 classes;               // behind whose counters those of none stand
  __u32 workers;               // that read ring buffers
  __u8 copies;                 // into ring buffers
  __u8 raw_ip;                 // the link has no Ethernet header; only with ring buffers
  __u8 ends_packets;           // the hook knows TC_ACT_STOLEN, as clsact does
  __u8 minds_tunnel_metadata;  // what comes back without it would be lost or another packet
  __u8 keeps_tunnel_metadata;  // and it can be given back
  __u8 tunnel_has_key;         // every packet, whatever its metadata says: not so of GRE
  __u8 minds_decryption;       // as tunnel metadata
  struct divert_channel channels[DIVERT_WORKERS_MAX];

  // The dead-man switch: when the first packet that nobody has read since was diverted, as CLOCK_MONOTONIC nanoseconds; 0:
  // everything has been read.
  __u64 unread_since __attribute__((aligned(64)));
  __u64 passed_unshaped __attribute__((aligned(64)));

  __u32 diverting __attribute__((aligned(64)));  // 0: let everything go on
  __u32 divert_control;                          // 1: a class takes control traffic too
  __u32 cgroups_asked;                           // a bit for each place that a class names
  struct divert_bound control_packets;           // of control traffic that is not diverted
  struct divert_bound control_bits;

  struct divert_count unshapable;       // went on, for it cannot be taken out
  struct divert_count control_traffic;  // went on within its bounds
  struct divert_count foreign;          // dropped on the divert device: sent there by others
  struct divert_count found_no_room;    // in a ring buffer
  struct divert_count to_be_cut;        // sent to the divert device to be copied there
  struct divert_count cut;              // of these, what came to copy_cut

  // The rules by which packets may go on that no class shapes, as a number that is new with new rules; 0: all are taken out.
  // Of each worker, for which rules its ring buffer has been found empty.
  __u32 lets_go_by __attribute__((aligned(64)));
  __u32 found_empty[DIVERT_WORKERS_MAX];
  __u64 unshaped_classes[DIVERT_CLASSES_MAX / 64];  // a bit for each
} __attribute__((aligned(64)));
