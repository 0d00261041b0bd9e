"""What a daemon costs that has nothing to do."""

import time

from suite import paths, sides
from suite.figures.throughput import CLASSES
from suite.machine import ProcessTime
from suite.report import Metric, Table

TITLE = "an idle daemon"
METRICS = [Metric("cpu_ppm", "CPU us/s", 1), Metric("wake_ups", "wake-ups/s", 2)]


def measure(figure, effort):
    path = paths.egress()
    try:
        table = Table("one shape, no traffic:", sides.HEADGATE, METRICS)
        for side in effort.turns([sides.Headgate(CLASSES)]):
            with side.on(path):
                time.sleep(effort.seconds(2, 1))
                own, started = ProcessTime(side.daemon.process.pid), time.monotonic()
                time.sleep(effort.seconds(10, 2))
                passed = time.monotonic() - started
                table.add(side.name, {"cpu_ppm": own.used() / passed * 1e6, "wake_ups": own.sleeps() / passed})
        figure.show(table)
        cpu, wake_ups = table.median(sides.HEADGATE, "cpu_ppm"), table.median(sides.HEADGATE, "wake_ups")
        figure.bar("no measurable CPU (less than 0.1 % of a core)", f"{cpu / 1e4:.4f} %", cpu < 1000)
        figure.bar("at most 2 wake-ups a second", f"{wake_ups:.2f}", wake_ups <= 2)
    finally:
        path.delete()
