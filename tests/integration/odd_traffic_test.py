"""Whatever comes, comes out as it went in."""

import signal
import struct
import subprocess
import threading
from random import Random

import pytest

import frames
import network
import odd_traffic
import processes
from daemon import check_law, class_of
from frames import IEEE_802_1AD, IEEE_802_1Q, tagged
from packet_socket import FrameRecorder, FrameSender, assert_same_frames
from transfer import Transfer

pytestmark = pytest.mark.each_back_end

REPETITIONS = 20

WIRE = """
[[shape]]
interface = "eth0"
forward_to = "eth1"
  [[shape.class]]
  name = "all"
  key = "5-tuple"
  rate = "200pps"
  queue = "1000p"

[[shape]]
interface = "eth1"
forward_to = "eth0"
  [[shape.class]]
  name = "all"
  key = ["vlan", "src-mac", "dst"]
  rate = "2000pps"
  queue = "10000p"
"""


TAGS = {"untagged": [], "802.1Q": [(IEEE_802_1Q, 0x2005)], "802.1Q in 802.1ad": [(IEEE_802_1AD, 7), (IEEE_802_1Q, 0x6005)]}


def trace(tags=()):
    """All kinds in turn, again and again, each frame behind these tags: {kind: its frames in order}."""
    flows = {kind: [tagged(frame(number), tags) for number in range(REPETITIONS)]
             for kind, frame in odd_traffic.KINDS.items()}
    return {kind: flow for kind, flow in flows.items() if all(arrives(frame) for frame in flow)}


def arrives(frame):
    """Whether Linux lets a frame come in: with a tag, only if two bytes follow the type behind it."""
    return len(frame) >= 20 or frame[12:14] not in (b"\x81\0", b"\x88\xa8")


def in_turn(flows):
    return [flow[number] for number in range(REPETITIONS) for flow in flows.values()]


def assert_ordered(flows, came):
    for kind, flow in flows.items():
        # Frames that are alike cannot be told apart, and are in any order in order.
        wanted, seen = dict.fromkeys(flow), dict.fromkeys(frame for frame in came if frame in set(flow))
        assert list(seen) == list(wanted), f"{kind}: out of order"


