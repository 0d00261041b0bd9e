"""Links without an Ethernet header: tun devices, with the hardware types of other tunnels, and WireGuard."""

import socket
import struct
import subprocess
import tempfile
import time

import pytest

import network
import processes
import traces
from capture_test import comments, end, start_capture
from daemon import EXIT_OK, EXIT_REFUSED, check_law, class_of, overflowed, trouble_of
from ingress_test import StackReceiver
from packet_socket import inside
from segmentation_test import checksum_errors
from traffic import Arrival, FrameTrace, Ping, Sender, TcpLoad, answers, most_ahead, nothing_missing, rate_while_running
from transfer import Transfer

SHAPE = """
[[shape]]
interface = "{interface}"
capture = "bpf"
direction = "{direction}"
segmentation = "{segmentation}"
  [[shape.class]]
  name = "load"
  match = "udp dst portrange 5000-5999"
  key = "dst"
  rate = "1000pps"
  queue = "1000p"
  [[shape.class]]
  name = "rest"
  rate = "{rate}"
  queue = ["1000p", "200ms"]
"""

# ARPHRD_*: of a tun device itself, ppp, ipip, gre.
TUN, PPP, IPIP, GRE = 0xFFFE, 512, 768, 778


def shape(direction="egress", interface="tun0", segmentation="auto", rate="1gbit"):
    return SHAPE.format(interface=interface, direction=direction, segmentation=segmentation, rate=rate)


@pytest.fixture
def tun_net():
    """tun_net(...): as network.TunNetwork(...)."""
    made = []

    def make(*arguments, **options):
        made.append(network.TunNetwork(*arguments, **options))
        return made[-1]

    yield make
    for each in made:
        each.delete()


@pytest.fixture(params=["tcx", "clsact"])
def divert(request):
    return request.param


def ends_of(net, direction):
    """Source, destination and the destination's addresses, of what a shape of the host in that direction sees."""
    if direction == "egress":
        return net.host, net.peer, [network.PEER_IPV4, network.PEER_IPV6]
    return net.peer, net.host, [network.HOST_IPV4, network.HOST_IPV6]


@pytest.mark.measured
@pytest.mark.parametrize("direction, hardware_type", [("egress", TUN), ("egress", PPP), ("egress", IPIP), ("egress", GRE),
                                                      ("ingress", TUN), ("ingress", PPP), ("ingress", IPIP)])
@pytest.mark.parametrize("family", [4, 6])
def test_udp_leaves_at_the_rate_each_packet_once_and_charged_for_its_ip_packet(tun_net, headgates, programs, divert,
                                                                               hardware_type, direction, family):
    net = tun_net(hardware_type)
    source, destination, addresses = ends_of(net, direction)
    to = addresses[family == 6]
    headgate = headgates(net.host).start(shape(direction), divert=divert)
    receiver = StackReceiver(destination, to)
    leaving = FrameTrace(net.host, f"dst host {to}", "tun0", direction="out")
    offered = Sender(source, programs, to, rate=2500, seconds=2, size=100).finish()["sent"]
    counters = headgate.settled_class("load", offered, interface="tun0")
    flow, interfaces = receiver.arrivals()

    # What carries packets on from the device has pauses of its own.
    timed = flow if direction == "ingress" else [Arrival(at, 0) for at, _ in leaving.stop()]
    assert rate_while_running(timed, 1000) == pytest.approx(1000, rel=0.002)
    assert interfaces == {destination.links()["tun0"]["ifindex"]}
    sequences = [arrival.sequence for arrival in flow]
    assert sequences == sorted(set(sequences)), "a packet came twice or late"
    assert counters["received"]["packets"] == offered
    assert counters["sent"]["packets"] == len(flow)
    assert counters["dropped"]["packets"] == overflowed(counters)
    # The sender counts an Ethernet header.
    assert counters["received"]["bytes"] == offered * (100 - 14)
    check_law(headgate.shape("tun0"))


@pytest.mark.measured
def test_packets_are_spaced(tun_net, headgates, programs, divert):
    net = tun_net()
    headgate = headgates(net.host).start(shape(), divert=divert)
    trace = FrameTrace(net.host, "udp dst port 5000", "tun0", direction="out")
    offered = Sender(net.host, programs, network.PEER_IPV4, rate=2500, seconds=2).finish()["sent"]
    headgate.settled_class("load", offered, interface="tun0")
    frames = trace.stop()
    # What a pause holds up is caught up by up to 10 ms.
    assert most_ahead([(at, 1) for at, _ in frames], 1000) < 11
    late = [after - before for (before, _), (after, _) in zip(frames, frames[1:]) if abs(after - before - 1e6) > 2e5]
    assert len(late) < len(frames) / 50


