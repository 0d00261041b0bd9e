// What runs in the kernel for each packet of a shaped interface.
//
//   divert_egress, divert_ingress
//                   on the interface's hook: takes a packet out, or lets it go on
//   divert_matched  with ring buffers, behind it: by the verdict on the packet's class it lets the packet go on, or copies it
//                   into a ring buffer, where the packet ends. Between the two runs a program that daemon/linux/
//                   match_translator.hpp has made of the classes, if there are packets that no class shapes
//   refuse_foreign  on the egress hooks of the divert device and of its peer: what the divert has not sent on the one, and
//                   headgated not on the other, ends before it is captured or given back
//   drop_captured   on the ingress hook of the divert device's peer: the packet has been captured when it was sent, and
//                   nobody else may see it, or the host's stack would answer it
//   consume_captured  the same by clsact, without being reported as a drop
//   consume_copied  with ring buffers, on the egress hook of the divert device by clsact: what has been copied ends there,
//                   for TCX cannot end a packet without a drop; what the kernel is to cut or complete goes on
//   copy_cut        with ring buffers, the filter of a packet socket on the divert device: copies what the kernel has cut
//                   and completed into a ring buffer
//   return_shaped   on the ingress hook of the divert device: what headgated sent on its peer goes back to where it was
//                   diverted, and the divert lets it go on; what others sent there ends
//
// The wire of an inline shape is another one: wire.bpf.c.
//
// They are loaded once for all shapes of a daemon. A hook knows its shape by the device, a packet that is sent on the divert
// device's peer by its mark.
//
// All but consume_captured serve TCX and clsact with direct action, which read their return codes alike. "Go on" is
// -1, after which the administrator's own programs and filters still run; TC_ACT_OK skips them.
//
// Where the link has no Ethernet header, a packet that is taken out gets one in front of it, with the EtherType and without
// addresses: in its record, and on the divert device. The kernel takes it off a packet that return_shaped gives back.
//
// A packet on the divert device is known as ours by the mark. Setting a mark takes a capability, so nobody who may not
// shape this host can have anything captured or given back.
#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/pkt_cls.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "cgroups.bpf.h"
#include "control_traffic.bpf.h"
#include "copy_out.bpf.h"
#include "divert_counts.bpf.h"
#include "divert_globals.bpf.h"
#include "let_go.bpf.h"
#include "packet_headers.bpf.h"
#include "tunnel_metadata.bpf.h"

#define GO_ON (-1)
#define PACKET_OUTGOING 4
#define KEPT_TO_END 256  // bytes of a packet that only ends; the kernel asks for its headers at least

// What runs behind `divert`. The kernel empties it when headgated dies, and then all goes on.
struct {
  __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
  __uint(max_entries, DIVERT_PROGRAMS);
  __type(key, __u32);
  __type(value, __u32);
} programs SEC(".maps");

// User space gives back the bytes of a packet, not what the kernel notes beside them. Without its tunnel metadata a
// packet finds no way into the tunnel, and one that IPsec has decrypted is refused as one that came in the clear.
__noinline int cannot_be_taken_out(struct __sk_buff* skb) {
  struct packet* packet = this_packet();
  const struct divert_shape* shape = packet == NULL ? NULL : shape_of(packet);
  if (shape == NULL) return true;
  if (shape->minds_tunnel_metadata) {
    // Of a length that every kernel knows. Metadata of IPv6 is another error than none.
    struct bpf_tunnel_key key;
    const __u32 length = offsetof(struct bpf_tunnel_key, tunnel_label);
    if (bpf_skb_get_tunnel_key(skb, &key, length, 0) != -EINVAL) {
      if (!shape->keeps_tunnel_metadata) return true;
      packet->tunnel = place_of_tunnel(skb, shape->tunnel_has_key);
      if (packet->tunnel == 0) return true;
    }
  }
  if (has_ipsec && shape->minds_decryption) {
    struct bpf_xfrm_state state;
    if (bpf_skb_get_xfrm_state(skb, 0, &state, sizeof(state), 0) == 0) return true;
  }
  return false;
}

static __always_inline void count_unshapable(struct __sk_buff* skb, struct divert_shape* shape) {
  // On egress the kernel has worked out what a super-packet comes to on the wire.
  const __u32 length = skb->len, wire_length = skb->wire_len;
  count(&shape->unshapable, packets_in(skb, 0), wire_length > length ? wire_length : length);
}

