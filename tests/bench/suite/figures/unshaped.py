"""What the way through user space costs a packet, whether it is shaped or not."""

import itertools
import os
import statistics
import time

from suite import paths, sides
from suite.machine import CpuTime, ProgramTime
from suite.report import Metric, Table

TITLE = "CPU of the whole machine for a packet that is not shaped, and for one that is"
RATE = 200_000  # packets/s
MOST_CPU = 1.15  # a packet that is not shaped, beside no divert
MOST_ON_HOOK = 150  # ns a run
TOO_BUSY = 95  # % of all cores: then it is other load that is measured
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
# Of other ports, protocols and addresses than the source's packets have.
OTHERS = ("tcp port 81", "udp port 53", "udp portrange 6000-6100", "icmp", "dst net 192.168.0.0/16", "src host 10.77.0.200",
          "tcp and dst net 172.16.0.0/12", "ip6", "udp dst port 4500 or udp dst port 500", "sctp")

METRICS = [Metric("cpu_us", "CPU us/packet", 2), Metric("added", "added us/packet", 2),
           Metric("arrived", "arrived %", 2, better="more"), Metric("busy", "machine busy %", 0, better="")]
HOOK_METRICS = [Metric("run_ns", "ns a run", 0), Metric("runs", "runs a packet", 2),
                Metric("packet_ns", "ns a packet", 0)]


def classes(matches):
    return "".join(f"""
  [[shape.class]]
  name  = "others-{number}"
  match = "{match}"
  rate  = "1000pps"
""" for number, match in enumerate(matches))


def unshaped_sides():
    return [sides.Headgate(BYPASS, "headgate, bypass"), sides.Headgate(UNMATCHED, "headgate, unmatched"),
            *sides_of_ten_classes()]


def sides_of_ten_classes():
    return [sides.Headgate(classes(OTHERS[:9]) + BYPASS, "headgate, bypass, the last of 10 classes"),
            sides.Headgate(classes(OTHERS), "headgate, unmatched by 10 classes")]


def start_source(path, seconds):
    source = paths.Source(path, "--flows", 100, "--rate", RATE, "--seconds", seconds + 0.5)
    time.sleep(0.3)
    return source


def one_round(path, side, seconds):
    with side.on(path):
        source = start_source(path, seconds)
        cpu = CpuTime()
        start, before = path.arrived()
        time.sleep(seconds)
        end, after = path.arrived()
        used = cpu.used()
        source.finish()
    return {"cpu_us": used / (after - before) * 1e6, "arrived": (after - before) / (end - start) / RATE * 100,
            "busy": used / (end - start) / os.cpu_count() * 100}


def time_on_hook(path, side, seconds):
    with side.on(path), ProgramTime(side.process.pid) as programs:
        source = start_source(path, seconds)
        (runs, used), (_, before) = programs.used(), path.arrived()
        time.sleep(seconds)
        (runs_after, used_after), (_, after) = programs.used(), path.arrived()
        source.finish()
    runs, nanoseconds, packets = runs_after - runs, (used_after - used) * 1e9, after - before
    return {"run_ns": nanoseconds / runs, "runs": runs / packets, "packet_ns": nanoseconds / packets}


def with_ring(all_sides):
    """Each with its like by the packet ring behind it."""
    return list(itertools.chain(*([side, *side.by_ring()] for side in all_sides)))


def measure_cpu(figure, effort, path):
    none = sides.no_divert(path)
    judged = unshaped_sides()
    unshaped, shaped = with_ring(judged), with_ring([sides.Headgate(SHAPED, "headgate, shaped")])
    table = Table("a packet:", judged[0].name, METRICS, compared="cpu_us")
    shown = [none, *unshaped, *shaped, sides.BareForwarder(2, fifo=True), sides.BareForwarder(1), sides.BareRingLoop()]
    for side in effort.turns(shown, keep=[none]):
        table.add(side.name, one_round(path, side, effort.seconds(3, 1)))
    for side, rounds in table.rounds.items():
        for values, without in zip(rounds, table.rounds[none.name]):
            values["added"] = values["cpu_us"] - without["cpu_us"] if side != none.name else None
    figure.show(table)
    for side in judged:
        ratio = statistics.median(table.ratios(none.name, "cpu_us", ours=side.name))
        busy = max(table.median(name, "busy") for name in (side.name, none.name)) > TOO_BUSY
        figure.bar(f"{side.name}: CPU a packet at most {MOST_CPU} x {none.name}",
                   f"{ratio:.2f}{' on a machine that had no time left' if busy else ''}",
                   None if busy else ratio <= MOST_CPU)


def measure_hook(figure, effort, path):
    judged = sides_of_ten_classes()
    ours = with_ring(judged)
    table = Table("the time of headgate's own programs in the kernel, all that it holds:", judged[0].name, HOOK_METRICS)
    for side in effort.turns(ours):
        table.add(side.name, time_on_hook(path, side, effort.seconds(2, 0.5)))
    figure.show(table)
    for side in judged:
        own = table.median(side.name, "run_ns")
        figure.bar(f"{side.name}: at most {MOST_ON_HOOK} ns a run", f"{own:.0f} ns", own <= MOST_ON_HOOK)


def measure(figure, effort):
    figure.remark(f"{RATE} packets/s of 64 bytes by an egress path, the CPU time of the whole machine with their source")
    path = paths.egress()
    try:
        measure_cpu(figure, effort, path)
        measure_hook(figure, effort, path)
    finally:
        path.delete()