@pytest.mark.measured
@pytest.mark.parametrize("direction", ["egress", "ingress"])
def test_a_bit_rate_counts_the_ip_packet(tun_net, headgates, programs, direction):
    net = tun_net()
    source, destination, addresses = ends_of(net, direction)
    config = shape(direction).replace("1000pps", "800kbit")
    headgate = headgates(net.host).start(config)
    receiver = StackReceiver(destination, addresses[0])
    leaving = FrameTrace(net.host, f"dst host {addresses[0]}", "tun0", direction="out")
    offered = Sender(source, programs, addresses[0], rate=1500, seconds=2, size=114).finish()["sent"]
    headgate.settled_class("load", offered, interface="tun0")
    flow, _ = receiver.arrivals()
    if direction == "egress":
        flow = [Arrival(at, 0) for at, _ in leaving.stop()]
    assert rate_while_running(flow, 1000) == pytest.approx(1000, rel=0.002)


@pytest.mark.parametrize("direction", ["egress", "ingress"])
@pytest.mark.parametrize("segmentation", ["precise", "auto", "whole"])
@pytest.mark.parametrize("offload", [False, True])
def test_tcp_arrives_byte_for_byte_both_ways_and_in_both_families(tun_net, headgates, divert, direction, segmentation,
                                                                  offload):
    net = tun_net(offload=offload)
    headgate = headgates(net.host).start(shape(direction, segmentation=segmentation, rate="200mbit"), divert=divert)
    for source, destination, addresses in (ends_of(net, "egress"), ends_of(net, "ingress")):
        for transfer in [Transfer(source, destination, to, 4_000_000, port=port)
                         for port, to in enumerate(addresses, 5300)]:
            transfer.finish()
    shaped = headgate.shape("tun0")
    check_law(shaped)
    assert class_of(shaped, "rest")["sent"]["bytes"] > 8_000_000
    assert shaped["dropped"]["reasons"]["send_failed"]["packets"] == 0
    assert (shaped["lost"]["ring"]["packets"], shaped["lost"]["device"]["packets"]) == (0, 0)
    for namespace in net.namespaces:
        assert checksum_errors(namespace) == 0


@pytest.mark.parametrize("hardware_type", [PPP, IPIP])
def test_tcp_of_other_hardware_types_with_super_packets(tun_net, headgates, divert, hardware_type):
    net = tun_net(hardware_type, offload=True)
    config = shape("egress", rate="200mbit") + shape("ingress", rate="200mbit")
    headgate = headgates(net.host).start(config, divert=divert)
    for source, destination, addresses in (ends_of(net, "egress"), ends_of(net, "ingress")):
        for to in addresses:
            Transfer(source, destination, to, 4_000_000).finish()
    for direction in ("egress", "ingress"):
        shaped = headgate.shape("tun0", direction)
        check_law(shaped)
        assert class_of(shaped, "rest")["sent"]["bytes"] > 8_000_000
    assert checksum_errors(net.host) == checksum_errors(net.peer) == 0


@pytest.mark.measured
@pytest.mark.parametrize("direction", ["egress", "ingress"])
def test_a_bit_rate_holds_for_tcp_with_super_packets(tun_net, headgates, figure, direction):
    net = tun_net(offload=True)
    headgates(net.host).start(shape(direction, rate="100mbit"))
    source, destination, addresses = ends_of(net, direction)
    report = TcpLoad(source, destination, addresses[0], seconds=2).finish()
    goodput = report["end"]["sum_received"]["bits_per_second"] / 1e6
    figure("goodput in Mbit/s of 100", round(goodput, 2))
    assert 88 <= goodput <= 97  # 1448 of 1500 bytes are payload


@pytest.mark.parametrize("direction", ["egress", "ingress"])
def test_udp_super_packets_and_fragments_come_as_their_datagrams(tun_net, headgates, divert, direction):
    """The first the kernel cuts, on the divert device."""
    net = tun_net()
    source, destination, addresses = ends_of(net, direction)
    headgate = headgates(net.host).start(shape(direction).replace("1000pps", "100mbit"), divert=divert)
    for to in addresses:
        receiver = StackReceiver(destination, to)
        with inside(source):
            sender = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET, socket.SOCK_DGRAM)
        sender.setsockopt(socket.IPPROTO_UDP, 103, 1000)  # UDP_SEGMENT
        for first in range(0, 200, 20):
            sender.sendto(b"".join(struct.pack("!Q992x", first + number) for number in range(20)), (to, 5000))
            time.sleep(0.002)
        sender.setsockopt(socket.IPPROTO_UDP, 103, 0)
        for number in range(200, 220):
            sender.sendto(struct.pack("!Q", number) + bytes(range(256)) * 16, (to, 5000))
            time.sleep(0.002)
        flow, _ = receiver.arrivals()
        assert sorted(arrival.sequence for arrival in flow) == list(range(220))
        sender.close()
    shaped = headgate.shape("tun0")
    check_law(shaped)
    assert trouble_of(shaped) == ""
    assert shaped["unshapable"]["packets"] == 0
    assert (shaped["lost"]["ring"]["packets"], shaped["lost"]["device"]["packets"]) == (0, 0)
    assert checksum_errors(destination) == 0


