"""What the way through user space costs a packet, whether it is shaped or not."""

import time

from suite import paths, sides
from suite.machine import CpuTime
from suite.report import Metric, Table

TITLE = "CPU of the whole machine for a packet that is not shaped, and for one that is"
RATE = 200_000  # packets/s
BYPASS = """
  [[shape.class]]
  name   = "all"
  bypass = true
"""
UNMATCHED = """
  [[shape.class]]
  name  = "others"
  match = "tcp port 81"
  rate  = "1000pps"
"""
SHAPED = """
  [[shape.class]]
  name  = "all"
  key   = "dst"
  rate  = "5000000pps"
  queue = "1000p"
"""
METRICS = [Metric("cpu_us", "CPU us/packet", 2), Metric("added", "added us/packet", 2), Metric("arrived", "arrived %", 2, better="more")]


def one_round(path, side, seconds):
    with side.on(path):
        source = paths.Source(path, "--flows", 100, "--rate", RATE, "--seconds", seconds + 0.5)
        time.sleep(0.3)
        cpu = CpuTime()
        start, before = path.arrived()
        time.sleep(seconds)
        end, after = path.arrived()
        used = cpu.used()
        source.finish()
    return {"cpu_us": used / (after - before) * 1e6, "arrived": (after - before) / (end - start) / RATE * 100}


def measure(figure, effort):
    figure.remark(f"{RATE} packets/s of 64 bytes by an egress path, the CPU time of the whole machine with their source")
    path = paths.egress()
    try:
        none = sides.no_divert(path)
        bypass = sides.Headgate(BYPASS, "headgate, bypass")
        shown = [none, bypass, sides.Headgate(UNMATCHED, "headgate, unmatched"),
                 sides.Headgate(SHAPED, "headgate, shaped"), sides.BareForwarder(2, fifo=True), sides.BareForwarder(1)]
        table = Table("a packet:", bypass.name, METRICS, compared="cpu_us")
        for side in effort.turns(shown, keep=[none]):
            table.add(side.name, one_round(path, side, effort.seconds(3, 1)))
        for side, rounds in table.rounds.items():
            for values, without in zip(rounds, table.rounds[none.name]):
                values["added"] = values["cpu_us"] - without["cpu_us"] if side != none.name else None
        figure.show(table)
        for name in ("headgate, bypass", "headgate, unmatched"):
            figure.bar(f"cost of a packet: {name}, beside no divert",
                       f"{table.median(name, 'cpu_us'):.2f} us, {table.median(none.name, 'cpu_us'):.2f} us", None)
    finally:
        path.delete()
