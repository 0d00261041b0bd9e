"""A million flows, each with its bucket: what they cost, and whether their coming is felt."""

import contextlib
import random
import signal
import statistics
import time

from suite import paths, sides
from suite.machine import CpuTime
from suite.report import Metric, Table

TITLE = "1 000 000 live flows, each with its bucket, 64-byte packets, no limit reached"
FEW, MILLION = 100, 1_000_000
NUMBERS = (FEW, 10_000, 100_000, MILLION)
HTB_NUMBERS = (FEW, 10_000)
BAR = 0.75
BURST = 15_000  # packets; the ring has room for 16 384
PAUSE = 20_000_000  # ns; longer than any within a burst
STEADY_RATE = 200_000  # packets/s
SET_UP_COUNT = 1_200_000  # packets
SET_UP_ATTEMPTS = 3  # a pause of the whole machine can cost more packets than the ring has room for
SET_UP_RATE = 250_000  # packets/s: less than goes through, so that a gap is a stall and not a loss

CLASSES = """
  [[shape.class]]
  name  = "all"
  key   = "dst"
  rate  = "5000000pps"
  queue = "1000p"
"""


def headgate(flows):
    return sides.Headgate(CLASSES, name=f"headgate, {flows} flows", max_flows=max(1024, flows + flows // 10), idle="600s")


class Forwarder(sides.BareForwarder):
    def __init__(self, flows):
        super().__init__(2, fifo=True, name=f"bare forwarder, {flows} addresses")
        self.flows = flows


class Htb(sides.Kernel):
    def __init__(self, path, flows):
        self.flows = flows
        base = sides.htb(path, flows, 10_000_000_000, frame_bytes=1600, limit=1000)
        super().__init__(f"{base.name}, {flows} classes", base.qdisc)


def live_flows(side):
    return side.daemon.shape()["classes"][0]["flows"]


class Offered:
    """A side that is offered packets of so many flows."""

    def __init__(self, side, flows):
        self.side, self.name, self.flows = side, side.name, flows
        self.is_headgate, self.by_both_builds = side.is_headgate, side.by_both_builds

    def by(self, build):
        return type(self)(self.side.by(build), self.flows)

    @property
    def process(self):
        return self.side.process

    def on(self, path):
        return self.side.on(path)


class AllFlowsFirst(Offered):
    """A side on which every flow has been seen before it is measured."""

    @contextlib.contextmanager
    def on(self, path):
        with self.side.on(path):
            self._send_to_all(path)
            yield self

    def _send_to_all(self, path):
        for _ in range(SET_UP_ATTEMPTS):
            rate = min(SET_UP_RATE, self.flows * 10)
            paths.Source(path, "--flows", self.flows, "--count", self.flows, "--rate", rate).finish()
            if not self.is_headgate:
                return
            time.sleep(0.1)
            missing = self.flows - live_flows(self.side)
            if missing <= self.flows / 1000:
                return
        raise RuntimeError(f"{missing} of {self.flows} flows have no record")


def drain_full_rings(path, side, bursts):
    """Packets per second, in thousands, at which the process sends what has filled its ring while it was stopped."""
    with side.on(path):
        far = paths.FarEnd(path, keep_records=True)
        cpu = CpuTime()
        for _ in range(bursts):
            side.process.send_signal(signal.SIGSTOP)  # for less than the dead-man switch waits
            paths.Source(path, "--flows", side.flows, "--scatter", "--start-at", random.randrange(side.flows),
                         "--count", BURST).finish()
            side.process.send_signal(signal.SIGCONT)
            time.sleep(0.15)
        used = cpu.per_second()
        times = [at for at, _, _ in far.stop()["records"]]
    starts = [0, *(index for index in range(1, len(times)) if times[index] - times[index - 1] > PAUSE), len(times)]
    speeds = []
    for start, end in zip(starts, starts[1:]):
        edge = (end - start) // 10  # where the ring is not full yet or not any more
        first, last = start + edge, end - edge - 1
        if end - start > BURST / 2:
            speeds.append((last - first) / (times[last] - times[first]) * 1e6)
    return {"kpps": statistics.median(speeds), "bursts": len(speeds), "cpu": used}


def measure_speed(figure, effort, path):
    million, few = (AllFlowsFirst(headgate(flows), flows) for flows in (MILLION, FEW))
    table = Table(f"{path.name}, flows in scattered order; the process is stopped until {BURST} packets wait in its ring, "
                  f"then sends them with the source silent:", million.name,
                  [Metric("kpps", "1000 packets/s", 0, better="more"), Metric("bursts", "bursts", 0, better=""),
                   Metric("cpu", "CPU s/s", 2)],
                  compared="kpps")
    for side in effort.turns([million, few, *(AllFlowsFirst(Forwarder(flows), flows) for flows in (FEW, MILLION))]):
        table.add(side.name, drain_full_rings(path, side, effort.seconds(12, 4)))
    figure.show(table)
    ratio = statistics.median(table.ratios(few.name, "kpps"))
    figure.bar(f"{path.name}: at least {BAR} of {FEW} flows", f"{ratio:.2f}", ratio >= BAR)


def steady(path, side, seconds):
    """The CPU time of a packet at a rate that every side carries."""
    with side.on(path):
        source = paths.Source(path, "--scatter", "--flows", side.flows, "--rate", STEADY_RATE, "--seconds", seconds + 0.6)
        time.sleep(0.3)
        cpu = CpuTime()
        start, before = path.arrived()
        time.sleep(seconds)
        end, after = path.arrived()
        used = cpu.used()
        source.finish()
    return {"cpu_us": used / (after - before) * 1e6, "arrived": (after - before) / (end - start) / STEADY_RATE * 100,
            "flows": side.flows}


def measure_cost(figure, effort, path):
    all_sides = [AllFlowsFirst(headgate(flows), flows) for flows in NUMBERS]
    all_sides += [AllFlowsFirst(Forwarder(flows), flows) for flows in (FEW, MILLION)]
    all_sides += [Htb(path, flows) for flows in HTB_NUMBERS]
    table = Table(f"{path.name}, flows in scattered order, {STEADY_RATE} packets/s:", f"headgate, {MILLION} flows",
                  [Metric("cpu_us", "CPU us/packet", 2), Metric("arrived", "arrived %", 2, better="more")],
                  compared="cpu_us")
    for side in effort.turns(all_sides):
        table.add(side.name, steady(path, side, effort.seconds(2, 0.5)))
    figure.show(table)


def largest_gap(path, side):
    """In ms, at a steady rate, from the first packet of all those flows on."""
    with side.on(path):
        far, cpu = paths.FarEnd(path), CpuTime()
        paths.Source(path, "--flows", side.flows, "--scatter", "--rate", SET_UP_RATE, "--count", SET_UP_COUNT).finish()
        used = cpu.per_second()
        seen = far.stop()
    return {"gap": seen["largest_gap_ns"] / 1e6, "arrived": seen["packets"] / SET_UP_COUNT * 100, "cpu": used}


def measure_set_up(figure, effort, path):
    million, few = (Offered(headgate(flows), flows) for flows in (MILLION, FEW))
    forwarder = Forwarder(MILLION)
    table = Table(f"{path.name}, the largest gap at the far end while the flows come in for the first time, {SET_UP_RATE} "
                  "packets/s:", million.name,
                  [Metric("gap", "largest gap ms", 2), Metric("arrived", "arrived %", 2, better="more"),
                   Metric("cpu", "CPU s/s", 2)], compared="gap")
    for side in effort.turns([million, few, forwarder]):
        table.add(side.name, largest_gap(path, side))
    figure.show(table)
    if table.has(forwarder.name):
        gap, usual = table.median(million.name, "gap"), table.median(forwarder.name, "gap")
        figure.bar(f"{path.name}: no visible stall: a gap as with the bare forwarder (at most 1.5 x, or 5 ms)",
                   f"{gap:.2f} ms, bare {usual:.2f} ms", gap <= max(1.5 * usual, 5))


def measure(figure, effort):
    for make_path in (paths.forward, paths.egress):
        path = make_path()
        try:
            measure_speed(figure, effort, path)
            if make_path is paths.forward:  # the cost by the number of flows is that of the same buckets on both
                measure_cost(figure, effort, path)
            measure_set_up(figure, effort, path)
        finally:
            path.delete()