@pytest.mark.parametrize("direction", ["egress", "ingress"])
def test_the_longest_packets_of_a_large_mtu_arrive(tun_net, headgates, divert, direction):
    net = tun_net()
    for namespace in net.namespaces:
        namespace.run("ip", "link", "set", "tun0", "mtu", 65535)
    source, destination, addresses = ends_of(net, direction)
    headgate = headgates(net.host).start(shape(direction), divert=divert)
    receiver = StackReceiver(destination, addresses[0])
    with inside(source):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for number in range(50):
        sender.sendto(struct.pack("!Q", number) + bytes(65_000), (addresses[0], 5000))
        time.sleep(0.005)
    flow, _ = receiver.arrivals()
    sender.close()
    assert [arrival.sequence for arrival in flow] == list(range(50))
    check_law(headgate.shape("tun0"))
    assert class_of(headgate.shape("tun0"), "load")["sent"] == {"packets": 50, "bytes": 50 * 65_036}


@pytest.mark.measured
@pytest.mark.parametrize("direction", ["egress", "ingress"])
def test_what_was_copied_is_not_reported_as_a_drop(tun_net, headgates, programs, divert, direction, monitor):
    net = tun_net()
    source, destination, addresses = ends_of(net, direction)
    headgates(net.host).start(shape(direction), divert=divert)
    receiver = StackReceiver(destination, addresses[0])
    before = monitor.drops()
    Sender(source, programs, addresses[0], rate=900, count=500).finish()
    assert monitor.drops() - before < 250
    flow, _ = receiver.arrivals()
    assert len(flow) == 500


def test_ping_waits_for_its_turn(tun_net, headgates, divert):
    net = tun_net()
    headgate = headgates(net.host).start(shape() + shape("ingress"), divert=divert)
    ping = Ping(net.host, network.PEER_IPV6, interval=0.01, count=100)
    assert len(ping.finish()) == 100
    for direction in ("egress", "ingress"):
        assert class_of(headgate.shape("tun0", direction), "rest")["sent"]["packets"] >= 100


@pytest.mark.parametrize("direction", ["egress", "ingress"])
def test_what_was_forwarded_from_an_ethernet_link_is_shaped(tun_net, headgates, divert, direction):
    """The super-packets of a veth device go out by tun, and what comes by tun goes on there."""
    net = tun_net()
    far = network.Namespace("far")
    try:
        network.connect(["netns", net.host.name], ["netns", far.name], "eth0")
        network.configure(net.host.run, ["10.78.0.1/24"], ["fd78::1/64"])
        network.configure(far.run, ["10.78.0.2/24"], ["fd78::2/64"])
        for family, net_of in (("-4", "default via 10.78.0.1"), ("-6", "default via fd78::1")):
            far.run("ip", family, "route", "add", *net_of.split())
        for family, net_of in (("-4", "10.78.0.0/24"), ("-6", "fd78::/64")):
            net.peer.run("ip", family, "route", "add", net_of, "dev", "tun0")
        net.host.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        headgate = headgates(net.host).start(shape(direction, rate="200mbit"), divert=divert)
        network.wait_for_answers(far.run)
        pairs = ((far, net.peer, (network.PEER_IPV4, network.PEER_IPV6)), (net.peer, far, ("10.78.0.2", "fd78::2")))
        for source, destination, addresses in pairs:
            for to in addresses:
                Transfer(source, destination, to, 4_000_000).finish()
        shaped = headgate.shape("tun0")
        check_law(shaped)
        assert class_of(shaped, "rest")["sent"]["bytes"] > 8_000_000
        assert checksum_errors(net.peer) == checksum_errors(far) == 0
    finally:
        far.delete()


