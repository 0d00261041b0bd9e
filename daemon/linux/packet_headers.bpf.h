// What a packet on the hook is: its first bytes, copied once, and where its headers stand in them.
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "divert_globals.bpf.h"
#include "match_input.h"
#include "ring_record.h"

#define VLAN_TAGS_MAX 2
#define EXTENSION_HEADERS_MAX 8
#define HOST_IDENTITY 139
#define SHIM6 140

#define TCP_HEADER_BYTES 20
#define TCP_FLAGS_AT 13
#define TCP_CHECKSUM_AT 16
#define UDP_CHECKSUM_AT 6

// Where the headers of a packet stand, as offsets in the frame without tags; where the link has no Ethernet header, behind the
// one that is put in front.
struct layout {
  __u32 tag_bytes;  // of tags inside the frame
  __u32 transport;  // 0: none was found, as in fragments
  __u32 end;        // where the packet ends by its own word
  __u8 protocol;    // of the transport header
  __u8 ipv4;
  __u8 fragment;
  __u8 extended;  // IPv6 with extension headers
};

// What one program tells the next of the packet. The kernel runs them at once, on the same processor: those of the hook one
// after the other, and those of the divert device while the packet is sent there.
struct packet {
  struct match_input input;  // first: the program that finds the class knows only this
  struct layout layout;
  __u32 shape;   // place of the shape that it is of
  __u32 added;   // bytes in front of the packet of the link that its record begins with
  __u32 varies;  // `input` says so of some bytes
  __u32 mark;
  __u32 priority;
  __u32 tunnel;  // place of its metadata; 0: none
  __u32 worker;  // that is to have it
  struct ring_virtio_header virtio;
  __u32 copied;   // already
  __u32 awaited;  // packets of a super-packet that the kernel cuts: until the first comes to copy_cut
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct packet);
} packets SEC(".maps");

static __always_inline struct packet* this_packet(void) {
  const __u32 key = 0;
  return bpf_map_lookup_elem(&packets, &key);
}

static __always_inline struct divert_shape* shape_of(const struct packet* packet) {
  return shape_at(packet->shape);
}

struct vlan_header {
  __be16 tci;
  __be16 encapsulated;
};

static __always_inline bool is_vlan_tag(__be16 ether_type) {
  return ether_type == bpf_htons(ETH_P_8021Q) || ether_type == bpf_htons(ETH_P_8021AD);
}

// Functions that are not static are verified once, each by itself; in one piece the paths through them would multiply.

// Length in bytes of an IPv6 extension header that can be skipped, or 0.
static __always_inline __u32 extension_length(__u8 type, __u8 length) {
  switch (type) {
    case IPPROTO_HOPOPTS:
    case IPPROTO_ROUTING:
    case IPPROTO_DSTOPTS:
    case IPPROTO_MH:
    case HOST_IDENTITY:
    case SHIM6:
      return (length + 1) * 8;
    case IPPROTO_FRAGMENT:
      return 8;
    case IPPROTO_AH:
      return (length + 2) * 4;
    default:
      return 0;
  }
}

#define TRANSPORT_BITS 8

// The transport header behind extension headers: its offset and, in the low TRANSPORT_BITS, its protocol; 0: there is none.
__noinline __u32 behind_extensions(struct __sk_buff* skb, __u32 offset, __u32 end, __u8 next) {
#pragma unroll
  for (int i = 0; i < EXTENSION_HEADERS_MAX; ++i) {
    if (extension_length(next, 0) == 0) break;
    struct {
      struct ipv6_opt_hdr common;
      __be16 fragment;
    } extension;
    if (bpf_skb_load_bytes(skb, offset, &extension, sizeof(extension)) < 0) return 0;
    const __u32 length = extension_length(next, extension.common.hdrlen);
    if (offset + length > end) return 0;
    if (next == IPPROTO_FRAGMENT && (extension.fragment & bpf_htons(0xfff9)) != 0) return 0;
    next = extension.common.nexthdr;
    offset += length;
  }
  return offset << TRANSPORT_BITS | next;
}

// Where in the packet of the link stands what is at `offset` in the layout.
static __always_inline __u32 place_of(const struct packet* packet, __u32 offset) {
  return offset + packet->layout.tag_bytes - packet->added;
}

// A part of the copied bytes, or null where they are fewer. It lies in the packet.
static __always_inline const void* part_of(const struct packet* packet, __u32 offset, __u32 size) {
  __u64 at = offset;
  asm volatile("" : "+r"(at));  // or else a copy of it is compared
  if (at > MATCH_INPUT_BYTES - size || at + size > packet->input.length) return NULL;
  return packet->input.bytes + at;
}

static __always_inline void find_in_ipv4(struct __sk_buff* skb, struct packet* packet) {
  struct layout* layout = &packet->layout;
  const struct iphdr* ip = part_of(packet, ETH_HLEN, sizeof(*ip));
  layout->ipv4 = true;
  if (ip == NULL) return;
  layout->fragment = (ip->frag_off & bpf_htons(0x3fff)) != 0;
  if (ip->version != 4 || ip->ihl < 5 || layout->fragment) return;
  const __u32 header = ip->ihl * 4;
  const __u32 total = bpf_ntohs(ip->tot_len);
  layout->end = total < header ? packet->input.length : ETH_HLEN + total;
  layout->transport = ETH_HLEN + header;
  layout->protocol = ip->protocol;
}

