"""Frames built byte by byte, among them such as no stack sends."""

import socket
import struct

TEST_MAC = bytes.fromhex("026867000001")  # the source of all of them: who records knows them by it
OTHER_MAC = bytes.fromhex("026867000002")
BROADCAST = b"\xff" * 6

IPV4, ARP, IPV6, IEEE_802_1Q, IEEE_802_1AD = 0x0800, 0x0806, 0x86DD, 0x8100, 0x88A8
EXPERIMENTAL = 0x88B5  # an Ethernet type that is nobody's

HOP_BY_HOP, ICMP, IP_IN_IP, TCP, UDP, ROUTING, FRAGMENT, GRE, ESP, AUTHENTICATION = 0, 1, 4, 6, 17, 43, 44, 47, 50, 51
ICMPV6, NO_NEXT_HEADER, DESTINATION_OPTIONS, OSPF, SCTP, MOBILITY, UDP_LITE, DCCP = 58, 59, 60, 89, 132, 135, 136, 33

IPV4_ADDRESSES = ("10.77.0.1", "10.77.0.2")
IPV6_ADDRESSES = ("fd77::1", "fd77::2")


def ethernet(payload, ether_type, destination=OTHER_MAC, source=TEST_MAC, tags=()):
    """`tags`, outermost first: (Ethernet type of the tag, its 16 bits of priority and identifier)."""
    tagged = b"".join(struct.pack("!HH", *tag) for tag in tags)
    return destination + source + tagged + struct.pack("!H", ether_type) + payload


def tagged(frame, tags):
    """The frame with these tags, outermost first, before what it has."""
    return frame[:12] + b"".join(struct.pack("!HH", *tag) for tag in tags) + frame[12:]


def checksum(data):
    padded = data + b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(payload, protocol, addresses=IPV4_ADDRESSES, *, options=b"", identification=0, fragment=0, version=4,
         header_words=None, length=None, header_checksum=None, dscp=0):
    """`fragment`: the 16 bits of flags and offset. What is given wins over what would be right."""
    words = 5 + len(options) // 4
    header = struct.pack("!BBHHHBBH4s4s", version << 4 | (words if header_words is None else header_words), dscp << 2,
                         words * 4 + len(payload) if length is None else length, identification, fragment, 64,
                         protocol, 0, *map(socket.inet_aton, addresses)) + options
    right = checksum(header)
    return header[:10] + struct.pack("!H", right if header_checksum is None else header_checksum) + header[12:] + payload


def ipv6(payload, next_header, addresses=IPV6_ADDRESSES, *, version=6, length=None, dscp=0):
    return struct.pack("!IHBB16s16s", version << 28 | dscp << 22, len(payload) if length is None else length, next_header, 64,
                       *(socket.inet_pton(socket.AF_INET6, address) for address in addresses)) + payload


def extension(next_header, payload, words=0):
    """An extension header of 8 bytes and `words` more of 8, filled with PadN."""
    return struct.pack("!BBBB", next_header, words, 1, 4 + 8 * words) + b"\0" * (4 + 8 * words) + payload


def ipv6_fragment(next_header, payload, offset, more, identification):
    return struct.pack("!BBHI", next_header, 0, offset << 3 | more, identification) + payload


def udp(payload, ports=(4000, 5000), addresses=IPV4_ADDRESSES):
    """With its checksum, which counts the addresses."""
    header = struct.pack("!HHHH", *ports, 8 + len(payload), 0)
    family = socket.AF_INET6 if ":" in addresses[0] else socket.AF_INET
    pseudo = b"".join(socket.inet_pton(family, address) for address in addresses) + struct.pack("!II", len(header + payload), UDP)
    return header[:6] + struct.pack("!H", checksum(pseudo + header + payload) or 0xFFFF) + payload


def udp_frame(payload, ports=(4000, 5000), addresses=IPV4_ADDRESSES, dscp=0, **link):
    datagram = udp(payload, ports, addresses)
    if ":" in addresses[0]:
        return ethernet(ipv6(datagram, UDP, addresses, dscp=dscp), IPV6, **link)
    return ethernet(ipv4(datagram, UDP, addresses, dscp=dscp), IPV4, **link)


def numbered(number, size=32):
    """A payload that differs from every other, in every part of it."""
    return struct.pack("!I", number) + bytes((number * 7 + position * 13) & 0xFF for position in range(size - 4))
