"""A fair class: what one flow's flood does to the others."""

import statistics
import time

from suite import paths, sides
from suite.report import Metric, Table

from traffic import Ping, Sender, TcpLoad, percentile  # tests/integration

TITLE = "16 TCP streams and a ping in a fair class of 100 Mbit/s, and then a flow that offers twice that"
STREAMS = 16
INTERVAL = 0.002  # s, of the pings
FLOOD, FRAME = 200e6, 1000  # bits/s, bytes
BAR = 1.2

METRICS = [Metric("p50", "ping p50 us", 0), Metric("p99", "p99 us", 0), Metric("p99.9", "p99.9 us", 0),
           Metric("alone_p50", "without the flood p50 us", 0), Metric("alone_p99", "p99 us", 0),
           Metric("alone_p99.9", "p99.9 us", 0), Metric("tcp_rtt", "TCP's mean ms", 2), Metric("alone_tcp_rtt", "without ms", 2),
           Metric("ratio", "p99 with / without", 2), Metric("tcp_ratio", "TCP's mean with / without", 2)]

CLASSES = """
  [[shape.class]]
  name = "all"
  fair = true
  ceiling = "100mbit"
"""


def look(path, seconds):
    """What the pings take, in us, and what the streams say of their round trips, in ms."""
    load = TcpLoad(path.source, path.far, paths.network.PEER_IPV4, seconds=seconds + 1, streams=STREAMS)
    time.sleep(0.8)  # slow start
    ping = Ping(path.source, paths.network.PEER_IPV4, interval=INTERVAL, count=int(seconds / INTERVAL))
    trips = [echo.round_trip * 1e6 for echo in ping.finish()]
    streams = load.finish()["end"]["streams"]
    found = {part: percentile(trips, float(part[1:])) for part in ("p50", "p99", "p99.9")}
    return {**found, "tcp_rtt": statistics.mean(stream["sender"]["mean_rtt"] for stream in streams) / 1e3}


def one_round(path, side, seconds):
    with side.on(path):
        alone = look(path, seconds)
        flood = Sender(path.source, paths.PROGRAMS, paths.network.PEER_IPV4, rate=FLOOD / 8 / FRAME, seconds=600,
                       port=5100, size=FRAME)
        try:
            with_flood = look(path, seconds)
        finally:
            flood.stop()
    return {**with_flood, **{f"alone_{key}": value for key, value in alone.items()},
            "ratio": with_flood["p99"] / alone["p99"], "tcp_ratio": with_flood["tcp_rtt"] / alone["tcp_rtt"]}


def measure(figure, effort):
    figure.remark(f"pings every {INTERVAL * 1e3:.0f} ms; nothing is pinned")
    path = paths.egress()
    try:
        ours = sides.Headgate(CLASSES, cpu=None)
        table = Table("the others:", ours.name, METRICS, compared="p99")
        for side in effort.turns([ours]):
            table.add(side.name, one_round(path, side, effort.seconds(6, 2)))
        figure.show(table)
        for key, what in (("ratio", "pings' p99"), ("tcp_ratio", "TCP's mean round trip")):
            ratio = table.median(ours.name, key)
            figure.bar(f"{what} at most {BAR} x that without the flood", f"{ratio:.2f}", ratio <= BAR)
    finally:
        path.delete()
