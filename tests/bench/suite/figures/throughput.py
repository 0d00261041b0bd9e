"""How many small packets a second go through when no limit is reached."""

import statistics
import time

from suite import paths, sides
from suite.machine import CpuTime
from suite.report import Metric, Table

TITLE = "64-byte packets per second, 100 flows, no limit reached"
FLOWS = 100
TWO_THREADS = "bare forwarder, 2 threads, SCHED_FIFO"
ONE_THREAD_FIFO = "bare forwarder, 1 thread, SCHED_FIFO"
ONE_THREAD = "bare forwarder, 1 thread"
SUPER_PACKETS = ["--super", 32]

# The rate is beyond reach for each flow.
CLASSES = """
  [[shape.class]]
  name  = "all"
  key   = "dst"
  rate  = "5000000pps"
  queue = "1000p"
"""

METRICS = [Metric("kpps", "1000 packets/s", 0, better="more"), Metric("cpu", "CPU s/s", 2, better=""),
           Metric("cpu_us", "CPU us/packet", 2), Metric("offered", "offered, 1000/s", 0, better="")]


def flood(path, side, effort, *source_arguments, flows=FLOWS, warm_up=0.5):
    """One round of a side under as much traffic as the source can make."""
    with side.on(path):
        source = paths.Source(path, "--flows", flows, *source_arguments)
        time.sleep(warm_up)
        cpu = CpuTime()
        start, before = path.arrived()
        time.sleep(effort.seconds(2, 0.3))
        end, after = path.arrived()
        used, stolen = cpu.used(), cpu.stolen()
        sent = source.stop()
    seconds = end - start
    return {"kpps": (after - before) / seconds / 1e3, "cpu": used / seconds, "cpu_us": used / (after - before) * 1e6,
            "offered": sent["sent"] / sent["seconds"] / 1e3, "cpu_stolen": stolen / seconds}


def at_least(ratios, bar):
    return f"{statistics.median(ratios):.2f}", statistics.median(ratios) >= bar


def bare_forwarders():
    return [sides.BareForwarder(2, fifo=True, name=TWO_THREADS), sides.BareForwarder(1, fifo=True, name=ONE_THREAD_FIFO),
            sides.BareForwarder(1, name=ONE_THREAD)]


def measure_with_super_packets(figure, effort, path):
    table = Table(f"{path.name}, the source makes super-packets of 32 packets, which the kernel cuts before the ring:",
                  sides.HEADGATE, METRICS, compared="kpps")
    for side in effort.turns([sides.Headgate(CLASSES), *bare_forwarders()]):
        table.add(side.name, flood(path, side, effort, *SUPER_PACKETS))
    figure.show(table)
    for forwarder in filter(table.has, (TWO_THREADS, ONE_THREAD_FIFO)):  # of the same scheduling
        figure.bar(f"{path.name}: at least 0.90 of the {forwarder}", *at_least(table.ratios(forwarder, "kpps"), 0.90))


def measure_with_single_packets(figure, effort, path):
    peers = [*bare_forwarders(), sides.htb(path, FLOWS, 10_000_000_000, frame_bytes=1600, limit=1000),
             sides.no_divert(path)]
    table = Table(f"{path.name}, the source makes each packet by itself:", sides.HEADGATE, METRICS, compared="kpps")
    for side in effort.turns([sides.Headgate(CLASSES), *peers]):
        table.add(side.name, flood(path, side, effort))
    figure.show(table)
    htb = sides.with_bridge(path, "htb")
    if path.shaper is not path.source and table.has(htb):
        figure.bar(f"{path.name}: above {htb}", *at_least(table.ratios(htb, "kpps"), 1.0))


def measure(figure, effort):
    figure.remark(f"source and what the kernel does for it on CPU {paths.SOURCE_CPU}, forwarding processes on CPU "
                  f"{paths.FORWARDER_CPU}; counted at the far end's interface")
    figure.remark("where as much arrives as was offered, the source's CPU was the limit and not the forwarder")
    for make_path in (paths.forward, paths.egress):
        path = make_path()
        try:
            measure_with_super_packets(figure, effort, path)
            measure_with_single_packets(figure, effort, path)
        finally:
            path.delete()
