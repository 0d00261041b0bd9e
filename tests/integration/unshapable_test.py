"""Packets that carry what user space could not give back to them go on, and are counted."""

import pytest

import network
from frames import numbered, udp_frame
from packet_socket import FrameRecorder, FrameSender, assert_same_frames
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


@pytest.mark.parametrize("underlay", ["ip", "ip6"])
@pytest.mark.parametrize("treatment", ['rate = "100pps"', "bypass = true"])
def test_packets_with_tunnel_metadata_pass_and_are_counted(net, headgate, divert, underlay, treatment):
    make_tunnel(net, underlay)
    headgate.start(shape(treatment=treatment), divert=divert)
    assert received_replies(net.host, PEER_INSIDE) == 5
    counters = headgate.shape("vx0")
    assert counters["unshapable"] == {"packets": 5, "bytes": 5 * 98}
    assert counters["received"]["packets"] == 0
    assert "passed unshaped, with tunnel metadata or decrypted by IPsec: 5 packets" in headgate.control("show").stdout
    headgate.wait_for_log("packets with tunnel metadata, or decrypted by IPsec, pass unshaped")


def test_what_arrives_with_tunnel_metadata_keeps_it(net, headgate, divert):
    make_tunnel(net)
    headgate.start(shape(direction="ingress"), divert=divert)
    assert received_replies(net.host, PEER_INSIDE) == 5
    assert headgate.shape("vx0")["unshapable"]["packets"] == 5
    assert headgate.shape("vx0")["received"]["packets"] == 0


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
