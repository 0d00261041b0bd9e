"""A stop sends what is queued and leaves nothing behind."""

import time

import network
import traces
from daemon import class_of
from traffic import Receiver, Sender

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
    headgate.stop()
    stopped = time.time()
    traces.assert_none(net.host)
    assert not headgate.control_path.exists()
    sent = load.finish()["sent"]
    flow = receiver.stop().only()

    # After the stop nothing is dropped: what came after the highest number of a queued packet is complete.
    after = {arrival.sequence for arrival in flow if arrival.time / 1e9 > stopped}
    assert after >= set(range(min(after), sent))
    # The queue was full and all of it left: so many packets came behind later ones that went straight on, or in a row.
    assert queued_at_stop(flow) >= 95


def queued_at_stop(flow):
    """How many packets the stop sent at once: arrivals less than half the shaped distance apart, with gaps in their
    numbering (of three offered packets one was queued)."""
    return sum(1 for before, after in zip(flow, flow[1:])
               if after.time - before.time < 500_000 and after.sequence - before.sequence in (2, 3, 4))


def test_the_administrators_own_clsact_stays(net, headgate, divert):
    net.host.run("tc", "qdisc", "add", "dev", "eth0", "clsact")
    net.host.run("tc", "filter", "add", "dev", "eth0", "egress", "protocol", "ip", "pref", "77", "matchall", "action",
                 "pass")
    headgate.start(SLOW.format(rate="1000pps"), divert=divert)
    headgate.stop()
    assert traces.has_clsact(net.host)
    assert [its["pref"] for its in traces.clsact_filters(net.host)] == [77]
    assert not traces.divert_devices(net.host)


def test_start_and_stop_again_and_again(net, headgate, divert):
    for _ in range(10):
        headgate.start(SLOW.format(rate="1000pps"), divert=divert)
        headgate.stop()
        traces.assert_none(net.host)