@pytest.mark.parametrize("hardware_type", [TUN, PPP])
def test_killed_the_host_is_open_and_stopped_nothing_is_left(tun_net, headgates, programs, divert, hardware_type):
    net = tun_net(hardware_type)
    headgate = headgates(net.host)
    config = shape() + shape("ingress")
    for _ in range(3):
        headgate.start(config, divert=divert)
        assert answers(net.host, network.PEER_IPV4)
        headgate.kill()
        network.wait_for_answers(net.host.run, patience=2)
    headgate.start(config, divert=divert)
    receiver = StackReceiver(net.peer, network.PEER_IPV4)
    Sender(net.host, programs, network.PEER_IPV4, rate=20_000, count=500).finish()
    headgate.stop()
    flow, _ = receiver.arrivals()
    assert len(flow) == 500 and nothing_missing(flow)
    traces.assert_none(net.host, "tun0")
    assert answers(net.host, network.PEER_IPV4)


def test_a_wire_between_two_links_without_ethernet_header(headgates, programs, divert):
    host, middle, peer = namespaces = [network.Namespace(role) for role in ("host", "middle", "peer")]
    try:
        network.ferry_tun(host, middle, "tun0")
        network.ferry_tun(middle, peer, "tun1")
        network.configure(host.run, [f"{network.HOST_IPV4}/24"], [f"{network.HOST_IPV6}/64"], "tun0")
        network.configure_peer(peer, "tun1")
        for interface in ("tun0", "tun1"):
            middle.run("ip", "link", "set", interface, "up")
        one = shape("ingress").replace('capture', 'forward_to = "tun1"\ncapture')
        other = shape("ingress", "tun1").replace('capture', 'forward_to = "tun0"\ncapture')
        headgate = headgates(middle).start(one + other, divert=divert)
        network.wait_for_answers(host.run)
        for source, destination, addresses in ((host, peer, (network.PEER_IPV4, network.PEER_IPV6)),
                                               (peer, host, (network.HOST_IPV4, network.HOST_IPV6))):
            for to in addresses:
                Transfer(source, destination, to, 2_000_000).finish()
        receiver = StackReceiver(peer, network.PEER_IPV4)
        offered = Sender(host, programs, network.PEER_IPV4, rate=2500, seconds=1).finish()["sent"]
        counters = headgate.settled_class("load", offered, interface="tun0")
        flow, _ = receiver.arrivals()
        assert len(flow) == counters["sent"]["packets"]
        headgate.kill()
        network.wait_for_answers(host.run, patience=2)
    finally:
        for namespace in namespaces:
            namespace.delete()


def refusal(headgate, config):
    headgate.start(config, wait=False)
    assert headgate.process.wait(10) != EXIT_OK
    return headgate.log()


@pytest.mark.parametrize("key, match, word", [
    ("src-mac", "ip", '"src-mac" in the key'),
    ("dst-mac", "ip", '"dst-mac" in the key'),
    ("vlan", "ip", '"vlan" in the key'),
    ("src", "ether host 02:00:00:00:00:01", '"ether" in the match'),
    ("src", "tcp or multicast", '"multicast" in the match'),
])
def test_what_needs_an_ethernet_header_is_refused_by_name_at_a_start_and_a_reload(tun_net, headgates, key, match, word):
    net = tun_net()
    right = shape()
    wrong = right.replace('"dst"', f'"{key}"').replace("udp dst portrange 5000-5999", match)
    expected = f"tun0 egress: class load: {word} needs an Ethernet header, which packets of tun0 do not have"
    assert expected in refusal(headgates(net.host), wrong)
    headgate = headgates(net.host).start(right)
    headgate.write(wrong)
    refused = headgate.control("reload", check=False)
    assert refused.returncode == EXIT_REFUSED and expected in refused.stderr
    assert headgate.shape("tun0")["diverting"]


def test_refused_interfaces_are_named_with_their_reason(net, tun_net, headgates):
    net = tun_net()
    ring = shape().replace('"bpf"', '"ring"')
    assert 'tun0 has no Ethernet header (its kind is tun), which needs capture = "bpf"' in refusal(headgates(net.host), ring)
    refused = refusal(headgates(net.host), shape(interface="lo"))
    assert '"lo" is the loopback interface' in refused
    net.host.run("ip", "link", "add", "eth7", "type", "veth", "peer", "name", "eth8")
    to_ethernet = shape("ingress").replace("capture", 'forward_to = "eth7"\ncapture')
    assert "tun0 cannot be forwarded to eth7: tun0 has no Ethernet header" in refusal(headgates(net.host), to_ethernet)
    gre = tun_net(GRE)
    assert "only its egress can be shaped" in refusal(headgates(gre.host), shape("ingress"))