def pass_both_ways_at_once(net, sent):
    """What came out of the wire, at the peer and at the host, of what the other sent."""
    recorders = [FrameRecorder(end) for end in (net.peer, net.host)]
    senders = [threading.Thread(target=FrameSender(end).send_all, args=(sent,)) for end in (net.host, net.peer)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    return [recorder.frames(len(sent)) for recorder in recorders]


@pytest.mark.parametrize("tags", TAGS)
def test_a_trace_of_odd_packets_leaves_the_wire_both_ways_frame_by_frame_as_it_entered(inline_net, headgates, divert, tags):
    for end, interfaces in ((inline_net.host, ["eth0"]), (inline_net.peer, ["eth0"]), (inline_net.middle, ["eth0", "eth1"])):
        for interface in interfaces:
            end.run("ip", "link", "set", interface, "mtu", "1600")
    headgate = headgates(inline_net.middle).start(WIRE, divert=divert)
    flows = trace(TAGS[tags])
    sent = in_turn(flows)
    for came in pass_both_ways_at_once(inline_net, sent):
        assert_same_frames(sent, came)
        assert_ordered(flows, came)
    for interface in ("eth0", "eth1"):
        shape = headgate.shape(interface)
        check_law(shape)
        assert shape["dropped"]["packets"] == 0
        # Most were shaped, so this was no test of the wire in the kernel alone.
        assert class_of(shape, "all")["sent"]["packets"] > 0.6 * len(sent)


def broken(frame, random):
    """The frame with some of what follows its first Ethernet type overwritten, and perhaps cut short."""
    content = bytearray(frame)
    start = 14 + 4 * sum(frame[at:at + 2] in (b"\x81\0", b"\x88\xa8") for at in (12, 16, 20))
    for _ in range(random.randrange(1, 4)):
        if start < len(content):
            content[random.randrange(start, min(start + 60, len(content)))] = random.randrange(256)
    if random.random() < 0.2:
        del content[random.randrange(min(start + 2, len(content)), len(content) + 1):]
    return bytes(content)


def test_frames_broken_at_random_pass_the_wire_both_ways_unchanged(inline_net, headgates, divert):
    headgates(inline_net.middle).start(WIRE.replace("200pps", "20000pps"), divert=divert)
    random = Random(5)
    kinds = list(odd_traffic.KINDS.values())
    tags = list(TAGS.values())
    sent = [broken(tagged(random.choice(kinds)(number), random.choice(tags)), random) for number in range(5000)]
    sent = [frame for frame in sent if arrives(frame)]
    for came in pass_both_ways_at_once(inline_net, sent):
        assert_same_frames(sent, came)


def test_a_capture_of_real_conversations_replayed_through_the_wire_comes_out_as_it_is_in_the_file(net, inline_net, headgates,
                                                                                                divert, tmp_path):
    trace_file = tmp_path / "conversations.pcap"
    net.host.run("ethtool", "-K", "eth0", "tso", "off", "gso", "off", "tx", "off")  # packets as on a wire
    tcpdump = net.host.start("tcpdump", "-i", "eth0", "-w", trace_file, "-U", "-s", "0", stderr=subprocess.PIPE, text=True)
    assert "listening" in tcpdump.stderr.readline()
    for to in (network.PEER_IPV4, network.PEER_IPV6):
        net.host.run("ping", "-n", "-c", 3, "-i", 0.02, "-s", 4000, to)  # in fragments
        Transfer(net.host, net.peer, to, 200_000).finish()
    net.host.run("ping", "-n", "-c", 1, "-W", 0.1, "10.77.0.99", check=False)  # nobody: only ARP
    processes.end(tcpdump, signal.SIGINT)
    recorded = [frames.TEST_MAC.join((frame[:6], frame[12:])) for frame in frames_of_file(trace_file) if len(frame) <= 1514]
    assert len(recorded) > 50
    headgates(inline_net.middle).start(WIRE.replace("200pps", "20000pps"), divert=divert)
    for came in pass_both_ways_at_once(inline_net, recorded):
        assert_same_frames(recorded, came)


def frames_of_file(path):
    """Of a pcap file of this machine's byte order."""
    content, at = path.read_bytes(), 24
    assert content[:4] in (struct.pack("=I", 0xA1B2C3D4), struct.pack("=I", 0xA1B23C4D))
    while at < len(content):
        length, = struct.unpack_from("=I", content, at + 8)
        yield content[at + 16:at + 16 + length]
        at += 16 + length


EGRESS = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "all"
  key = "5-tuple"
  rate = "200pps"
  queue = "1000p"
"""


def test_a_trace_of_odd_packets_leaves_a_shaped_interface_as_it_was_sent(net, headgate, divert):
    headgate.start(EGRESS, divert=divert)
    recorder = FrameRecorder(net.peer)
    flows = trace()
    sent = in_turn(flows)
    FrameSender(net.host).send_all(sent)
    came = recorder.frames(len(sent))
    assert_same_frames(sent, came)
    assert_ordered(flows, came)
    shape = headgate.shape()
    check_law(shape)
    assert shape["dropped"]["packets"] == 0


def test_each_kind_of_packet_belongs_to_the_flow_that_the_manual_names(inline_net, headgates):
    headgate = headgates(inline_net.middle).start(WIRE)
    sender = FrameSender(inline_net.host)
    expected = {
        "IPv4 later fragments": "10.77.0.1 → 10.77.0.2 tcp fragments",
        "IPv6 later fragments": "fd77::1 → fd77::2 tcp fragments",
        "ESP": "10.77.0.1 → 10.77.0.2 esp",
        "GRE": "10.77.0.1 → 10.77.0.2 gre",
        "SCTP": "10.77.0.1 → 10.77.0.2 sctp 2905→2905",
        "ICMP echo": "10.77.0.1 → 10.77.0.2 icmp",
        "ICMPv6 echo": "fd77::1 → fd77::2 icmp6",
        "all extension headers": "fd77::1 → fd77::2 udp 4000→5000",
        "IPv4 options": "10.77.0.1 → 10.77.0.2 udp 4000→5000",
        "protocol 253": "10.77.0.1 → 10.77.0.2 protocol 253",
    }
    for kind in expected:
        sender.send_all(odd_traffic.KINDS[kind](number) for number in range(REPETITIONS))
    headgate.settled_class("all", REPETITIONS * len(expected))
    # The hosts' own IPv6 stacks send a little as well.
    flows = {flow["text"]: flow["sent"]["packets"] for flow in headgate.json("flows", "eth0/ingress/all")["flows"]
             if flow["key"]["source"] in ("10.77.0.1", "fd77::1")}
    assert flows == dict.fromkeys(expected.values(), REPETITIONS)
