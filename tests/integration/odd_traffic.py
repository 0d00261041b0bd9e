"""A trace of what real networks carry beside plain TCP and UDP, and of what they should not."""

import struct

from frames import *  # the words of every line below


def _four(payload, protocol, **fields):
    return ethernet(ipv4(payload, protocol, **fields), IPV4)


def _six(payload, next_header, **fields):
    return ethernet(ipv6(payload, next_header, **fields), IPV6)


def _udp6(payload):
    return udp(payload, addresses=IPV6_ADDRESSES)


def _icmp(kind, code, body, pseudo=b""):
    message = struct.pack("!BBH", kind, code, 0) + body
    return message[:2] + struct.pack("!H", checksum(pseudo + message)) + message[4:]


def _chain(number, *headers):
    """An IPv6 packet with these extension headers before its UDP datagram."""
    payload, following = _udp6(numbered(number)), UDP
    for header in reversed(headers):
        payload, following = extension(following, payload), header
    return _six(payload, following)


# Each of these is one flow of key = "5-tuple", as headgate.toml(5) says, or is not shaped; {name: frame of a number}.
# Frames that end within their VLAN tag are not among them: every Linux drops those when they arrive.
KINDS = {
    # Fragments
    "IPv4 first fragments": lambda n: _four(udp(numbered(n, 64))[:40], UDP, identification=n, fragment=0x2000),
    "IPv4 later fragments": lambda n: _four(numbered(n), TCP, identification=n, fragment=0x2005),
    "IPv4 last fragments, of odd size": lambda n: _four(numbered(n, 33), SCTP, identification=n, fragment=0x0005),
    "IPv4 fragments of eight bytes": lambda n: _four(struct.pack("!II", n, n), ICMP, identification=n, fragment=0x2001),
    "IPv6 first fragments": lambda n: _six(ipv6_fragment(UDP, _udp6(numbered(n, 64))[:40], 0, 1, n), FRAGMENT),
    "IPv6 later fragments": lambda n: _six(ipv6_fragment(TCP, numbered(n), 5, 1, n), FRAGMENT),
    "IPv6 atomic fragments": lambda n: _six(ipv6_fragment(UDP_LITE, _udp6(numbered(n)), 0, 0, n), FRAGMENT),
    # IPv6 extension headers
    "hop-by-hop options": lambda n: _chain(n, HOP_BY_HOP),
    "destination options": lambda n: _chain(n, DESTINATION_OPTIONS),
    "a long destination header": lambda n: _six(extension(UDP, _udp6(numbered(n)), 20), DESTINATION_OPTIONS),
    "routing header": lambda n: _chain(n, ROUTING),
    "all extension headers": lambda n: _chain(n, HOP_BY_HOP, DESTINATION_OPTIONS, ROUTING, MOBILITY),
    "the same header eight times": lambda n: _chain(n, *[DESTINATION_OPTIONS] * 8),
    "the same header twenty times": lambda n: _chain(n, *[DESTINATION_OPTIONS] * 20),
    "extension header that ends in nothing": lambda n: _six(extension(NO_NEXT_HEADER, numbered(n)), HOP_BY_HOP),
    "extension header longer than the packet": lambda n: _six(struct.pack("!BB", UDP, 200) + numbered(n), ROUTING),
    "extension header of one byte": lambda n: _six(struct.pack("!B", n & 0xFF), DESTINATION_OPTIONS),
    "fragment header of four bytes": lambda n: _six(struct.pack("!I", n), FRAGMENT),
    "IPv6 authentication header": lambda n: _six(struct.pack("!BBHII", UDP, 1, 0, 7, n) + _udp6(numbered(n)), AUTHENTICATION),
    # Other protocols
    "ICMP echo": lambda n: _four(_icmp(8, 0, struct.pack("!HH", n, n) + numbered(n)), ICMP),
    "ICMP error": lambda n: _four(_icmp(3, 4, struct.pack("!HH", 0, 1280) + ipv4(udp(numbered(n)), UDP)[:28 + n % 8]), ICMP),
    "ICMPv6 echo": lambda n: _six(struct.pack("!BBHI", 128, 0, 0xBAD, n) + numbered(n), ICMPV6),
    "ICMPv6 packet too big": lambda n: _six(struct.pack("!BBHI", 2, 0, 0xBAD, 1280) + ipv6(_udp6(numbered(n)), UDP), ICMPV6),
    "neighbour solicitation": lambda n: _six(struct.pack("!BBHI", 135, 0, 0xBAD, 0) + numbered(n), ICMPV6),
    "router advertisement": lambda n: _six(struct.pack("!BBHI", 134, 0, 0xBAD, 0) + numbered(n), ICMPV6),
    "DHCP": lambda n: ethernet(ipv4(udp(numbered(n, 240), (68, 67)), UDP), IPV4, BROADCAST),
    "DHCPv6": lambda n: _six(udp(numbered(n, 60), (546, 547), IPV6_ADDRESSES), UDP),
    "ESP": lambda n: _four(struct.pack("!II", n * 7919, n) + numbered(n, 48), ESP),
    "ESP over IPv6": lambda n: _six(struct.pack("!II", n * 7919, n) + numbered(n, 48), ESP),
    "IPv4 authentication header": lambda n: _four(struct.pack("!BBHII", UDP, 4, 0, n, n) + numbered(n, 40), AUTHENTICATION),
    "GRE": lambda n: _four(struct.pack("!HHI", 0x2000, IPV4, n) + ipv4(udp(numbered(n)), UDP), GRE),
    "IP in IP": lambda n: _four(ipv4(udp(numbered(n)), UDP), IP_IN_IP),
    "SCTP": lambda n: _four(struct.pack("!HHII", 2905, 2905, n, 0xBAD) + numbered(n), SCTP),
    "DCCP": lambda n: _six(struct.pack("!HHII", 5001, 5001, 0x03000BAD, n) + numbered(n), DCCP),
    "UDP-Lite": lambda n: _four(struct.pack("!HHHH", 1, 2, 8, 0xBAD) + numbered(n), UDP_LITE),
    "OSPF": lambda n: _four(numbered(n, 44), OSPF),
    "protocol 253": lambda n: _four(numbered(n), 253),
    "next header 254": lambda n: _six(numbered(n), 254),
    "IPv6 without a next header": lambda n: _six(numbered(n), NO_NEXT_HEADER),
    # Options, padding, short packets
    "IPv4 options": lambda n: _four(udp(numbered(n)), UDP, options=b"\x07\x0b\x04" + b"\0" * 8 + b"\x01"),
    "forty bytes of IPv4 options": lambda n: _four(udp(numbered(n)), UDP, options=b"\x01" * 40),
    "padding behind the datagram": lambda n: _four(udp(b"odd") + numbered(n, 15), UDP, length=31),
    "UDP without a checksum": lambda n: _four(struct.pack("!HHHH", 7, 9, 40, 0) + numbered(n), UDP),
    "UDP with a wrong checksum": lambda n: _four(struct.pack("!HHHH", 7, 10, 40, 0xBAD) + numbered(n), UDP),
    "UDP longer than its packet": lambda n: _four(struct.pack("!HHHH", 7, 11, 4000, 0xBAD) + numbered(n), UDP),
    "TCP with options and a wrong checksum": lambda n: _four(
        struct.pack("!HHIIHHHH", 1, 2, n, 0, 0xF012, 9, 0xBAD, 0) + b"\x01" * 40 + numbered(n), TCP),
    "TCP cut short after its ports": lambda n: _four(struct.pack("!HHI", 3, 4, n), TCP),
    "TCP cut short before its ports": lambda n: _four(struct.pack("!H", n), TCP),
    # Broken headers
    "IPv4 with a wrong checksum": lambda n: _four(udp(numbered(n)), UDP, header_checksum=0xBAD),
    "IPv4 that claims to be longer": lambda n: _four(udp(numbered(n), (11, 1)), UDP, length=1400),
    "IPv4 of length zero": lambda n: _four(udp(numbered(n), (11, 2)), UDP, length=0),
    "IPv4 shorter than its header": lambda n: _four(udp(numbered(n), (11, 3)), UDP, length=8),
    "IPv4 with a header of four words": lambda n: _four(udp(numbered(n)), UDP, header_words=4),
    "IPv4 with a header beyond the packet": lambda n: ethernet(ipv4(struct.pack("!I", n), UDP, header_words=15), IPV4),
    "IPv4 of version 6": lambda n: _four(udp(numbered(n)), UDP, version=6),
    "IPv4 of version 0": lambda n: _four(udp(numbered(n)), UDP, version=0),
    "IPv6 of version 4": lambda n: _six(_udp6(numbered(n)), UDP, version=4),
    "IPv6 that claims to be longer": lambda n: _six(udp(numbered(n), (12, 1), IPV6_ADDRESSES), UDP, length=9000),
    "IPv6 of length zero": lambda n: _six(udp(numbered(n), (12, 2), IPV6_ADDRESSES), UDP, length=0),
    "IPv4 cut within its header": lambda n: ethernet(ipv4(numbered(n), UDP)[:11 + n % 8], IPV4),
    "IPv6 cut within its header": lambda n: ethernet(ipv6(numbered(n), UDP)[:31 + n % 8], IPV6),
    "IPv4 of no byte": lambda n: ethernet(b"", IPV4),
    "IPv6 of one byte": lambda n: ethernet(struct.pack("!B", 0x60 | n & 0xF), IPV6),
    "from and to nowhere": lambda n: _four(udp(numbered(n)), UDP, addresses=("0.0.0.0", "0.0.0.0")),
    "from the receiver to itself": lambda n: _four(udp(numbered(n)), UDP, addresses=("127.0.0.1", "127.0.0.1")),
    # Not IP
    "ARP": lambda n: ethernet(struct.pack("!HHBBH", 1, IPV4, 6, 4, 1) + numbered(n, 20), ARP, BROADCAST),
    "LLDP": lambda n: ethernet(numbered(n), 0x88CC, bytes.fromhex("0180c200000e")),
    "spanning tree": lambda n: ethernet(numbered(n, 38), 38, bytes.fromhex("0180c2000000")),
    "802.3 with SNAP": lambda n: ethernet(b"\xaa\xaa\x03\0\0\0\x08\0" + numbered(n), 40),
    "MPLS": lambda n: ethernet(struct.pack("!I", 0x00064140 | n & 0x3F) + ipv4(udp(numbered(n)), UDP), 0x8847),
    "PPPoE": lambda n: ethernet(struct.pack("!BBHHH", 0x11, 0, n, 62, 0x0021) + ipv4(udp(numbered(n)), UDP), 0x8864),
    "MACsec": lambda n: ethernet(numbered(n, 60), 0x88E5),
    "unknown Ethernet type": lambda n: ethernet(numbered(n), EXPERIMENTAL),
    "nothing but an Ethernet header": lambda n: ethernet(b"", EXPERIMENTAL),
    # Tags
    "tag with a priority alone": lambda n: udp_frame(numbered(n), (13, 1), tags=[(IEEE_802_1Q, 0xA000)]),
    "three tags": lambda n: udp_frame(numbered(n), (13, 2), tags=[(IEEE_802_1AD, 5), (IEEE_802_1Q, 6), (IEEE_802_1Q, 7)]),
    "tag of an older kind": lambda n: udp_frame(numbered(n), (13, 3), tags=[(0x9100, 5)]),
    "tag with two bytes behind it": lambda n: ethernet(struct.pack("!H", n), IPV4, tags=[(IEEE_802_1Q, 9)]),
}
