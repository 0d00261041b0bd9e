"""The packet ring and live libpcap keep what the BPF ring buffer keeps: rates, order, every byte and every count."""

import pytest

import network
import odd_traffic
from conftest import BACK_ENDS
from daemon import check_law, class_of
from packet_socket import FrameRecorder, FrameSender, assert_same_frames
from traffic import Receiver, Sender, rate_while_running
from transfer import Transfer

SHAPE = """
[[shape]]
interface = "eth0"
capture = "%s"
  [[shape.class]]
  name = "load"
  match = "udp dst portrange 5000-5999"
  key = "5-tuple"
  rate = "500pps"
  queue = "500p"
  [[shape.class]]
  name = "rest"
  rate = "100mbit"
  queue = ["2000p", "200ms"]
"""

WIRE = (SHAPE.replace('"eth0"\n', '"eth0"\nforward_to = "eth1"\n')
        + SHAPE.replace('"eth0"\n', '"eth1"\nforward_to = "eth0"\n'))


@pytest.mark.measured
@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("to", [network.PEER_IPV4, network.PEER_IPV6])
def test_each_flow_leaves_at_its_rate_in_order_and_accounted_for(net, headgate, programs, divert, to, back_end):
    headgate.start(SHAPE % back_end, divert=divert)
    receiver = Receiver(net.peer, programs)
    offered = Sender(net.host, programs, to, flows=4, rate=4000, seconds=2).finish()["sent"]
    counters = headgate.settled_class("load", offered)
    arrivals = receiver.stop()
    assert len(arrivals.flows) == 4
    for flow in arrivals.flows.values():
        assert rate_while_running(flow, 500) == pytest.approx(500, rel=0.005)
    assert arrivals.reordered() == 0
    assert counters["received"]["packets"] == offered
    assert counters["sent"]["packets"] == len(arrivals)
    assert headgate.shape()["capture"] == back_end


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_odd_and_tagged_frames_leave_the_wire_byte_for_byte(inline_net, headgates, divert, back_end):
    headgate = headgates(inline_net.middle).start(WIRE % (back_end, back_end), divert=divert)
    recorder = FrameRecorder(inline_net.peer)
    sent = [frame(number) for number in range(5) for frame in odd_traffic.KINDS.values()]
    FrameSender(inline_net.host).send_all(sent)
    assert_same_frames(sent, recorder.frames(len(sent)))
    shape = headgate.shape("eth0")
    check_law(shape)
    assert class_of(shape, "rest")["sent"]["packets"] > len(sent) / 2


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("where", ["egress", "ingress"])
def test_tcp_passes_byte_for_byte(net, headgate, divert, where, back_end):
    headgate.start((SHAPE % back_end).replace('"eth0"\n', f'"eth0"\ndirection = "{where}"\n'), divert=divert)
    for transfer in [Transfer(net.host, net.peer, network.PEER_IPV6, 4_000_000),
                     Transfer(net.peer, net.host, network.HOST_IPV4, 4_000_000, port=5301)]:
        transfer.finish()
