"""Packets that carry what user space could not give back to them go on, and are counted."""

import socket

import pytest

import network
from frames import numbered, udp_frame
from packet_socket import FrameRecorder, FrameSender, assert_same_frames, inside
from traffic import TcpLoad

HOST_INSIDE, PEER_INSIDE = "10.88.0.1", "10.88.0.2"

SHAPE = """
[[shape]]
interface = "{interface}"
direction = "{direction}"
  [[shape.class]]
  name = "all"
  {treatment}
"""


def shape(interface="vx0", direction="egress", treatment='rate = "100pps"'):
    return SHAPE.format(interface=interface, direction=direction, treatment=treatment)


def hardware_address(namespace, interface):
    return namespace.links()[interface]["address"]


def make_tunnel(net, underlay="ip"):
    """vx0 of the host takes its VXLAN from the route, as metadata beside each packet; that of the peer is an ordinary one."""
    host, peer = ((network.HOST_IPV4, network.PEER_IPV4) if underlay == "ip" else
                  (network.HOST_IPV6, network.PEER_IPV6))
    net.host.run("ip", "link", "add", "vx0", "type", "vxlan", "external", "dstport", "4789")
    net.peer.run("ip", "link", "add", "vx0", "type", "vxlan", "id", "7", "remote", host, "dstport", "4789", "dev", "eth0",
                 "udp6zerocsumrx")
    for namespace, address in ((net.host, HOST_INSIDE), (net.peer, PEER_INSIDE)):
        namespace.run("ip", "address", "add", f"{address}/32", "dev", "vx0")
        namespace.run("ip", "link", "set", "vx0", "up")
    net.host.run("ip", "route", "add", PEER_INSIDE, "encap", underlay, "id", "7", "dst", peer, "dev", "vx0")
    net.peer.run("ip", "route", "add", HOST_INSIDE, "dev", "vx0")
    net.host.run("ip", "neighbour", "add", PEER_INSIDE, "lladdr", hardware_address(net.peer, "vx0"), "dev", "vx0")
    net.peer.run("ip", "neighbour", "add", HOST_INSIDE, "lladdr", hardware_address(net.host, "vx0"), "dev", "vx0")


def received_replies(namespace, to, count=5):
    output = namespace.run("ping", "-n", "-c", count, "-i", 0.1, "-W", 1, to, check=False).stdout
    return output.count(" bytes from ")


def test_packets_with_tunnel_metadata_that_no_class_shapes_are_counted_in_theirs(net, headgate, divert):
    make_tunnel(net)
    headgate.start(shape(treatment="bypass = true"), divert=divert)
    assert received_replies(net.host, PEER_INSIDE) == 5
    counters = headgate.shape("vx0")
    assert counters["unshapable"]["packets"] == 0
    assert counters["classes"][0]["sent"] == {"packets": 5, "bytes": 5 * 98}


@pytest.mark.parametrize("underlay", ["ip", "ip6"])
def test_packets_with_tunnel_metadata_are_shaped_into_their_tunnel(net, headgate, divert, underlay):
    make_tunnel(net, underlay)
    headgate.start(shape(treatment='rate = "100pps"'), divert=divert)
    assert received_replies(net.host, PEER_INSIDE) == 5
    counters = headgate.shape("vx0")
    assert counters["unshapable"]["packets"] == 0
    assert counters["sent"] == {"packets": 5, "bytes": 5 * 98}


def outer_headers(net, destination):
    """Of a packet on its way to `destination` by vx0: type of service, time to live, whether its checksum is set, VNI."""
    with inside(net.peer):
        arrivals = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x800))
        arrivals.bind(("eth0", 0x800))
        arrivals.settimeout(5)
    net.host.run("ping", "-n", "-c", 1, "-W", 1, destination, check=False)
    while True:
        frame = arrivals.recv(2048)
        if frame[23] == UDP and frame[36:38] == VXLAN_PORT and frame[30:34] == socket.inet_aton(network.PEER_IPV4):
            return frame[15], frame[22], frame[40:42] != b"\0\0", int.from_bytes(frame[46:49], "big")


UDP = 17
VXLAN_PORT = (4789).to_bytes(2, "big")
MORE_INSIDE = "10.88.0.3"


def test_each_packet_leaves_by_its_own_tunnel_as_without_headgate(net, headgate, divert):
    make_tunnel(net)
    net.host.run("ip", "route", "add", MORE_INSIDE, "encap", "ip", "id", 70000, "dst", network.PEER_IPV4, "ttl", 33, "tos", 8,
                 "csum", "dev", "vx0")
    net.host.run("ip", "neighbour", "add", MORE_INSIDE, "lladdr", hardware_address(net.peer, "vx0"), "dev", "vx0")
    before = [outer_headers(net, inside) for inside in (PEER_INSIDE, MORE_INSIDE)]
    assert before[0][3] == 7 and before[1] == (8, 33, True, 70000)
    headgate.start(shape(treatment='rate = "100pps"'), divert=divert)
    assert [outer_headers(net, inside) for inside in (PEER_INSIDE, MORE_INSIDE)] == before
    assert headgate.shape("vx0")["sent"]["packets"] == 2


