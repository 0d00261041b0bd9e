"""What keeps a network together is never shaped, within bounds: it neither starves nor is a way round every limit."""

import socket
import struct
import time

import pytest

import network
from daemon import check_law
from frames import IPV4, IPV6, ethernet, ipv4, ipv6, udp_frame
from packet_socket import FrameRecorder, FrameSender, inside
from traffic import Receiver, Sender, rate_of

FLOODED = """
[[shape]]
interface = "eth0"
{keys}
{classes}
  [[shape.class]]
  name  = "all"
  rate  = "{rate}"
  queue = "{queue}"
"""

VRRP, VRRP_IPV4, VRRP_IPV6 = 112, "224.0.0.18", "ff02::12"


def flooded(rate="100pps", queue="1000p", keys="", classes=""):
    return FLOODED.format(rate=rate, queue=queue, keys=keys, classes=classes)


def vrrp_advertisement(number, version=4):
    content = struct.pack("!BBBBHH", 0x31, 1, 100, 1, 100, 0) + struct.pack("!I", number)
    if version == 4:
        return ethernet(ipv4(content, VRRP, (network.HOST_IPV4, VRRP_IPV4)), IPV4, bytes.fromhex("01005e000012"))
    return ethernet(ipv6(content, VRRP, (network.HOST_IPV6, VRRP_IPV6)), IPV6, bytes.fromhex("333300000012"))


def test_vrrp_advertisements_are_not_held_back_by_a_flooded_class(net, headgate, programs, divert):
    headgate.start(flooded(), divert=divert)
    recorder = FrameRecorder(net.peer)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=30)
    time.sleep(1)  # the queue is now ten seconds long
    sender = FrameSender(net.host)
    for number in range(20):
        sent = [vrrp_advertisement(2 * number + i, version) for i, version in enumerate((4, 6))]
        sender.send_all(sent)
        assert recorder.frames(2, patience=1, settle=0.01) == sent
        time.sleep(0.05)
    assert headgate.shape()["control_traffic"]["packets"] >= 40
    load.stop()


class Membership:
    """A program on the host that has joined a multicast group of either family."""

    GROUPS = ("239.77.0.1", "ff05::77")

    def __init__(self, namespace):
        with inside(namespace):
            index = socket.if_nametoindex("eth0")
            self._sockets = [socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_INET, socket.AF_INET6)]
            self._sockets[0].setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, struct.pack(
                "4s4si", socket.inet_aton(self.GROUPS[0]), b"\0\0\0\0", index))
            self._sockets[1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, struct.pack(
                "16si", socket.inet_pton(socket.AF_INET6, self.GROUPS[1]), index))

    def close(self):
        for each in self._sockets:
            each.close()


def make_snooping_bridge(peer):
    """The peer becomes a bridge that asks once a second who listens, and forgets who does not answer within three."""
    peer.run("ip", "link", "add", "br0", "type", "bridge", "mcast_snooping", "1", "mcast_querier", "1",
             "mcast_query_interval", "100", "mcast_query_response_interval", "50", "mcast_membership_interval", "300",
             "mcast_startup_query_interval", "100", "mcast_mld_version", "2", "mcast_igmp_version", "3")
    peer.run("ip", "link", "set", "eth0", "master", "br0")
    peer.run("ip", "link", "set", "br0", "up")
    peer.run("ip", "address", "flush", "dev", "eth0")
    network.configure(peer.run, [f"{network.PEER_IPV4}/24"], [f"{network.PEER_IPV6}/64"], "br0")


def members(peer):
    return {group for group in Membership.GROUPS if f"grp {group} " in peer.run("bridge", "mdb", "show").stdout}


@pytest.mark.measured
def test_multicast_memberships_survive_a_flooded_class(net, headgate, programs, divert):
    make_snooping_bridge(net.peer)
    membership = Membership(net.host)
    headgate.start(flooded(), divert=divert)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=60)
    deadline = time.monotonic() + 10
    while members(net.peer) != set(Membership.GROUPS):
        assert time.monotonic() < deadline, net.peer.run("bridge", "mdb", "show").stdout
        time.sleep(0.1)
    for look in range(18):
        time.sleep(0.5)
        assert members(net.peer) == set(Membership.GROUPS), f"at look {look}"
    load.stop()
    membership.close()


