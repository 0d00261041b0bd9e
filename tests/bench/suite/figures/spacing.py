"""How far packets of one flow stand from where they should."""

import time

from suite import paths, sides
from suite.machine import CpuTime, ProcessTime
from suite.report import Metric, Table

TITLE = "|gap - ideal| of one backlogged flow of 64-byte packets, at the far end"
RATES = (1_000, 10_000, 50_000)
OFFERED = 1.5  # times the rate
QUEUE = 1000  # packets
FRAME_BITS = 64 * 8
HIGH = "headgate, precision high"
FREE = ", not pinned"
TBF = "tc tbf"
PACER = "bare pacer"
DRAWN_RATE = 10_000

METRICS = [Metric("p50", "p50 us", 2), Metric("p99", "p99 us", 2), Metric("p99.9", "p99.9 us", 1),
           Metric("max", "max us", 0), Metric("cpu", "CPU s/s", 3), Metric("own_cpu", "process CPU s/s", 3)]


class Pacer(sides.Side):
    """Sends by itself, and takes no traffic."""

    def __init__(self, rate):
        super().__init__(PACER)
        self.rate = rate

    def send(self, path, seconds):
        path.source.run(*paths.pinned(paths.FORWARDER_CPU, paths.PROGRAMS / "bare_pacer", "--interface", "eth0", "--rate",
                                      self.rate, "--seconds", seconds))


def headgate(rate, name=sides.HEADGATE, shape_keys="", cpu=paths.FORWARDER_CPU):
    return sides.Headgate(f"""
  [[shape.class]]
  name  = "all"
  rate  = "{rate}pps"
  queue = "{QUEUE}p"
""", name=name, shape_keys=shape_keys, cpu=cpu)


def source(path, side, *arguments):
    """On a core of its own where the sides are pinned; where they are not it must be able to make room for them."""
    return paths.Source(path, *arguments, cpu=None if side.cpu is None else paths.SOURCE_CPU)


def both_placements(rate, name, shape_keys=""):
    return [headgate(rate, name, shape_keys), headgate(rate, name + FREE, shape_keys, cpu=None)]


def tbf(path, rate):
    return sides.tbf(path, rate * FRAME_BITS, limit=QUEUE)


def known_sides(figure, effort, path, rate):
    """Ours by each setting that each headgated knows, and the peers."""
    all_sides = both_placements(rate, sides.HEADGATE)
    high = both_placements(rate, HIGH, 'precision = "high"')
    if all(build.knows(path) for build in effort.builds(high[0])):
        all_sides += high
    elif rate == RATES[0]:
        figure.remark('left out: headgate with precision = "high", which not every headgated here knows')
    return [*all_sides, tbf(path, rate), Pacer(rate)]


def one_round(path, side, rate, seconds, keep_records=False):
    with side.on(path):
        far = paths.FarEnd(path, "--ideal-gap", 1_000_000_000 // rate, "--skip", 0.2, keep_records=keep_records)
        cpu = CpuTime()
        own = ProcessTime(side.daemon.process.pid) if side.is_headgate else None
        started = time.monotonic()
        if isinstance(side, Pacer):
            side.send(path, seconds + 0.2)
        else:
            source(path, side, "--rate", OFFERED * rate, "--seconds", seconds + 0.2).finish()
        passed = time.monotonic() - started
        used, own_used = cpu.used() / passed, own.used() / passed if own else None
        seen = far.stop(settle=0)
    errors = {key: value / 1e3 for key, value in seen["gap_error_ns"].items()}
    return {**errors, "cpu": used, "own_cpu": own_used, "rate": seen["rate"], "packets": seen["packets"],
            "records": seen.get("records")}


def judge(figure, table, rate):
    if not table.has(TBF, PACER):
        return
    tbf_p99, pacer_p99 = table.median(TBF, "p99"), table.median(PACER, "p99")
    bar = max(0.5 * tbf_p99, 1.2 * pacer_p99)
    for name in (HIGH, HIGH + FREE):
        p99 = table.median(name, "p99")
        figure.bar(f"{rate} pps, {name}: p99 at most {bar:.2f} us, the larger of 0.5 x tbf and 1.2 x bare pacer",
                   f"{p99:.2f} us" if p99 is not None else "left out", p99 <= bar if p99 is not None else None)
    for name in (sides.HEADGATE, sides.HEADGATE + FREE):
        p99 = table.median(name, "p99")
        figure.bar(f"{rate} pps, {name}: p99 at most {1.2 * tbf_p99:.2f} us, 1.2 x tbf", f"{p99:.2f} us",
                   p99 <= 1.2 * tbf_p99)


def measure(figure, effort):
    figure.remark(f"offered {OFFERED} x the rate by a source on CPU {paths.SOURCE_CPU}; processes that pace on CPU "
                  f"{paths.FORWARDER_CPU} with all their threads; where they are not pinned the source is not either; tbf: "
                  f"burst of rate / {sides.TIMER_RATE} Hz, its timer where the kernel has it")
    path = paths.egress()
    try:
        for rate in RATES:
            table = Table(f"{rate} packets/s:", sides.HEADGATE, METRICS, compared="p99")
            for side in effort.turns(known_sides(figure, effort, path, rate)):
                drawn = rate == DRAWN_RATE and FREE not in side.name
                values = one_round(path, side, rate, effort.seconds(3, 0.5), keep_records=drawn)
                records = values.pop("records")
                if records:
                    figure.series[side.name] = [after[0] - before[0] for before, after in zip(records, records[1:])]
                table.add(side.name, values)
            figure.show(table)
            judge(figure, table, rate)
    finally:
        path.delete()