def test_super_packets_are_shaped_into_their_tunnel(net, headgate, divert):
    make_tunnel(net)
    headgate.start(shape(treatment='rate = "20mbit"\nqueue = "50ms"'), divert=divert)
    report = TcpLoad(net.host, net.peer, PEER_INSIDE, seconds=2).finish()
    assert 15e6 < report["end"]["sum_received"]["bits_per_second"] < 20e6
    counters = headgate.shape("vx0")
    assert counters["unshapable"]["packets"] == 0
    assert counters["dropped"]["reasons"]["send_failed"]["packets"] == 0


WITHOUT_WHAT_IT_TAKES = {
    "another back end": ({}, 'capture = "ring"\n'),
    "a mark without room": ({"mark": 0x68670001}, ""),
}


@pytest.mark.parametrize("what", WITHOUT_WHAT_IT_TAKES)
def test_tunnel_metadata_that_cannot_be_given_back_passes_and_is_counted(net, headgate, divert, what):
    make_tunnel(net)
    daemon, capture = WITHOUT_WHAT_IT_TAKES[what]
    headgate.start(shape(treatment='rate = "100pps"').replace("interface", capture + "interface"), divert=divert, **daemon)
    assert received_replies(net.host, PEER_INSIDE) == 5
    counters = headgate.shape("vx0")
    assert counters["unshapable"] == {"packets": 5, "bytes": 5 * 98}
    assert counters["received"]["packets"] == 0
    assert "passed unshaped, with tunnel metadata or decrypted by IPsec: 5 packets" in headgate.control("show").stdout
    headgate.wait_for_log("packets with tunnel metadata, or decrypted by IPsec, pass unshaped")


def test_what_arrives_with_tunnel_metadata_keeps_it(net, headgate, divert):
    make_tunnel(net)
    headgate.start(shape(direction="ingress"), divert=divert)
    assert received_replies(net.host, PEER_INSIDE, count=15) == 15  # for longer than the patience of the dead-man switch
    counters = headgate.shape("vx0")
    assert counters["unshapable"]["packets"] == 15
    assert counters["received"]["packets"] == counters["unshaped"]["packets"] == 0


def test_what_came_by_a_tunnel_and_leaves_by_an_ordinary_interface_is_shaped(net, headgate, divert):
    make_tunnel(net)
    network.connect(["netns", net.host.name], ["netns", net.peer.name], "eth1")
    for namespace in (net.host, net.peer):
        namespace.run("ip", "link", "set", "eth1", "up")
    net.host.run("tc", "qdisc", "add", "dev", "vx0", "clsact")
    net.host.run("tc", "filter", "add", "dev", "vx0", "ingress", "u32", "match", "u32", "0", "0",
                 "action", "mirred", "egress", "redirect", "dev", "eth1")
    headgate.start(shape("eth1", treatment='rate = "1000pps"'), divert=divert)
    recorder = FrameRecorder(net.peer, "eth1")
    sent = [udp_frame(numbered(number)) for number in range(20)]
    FrameSender(net.peer, "vx0").send_all(sent)
    assert_same_frames(sent, recorder.frames(len(sent)))
    counters = headgate.shape("eth1")
    assert counters["unshapable"]["packets"] == 0
    assert counters["sent"]["packets"] >= len(sent)


def test_super_packets_inside_a_tunnel_arrive_where_super_packets_stay_whole(net, headgate, divert):
    """No virtio header describes them: the kernel cuts them before they are taken."""
    for namespace, other, inside in ((net.host, network.PEER_IPV4, HOST_INSIDE), (net.peer, network.HOST_IPV4, PEER_INSIDE)):
        namespace.run("ip", "link", "add", "vx0", "type", "vxlan", "id", "7", "remote", other, "dstport", "4789",
                      "dev", "eth0")
        namespace.run("ip", "address", "add", f"{inside}/24", "dev", "vx0")
        namespace.run("ip", "link", "set", "vx0", "up")
    headgate.start(shape("eth0", treatment='rate = "20mbit"\nqueue = "50ms"').replace(
        '"egress"\n', '"egress"\nsegmentation = "whole"\n'), divert=divert)
    report = TcpLoad(net.host, net.peer, PEER_INSIDE, seconds=2).finish()
    assert report["end"]["sum_received"]["bits_per_second"] > 15e6
    counters = headgate.shape()
    assert counters["lost"]["device"]["packets"] == counters["lost"]["ring"]["packets"] == 0
    assert counters["dropped"]["reasons"]["send_failed"]["packets"] == 0
