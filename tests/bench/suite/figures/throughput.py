"""How many packets a second go through when no limit is reached."""

import statistics
import time

from suite import paths, sides
from suite.machine import CpuTime
from suite.other_build import of_other_build
from suite.report import Metric, Table

TITLE = "packets per second, 64 bytes unless it says otherwise, 100 flows, no limit reached"
FLOWS = 100
TWO_THREADS = "bare forwarder, 2 threads, SCHED_FIFO"
ONE_THREAD_FIFO = "bare forwarder, 1 thread, SCHED_FIFO"
ONE_THREAD = "bare forwarder, 1 thread"
RING_LOOP = "bare ring-buffer loop, SCHED_FIFO"
OTHER_BUILD = of_other_build(sides.HEADGATE)
SUPER_PACKETS = ["--super", 32]
# Packets/s beside each peer, by path and frame size.
LEAST = {(paths.FORWARD, 64): {ONE_THREAD_FIFO: 1.1, RING_LOOP: 0.9, "kernel bridge + htb": 1.0},
         (paths.EGRESS, 64): {OTHER_BUILD: 1.7, "tc htb": 1.2},
         (paths.EGRESS, 1000): {OTHER_BUILD: 1.7, "tc htb": 1.05}}
MOST_CPU = 1.2  # a packet, beside the bare ring-buffer loop

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
    headgate = sides.Headgate(CLASSES, shape_keys='segmentation = "precise"')
    table = Table(f"{path.name}, the source makes super-packets of 32 packets, which the kernel cuts before the ring:",
                  sides.HEADGATE, METRICS, compared="kpps")
    for side in effort.turns([headgate, *headgate.by_ring(), *bare_forwarders()]):
        table.add(side.name, flood(path, side, effort, *SUPER_PACKETS))
    figure.show(table)
    for forwarder in filter(table.has, (TWO_THREADS, ONE_THREAD_FIFO)):  # of the same scheduling
        figure.bar(f"{path.name}: at least 0.90 of the {forwarder}", *at_least(table.ratios(forwarder, "kpps"), 0.90))


def measure_with_single_packets(figure, effort, path, size, forwarders=()):
    headgate = sides.Headgate(CLASSES)
    peers = [sides.BareRingLoop(), *forwarders, sides.htb(path, FLOWS, 10_000_000_000, frame_bytes=1600, limit=1000),
             sides.no_divert(path)]
    table = Table(f"{path.name}, {size} bytes, the source makes each packet by itself:", headgate.name, METRICS,
                  compared="kpps")
    for side in effort.turns([headgate, *headgate.by_ring(), *peers]):
        table.add(side.name, flood(path, side, effort, "--size", size))
    figure.show(table)
    judge_single_packets(figure, table, path, size)


def judge_single_packets(figure, table, path, size):
    title = f"{path.name}, {size} bytes, {table.ours}"
    for peer, bar in LEAST[path.name, size].items():
        if table.has(peer):
            figure.bar(f"{title}: at least {bar:.2f} of {peer}", *at_least(table.ratios(peer, "kpps"), bar))
    if path.name == paths.EGRESS and table.has(RING_LOOP):
        ratio = statistics.median(table.ratios(RING_LOOP, "cpu_us"))
        figure.bar(f"{title}: CPU a packet at most {MOST_CPU:.2f} of {RING_LOOP}", f"{ratio:.2f}", ratio <= MOST_CPU)


def measure(figure, effort):
    figure.remark(f"source and what the kernel does for it on CPU {paths.SOURCE_CPU}, forwarding processes on CPU "
                  f"{paths.FORWARDER_CPU}; counted at the far end's interface")
    figure.remark("where as much arrives as was offered, the source's CPU was the limit and not the forwarder")
    for make_path in (paths.forward, paths.egress):
        path = make_path()
        try:
            measure_with_super_packets(figure, effort, path)
            measure_with_single_packets(figure, effort, path, 64, bare_forwarders())
            if make_path is paths.egress:
                measure_with_single_packets(figure, effort, path, 1000)
        finally:
            path.delete()
