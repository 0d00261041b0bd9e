"""TCP through a bit rate with a queue bounded by time."""

import pytest

import network
from traffic import Ping, TcpLoad

pytestmark = pytest.mark.measured

TWENTY_MEGABIT = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "all"
  key   = "class"
  rate  = "20mbit"
  queue = "50ms"
"""

GIGABIT = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "all"
  rate  = "1gbit"
  queue = "10ms"
"""


def goodput_megabit(report):
    return report["end"]["sum_received"]["bits_per_second"] / 1e6


@pytest.mark.parametrize("to", [network.PEER_IPV4, network.PEER_IPV6])
def test_one_stream_fills_the_rate_and_waits_no_longer_than_the_queue(net, headgate, divert, figure, to):
    headgate.start(TWENTY_MEGABIT, divert=divert)
    load = TcpLoad(net.host, net.peer, to, seconds=10)
    ping = Ping(net.host, to, interval=0.05)  # in the same bucket
    report = load.finish()
    echoes = ping.stop()

    goodput = goodput_megabit(report)
    longest = max(echo.round_trip for echo in echoes) * 1e3
    tcp_longest = report["end"]["streams"][0]["sender"]["max_rtt"] / 1e3
    figure("goodput in Mbit/s of 20", round(goodput, 2))
    figure("longest round trip in ms: ping, TCP's own", [round(longest, 1), round(tcp_longest, 1)])
    assert goodput >= 18.0
    assert goodput <= 20.0
    assert longest <= 60
    assert tcp_longest <= 60


def test_four_streams_share_one_bucket(net, headgate, divert, figure):
    headgate.start(TWENTY_MEGABIT, divert=divert)
    report = TcpLoad(net.host, net.peer, network.PEER_IPV4, seconds=10, streams=4).finish()
    goodput = goodput_megabit(report)
    figure("goodput of four streams in Mbit/s of 20", round(goodput, 2))
    assert 18.0 <= goodput <= 20.0


def reorderings(host):
    """How often TCP saw an acknowledgement for a packet before that for an earlier one that was not lost."""
    lines = host.run("cat", "/proc/net/netstat").stdout.splitlines()
    names, values = (line.split() for line in lines if line.startswith("TcpExt:"))
    counters = dict(zip(names, values))
    return sum(int(counters[name]) for name in ("TCPSACKReorder", "TCPTSReorder"))


def test_a_fast_stream_is_never_reordered(net, headgate, divert, figure):
    # Its packets are sent by the process that writes and by interrupts that bring acknowledgements, on any processor.
    headgate.start(GIGABIT, divert=divert)
    before = reorderings(net.host)
    goodput = goodput_megabit(TcpLoad(net.host, net.peer, network.PEER_IPV4, seconds=6).finish())
    figure("goodput in Mbit/s of 1000", round(goodput, 1))
    assert reorderings(net.host) == before
