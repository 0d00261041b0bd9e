"""What flows that have nothing waiting take."""

import time

from suite import paths, sides
from suite.figures.million import CLASSES, MILLION, SET_UP_RATE, live_flows
from suite.machine import resident_bytes
from suite.report import Metric, Table

TITLE = "memory of idle flows"
FEW = 262_144  # as many flows as packets fit the memory, so that the tables of queues are the same in both
METRICS = [Metric("flows", "flows", 0), Metric("resident", "resident MiB", 1), Metric("each", "bytes a flow", 1)]


def resident(path, most, flows):
    """(flows known, bytes resident) of a daemon that has room for `most` and has seen `flows`."""
    with sides.Headgate(CLASSES, max_flows=most, idle="600s").on(path) as side:
        if flows:
            paths.Source(path, "--flows", flows, "--count", flows, "--rate", SET_UP_RATE).finish()
            time.sleep(0.2)
        return live_flows(side), resident_bytes(side.daemon.process.pid)


def measure(figure, effort):
    figure.remark("resident memory of the whole process, its capture ring and packet memory included, at default settings "
                  "but max_flows and idle; bytes a flow: the difference to a daemon with room for fewer, and no flow")
    path = paths.egress()
    try:
        few, million = f"room for {FEW} flows", "a million flows"
        table = Table("headgated:", "", METRICS)
        for _ in range(min(effort.rounds, 3)):  # the same every time
            flows, base = resident(path, FEW, 0)
            table.add(few, {"flows": flows, "resident": base / 2**20})
            flows, full = resident(path, MILLION, MILLION)
            table.add(million, {"flows": flows, "resident": full / 2**20, "each": (full - base) / (MILLION - FEW)})
        figure.show(table)
        each, total = table.median(million, "each"), table.median(million, "resident")
        known = table.median(million, "flows")
        figure.bar("at most 128 bytes an idle flow", f"{each:.1f}, of {known:.0f} flows",
                   round(each) <= 128 and known > 0.999e6)  # memory comes in pages
        figure.bar("at most 256 MiB with a million", f"{total:.1f} MiB", total <= 256)
    finally:
        path.delete()
