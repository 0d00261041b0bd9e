"""One TCP stream through one bucket."""

import statistics
import time

from suite import paths, sides
from suite.machine import CpuTime
from suite.report import Metric, Table

from traffic import Ping, TcpLoad, percentile  # tests/integration

TITLE = "TCP through one bucket, against tbf of the same rate and queue"
# Bits a second, and the queue in ms.
BUCKETS = ((100_000_000, 50), (1_000_000_000, 10))
BAR = 1.2

METRICS = [Metric("goodput", "goodput Mbit/s", 1, better="more"), Metric("rtt_p50", "ping p50 ms", 2), Metric("rtt_p99", "p99 ms", 2),
           Metric("rtt_max", "max ms", 2), Metric("tcp_rtt", "TCP's mean ms", 2), Metric("retransmits", "retransmits", 0),
           Metric("cpu", "CPU s/s", 2)]


def burst_of(bits):
    return bits // 8 // sides.TIMER_RATE


def headgate(bits, queue, segmentation=None):
    name = sides.HEADGATE if segmentation is None else f"headgate, segmentation {segmentation}"
    return sides.Headgate(f"""
  [[shape.class]]
  name  = "all"
  rate  = "{bits // 1_000_000}mbit"
  burst = "{burst_of(bits)}b"
  queue = "{queue}ms"
""", name=name, cpu=None, shape_keys=f'segmentation = "{segmentation}"' if segmentation else "")


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


def measure(figure, effort):
    figure.remark("iperf3, cubic; nothing is pinned; all sides with the burst that tbf's manual asks for, rate / "
                  f"{sides.TIMER_RATE} Hz; the longest ping is one of hundreds, and shows any pause of the machine")
    path = paths.egress()
    try:
        for bits, queue in BUCKETS:
            ours, peer = headgate(bits, queue), tbf(bits, queue)
            table = Table(f"{bits // 1_000_000} Mbit/s, a queue of {queue} ms:", ours.name, METRICS, compared="goodput")
            cut = headgate(bits, queue, "auto")
            known = [cut] if all(build.knows(path) for build in effort.builds(cut)) else []
            for side in effort.turns([ours, *known, headgate(bits, queue, "whole"), peer]):
                table.add(side.name, one_round(path, side, effort.seconds(6, 2)))
            figure.show(table)
            if table.has(peer.name):
                ratio = statistics.median(table.ratios(peer.name, "goodput"))
                figure.bar(f"{bits // 1_000_000} Mbit/s: goodput at least tbf's", f"{ratio:.4f} of it", ratio >= 1)
            trip = table.median(ours.name, "rtt_p99")
            figure.bar(f"{bits // 1_000_000} Mbit/s: p99 of the round trip at most {BAR} x {queue} ms", f"{trip:.2f} ms",
                       trip <= BAR * queue)
    finally:
        path.delete()
