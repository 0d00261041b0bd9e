"""Rates and spacing, measured at the far end."""

import pytest

import network
from daemon import overflowed
from traffic import Receiver, Sender, gaps, most_ahead, percentile, rate_of, rate_while_running

pytestmark = pytest.mark.measured

MILLISECOND = 1_000_000  # ns

ONE_FLOW = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "udp"
  match = "udp dst portrange 5000-5999"
  rate  = "1000pps"
  queue = "100p"
"""


@pytest.mark.each_back_end
def test_one_flow_leaves_at_its_rate_and_every_packet_is_accounted_for(net, headgate, programs, divert, figure):
    headgate.start(ONE_FLOW, divert=divert)
    receiver = Receiver(net.peer, programs)
    offered = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=5).finish()["sent"]
    counters = headgate.settled_class("udp", offered)
    arrivals = receiver.stop()

    flow = arrivals.only()
    errors = [abs(gap - MILLISECOND) for gap in gaps(flow)]
    figure("packets per second of 1000", round(rate_of(flow), 3))
    figure("p99 of |gap - 1 ms| in us", percentile(errors, 99) / 1000)
    figure("p99.9 of |gap - 1 ms| in us", percentile(errors, 99.9) / 1000)
    assert rate_while_running(flow, 1000) == pytest.approx(1000, rel=0.001)
    # No stretch of time holds more than the rate and what is caught up after a wake-up that is late by 10 ms.
    assert most_ahead([(arrival.time, 1) for arrival in flow], 1000) <= 11

    assert counters["received"]["packets"] == offered
    assert counters["sent"]["packets"] == len(flow)
    assert counters["dropped"]["packets"] == offered - len(flow)
    assert overflowed(counters) == offered - len(flow)
    assert arrivals.reordered() == 0


def test_after_silence_packets_stand_apart_again_without_a_burst(net, headgate, programs, divert, figure):
    headgate.start(ONE_FLOW, divert=divert)
    Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=1).finish()
    headgate.settled_class("udp", 1)
    silence = Receiver(net.peer, programs)
    assert len(silence.stop(settle=1)) == 0

    receiver = Receiver(net.peer, programs)
    Sender(net.host, programs, network.PEER_IPV4, rate=0, count=50).finish()
    flow = receiver.stop(settle=0.3).only()

    assert len(flow) == 50
    span = flow[-1].time - flow[0].time
    figure("50 packets at once took, ms of 49", span / MILLISECOND)
    figure("largest |gap - 1 ms| in us", max(abs(gap - MILLISECOND) for gap in gaps(flow)) / 1000)
    # A late first wake-up shortens the first gap and nothing else; a late one after it lengthens the whole.
    assert 48 * MILLISECOND <= span <= 60 * MILLISECOND
    assert percentile(gaps(flow), 50) == pytest.approx(MILLISECOND, rel=0.05)


TWENTY_FLOWS = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "udp"
  match = "udp dst portrange 5000-5999"
  key   = "{key}"
  rate  = "500pps"
  queue = "100p"
"""


@pytest.mark.each_back_end(family=["IPv6"], key=["5-tuple"])
@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
@pytest.mark.parametrize("key", ["5-tuple", "dst"])
def test_each_of_many_flows_leaves_at_its_own_rate(net, headgate, programs, divert, figure, key, family):
    headgate.start(TWENTY_FLOWS.format(key=key), divert=divert)
    more = network.PEER_MORE_IPV4 if family == "IPv4" else network.PEER_MORE_IPV6
    if key == "5-tuple":
        to, ports, flows = [more[0]], 20, 20
    else:
        to, ports, flows = more, 1, len(more)
    receiver = Receiver(net.peer, programs)
    offered = Sender(net.host, programs, to, flows=ports, rate=3 * 500 * flows, seconds=5).finish()["sent"]
    counters = headgate.settled_class("udp", offered)
    arrivals = receiver.stop()

    assert len(arrivals.flows) == flows
    rates = [rate_while_running(flow, 500) for flow in arrivals.flows.values()]
    figure("packets per second of 500, lowest and highest", [round(min(rates), 2), round(max(rates), 2)])
    for rate in rates:
        assert rate == pytest.approx(500, rel=0.005)
    assert counters["received"]["packets"] == offered
    assert counters["sent"]["packets"] == len(arrivals)
    assert arrivals.reordered() == 0


def test_the_same_ports_and_addresses_are_one_flow_per_destination_network(net, headgate, programs, divert):
    headgate.start(TWENTY_FLOWS.format(key="dst/24,64"), divert=divert)
    receiver = Receiver(net.peer, programs)
    sender = Sender(net.host, programs, network.PEER_MORE_IPV4, rate=3000, seconds=3)
    offered = sender.finish()["sent"]
    headgate.settled_class("udp", offered)
    arrivals = receiver.stop()

    together = sorted(arrival for flow in arrivals.flows.values() for arrival in flow)
    assert rate_while_running(together, 500) == pytest.approx(500, rel=0.005)