def test_a_trace_has_bare_ip_packets(tun_net, headgates, programs):
    net = tun_net()
    headgate = headgates(net.host).start(shape().replace('"1000p"', '"20p"'))
    path = headgate.directory / "trace.pcapng"
    process = start_capture(headgate, "load", "-w", path)
    Sender(net.host, programs, network.PEER_IPV4, rate=10_000, count=300, size=114).finish()
    headgate.settled_class("load", 300, interface="tun0")
    end(process)
    shown = net.host.run("tcpdump", "-nr", path)
    lines = shown.stdout.splitlines()
    assert "link-type RAW" in shown.stderr
    assert len(lines) == 600
    assert all("IP 10.77.0.1." in line and "> 10.77.0.2.5000: UDP, length 72" in line for line in lines)
    seen = comments(path.read_bytes())
    assert seen["received"] == 300 and seen["sent"] >= 20 and len(seen) >= 3


# WireGuard in user space: a tun device and a process of its own.

HOST_INNER, PEER_INNER = ("10.79.0.1", "fd79::1"), ("10.79.0.2", "fd79::2")


class WireGuard:
    """wg0 of the host and wg1 of the peer, over their eth0."""

    def __init__(self, net):
        ends = [(net.host, "wg0", network.HOST_IPV4, HOST_INNER), (net.peer, "wg1", network.PEER_IPV4, PEER_INNER)]
        keys = [processes.run(["wg", "genkey"]).stdout for _ in ends]
        self.processes = []
        for (namespace, interface, _, inner), key, far_key, (_, _, far, _) in zip(ends, keys, keys[::-1], ends[::-1]):
            self.processes.append(namespace.start("wireguard-go", "-f", interface, stdout=subprocess.DEVNULL,
                                                  stderr=subprocess.DEVNULL))
            with tempfile.NamedTemporaryFile("w") as own:
                own.write(key)
                own.flush()
                public = subprocess.run(["wg", "pubkey"], input=far_key, capture_output=True, text=True, check=True)
                self._configure(namespace, interface, "listen-port", 51820, "private-key", own.name, "peer",
                                public.stdout.strip(), "endpoint", f"{far}:51820", "allowed-ips", "0.0.0.0/0,::/0")
            network.configure(namespace.run, [f"{inner[0]}/24"], [f"{inner[1]}/64"], interface)
        for address in PEER_INNER:
            assert answers(net.host, address, patience=10)

    @staticmethod
    def _configure(namespace, interface, *settings, patience=10):
        deadline = time.monotonic() + patience
        while namespace.run("wg", "set", interface, *settings, check=False).returncode != 0:
            assert time.monotonic() < deadline, f"{interface} cannot be configured after {patience} s"
            time.sleep(0.05)

    def end(self):
        for process in self.processes:
            processes.end(process)


@pytest.fixture
def wireguard(net):
    made = WireGuard(net)
    yield made
    made.end()


@pytest.mark.measured
@pytest.mark.parametrize("direction", ["egress", "ingress"])
def test_wireguard_keeps_the_bit_rate(net, wireguard, headgates, divert, direction, figure):
    headgate = headgates(net.host).start(shape(direction, "wg0", rate="20mbit"), divert=divert)
    source, destination, to = ((net.host, net.peer, PEER_INNER[0]) if direction == "egress" else
                               (net.peer, net.host, HOST_INNER[0]))
    report = TcpLoad(source, destination, to, seconds=3).finish()
    goodput = report["end"]["sum_received"]["bits_per_second"] / 1e6
    figure("goodput in Mbit/s of 20", round(goodput, 2))
    assert 18 <= goodput <= 19.4  # 1368 of 1420 bytes are payload
    check_law(headgate.shape("wg0"))


def test_wireguard_carries_tcp_and_udp_as_they_were(net, wireguard, headgates, programs, divert):
    headgate = headgates(net.host).start(shape("egress", "wg0") + shape("ingress", "wg0"), divert=divert)
    for source, destination, addresses in ((net.host, net.peer, PEER_INNER), (net.peer, net.host, HOST_INNER)):
        for to in addresses:
            Transfer(source, destination, to, 4_000_000).finish()
        receiver = StackReceiver(destination, addresses[0])
        Sender(source, programs, addresses[0], rate=900, count=500).finish()
        flow, _ = receiver.arrivals()
        assert len(flow) == 500 and nothing_missing(flow)
    for direction in ("egress", "ingress"):
        shaped = headgate.shape("wg0", direction)
        check_law(shaped)
        assert class_of(shaped, "load")["sent"]["packets"] == 500
    headgate.kill()
    assert any(answers(net.host, PEER_INNER[0], patience=0.5) for _ in range(4))
    headgate.start(arguments=["--config", headgate.config_path])
    headgate.stop()
    traces.assert_none(net.host, "wg0")
