"""Checksums that the host has left unfinished leave right, wherever in the packet they stand."""

import socket
import struct

import frames
from daemon import class_of
from packet_socket import FrameRecorder, FrameSender

SHAPE = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "all"
  match = "udp"
  rate  = "10000pps"
  queue = "1000p"
"""

SOL_PACKET, PACKET_VNET_HDR = 263, 15
NEEDS_CHECKSUM = 1
UDP_HEADER = 8


def pseudo_sum(datagram, addresses=frames.IPV4_ADDRESSES):
    """As it stands in the checksum of a datagram that is not finished."""
    return frames.checksum(_pseudo_header(datagram, addresses)) ^ 0xFFFF


def _pseudo_header(datagram, addresses):
    return b"".join(map(socket.inet_aton, addresses)) + struct.pack("!BBH", 0, frames.UDP, len(datagram))


def with_checksum(datagram, value):
    return datagram[:6] + struct.pack("!H", value) + datagram[8:]


class UnfinishedFrameSender(FrameSender):
    """Sends frames whose checksum, of UDP, the kernel is told to be unfinished."""

    def __init__(self, namespace):
        super().__init__(namespace)
        self._socket.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)

    def send_unfinished(self, frame, start):
        self.send(struct.pack("=BBHHHH", NEEDS_CHECKSUM, 0, 0, 0, start, 6) + frame)


def tunnelled():
    """A datagram in a tunnel over UDP; its own checksum, where it begins, is unfinished. The tunnel's looks so, too."""
    inner = frames.udp(frames.numbered(1))
    finished = frames.ethernet(frames.ipv4(inner, frames.UDP), frames.IPV4)
    unfinished = frames.ethernet(frames.ipv4(with_checksum(inner, pseudo_sum(inner)), frames.UDP), frames.IPV4)
    tunnel = b"\x08\0\0\0\0\0\x07\0"
    outer = [frames.udp(tunnel + inside, ports=(50000, 4789)) for inside in (unfinished, finished)]
    looks_unfinished = pseudo_sum(outer[0])
    sent, arrives = (frames.ethernet(frames.ipv4(with_checksum(one, looks_unfinished), frames.UDP), frames.IPV4)
                     for one in outer)
    return sent, arrives, 14 + 20 + UDP_HEADER + len(tunnel) + 14 + 20


def test_an_inner_checksum_is_finished_where_the_outer_one_only_looks_unfinished(net, headgate, divert):
    headgate.start(SHAPE, divert=divert)
    recorder = FrameRecorder(net.peer)
    sent, arrives, start = tunnelled()
    UnfinishedFrameSender(net.host).send_unfinished(sent, start)
    assert recorder.frames(1) == [arrives]
    assert class_of(headgate.shape(), "all")["sent"]["packets"] == 1


def test_an_unfinished_checksum_of_the_outermost_header_is_handed_on(net, headgate, divert):
    """The kernel finishes it for an interface that cannot."""
    net.host.run("ethtool", "-K", "eth0", "tx", "off")
    headgate.start(SHAPE, divert=divert)
    recorder = FrameRecorder(net.peer)
    datagram = frames.udp(frames.numbered(2))
    unfinished = frames.ethernet(frames.ipv4(with_checksum(datagram, pseudo_sum(datagram)), frames.UDP), frames.IPV4)
    UnfinishedFrameSender(net.host).send_unfinished(unfinished, 14 + 20)
    assert recorder.frames(1) == [frames.ethernet(frames.ipv4(datagram, frames.UDP), frames.IPV4)]
