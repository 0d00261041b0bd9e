"""A million flows, each with its bucket: what they cost, and whether their coming is felt."""

import contextlib
import statistics
import time

from suite import paths, sides
from suite.figures.throughput import METRICS, SUPER_PACKETS, flood
from suite.report import Metric, Table

TITLE = "1 000 000 live flows, each with its bucket, 64-byte packets, no limit reached"
FEW, MILLION = 100, 1_000_000
NUMBERS = (FEW, 10_000, 100_000, MILLION)
HTB_NUMBERS = (FEW, 10_000)
BAR = 0.75
SET_UP_COUNT = 1_200_000  # packets
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


class AllFlowsFirst:
    """A side on which every flow has been seen before it is measured."""

    def __init__(self, side, flows):
        self.side, self.name, self.flows = side, side.name, flows

    @contextlib.contextmanager
    def on(self, path):
        with self.side.on(path):
            rate = min(SET_UP_RATE, self.flows * 10)
            paths.Source(path, "--flows", self.flows, "--count", self.flows, "--rate", rate).finish()
            if isinstance(self.side, sides.Headgate):
                time.sleep(0.1)
                missing = self.flows - live_flows(self.side)
                if missing > self.flows / 1000:
                    raise RuntimeError(f"{missing} of {self.flows} flows have no record")
            yield self


def measure_cost(figure, effort, path):
    all_sides = [AllFlowsFirst(headgate(flows), flows) for flows in NUMBERS]
    all_sides += [AllFlowsFirst(Forwarder(flows), flows) for flows in (FEW, MILLION)]
    all_sides += [Htb(path, flows) for flows in HTB_NUMBERS]
    table = Table(f"{path.name}, flows in scattered order, the source makes each packet by itself:",
                  f"headgate, {MILLION} flows", METRICS, compared="kpps")
    for side in effort.turns(all_sides):
        values = flood(path, side, effort, "--scatter", flows=side.flows)
        table.add(side.name, {**values, "flows": side.flows})
    few_at_best = Table("", "", METRICS)
    for _ in range(effort.rounds):
        few_at_best.add("best", flood(path, headgate(FEW), effort, *SUPER_PACKETS))
    figure.show(table)
    ours = table.values(f"headgate, {MILLION} flows", "kpps")
    alike = table.values(f"headgate, {FEW} flows", "kpps")
    best = few_at_best.values("best", "kpps")
    ratio = statistics.median(one / other for one, other in zip(ours, best))
    figure.bar(f"at least {BAR} of {FEW} flows that come in super-packets ({statistics.median(best):.0f} kpps), where the "
               f"source is no limit", f"{ratio:.2f}", ratio >= BAR)
    ratio = statistics.median(one / other for one, other in zip(ours, alike))
    figure.bar(f"at least {BAR} of {FEW} flows from the same source", f"{ratio:.2f}", ratio >= BAR)


def largest_gap(path, side, flows):
    """In ms, at a steady rate, from the first packet of all those flows on."""
    with side.on(path):
        far = paths.FarEnd(path)
        paths.Source(path, "--flows", flows, "--scatter", "--rate", SET_UP_RATE, "--count", SET_UP_COUNT).finish()
        seen = far.stop()
    return {"gap": seen["largest_gap_ns"] / 1e6, "arrived": seen["packets"] / SET_UP_COUNT * 100}


def measure_set_up(figure, effort, path):
    table = Table(f"the largest gap at the far end while the flows come in for the first time, {SET_UP_RATE} packets/s:",
                  sides.HEADGATE, [Metric("gap", "largest gap ms", 2), Metric("arrived", "arrived %", 2)])
    million, few, forwarder = headgate(MILLION), headgate(FEW), Forwarder(MILLION)
    for side, flows in effort.turns([(million, MILLION), (few, FEW), (forwarder, MILLION)]):
        table.add(side.name, largest_gap(path, side, flows))
    figure.show(table)
    gap, usual = table.median(million.name, "gap"), table.median(forwarder.name, "gap")
    figure.bar("no visible stall: a gap as with the bare forwarder (at most 1.5 x, or 5 ms)", f"{gap:.2f} ms, bare "
               f"{usual:.2f} ms", gap <= max(1.5 * usual, 5))


def measure(figure, effort):
    path = paths.forward()
    try:
        measure_cost(figure, effort, path)
        measure_set_up(figure, effort, path)
    finally:
        path.delete()