FRAME_BYTES = 1000
BITS_OF_A_FRAME = FRAME_BYTES * 8


@pytest.mark.measured
@pytest.mark.parametrize("classes", ["", """
  [[shape.class]]
  name    = "discovery"
  match   = "icmp6"
  control = true
  bypass  = true
"""], ids=["no-control-class", "another-control-class"])
def test_a_flood_of_udp_to_the_port_of_dhcp_is_bounded(net, headgate, programs, divert, figure, classes):
    headgate.start(flooded("10mbit", "50ms", classes=classes), divert=divert)
    receiver = Receiver(net.peer, programs)
    sent = Sender(net.host, programs, network.PEER_IPV4, port=67, rate=100e6 / BITS_OF_A_FRAME, seconds=3,
                  size=FRAME_BYTES).finish(refusals=True)["sent"]
    flow = receiver.stop(settle=0.3).only()
    megabit = rate_of(flow) * BITS_OF_A_FRAME / 1e6
    figure("Mbit/s of 10 and 1", round(megabit, 2))
    assert 10.5 <= megabit <= 11.3
    counters = headgate.shape()
    check_law(counters)
    if classes:
        assert counters["control_traffic"]["packets"] == 0
        assert counters["unmatched"]["bytes"] * 8 / 3e6 == pytest.approx(1, rel=0.1)
    else:
        passed = counters["control_traffic"]
        assert passed["bytes"] * 8 / 3e6 == pytest.approx(1, rel=0.1)
        assert passed["packets"] + counters["received"]["packets"] >= sent


@pytest.mark.measured
def test_a_flood_of_neighbour_solicitations_is_bounded(net, headgate, divert):
    headgate.start(flooded("10mbit", "50ms"), divert=divert)
    solicitation = struct.pack("!BBHI", 135, 0, 0, 0) + bytes(FRAME_BYTES - 14 - 40 - 8)
    frame = ethernet(ipv6(solicitation, 58), IPV6)
    before = int(net.peer.run("cat", "/sys/class/net/eth0/statistics/rx_bytes").stdout)
    start = time.monotonic()
    FrameSender(net.host).send_all([frame] * 25_000, rate=100e6 / BITS_OF_A_FRAME)
    seconds = time.monotonic() - start
    after = int(net.peer.run("cat", "/sys/class/net/eth0/statistics/rx_bytes").stdout)
    assert (after - before) * 8e-6 / seconds <= 11.5


def test_a_reload_changes_the_limit_of_control_traffic_without_attaching_anew(net, headgate, divert):
    def passed_of(count):
        before = headgate.shape()["control_traffic"]["packets"]
        FrameSender(net.host).send_all([vrrp_advertisement(number) for number in range(count)])
        return headgate.shape()["control_traffic"]["packets"] - before

    def reload(keys):
        headgate.write(flooded(keys=keys), divert=divert)
        headgate.reload()

    headgate.start(flooded(keys='control_limit = "1pps"'), divert=divert)
    assert headgate.shape()["control_limit"] == ["1pps"]
    assert 10 <= passed_of(1000) <= 15
    reload('control_limit = "none"')
    assert headgate.shape()["control_limit"] == ["none"]
    assert 1000 <= passed_of(1000) <= 1005  # and what the host itself has to say
    reload('control_limit = "1pps"')
    assert passed_of(1000) <= 15
    assert "shaping again" not in headgate.log()


def test_control_traffic_stands_in_no_other_count(net, headgate, divert):
    headgate.start(flooded(), divert=divert)
    frames = [vrrp_advertisement(number, version) for number in range(50) for version in (4, 6)]
    FrameSender(net.host).send_all(frames)
    shaped = [udp_frame(bytes(32)) for _ in range(5)]
    FrameSender(net.host).send_all(shaped)
    counters = headgate.settled_class("all", len(shaped))
    passed = headgate.shape()["control_traffic"]
    assert passed["packets"] >= len(frames)
    assert passed["bytes"] >= sum(map(len, frames))
    assert counters["received"]["packets"] < len(frames)
    check_law(headgate.shape())