// True when nobody has read diverted packets for too long. Otherwise notes that one more is going to be
// unread.
static __always_inline bool reader_is_dead(struct divert_shape* shape, __u64 now) {
  const __u64 since = *(volatile __u64*)&shape->unread_since;
  if (since == 0) {
    *(volatile __u64*)&shape->unread_since = now;
    return false;
  }
  // `since` may be a little younger than `now`: another processor may have set it meanwhile.
  return now > since && now - since > DIVERT_PATIENCE_NS;
}

// What may be taken out and will be read. Counts what goes on instead. The reader comes last, for only what is taken out may
// count as unread.
static __always_inline bool is_to_be_taken_out(struct __sk_buff* skb, struct divert_shape* shape) {
  if ((shape->minds_tunnel_metadata || shape->minds_decryption) && cannot_be_taken_out(skb)) {
    count_unshapable(skb, shape);
    return false;
  }
  if (reader_is_dead(shape, bpf_ktime_get_ns())) {
    __sync_fetch_and_add(&shape->passed_unshaped, 1);
    return false;
  }
  return true;
}

// For the divert device, which sends Ethernet frames. Only super-packets may be longer than some 16 000 bytes then; of what
// has been copied the beginning is enough.
static __always_inline bool add_header(struct __sk_buff* skb, bool copied) {
  const __be16 ether_type = (__be16)skb->protocol;
  if (bpf_skb_change_head(skb, ETH_HLEN, 0) < 0) {
    if (!copied || bpf_skb_change_tail(skb, KEPT_TO_END, 0) < 0) return false;
    if (bpf_skb_change_head(skb, ETH_HLEN, 0) < 0) return false;
  }
  return bpf_skb_store_bytes(skb, offsetof(struct ethhdr, h_proto), &ether_type, sizeof(ether_type), 0) == 0;
}

// What cannot go there goes on, unless it has been copied.
static __always_inline int without_divert_device(struct __sk_buff* skb, struct divert_shape* shape,
                                                 bool copied) {
  if (copied) return TC_ACT_SHOT;
  count_unshapable(skb, shape);
  return GO_ON;
}

// There a packet ends, without word of a drop, when it has been copied: its sender may take one for a reason to slow down, and
// TCP gives up after some.
static __always_inline int to_divert_device(struct __sk_buff* skb, struct divert_shape* shape,
                                            struct packet* packet, bool copied) {
  if (shape->raw_ip && !add_header(skb, copied)) return without_divert_device(skb, shape, copied);
  packet->copied = copied;
  if (!copied) {
    packet->awaited = packets_in(skb, 0);
    count(&shape->to_be_cut, packet->awaited, skb->len);
  }
  asm volatile("" : "+r"(skb));  // or else the address of the mark is kept, which the verifier refuses
  skb->mark = own_mark;
  return bpf_redirect(shape->divert_device, 0);
}

static __always_inline int copy_out(struct __sk_buff* skb, struct divert_shape* shape,
                                    struct packet* packet) {
  const int completion = describe(skb);
  packet->mark = skb->mark;
  packet->priority = skb->priority;
  if (completion == TO_BE_CUT) return to_divert_device(skb, shape, packet, false);
  switch (copy_described(skb, completion)) {
    case IS_TO_BE_CUT:
      return to_divert_device(skb, shape, packet, false);
    case NO_ROOM:
      count_no_room(skb, shape, packet);
      break;
    case COPIED:
      break;
  }
  return shape->ends_packets ? TC_ACT_STOLEN : to_divert_device(skb, shape, packet, true);
}

static __always_inline bool is_own(struct __sk_buff* skb) {
  return (skb->mark & own_mark_bits) == own_mark;
}

static __always_inline const struct divert_restored* as_it_was(struct __sk_buff* skb) {
  return &restored[skb->mark & ~own_mark_bits & (DIVERT_RESTORED_MAX - 1)];
}

static __always_inline void restore(struct __sk_buff* skb) {
  const struct divert_restored* notes = as_it_was(skb);
  skb->mark = notes->mark;
  skb->priority = notes->priority;
  if (notes->tunnel != 0) give_tunnel_back(skb, notes->tunnel);
}

