"""A transparent shaper in the wire: frames of every address go by, and the wire stays whole."""

import signal
import time

import pytest

import network
import odd_traffic
import traces
from daemon import check_law
from frames import (ARP, BROADCAST, EXPERIMENTAL, IPV4_ADDRESSES, IPV6_ADDRESSES, TEST_MAC, ethernet, numbered,
                    udp_frame)
from packet_socket import FrameRecorder, FrameSender, assert_same_frames
from traffic import Ping, Receiver, Sender, answers, nothing_missing, rate_while_running
from transfer import Transfer

pytestmark = pytest.mark.each_back_end

WIRE = """
[[shape]]
interface = "eth0"
forward_to = "eth1"
  [[shape.class]]
  name = "load"
  match = "udp dst portrange 5000-5999"
  rate = "1000pps"
  queue = "1000p"
  [[shape.class]]
  name = "rest"
  rate = "50mbit"
  queue = ["1000p", "200ms"]

[[shape]]
interface = "eth1"
forward_to = "eth0"
  [[shape.class]]
  name = "load"
  match = "udp dst portrange 5000-5999"
  rate = "500pps"
  queue = "1000p"
  [[shape.class]]
  name = "rest"
  rate = "50mbit"
  queue = ["1000p", "200ms"]
"""

# By TCX the kernel undoes the divert with the process; by clsact the dead-man switch must notice.
LONGEST_OUTAGE = {"tcx": 0.2, "clsact": 0.8}


@pytest.fixture
def wire(inline_net, headgates, divert):
    headgate = headgates(inline_net.middle).start(WIRE, divert=divert)
    inline_net.wait_for_answers()
    return headgate


def wait_until(condition, patience=2):
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"not within {patience} s"
        time.sleep(0.02)


def promiscuous(namespace, interface):
    return namespace.links()[interface]["promiscuity"] > 0


def assert_wire_ended(middle):
    for interface in ("eth0", "eth1"):
        traces.assert_none(middle, interface)
        assert not promiscuous(middle, interface)


def assert_wire_in_kernel(middle):
    for interface in ("eth0", "eth1"):
        assert promiscuous(middle, interface)
        assert any("headgate-wire" in its["options"].get("bpf_name", "") for its in
                   traces.clsact_filters(middle, interface))


def frames_of_every_address(own_mac):
    destinations = [BROADCAST, own_mac] + [bytes.fromhex(address) for address in (
        "026867000002", "0180c2000000", "0180c2000001", "0180c2000003", "0180c200000e", "01000ccccccc", "01005e000001",
        "01005e7ffffa", "333300000001", "3333ff000002", "000000000000")]
    made = []
    for number, destination in enumerate(destinations):
        made += [ethernet(numbered(number), ether_type, destination) for ether_type in
                 (ARP, EXPERIMENTAL, 0x88CC, 0x8847, 0x8863, 38)]
        made += [udp_frame(numbered(number), (4000, port), addresses, destination=destination)
                 for port in (5001, 7000) for addresses in (IPV4_ADDRESSES, IPV6_ADDRESSES,
                                                            ("10.77.0.1", "224.0.0.251"), ("fe80::1", "ff02::fb"))]
    return made


def test_frames_of_every_address_pass_both_ways_unchanged(inline_net, wire):
    recorders = [FrameRecorder(inline_net.peer), FrameRecorder(inline_net.host)]
    for interface in ("eth0", "eth1"):
        own_mac = bytes.fromhex(inline_net.middle.links()[interface]["address"].replace(":", ""))
        sent = frames_of_every_address(own_mac)
        for sender in (FrameSender(inline_net.host), FrameSender(inline_net.peer)):
            sender.send_all(sent)
        for recorder in recorders:
            assert_same_frames(sent, recorder.frames(len(sent)))


def test_the_machine_in_the_wire_hears_nothing_of_it_and_answers_nothing(inline_net, wire):
    inline_net.middle.run("ip", "address", "add", "10.77.0.99/24", "dev", "eth0")
    assert not answers(inline_net.host, "10.77.0.99", patience=0.3)
    assert answers(inline_net.host, network.PEER_IPV4)


def test_neighbours_are_found_through_the_wire_while_it_is_saturated(inline_net, wire, programs):
    load = Sender(inline_net.host, programs, network.PEER_IPV4, rate=3000, seconds=600)
    for _ in range(3):
        for namespace in (inline_net.host, inline_net.peer):
            namespace.run("ip", "neighbour", "flush", "dev", "eth0")
        for source, to in ((inline_net.host, network.PEER_IPV4), (inline_net.host, network.PEER_IPV6),
                           (inline_net.peer, network.HOST_IPV4), (inline_net.peer, network.HOST_IPV6)):
            assert answers(source, to)
    load.stop()


