"""What flows that have nothing waiting take."""

import time

from suite import paths, sides
from suite.figures.million import CLASSES, MILLION, SET_UP_RATE, live_flows
from suite.machine import resident_bytes
from suite.report import Metric, Table

TITLE = "memory of idle flows"
FEW = 262_144  # as many flows as packets fit the memory, so that the tables of queues are the same in both
METRICS = [Metric("flows", "flows", 0, better=""), Metric("resident", "resident MiB", 1), Metric("each", "bytes a flow", 1)]


class WithRoom(sides.Headgate):
    """Has room for `most` flows and sees `flows`."""

    def __init__(self, name, most, flows):
        super().__init__(CLASSES, name=f"{sides.HEADGATE}, {name}", max_flows=most, idle="600s")
        self.flows = flows


def one_round(path, side):
    with side.on(path):
        if side.flows:
            paths.Source(path, "--flows", side.flows, "--count", side.flows, "--rate", SET_UP_RATE).finish()
            time.sleep(0.2)
        return {"flows": live_flows(side), "resident": resident_bytes(side.daemon.process.pid) / 2**20}


def measure(figure, effort):
    figure.remark("resident memory of the whole process, its capture ring and packet memory included, at default settings "
                  "but max_flows and idle; bytes a flow: the difference to a daemon with room for fewer, and no flow")
    path = paths.egress()
    try:
        few, million = WithRoom(f"room for {FEW} flows", FEW, 0), WithRoom("a million flows", MILLION, MILLION)
        table = Table("resident:", million.name, METRICS)
        for side in effort.turns([few, million], most=3):  # the same every time
            table.add(side.name, one_round(path, side))
        for full, base in zip(effort.builds(million), effort.builds(few)):
            for values, without in zip(table.rounds[full.name], table.rounds[base.name]):
                values["each"] = (values["resident"] - without["resident"]) * 2**20 / (MILLION - FEW)
        figure.show(table)
        each, total = table.median(million.name, "each"), table.median(million.name, "resident")
        known = table.median(million.name, "flows")
        figure.bar("at most 128 bytes an idle flow", f"{each:.1f}, of {known:.0f} flows",
                   round(each) <= 128 and known > 0.999e6)  # memory comes in pages
        figure.bar("at most 256 MiB with a million", f"{total:.1f} MiB", total <= 256)
    finally:
        path.delete()
