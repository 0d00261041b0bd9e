"""Whatever comes, comes out as it went in."""

import pytest

import odd_traffic
from daemon import check_law, class_of
from packet_socket import FrameRecorder, FrameSender, assert_same_frames

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


def trace():
    """All kinds in turn, again and again: {kind: its frames in order}."""
    return {kind: [frame(number) for number in range(REPETITIONS)] for kind, frame in odd_traffic.KINDS.items()}


def in_turn(flows):
    return [flow[number] for number in range(REPETITIONS) for flow in flows.values()]


def assert_ordered(flows, came):
    for kind, flow in flows.items():
        # Frames that are alike cannot be told apart, and are in any order in order.
        wanted, seen = dict.fromkeys(flow), dict.fromkeys(frame for frame in came if frame in set(flow))
        assert list(seen) == list(wanted), f"{kind}: out of order"


@pytest.mark.parametrize("source, destination", [("host", "peer"), ("peer", "host")])
def test_a_trace_of_odd_packets_leaves_the_wire_frame_by_frame_as_it_entered(inline_net, headgates, divert, source,
                                                                             destination):
    headgate = headgates(inline_net.middle).start(WIRE, divert=divert)
    recorder = FrameRecorder(getattr(inline_net, destination))
    flows = trace()
    sent = in_turn(flows)
    FrameSender(getattr(inline_net, source)).send_all(sent)
    came = recorder.frames(len(sent))
    assert_same_frames(sent, came)
    assert_ordered(flows, came)
    for shape in headgate.show()["shapes"]:
        check_law(shape)
        assert shape["dropped"]["packets"] == 0
    # Most were shaped, so this was no test of the wire in the kernel alone.
    shape = headgate.shape("eth0" if source == "host" else "eth1")
    assert class_of(shape, "all")["sent"]["packets"] > 0.6 * len(sent)


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
