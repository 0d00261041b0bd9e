"""What the way through user space adds to a round trip."""

import statistics

from suite import paths, sides
from suite.machine import CpuTime
from suite.report import Metric, Table

from traffic import Ping, percentile  # tests/integration

TITLE = "round trip added to a flow that is not limited, one direction diverted"
INTERVAL = 0.002  # s
BAR = 1.3
PEER = "bare forwarder, 2 threads, SCHED_FIFO"

METRICS = [Metric("p50", "median us", 0), Metric("p99", "p99 us", 0), Metric("added", "added to the median us", 1),
           Metric("cpu", "CPU s/s", 3)]

CLASSES = """
  [[shape.class]]
  name  = "all"
  key   = "dst"
  rate  = "1000000pps"
  queue = "1000p"
"""


def one_round(path, side, count):
    with side.on(path):
        cpu = CpuTime()
        ping = Ping(_PinnedSource(path.source), paths.network.PEER_IPV4, interval=INTERVAL, count=count)
        trips = [echo.round_trip * 1e6 for echo in ping.finish()][20:]
        used = cpu.per_second()
    return {"p50": statistics.median(trips), "p99": percentile(trips, 99), "answers": len(trips), "cpu": used}


class _PinnedSource:
    def __init__(self, namespace):
        self._namespace = namespace

    def start(self, *command, **options):
        return self._namespace.start(*paths.pinned(paths.SOURCE_CPU, *command), **options)


def measure_placement(figure, effort, path, cpu, title):
    none = sides.no_divert(path)
    forwarders = [sides.BareForwarder(threads, fifo=fifo, cpu=cpu) for threads in (2, 1) for fifo in (True, False)]
    forwarders.append(sides.BareRingLoop(cpu=cpu))
    table = Table(title, sides.HEADGATE, METRICS, compared="added")
    for side in effort.turns([none, sides.Headgate(CLASSES, cpu=cpu), *forwarders], keep=[none]):
        table.add(side.name, one_round(path, side, effort.seconds(1000, 150)))
    for side, rounds in table.rounds.items():
        for values, without in zip(rounds, table.rounds[none.name]):
            values["added"] = values["p50"] - without["p50"] if side != none.name else None
    figure.show(table)
    if table.has(PEER):
        ratio = statistics.median(table.ratios(PEER, "added"))
        figure.bar(f"{title} at most {BAR} x what the {PEER} adds", f"{ratio:.2f}", ratio <= BAR)


def measure(figure, effort):
    figure.remark(f"ping every {INTERVAL * 1e3:.0f} ms from CPU {paths.SOURCE_CPU}, answered by the far end's kernel; "
                  f"headgate's sending thread has SCHED_FIFO")
    path = paths.egress()
    try:
        measure_placement(figure, effort, path, paths.FORWARDER_CPU, f"all threads on CPU {paths.FORWARDER_CPU}:")
        measure_placement(figure, effort, path, None, "threads where the kernel has them:")
    finally:
        path.delete()