static __always_inline int divert(struct __sk_buff* skb, __u32 kind) {
  if (is_own(skb)) {
    restore(skb);
    return GO_ON;
  }
  const __u32 place = place_by_hook(skb->ifindex, kind);
  struct divert_shape* shape = shape_at(place);
  struct packet* packet = this_packet();
  if (shape == NULL || !shape->diverting || packet == NULL) return GO_ON;
  packet->shape = place;
  packet->tunnel = 0;
  if (!read_headers(skb, packet, shape->raw_ip) || !is_to_be_diverted(skb, shape, packet)) return GO_ON;
  if (shape->copies) {
    packet->worker = choose_worker(skb, shape);
    note_cgroups(skb, shape, packet);
    packet->input.verdict = MATCH_TAKE_OUT;
    if (is_to_be_matched(skb, shape, packet)) bpf_tail_call(skb, &programs, DIVERT_FIND_CLASS + place);
    bpf_tail_call(skb, &programs, DIVERT_MATCHED);
    return GO_ON;
  }
  if (!is_to_be_taken_out(skb, shape)) return GO_ON;
  skb->mark = own_mark;
  return bpf_redirect(shape->divert_device, 0);
}

SEC("tc")
int divert_egress(struct __sk_buff* skb) {
  return divert(skb, DIVERT_EGRESS);
}

SEC("tc")
int divert_ingress(struct __sk_buff* skb) {
  return divert(skb, DIVERT_INGRESS);
}

SEC("tc")
int divert_matched(struct __sk_buff* skb) {
  struct packet* packet = this_packet();
  struct divert_shape* shape = packet == NULL ? NULL : shape_of(packet);
  if (shape == NULL || is_let_go(skb, shape, packet) || !is_to_be_taken_out(skb, shape)) return GO_ON;
  return copy_out(skb, shape, packet);
}

SEC("socket")
int copy_cut(struct __sk_buff* skb) {
  struct packet* packet = this_packet();
  if (skb->pkt_type != PACKET_OUTGOING || packet == NULL) return 0;
  struct divert_shape* shape = shape_of(packet);
  if (shape == NULL) return 0;
  count(&shape->cut, packet->awaited, skb->len);
  packet->awaited = 0;
  __builtin_memset(&packet->virtio, 0, sizeof(packet->virtio));
  if (copy(skb, shape, 0, packet, COMPLETE) != COPIED) count_no_room(skb, shape, packet);
  return 0;
}

static __always_inline int drop_foreign(struct __sk_buff* skb) {
  struct divert_shape* shape = shape_at(place_by_hook(skb->ifindex, DIVERT_FOREIGN));
  if (shape != NULL) count(&shape->foreign, 1, skb->len);
  return TC_ACT_SHOT;
}

// What others have attached behind it does not run: it could only lose the packet.
SEC("tc")
int refuse_foreign(struct __sk_buff* skb) {
  return is_own(skb) ? TC_ACT_OK : drop_foreign(skb);
}

SEC("tc")
int consume_copied(struct __sk_buff* skb) {
  if (!is_own(skb)) return drop_foreign(skb);
  const struct packet* packet = this_packet();
  return packet != NULL && packet->copied ? TC_ACT_STOLEN : TC_ACT_OK;
}

SEC("tc")
int drop_captured(struct __sk_buff* skb) {
  return TC_ACT_SHOT;
}

// TCX does not know this code and would let the packet go on.
SEC("tc")
int consume_captured(struct __sk_buff* skb) {
  return TC_ACT_STOLEN;
}

// While nothing is diverted nobody takes the mark off again, so none is left on.
SEC("tc")
int return_shaped(struct __sk_buff* skb) {
  if (!is_own(skb)) return drop_foreign(skb);
  __u32 place = place_by_hook(skb->ifindex, DIVERT_RETURN);
  if (place == 0) place = as_it_was(skb)->shape;
  const struct divert_shape* shape = shape_at(place);
  if (shape == NULL || shape->return_device == 0) return TC_ACT_SHOT;
  if (!*(volatile __u32*)&shape->diverting) restore(skb);
  return bpf_redirect(shape->return_device, shape->return_flags);
}

char program_license[] SEC("license") = "GPL";
