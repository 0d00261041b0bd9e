"""A stop sends what is queued and leaves nothing behind."""

import time

import pytest

import network
import traces
from daemon import class_of
from traffic import Receiver, Sender

pytestmark = pytest.mark.each_back_end

SLOW = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "udp"
  match = "udp dst portrange 5000-5999"
  rate  = "{rate}"
  queue = "100p"
"""


def test_a_stop_sends_every_packet_that_was_queued(net, headgate, programs, divert):
    headgate.start(SLOW.format(rate="10pps"), divert=divert)
    receiver = Receiver(net.peer, programs)
    Sender(net.host, programs, network.PEER_IPV4, rate=1000, count=90).finish()
    queued = class_of(headgate.shape(), "udp")["queued"]["packets"]
    assert queued > 80
    began = time.monotonic()
    headgate.stop()
    assert time.monotonic() - began < 2.5
    arrivals = receiver.stop()
    assert len(arrivals) == 90
    assert arrivals.reordered() == 0
    traces.assert_none(net.host)
    assert not headgate.control_path.exists()


def test_a_stop_under_load_sends_the_queue_and_traffic_goes_on(net, headgate, programs, divert):
    headgate.start(SLOW.format(rate="1000pps"), divert=divert)
    receiver = Receiver(net.peer, programs)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=4)
    time.sleep(1)
    asked = time.time()
    headgate.stop()
    stopped = time.time()
    traces.assert_none(net.host)
    assert not headgate.control_path.exists()
    sent = load.finish()["sent"]
    flow = receiver.stop().only()

    # After the stop nothing is dropped: what came after the highest number of a queued packet is complete.
    after = {arrival.sequence for arrival in flow if arrival.time / 1e9 > stopped}
    assert after >= set(range(min(after), sent))
    # The queue was full when the stop was asked for, and all of it left.
    assert offered_before_but_sent_after(flow, asked, rate=3000) >= 98


def offered_before_but_sent_after(flow, moment, rate):
    """Packets that arrived after a moment in time, but were offered before it: packet n is offered n / rate after the
    first, and those that are not shaped arrive when they are offered."""
    first_offered = min(arrival.time / 1e9 - arrival.sequence / rate for arrival in flow)
    return sum(1 for arrival in flow
               if arrival.time / 1e9 > moment and first_offered + arrival.sequence / rate < moment)


def test_the_administrators_own_clsact_stays(net, headgate, divert):
    net.host.run("tc", "qdisc", "add", "dev", "eth0", "clsact")
    net.host.run("tc", "filter", "add", "dev", "eth0", "egress", "protocol", "ip", "pref", "77", "u32", "match",
                 "u32", "0", "0", "flowid", "1:1")
    headgate.start(SLOW.format(rate="1000pps"), divert=divert)
    headgate.stop()
    assert traces.has_clsact(net.host)
    assert {its["pref"] for its in traces.clsact_filters(net.host)} == {77}
    assert not traces.divert_devices(net.host)


def test_start_and_stop_again_and_again(net, headgate, divert):
    for _ in range(10):
        headgate.start(SLOW.format(rate="1000pps"), divert=divert)
        headgate.stop()
        traces.assert_none(net.host)
