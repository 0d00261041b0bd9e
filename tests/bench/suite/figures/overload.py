"""More load than the machine carries, by flows that are new all the time."""

import json
import socket
import statistics
import time

from suite import paths, sides
from suite.machine import CpuTime, resident_bytes
from suite.report import Metric, Table

TITLE = "overload: twenty old flows, then a flood of a million new ones"
OLD_FLOWS, OLD_RATE = 20, 500  # packets/s each
OFFERED = 3  # times the old flows' rate
NEW_FLOWS = 1_000_000

CLASSES = f"""
  [[shape.class]]
  name  = "all"
  key   = "dst"
  rate  = "{OLD_RATE}pps"
  queue = "50p"
"""
METRICS = [Metric("before", "old flows before %", 2, better=""), Metric("lowest", "lowest in the flood %", 2, better="more"),
           Metric("median", "median %", 2, better="more"), Metric("offered", "flood, 1000/s", 0, better=""),
           Metric("answer_max", "slowest answer ms", 1),
           Metric("answer_p50", "median ms", 1), Metric("resident", "resident MiB", 0),
           Metric("growth", "of that since the flood", 1), Metric("cpu", "CPU s/s", 2)]
LOSSES = ("ring", "device", "queue_full", "pool_full", "flow_table_full")


class Flooded(sides.Headgate):
    """`arguments` are frame_source's for the flood."""

    def __init__(self, flood, arguments):
        super().__init__(CLASSES, name=f"{sides.HEADGATE}, {flood}")
        self.arguments = arguments


def answer_times(daemon, seconds):
    """How long `show` takes, in ms, as a client of ordinary priority sees it."""
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        started = time.monotonic()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(daemon.control_path))
            connection.sendall(b'{"command":"show"}\n')
            json.loads(connection.makefile().readline())
        times.append((time.monotonic() - started) * 1e3)
        time.sleep(0.02)
    return times


def rates(seen, start, end):
    """Of each old flow between two instants, in percent of its rate."""
    counts = dict.fromkeys(range(OLD_FLOWS), 0)
    for at, flow, _ in seen["records"]:
        if start <= at / 1e9 < end:
            counts[flow] += 1
    return [count / (end - start) / OLD_RATE * 100 for count in counts.values()]


def losses(shape):
    reasons = shape["classes"][0]["dropped"]["reasons"]
    lost = {place: shape["lost"][place]["packets"] for place in ("ring", "device")}
    return {**lost, **{reason: reasons[reason]["packets"] for reason in LOSSES[2:]}}


def one_round(path, side, seconds):
    with side.on(path):
        daemon = side.daemon
        far = paths.FarEnd(path, "--below", OLD_FLOWS, keep_records=True)
        old = paths.Source(path, "--flows", OLD_FLOWS, "--rate", OFFERED * OLD_FLOWS * OLD_RATE)
        time.sleep(1)
        calm = time.time()
        time.sleep(1)
        before, lost_before, resident_before = time.time(), losses(daemon.shape()), resident_bytes(daemon.process.pid)
        flood = paths.Source(path, "--flows", NEW_FLOWS, "--first-flow", OLD_FLOWS, *side.arguments)
        time.sleep(0.3)
        start = time.time()
        cpu = CpuTime()
        times = answer_times(daemon, seconds)
        used = cpu.per_second()
        end = time.time()
        resident = resident_bytes(daemon.process.pid)
        flooded = flood.stop()
        old.stop()
        time.sleep(0.2)
        lost = {place: count - lost_before[place] for place, count in losses(daemon.shape()).items()}
        seen = far.stop()
    during = rates(seen, start, end)
    return {"before": statistics.median(rates(seen, calm, before)), "lowest": min(during),
            "median": statistics.median(during), "offered": flooded["sent"] / flooded["seconds"] / 1e3,
            "answer_max": max(times), "answer_p50": statistics.median(times), "resident": resident / 2**20,
            "growth": (resident - resident_before) / 2**20, "cpu": used, **lost}


def measure(figure, effort):
    figure.remark(f"the old flows are offered {OFFERED} x their {OLD_RATE} packets/s; max_flows and memory as by default")
    path = paths.egress()
    try:
        floods = [Flooded("single packets", ["--scatter"]), Flooded("super-packets", ["--super", 32])]
        table = Table("by what the flood is made of:", "", METRICS)
        lost = Table("where packets were lost, as headgate counts them:", "",
                     [Metric(place, place, 0, better="") for place in LOSSES])
        for side in effort.turns(floods):
            values = one_round(path, side, effort.seconds(3, 1))
            table.add(side.name, values)
            lost.add(side.name, values)
        figure.show(table)
        figure.show(lost)
        for name in (side.name for side in floods):
            lowest, answer = table.median(name, "lowest"), table.median(name, "answer_max")
            figure.bar(f"{name}: old flows keep their rate (within 0.5 %)", f"the lowest has {lowest:.2f} %", lowest >= 99.5)
            figure.bar(f"{name}: the control socket answers within 100 ms", f"{answer:.1f} ms", answer <= 100)
            growth = table.median(name, "growth")
            figure.bar(f"{name}: memory stays bounded", f"grown by {growth:.1f} MiB", growth < 1)
    finally:
        path.delete()
