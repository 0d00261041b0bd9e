// Copies a packet into the ring buffer of a worker, with what user space must know to send it as it was to be.
#pragma once

#include <bpf/bpf_helpers.h>

#include "divert_counts.bpf.h"
#include "packet_headers.bpf.h"
#include "ring_record.h"

// Of a virtio header.
#define NEEDS_CHECKSUM 1
#define GSO_TCP4 1
#define GSO_TCP6 4
#define GSO_ECN 0x80

#define TCP_CWR 0x80

struct ring_buffer {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);  // of the pattern; headgated puts in real ones
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, DIVERT_RINGS_MAX);
  __type(key, __u32);
  __array(values, struct ring_buffer);
} ring_buffers SEC(".maps");

// The one's complement sum of the pseudo-header, as it stands in the checksum of a packet that is not finished. Of 16-bit
// words in the order of the network, however this machine reads them: RFC 1071.
static __always_inline __u32 pseudo_sum(const struct packet* packet) {
  const struct layout* layout = &packet->layout;
  const __u32 length = layout->end - layout->transport;
  __u32 sum = bpf_htons(layout->protocol) + bpf_htons((__u16)length) + bpf_htons((__u16)(length >> 16));
  if (layout->ipv4) {
    const __u16* words = part_of(packet, ETH_HLEN + offsetof(struct iphdr, saddr), 8);
    if (words == NULL) return 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum += words[i];
  } else {
    const __u16* words = part_of(packet, ETH_HLEN + offsetof(struct ipv6hdr, saddr), 32);
    if (words == NULL) return 0;
#pragma unroll
    for (int i = 0; i < 16; ++i) sum += words[i];
  }
  sum = (sum & 0xffff) + (sum >> 16);
  return (sum & 0xffff) + (sum >> 16);
}

// As far as the outermost header tells. A sum that is finished and looks like this comes to the same when it is finished again.
static __always_inline bool is_unfinished(struct __sk_buff* skb, const struct packet* packet,
                                          __u32 checksum_offset) {
  __u16 checksum;
  if (!READ(skb, packet, packet->layout.transport + checksum_offset, &checksum)) return false;
  return checksum == pseudo_sum(packet);
}

// How a packet is to be completed by who sends it.
enum completion {
  COMPLETE,        // nothing is left to do
  DESCRIBED,       // the virtio header tells
  IF_IT_IS_THERE,  // the virtio header tells, unless the unfinished checksum is that of an inner header
  UNKNOWN,         // it may have an unfinished checksum that is not in the outermost headers
  TO_BE_CUT,       // no virtio header can tell, or nobody can read it from the packet
};

// Fills packet->virtio. By itself, as copy_described(), for a verifier that trusts nobody follows each way through both.
__noinline int describe(struct __sk_buff* skb) {
  struct packet* packet = this_packet();
  if (packet == NULL) return TO_BE_CUT;
  struct ring_virtio_header* virtio = &packet->virtio;
  __builtin_memset(virtio, 0, sizeof(*virtio));
  const struct layout* layout = &packet->layout;
  const bool tcp = is_tcp(packet);
  const bool udp = layout->transport != 0 && layout->protocol == IPPROTO_UDP;
  if (skb->gso_size != 0 && !tcp) return TO_BE_CUT;
  if (layout->fragment) return COMPLETE;
  if (!tcp && !udp)
    return layout->protocol == IPPROTO_ICMP || layout->protocol == IPPROTO_ICMPV6 ? COMPLETE : UNKNOWN;
  const __u32 checksum_offset = tcp ? TCP_CHECKSUM_AT : UDP_CHECKSUM_AT;
  if (!is_unfinished(skb, packet, checksum_offset)) {
    if (skb->gso_size != 0) return TO_BE_CUT;
    return tcp && !layout->extended ? COMPLETE : UNKNOWN;
  }
  const __u32 tags = layout->tag_bytes + (skb->vlan_present ? sizeof(struct vlan_header) : 0);
  virtio->flags = NEEDS_CHECKSUM;
  virtio->checksum_start = layout->transport + tags;
  virtio->checksum_offset = checksum_offset;
  if (skb->gso_size == 0) return udp ? IF_IT_IS_THERE : DESCRIBED;
  __u8 flags = 0;
  const __u32 headers = tcp_headers(skb, packet, &flags);
  if (headers == 0) return TO_BE_CUT;
  virtio->gso_type = layout->ipv4 ? GSO_TCP4 : GSO_TCP6;
  if ((flags & TCP_CWR) != 0) virtio->gso_type |= GSO_ECN;
  virtio->gso_size = skb->gso_size;
  virtio->header_length = headers + tags;
  return DESCRIBED;
}

// Exact, but changes the packet where its checksum is finished: the kernel leaves a sum alone that stands at the first two
// bytes, for it has none to correct as long as the packet's own is unfinished.
static __always_inline bool has_unfinished_checksum(struct __sk_buff* skb) {
  __u16 before = 0, after = 0;
  bpf_skb_load_bytes(skb, 0, &before, sizeof(before));
  bpf_l4_csum_replace(skb, 0, 0, 1, sizeof(after));
  bpf_skb_load_bytes(skb, 0, &after, sizeof(after));
  return before == after;
}

