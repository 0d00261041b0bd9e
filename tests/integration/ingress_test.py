"""What arrives is shaped before the host's stack sees it."""

import signal
import socket
import struct
import time

import pytest

import network
import traces
from daemon import check_law, class_of, overflowed
from frames import numbered, udp_frame
from packet_socket import FrameRecorder, FrameSender, inside
from traffic import Arrival, Ping, Receiver, Sender, answers, nothing_missing, rate_while_running
from transfer import Transfer

pytestmark = pytest.mark.each_back_end

INGRESS = """
[[shape]]
interface = "eth0"
direction = "ingress"
  [[shape.class]]
  name = "load"
  match = "udp dst portrange 5000-5999"
  key = "dst"
  rate = "1000pps"
  queue = "1000p"
"""

EGRESS = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "load"
  match = "udp dst portrange 5000-5999"
  key = "dst"
  rate = "500pps"
  queue = "1000p"
"""

HOST_ADDRESSES = [network.HOST_IPV4, network.HOST_IPV6]


class StackReceiver:
    """An ordinary program of the host that receives UDP: a packet socket would see what arrives twice."""

    _RECEIVE_BUFFER_FORCE, _TIMESTAMP = 33, 35

    def __init__(self, namespace, address, port=5000):
        six = ":" in address
        with inside(namespace):
            self._socket = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM)
        self._level, option, self._kind = ((socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, socket.IPV6_PKTINFO) if six else
                                           (socket.IPPROTO_IP, 8, 8))  # IP_PKTINFO
        self._socket.setsockopt(self._level, option, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, self._TIMESTAMP, 1)  # SO_TIMESTAMPNS
        self._socket.setsockopt(socket.SOL_SOCKET, self._RECEIVE_BUFFER_FORCE, 64 << 20)
        time.sleep(0.05)  # the kernel begins to stamp a moment after the first socket asks; before, by the time of reading
        self._socket.bind((address, port))

    def arrivals(self, settle=0.2):
        """What has come in, and the interfaces by which it came."""
        flow, interfaces = [], set()
        self._socket.settimeout(settle)
        while True:
            try:
                data, ancillary, _, _ = self._socket.recvmsg(65536, 512)
            except (TimeoutError, BlockingIOError):
                self._socket.close()
                return flow, interfaces
            for level, kind, content in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, self._TIMESTAMP):
                    seconds, nanoseconds = struct.unpack("qq", content[:16])
                elif (level, kind) == (self._level, self._kind):
                    interfaces.add(struct.unpack("i", content[:4] if len(content) == 12 else content[16:20])[0])
            flow.append(Arrival(seconds * 1_000_000_000 + nanoseconds, struct.unpack("!Q", data[:8])[0]))


@pytest.mark.measured
@pytest.mark.parametrize("to", HOST_ADDRESSES)
def test_the_stack_receives_at_the_rate_from_the_same_interface_and_each_packet_once(net, headgate, programs, divert, to):
    headgate.start(INGRESS, divert=divert)
    receiver = StackReceiver(net.host, to)
    offered = Sender(net.peer, programs, to, rate=3000, seconds=2.5).finish()["sent"]
    counters = headgate.settled_class("load", offered)
    flow, interfaces = receiver.arrivals()

    assert rate_while_running(flow, 1000) == pytest.approx(1000, rel=0.002)
    assert interfaces == {net.host.links()["eth0"]["ifindex"]}
    sequences = [arrival.sequence for arrival in flow]
    assert sequences == sorted(set(sequences)), "a packet came twice or late"
    assert counters["received"]["packets"] == offered
    assert counters["sent"]["packets"] == len(flow)
    assert counters["dropped"]["packets"] == overflowed(counters)
    # Nothing goes round: nobody sends any more, and no count grows.
    time.sleep(0.3)
    assert class_of(headgate.shape(), "load")["received"]["packets"] == offered


@pytest.mark.measured
def test_beside_egress_each_direction_has_its_own_rate_and_counts_its_own_packets(net, headgate, programs, divert):
    headgate.start(INGRESS + EGRESS, divert=divert)
    inward, outward = StackReceiver(net.host, network.HOST_IPV4), Receiver(net.peer, programs)
    loads = [Sender(net.peer, programs, network.HOST_IPV4, rate=3000, seconds=2.5),
             Sender(net.host, programs, network.PEER_IPV4, rate=2000, seconds=2.5)]
    arriving, leaving = (load.finish()["sent"] for load in loads)
    arrived = headgate.settled_class("load", arriving, direction="ingress")
    left = headgate.settled_class("load", leaving, direction="egress")
    inward_flow, interfaces = inward.arrivals()
    outward_flow = outward.stop().only()

    assert rate_while_running(inward_flow, 1000) == pytest.approx(1000, rel=0.002)
    assert rate_while_running(outward_flow, 500) == pytest.approx(500, rel=0.002)
    assert len(interfaces) == 1
    assert (arrived["received"]["packets"], left["received"]["packets"]) == (arriving, leaving)
    assert (arrived["sent"]["packets"], left["sent"]["packets"]) == (len(inward_flow), len(outward_flow))
    for shape, its in ((headgate.shape(direction="ingress"), arriving), (headgate.shape(direction="egress"), leaving)):
        check_law(shape)
        # Beside the load there is only what the hosts themselves say now and then.
        assert its <= shape["received"]["packets"] <= its + 50
        assert shape["received"]["packets"] == class_of(shape, "load")["received"]["packets"] + shape["unmatched"]["packets"]


EVERYTHING_BOTH_WAYS = """
[[shape]]
interface = "eth0"
direction = "ingress"
  [[shape.class]]
  name = "in"
  rate = "50mbit"
  queue = ["1000p", "200ms"]

