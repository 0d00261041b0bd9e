// What a program on the hook tells the program of match_translator.hpp about a packet, and what it answers. C, for both.
#pragma once

#include <linux/types.h>

// Bytes of the frame that are copied: the first of it, without its VLAN tags. Its MAC addresses, then what follows the tags.
#define MATCH_INPUT_BYTES 256

// Verdicts. Others are the position of the class that takes the packet.
#define MATCH_UNMATCHED 0xffff  // no class takes it: kUnmatched
#define MATCH_TAKE_OUT 0x10000  // it cannot be told here: user space decides

// The value of a per-processor array of one entry.
//
// Not to be asked of what is judged otherwise, like control traffic where a class has `control`. min(length,
// MATCH_INPUT_BYTES) bytes are copied; what stands behind them is not read.
//
// `varying` has a bit set for each bit of `bytes` in which the segments of a super-packet may differ from it, and none for
// any other packet. They are:
//   IPv4: total length, identification, header checksum; IPv6: payload length
//   TCP: sequence number, checksum, and of the flags those of CWR, PSH and FIN that are set
//   UDP: length, checksum. If it may also be cut into fragments: IPv4 flags and fragment offset, IPv6 next header, and all
//   behind the IP header
//   all from the payload on
// Bytes 0-15, 22-23 and 26-33 are taken not to vary, whatever it says: addresses of both families, and IPv4's protocol. A
// super-packet of a tunnel does not keep to that if it is the outer header's that vary; it is not to be asked of.
//
// `bytes` begins where it does so that IP headers behind an Ethernet header are aligned.
struct match_input {
  __u32 length;   // of the whole frame, without its tags
  __u32 verdict;  // out
  __u32 mark;
  __u32 cgroups;  // that the socket belongs to: a bit for each place of cgroups.bpf.h that is asked for
  __u8 is_super_packet;
  __u8 dscp;  // of the outermost IP header; the program itself notes it here
  __u8 bytes[MATCH_INPUT_BYTES];
  __u8 unused[6];
  __u8 varying[MATCH_INPUT_BYTES];  // begins at a multiple of 8
};