@pytest.mark.measured
@pytest.mark.parametrize("host_address, peer_address", [(network.HOST_IPV4, network.PEER_IPV4),
                                                        (network.HOST_IPV6, network.PEER_IPV6)])
def test_each_direction_has_its_rate_while_tcp_and_icmp_pass_both_ways(inline_net, wire, programs, host_address,
                                                                       peer_address):
    receivers = [Receiver(inline_net.peer, programs), Receiver(inline_net.host, programs)]
    loads = [Sender(inline_net.host, programs, peer_address, rate=3000, seconds=2.5),
             Sender(inline_net.peer, programs, host_address, rate=1500, seconds=2.5)]
    transfers = [Transfer(inline_net.host, inline_net.peer, peer_address, 5_000_000),
                 Transfer(inline_net.peer, inline_net.host, host_address, 5_000_000, port=5301)]
    echoes = Ping(inline_net.host, peer_address, interval=0.01, count=200).finish()
    for transfer in transfers:
        transfer.finish()
    offered = [load.finish()["sent"] for load in loads]
    for interface, count, rate, receiver in zip(("eth0", "eth1"), offered, (1000, 500), receivers):
        counters = wire.settled_class("load", count, interface=interface)
        flow = receiver.stop().only()
        assert rate_while_running(flow, rate) == pytest.approx(rate, rel=0.005)
        assert counters["received"]["packets"] == count
        assert counters["sent"]["packets"] == len(flow)
    assert len(echoes) == 200


