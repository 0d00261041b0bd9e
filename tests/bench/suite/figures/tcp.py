"""One TCP stream through one bucket."""

import statistics
import time

from suite import paths, sides
from suite.machine import CpuTime
from suite.report import Metric, Table

from traffic import Ping, TcpLoad, percentile  # tests/integration

TITLE = "TCP through one bucket, against tbf of the same rate and queue; and where the rate is not reached"
# Bits a second, and the queue in ms.
BUCKETS = ((100_000_000, 50), (1_000_000_000, 10), (5_000_000_000, 10))
LEAST_GOODPUT = 0.99  # beside tbf
MOST_WAIT = 1.2  # times the queue
NOT_REACHED = 100_000_000_000  # bits/s
LEAST_FREE = 0.5  # of no divert, where the rate is not reached

METRICS = [Metric("goodput", "goodput Mbit/s", 1, better="more"), Metric("rtt_p50", "ping p50 ms", 2),
           Metric("rtt_p99", "p99 ms", 2), Metric("rtt_max", "max ms", 2), Metric("tcp_rtt", "TCP's mean ms", 2),
           Metric("retransmits", "retransmits", 0), Metric("cpu", "CPU s/s", 2)]


def burst_of(bits):
    return bits // 8 // sides.TIMER_RATE


def headgate(class_keys, segmentation):
    name = sides.HEADGATE if segmentation is None else f"headgate, segmentation {segmentation}"
    return sides.Headgate(f"""
  [[shape.class]]
  name  = "all"
{class_keys}
""", name=name, cpu=None, shape_keys=f'segmentation = "{segmentation}"' if segmentation else "")


def headgate_sides(effort, path, class_keys):
    """The one that is judged, by default in all; and all."""
    default, *others = [headgate(class_keys, how) for how in (None, "auto", "whole")]
    both = [default, *default.by_ring()]
    known = [side for side in others if all(build.knows(path) for build in effort.builds(side))]
    return default, [*both, *known]


def tbf(bits, queue):
    return sides.Kernel("tc tbf", [f"qdisc add dev {{dev}} root tbf rate {bits}bit burst {burst_of(bits)} "
                                   f"latency {queue}ms"])


def one_round(path, side, seconds):
    with side.on(path):
        load = TcpLoad(path.source, path.far, paths.network.PEER_IPV4, seconds=seconds)
        time.sleep(0.5)  # slow start
        ping = Ping(path.source, paths.network.PEER_IPV4, interval=0.01)  # in the same bucket
        cpu, started = CpuTime(), time.monotonic()
        time.sleep(max(seconds - 1, 0.3))
        used = cpu.used() / (time.monotonic() - started)
        trips = [echo.round_trip * 1e3 for echo in ping.stop()]
        report = load.finish()
    stream = report["end"]["streams"][0]["sender"]
    return {"goodput": report["end"]["sum_received"]["bits_per_second"] / 1e6, "rtt_p50": statistics.median(trips),
            "rtt_p99": percentile(trips, 99), "rtt_max": max(trips), "tcp_rtt": stream["mean_rtt"] / 1e3,
            "retransmits": stream["retransmits"], "cpu": used}


def measure_bucket(figure, effort, path, bits, queue):
    judged, ours = headgate_sides(effort, path, f"""
  rate  = "{bits // 1_000_000}mbit"
  burst = "{burst_of(bits)}b"
  queue = "{queue}ms"
""")
    peer, title = tbf(bits, queue), f"{bits // 1_000_000} Mbit/s"
    table = Table(f"{title}, a queue of {queue} ms:", judged.name, METRICS, compared="goodput")
    for side in effort.turns([*ours, peer]):
        table.add(side.name, one_round(path, side, effort.seconds(6, 2)))
    figure.show(table)
    if table.has(peer.name):
        ratio = statistics.median(table.ratios(peer.name, "goodput"))
        figure.bar(f"{title}, {judged.name}: goodput at least {LEAST_GOODPUT} x tbf's", f"{ratio:.4f} of it",
                   ratio >= LEAST_GOODPUT)
    for key, wait in (("rtt_p99", "p99 of the round trip"), ("rtt_max", "longest round trip")):
        trip = table.median(judged.name, key)
        figure.bar(f"{title}, {judged.name}: {wait} at most {MOST_WAIT} x {queue} ms", f"{trip:.2f} ms",
                   trip <= MOST_WAIT * queue)


def measure_free(figure, effort, path):
    judged, ours = headgate_sides(effort, path, f'  rate = "{NOT_REACHED // 1_000_000}mbit"')
    none = sides.no_divert(path)
    table = Table("default settings, the rate is not reached:", judged.name, METRICS, compared="goodput")
    for side in effort.turns([*ours, none], keep=[none]):
        table.add(side.name, one_round(path, side, effort.seconds(6, 2)))
    figure.show(table)
    ratio = statistics.median(table.ratios(none.name, "goodput"))
    figure.bar(f"{judged.name}, the rate not reached: goodput at least {LEAST_FREE} x {none.name}", f"{ratio:.2f} of it",
               ratio >= LEAST_FREE)


def measure(figure, effort):
    figure.remark("iperf3, cubic; nothing is pinned; where there is a bucket all sides have the burst that tbf's manual asks "
                  f"for, rate / {sides.TIMER_RATE} Hz; the longest ping is one of hundreds, and shows any pause of the "
                  "machine")
    path = paths.egress()
    try:
        measure_free(figure, effort, path)
        for bits, queue in BUCKETS:
            measure_bucket(figure, effort, path, bits, queue)
    finally:
        path.delete()