[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "out"
  rate = "40mbit"
  queue = ["1000p", "200ms"]
"""


@pytest.mark.parametrize("host_address, peer_address", [(network.HOST_IPV4, network.PEER_IPV4),
                                                        (network.HOST_IPV6, network.PEER_IPV6)])
def test_tcp_and_icmp_pass_shaped_in_both_directions_at_once(net, headgate, divert, host_address, peer_address):
    headgate.start(EVERYTHING_BOTH_WAYS, divert=divert)
    start = time.monotonic()
    transfers = [Transfer(net.peer, net.host, host_address, 8_000_000),
                 Transfer(net.host, net.peer, peer_address, 6_000_000, port=5301)]
    echoes = Ping(net.host, peer_address, interval=0.02, count=40).finish()
    for transfer in transfers:
        transfer.finish()
    assert len(echoes) >= 38  # a full queue may drop one
    assert time.monotonic() - start >= 8_000_000 * 8 / 50e6
    for shape in headgate.show()["shapes"]:
        check_law(shape)
        assert shape["dropped"]["reasons"]["send_failed"]["packets"] == 0


def test_a_packet_socket_sees_what_arrives_twice_and_headgate_once(net, headgate, divert):
    headgate.start(INGRESS, divert=divert)
    recorder = FrameRecorder(net.host)
    sent = [udp_frame(numbered(number)) for number in range(50)]
    FrameSender(net.peer).send_all(sent)
    came = recorder.frames(100)
    assert sorted(came) == sorted(2 * sent)
    assert headgate.settled_class("load", 50)["received"] == {"packets": 50, "bytes": sum(map(len, sent))}


def test_what_the_firewall_says_of_the_interface_holds_for_shaped_packets(net, headgate, programs, divert):
    headgate.start(INGRESS, divert=divert)
    net.host.run("nft", "add table inet t; add chain inet t in { type filter hook input priority 0; };"
                        "add counter inet t mine; add rule inet t in iifname eth0 udp dport 5000 meta mark 0 counter name mine;"
                        "add rule inet t in iifname eth0 udp dport 5001 drop")
    receivers = [StackReceiver(net.host, network.HOST_IPV4, port) for port in (5000, 5001)]
    offered = Sender(net.peer, programs, network.HOST_IPV4, rate=500, count=200, flows=2).finish()["sent"]
    headgate.settled_class("load", offered)
    assert [len(receiver.arrivals()[0]) for receiver in receivers] == [100, 0]
    # The mark by which the divert knows its own packets is off again.
    assert "packets 100 " in net.host.run("nft", "list counter inet t mine").stdout


@pytest.mark.measured
@pytest.mark.each_divert
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_dead_or_stopped_the_host_is_open_in_both_directions(net, headgate, programs, divert, how):
    headgate.start(INGRESS + EGRESS, divert=divert)
    loads = [Sender(net.peer, programs, network.HOST_IPV4, rate=3000, seconds=600),
             Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=600)]
    ping = Ping(net.host, network.PEER_IPV4, interval=0.01)
    time.sleep(0.5)
    moment = time.time()
    headgate.signal(how)
    time.sleep(1.1)
    inward, outward = StackReceiver(net.host, network.HOST_IPV4), Receiver(net.peer, programs)
    time.sleep(1)
    flows = [inward.arrivals(settle=0)[0], outward.stop().only()]
    echoes = ping.stop()
    assert min(echo.sent + echo.round_trip for echo in echoes if echo.sent > moment) - moment <= 1
    for flow in flows:
        assert nothing_missing(flow) and len(flow) > 1.5 * 1000  # three times what is allowed are sent
    if how == signal.SIGSTOP:
        headgate.signal(signal.SIGCONT)
        time.sleep(1)
        inward, outward = StackReceiver(net.host, network.HOST_IPV4), Receiver(net.peer, programs)
        time.sleep(1)
        assert rate_while_running(inward.arrivals(settle=0)[0], 1000) == pytest.approx(1000, rel=0.02)
        assert rate_while_running(outward.stop().only(), 500) == pytest.approx(500, rel=0.02)
        for shape in headgate.show()["shapes"]:
            assert shape["unshaped"]["packets"] > 1000
    for load in loads:
        load.stop()


def test_neither_direction_leaves_anything_behind(net, headgate, divert, programs):
    headgate.start(INGRESS + EGRESS, divert=divert)
    pairs = 1 if headgate.shape()["capture"] == "bpf" else 2
    assert len(traces.divert_devices(net.host)) == 2 * pairs
    headgate.stop()
    traces.assert_none(net.host)
    headgate.start(INGRESS + EGRESS, divert=divert)
    headgate.kill()
    net.host.run(programs / "headgated", "--cleanup")
    traces.assert_none(net.host)
    assert answers(net.host, network.PEER_IPV4)