static __always_inline void find_in_ipv6(struct __sk_buff* skb, struct packet* packet) {
  struct layout* layout = &packet->layout;
  const struct ipv6hdr* ip = part_of(packet, ETH_HLEN, sizeof(*ip));
  if (ip == NULL || ip->version != 6) return;
  const __u32 payload = bpf_ntohs(ip->payload_len);
  const __u32 offset = ETH_HLEN + sizeof(*ip);
  const __u32 length = packet->input.length;
  layout->end = payload == 0 || offset + payload > length ? length : offset + payload;
  layout->transport = offset;
  layout->protocol = ip->nexthdr;
  if (extension_length(ip->nexthdr, 0) == 0) return;
  layout->extended = true;
  const __u32 found =
      behind_extensions(skb, place_of(packet, offset), place_of(packet, layout->end), ip->nexthdr);
  layout->protocol = (__u8)found;
  layout->transport = found == 0 ? 0 : (found >> TRANSPORT_BITS) - place_of(packet, 0);
}

// Copies `length` bytes, or as many as there is room for behind `at`.
static __always_inline bool copy_beginning(struct __sk_buff* skb, __u32 from, struct packet* packet, __u32 at,
                                           __u32 length) {
  const __u32 room = MATCH_INPUT_BYTES - at;
  __u64 last = (length < room ? length : room) - 1;
  asm volatile("" : "+r"(last));
  if (last >= room) return false;
  return bpf_skb_load_bytes(skb, from, packet->input.bytes + at, last + 1) == 0;
}

#define TYPE_AT offsetof(struct ethhdr, h_proto)

// False: neither IPv4 nor IPv6, also behind VLAN tags.
static __always_inline bool read_headers(struct __sk_buff* skb, struct packet* packet, bool raw_ip) {
  packet->layout = (struct layout){};
  if (raw_ip) {
    const struct ethhdr header = {.h_proto = (__be16)skb->protocol};
    __builtin_memcpy(packet->input.bytes, &header, sizeof(header));
    packet->added = ETH_HLEN;
    packet->input.length = ETH_HLEN + skb->len;
    if (!copy_beginning(skb, 0, packet, ETH_HLEN, skb->len)) return false;
  } else {
    packet->added = 0;
    packet->input.length = skb->len;
    if (!copy_beginning(skb, 0, packet, 0, skb->len)) return false;
  }
  const __be16* type = part_of(packet, TYPE_AT, sizeof(*type));
  if (type == NULL) return false;
  if (!raw_ip && is_vlan_tag(*type)) {
    // One of those that count may stand beside the frame.
    const __u32 most = skb->vlan_present ? 1 : VLAN_TAGS_MAX;
    __u32 tags = 0;
#pragma unroll  // a verifier that trusts nobody follows a loop beyond its end
    for (__u32 i = 0; i < VLAN_TAGS_MAX; ++i) {
      const __be16* next = part_of(packet, TYPE_AT + i * sizeof(struct vlan_header), sizeof(*next));
      if (i == most || next == NULL || !is_vlan_tag(*next)) break;
      ++tags;
    }
    const __u32 tag_bytes = tags * sizeof(struct vlan_header);
    if (skb->len <= TYPE_AT + tag_bytes) return false;
    packet->layout.tag_bytes = tag_bytes;
    packet->input.length = skb->len - tag_bytes;
    if (!copy_beginning(skb, TYPE_AT + tag_bytes, packet, TYPE_AT, packet->input.length - TYPE_AT))
      return false;
  }
  if (*type == bpf_htons(ETH_P_IP)) {
    find_in_ipv4(skb, packet);
    return true;
  }
  if (*type != bpf_htons(ETH_P_IPV6)) return false;
  find_in_ipv6(skb, packet);
  return true;
}

// A part of the packet, wherever it is; false: it has none there.
#define READ(skb, packet, offset, to) read_part(skb, packet, offset, to, sizeof(*(to)))
static __always_inline bool read_part(struct __sk_buff* skb, const struct packet* packet, __u32 offset,
                                      void* to, __u32 size) {
  const void* part = part_of(packet, offset, size);
  if (part == NULL) return bpf_skb_load_bytes(skb, place_of(packet, offset), to, size) == 0;
  __builtin_memcpy(to, part, size);
  return true;
}

static __always_inline bool is_tcp(const struct packet* packet) {
  return packet->layout.transport != 0 && packet->layout.protocol == IPPROTO_TCP;
}

// Bytes of a TCP packet in front of its payload, without tags; 0: they cannot be read.
static __always_inline __u32 tcp_headers(struct __sk_buff* skb, const struct packet* packet, __u8* flags) {
  struct {
    __u8 words;
    __u8 flags;
  } tcp;
  if (!READ(skb, packet, packet->layout.transport + TCP_FLAGS_AT - 1, &tcp)) return 0;
  *flags = tcp.flags;
  return packet->layout.transport + (tcp.words >> 4) * 4;
}

// Packets that a super-packet holds, each behind so many bytes of headers. Its sender may have left it to others to count
// them.
static __always_inline __u64 packets_in(struct __sk_buff* skb, __u32 headers) {
  if (skb->gso_size == 0) return 1;
  if (skb->gso_segs != 0) return skb->gso_segs;
  return (skb->len - headers + skb->gso_size - 1) / skb->gso_size;
}

// Of a super-packet the bytes of the headers that each of its packets has; 0: it is not of TCP, or none.
static __always_inline __u32 repeated_headers(struct __sk_buff* skb, const struct packet* packet) {
  __u8 flags;
  if (skb->gso_size == 0 || !is_tcp(packet)) return 0;
  const __u32 headers = tcp_headers(skb, packet, &flags);
  return headers == 0 ? 0 : place_of(packet, headers);
}
