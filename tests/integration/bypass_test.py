"""What is not to be shaped is not slowed, whatever the others do."""

import time

import pytest

import network
from traffic import Ping, Receiver, Sender, answers, percentile, rate_of, rate_while_running

SATURATED = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name   = "names"
  match  = "udp port 53"
  bypass = true

  [[shape.class]]
  name  = "limited"
  match = "udp dst portrange 5000-5099"
  rate  = "1000pps"
  queue = "100p"
"""


@pytest.mark.measured
def test_bypassed_and_unmatched_traffic_is_not_slowed(net, headgate, programs, divert, figure):
    headgate.start(SATURATED, divert=divert)
    receiver = Receiver(net.peer, programs)
    limited = Sender(net.host, programs, network.PEER_IPV4, rate=10_000, seconds=6)
    time.sleep(0.5)
    bypassed = Sender(net.host, programs, network.PEER_IPV4, port=53, rate=2000, seconds=4)
    unmatched = Sender(net.host, programs, network.PEER_IPV4, port=7000, rate=2000, seconds=4)
    echoes = Ping(net.host, network.PEER_IPV4, interval=0.01, count=400).finish()
    reports = {53: bypassed.finish(), 7000: unmatched.finish()}
    offered = limited.finish()["sent"]
    counters = headgate.settled_class("limited", offered)
    arrivals = receiver.stop()

    assert rate_while_running(arrivals.of_port(5000), 1000) == pytest.approx(1000, rel=0.001)
    for port, report in reports.items():
        flow = arrivals.of_port(port)
        assert len(flow) == report["sent"]
        assert rate_of(flow) == pytest.approx(report["rate"], rel=0.01)  # as they were really sent
    assert len(echoes) == 400
    round_trips = [echo.round_trip * 1e3 for echo in echoes]
    figure("round trip of unmatched pings in ms: p50, p99", [percentile(round_trips, 50), percentile(round_trips, 99)])
    assert percentile(round_trips, 99) < 10  # the limited class waits 100 ms
    assert counters["dropped"]["packets"] > 0

    shape = headgate.shape()
    names = next(its for its in shape["classes"] if its["name"] == "names")
    assert names["sent"]["packets"] == reports[53]["sent"]
    assert shape["unmatched"]["packets"] >= reports[7000]["sent"] + 400


EVERYTHING = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "all"
  rate  = "100pps"
  queue = "1000p"
"""


@pytest.mark.parametrize("address, neighbour", [(network.PEER_IPV4, network.PEER_MORE_IPV4[0]),
                                                (network.PEER_IPV6, network.PEER_MORE_IPV6[0])])
def test_neighbours_are_found_while_everything_is_saturated(net, headgate, programs, divert, address, neighbour):
    headgate.start(EVERYTHING, divert=divert)
    load = Sender(net.host, programs, address, rate=3000, seconds=8)
    time.sleep(1)  # the queue is now full, and ten seconds long
    probe = Sender(net.host, programs, neighbour, rate=50, seconds=4)

    for _ in range(5):
        # Both directions: the host asks for the peer, and must answer when the peer asks.
        net.host.run("ip", "neighbour", "flush", "dev", "eth0")
        net.peer.run("ip", "neighbour", "flush", "dev", "eth0")
        wait_until(lambda: resolved(net.host, address) and resolved(net.host, neighbour), 1)
        answers(net.peer, host_address(address), patience=0.1)  # makes the peer ask; the answer itself waits its turn
        wait_until(lambda: resolved(net.peer, host_address(address)), 1)
    assert headgate.shape()["dropped"]["packets"] > 0
    load.stop()
    probe.stop()


def host_address(peer_address):
    return network.HOST_IPV4 if peer_address == network.PEER_IPV4 else network.HOST_IPV6


def resolved(namespace, address):
    shown = namespace.run("ip", "neighbour", "show", address, "dev", "eth0").stdout
    return "lladdr" in shown and "FAILED" not in shown and "INCOMPLETE" not in shown


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.01)