// Of UDP that has been copied. A tunnel finishes the sum of its own header from what an inner one is to come to, and that may
// happen to look unfinished. The kernel shortens no packet to before its unfinished checksum.
static __always_inline bool is_checksum_in_udp_header(struct __sk_buff* skb, const struct packet* packet) {
  const __u32 end = place_of(packet, packet->layout.transport) + sizeof(struct udphdr);
  return bpf_skb_change_tail(skb, end, 0) == 0;
}

enum copied { COPIED, NO_ROOM, IS_TO_BE_CUT };

// What is the same for each size of a record. Every field is written, for the memory is not zero.
static __always_inline void fill(struct __sk_buff* skb, struct ring_record* record, __u32 channel,
                                 __u32 length, const struct packet* packet) {
  record->time = bpf_ktime_get_ns();
  record->channel = channel;
  record->length = length;
  record->vlan_tpid = skb->vlan_present ? bpf_ntohs(skb->vlan_proto) : 0;
  record->vlan_tci = skb->vlan_present ? skb->vlan_tci : 0;
  record->cgroups = packet->input.cgroups;
  record->mark = packet->mark;
  record->priority = packet->priority;
  record->tunnel = packet->tunnel;
  record->virtio = packet->virtio;
}

// The packet of `skb`, behind the header that is put in front where the link has none. Each way with an offset of its own: a
// verifier that trusts nobody allows no other for memory of a ring buffer.
static __always_inline bool load_frame(struct __sk_buff* skb, struct ring_record* record, __u32 added,
                                       __u64 last, __u32 size) {
  if (added == 0) return last < size && bpf_skb_load_bytes(skb, 0, record->frame, last + 1) == 0;
  const struct ethhdr header = {.h_proto = (__be16)skb->protocol};
  __builtin_memcpy(record->frame, &header, sizeof(header));
  return last < size - ETH_HLEN && bpf_skb_load_bytes(skb, 0, record->frame + ETH_HLEN, last + 1) == 0;
}

// A reserved record has a constant size. Older verifiers learn no lower bound of a length from a comparison with 0. Who waits
// is woken also by a record that is discarded, for the next one will not stand where he looks.
#define COPY_AS(size)                                                                  \
  if (length <= (size)) {                                                              \
    struct ring_record* record = bpf_ringbuf_reserve(ring, RING_FRAME_AT + (size), 0); \
    if (record == NULL) return NO_ROOM;                                                \
    __u64 last = (__u32)(skb->len - 1);                                                \
    asm volatile("" : "+r"(last));                                                     \
    if (!load_frame(skb, record, added, last, size) ||                                 \
        (completion == UNKNOWN && has_unfinished_checksum(skb)) ||                     \
        (completion == IF_IT_IS_THERE && !is_checksum_in_udp_header(skb, packet))) {   \
      bpf_ringbuf_discard(record, 0);                                                  \
      return IS_TO_BE_CUT;                                                             \
    }                                                                                  \
    fill(skb, record, channel->number, length, packet);                                \
    bpf_ringbuf_submit(record, 0);                                                     \
    return COPIED;                                                                     \
  }

// Packets of one connection go to one worker.
static __always_inline __u32 choose_worker(struct __sk_buff* skb, const struct divert_shape* shape) {
  const __u32 workers = shape->workers;
  return workers <= 1 ? 0 : bpf_get_hash_recalc(skb) % workers;
}

static __always_inline const struct divert_channel* channel_of(const struct divert_shape* shape,
                                                               __u32 worker) {
  return &shape->channels[worker & (DIVERT_WORKERS_MAX - 1)];
}

// `added`: bytes of a header in front of the packet's own, ETH_HLEN or none.
static __always_inline enum copied copy(struct __sk_buff* skb, const struct divert_shape* shape, __u32 added,
                                        const struct packet* packet, enum completion completion) {
  const __u32 length = added + skb->len;
  const struct divert_channel* channel = channel_of(shape, packet->worker);
  void* ring = bpf_map_lookup_elem(&ring_buffers, &channel->ring);
  if (ring == NULL) return NO_ROOM;
  COPY_AS(64)
  COPY_AS(128)
  COPY_AS(320)
  COPY_AS(704)
  COPY_AS(1088)
  COPY_AS(1536)
  COPY_AS(2304)
  COPY_AS(4608)
  COPY_AS(9216)
  COPY_AS(18432)
  COPY_AS(32768)
  COPY_AS(49152)
  COPY_AS(65792)
  return IS_TO_BE_CUT;
}

// What describe() says of it.
__noinline int copy_described(struct __sk_buff* skb, int completion) {
  const struct packet* packet = this_packet();
  const struct divert_shape* shape = packet == NULL ? NULL : shape_of(packet);
  if (shape == NULL) return NO_ROOM;
  return copy(skb, shape, packet->added, packet, completion);
}

static __always_inline void count_no_room(struct __sk_buff* skb, struct divert_shape* shape,
                                          const struct packet* packet) {
  count(&shape->found_no_room, packets_in(skb, repeated_headers(skb, packet)), skb->len);
}