class WireUnderTraffic:
    """Non-IP frames, which go by the kernel's redirect and may never be lost, UDP above its rate, and pings."""

    def __init__(self, net, programs):
        self._net = net
        self._recorders = [FrameRecorder(net.peer), FrameRecorder(net.host)]
        self._senders = [FrameSender(net.host), FrameSender(net.peer)]
        self._sent = []
        self._receiver = Receiver(net.peer, programs)
        # Each direction has a dead-man switch, which the first packet that nobody reads sets off.
        self._loads = [Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=600),
                       Sender(net.peer, programs, network.HOST_IPV4, rate=100, seconds=600)]
        self._ping = Ping(net.host, network.PEER_IPV4, interval=0.01)

    def pass_for(self, seconds, until=lambda: False):
        """Sends non-IP frames both ways, 1000 a second, and returns when it is so or time is over."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            number = len(self._sent)
            frame = ethernet(numbered(number), EXPERIMENTAL)
            for sender in self._senders:
                sender.send(frame)
            self._sent.append(frame)
            time.sleep(0.001)

    def finish(self):
        """All non-IP frames came, in order; the arrivals of the load and the echoes."""
        for recorder in self._recorders:
            assert recorder.frames(len(self._sent)) == self._sent, "the wire lost or reordered what is never shaped"
        for load in self._loads:
            load.stop()
        return self._receiver.stop().only(), self._ping.stop()


def between(flow, start, end):
    return [arrival for arrival in flow if start <= arrival.time / 1e9 < end]


def longest_outage(echoes, start, end):
    """The longest time without an answer."""
    received = [start] + sorted(echo.sent + echo.round_trip for echo in echoes if start <= echo.sent < end) + [end]
    return max(after - before for before, after in zip(received, received[1:]))


@pytest.mark.measured
@pytest.mark.each_divert
def test_killed_under_traffic_the_wire_stays_whole_and_the_next_start_takes_it_over(inline_net, wire, programs, divert,
                                                                                    figure):
    traffic = WireUnderTraffic(inline_net, programs)
    traffic.pass_for(1)
    killed = time.time()
    wire.kill()
    traffic.pass_for(2)
    assert_wire_in_kernel(inline_net.middle)
    started = time.time()
    wire.launch(["--config", wire.config_path])
    traffic.pass_for(10, until=lambda: any("READY=1" in message for message in wire.notifications()))
    ready = time.time()
    traffic.pass_for(2)
    ended = time.time()
    flow, echoes = traffic.finish()

    outage = longest_outage(echoes, killed - 0.5, started)
    figure("seconds without an answer after kill -9", round(outage, 3))
    assert outage <= LONGEST_OUTAGE[divert]
    # What waits in the kernel for the daemon when it is killed is lost; when it starts, nothing is but the order.
    outage = longest_outage(echoes, started - 0.5, ended)
    figure("seconds without an answer while the wire is taken over", round(outage, 3))
    assert outage <= 0.2
    unshaped = between(flow, killed + 1, started)
    assert nothing_missing(unshaped) and len(unshaped) > 1.5 * 1000
    assert rate_while_running(between(flow, ready + 0.5, ended), 1000) == pytest.approx(1000, rel=0.01)


@pytest.mark.measured
def test_stopped_by_a_signal_the_wire_stays_whole_and_shaping_returns(inline_net, wire, programs):
    traffic = WireUnderTraffic(inline_net, programs)
    traffic.pass_for(1)
    stopped = time.time()
    wire.signal(signal.SIGSTOP)
    traffic.pass_for(2.5)
    continued = time.time()
    wire.signal(signal.SIGCONT)
    traffic.pass_for(2)
    ended = time.time()
    flow, echoes = traffic.finish()
    assert longest_outage(echoes, stopped - 0.5, continued) <= 1
    unshaped = between(flow, stopped + 1, continued)
    assert nothing_missing(unshaped) and len(unshaped) > 1.5 * 1000 * 1.5
    assert rate_while_running(between(flow, continued + 1, ended), 1000) == pytest.approx(1000, rel=0.01)
    for interface in ("eth0", "eth1"):
        shape = wire.shape(interface)
        check_law(shape)
        assert shape["unshaped"]["packets"] > 0


def test_a_clean_stop_ends_the_wire(inline_net, wire):
    wire.stop()
    assert_wire_ended(inline_net.middle)
    assert not answers(inline_net.host, network.PEER_IPV4, patience=0.3)


def test_a_clean_stop_ends_the_wire_of_an_interface_that_was_renamed_while_the_other_was_away(inline_net, wire):
    middle = inline_net.middle
    middle.run("ip", "link", "delete", "eth1")
    wait_until(lambda: not any(shape["diverting"] for shape in wire.show()["shapes"]))
    assert promiscuous(middle, "eth0")
    middle.run("ip", "link", "set", "eth0", "name", "lan0")
    wire.stop()
    traces.assert_none(middle, "lan0")
    assert not promiscuous(middle, "lan0")


def test_where_another_interface_takes_over_the_name_the_renamed_one_has_no_wire_any_more(inline_net, wire):
    middle = inline_net.middle
    middle.run("ip", "link", "set", "eth0", "name", "old0")
    middle.run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "far0")
    middle.run("ip", "link", "set", "eth0", "up")
    wait_until(lambda: promiscuous(middle, "eth0") and not promiscuous(middle, "old0"))
    assert traces.clsact_filters(middle, "old0") == []
    wire.stop()
    assert_wire_ended(middle)
    traces.assert_none(middle, "old0")


def test_cleanup_ends_the_wire_of_a_killed_daemon(inline_net, wire, programs):
    wire.kill()
    assert_wire_in_kernel(inline_net.middle)
    network.wait_for_answers(inline_net.host.run, patience=3)
    inline_net.middle.run(programs / "headgated", "--cleanup")
    assert_wire_ended(inline_net.middle)
    assert not answers(inline_net.host, network.PEER_IPV4, patience=0.3)


def test_the_cleanup_after_a_failure_of_the_service_leaves_the_wire(inline_net, wire, programs):
    wire.kill()
    inline_net.middle.run("env", "SERVICE_RESULT=signal", programs / "headgated", "--cleanup")
    assert_wire_in_kernel(inline_net.middle)
    assert traces.divert_devices(inline_net.middle) == []
    for to in (network.PEER_IPV4, network.PEER_IPV6):
        assert answers(inline_net.host, to)


def test_promiscuous_mode_that_was_there_before_stays(inline_net, headgates):
    inline_net.middle.run("ip", "link", "set", "eth0", "promisc", "on")
    headgate = headgates(inline_net.middle).start(WIRE)
    headgate.kill()
    headgate.start(WIRE)
    headgate.stop()
    assert promiscuous(inline_net.middle, "eth0")
    assert not promiscuous(inline_net.middle, "eth1")


def test_taken_out_of_the_file_a_wire_ends_and_put_back_it_carries_again(inline_net, wire, divert):
    wire.write("", divert=divert)
    wire.reload()
    assert_wire_ended(inline_net.middle)
    wire.write(WIRE, divert=divert)
    wire.reload()
    assert answers(inline_net.host, network.PEER_IPV4)


def test_odd_frames_pass_the_wire_of_a_killed_daemon(inline_net, wire):
    wire.kill()
    time.sleep(LONGEST_OUTAGE["clsact"])  # until the dead-man switch has tripped
    FrameSender(inline_net.host).send(udp_frame(b"first of all, it arms the switch"))
    time.sleep(LONGEST_OUTAGE["clsact"])
    recorder = FrameRecorder(inline_net.peer)
    sent = [frame(number) for number in range(3) for frame in odd_traffic.KINDS.values()]
    assert all(frame[6:12] == TEST_MAC for frame in sent)
    FrameSender(inline_net.host).send_all(sent)
    assert_same_frames(sent, recorder.frames(len(sent)))
