"""One shape of many interfaces by a pattern: how soon it is ready, what it takes, and rates while interfaces come and go."""

import os
import statistics
import subprocess
import time

from suite import paths, sides
from suite.figures.shapes import Host, ManyShapes, seconds_to_stop, seconds_until_all_divert
from suite.machine import resident_bytes
from suite.report import Metric, Table

TITLE = "one shape of 200 interfaces by a pattern"
NUMBER = 200
MOST_READY, READY_BESIDE = 1.5, 2  # x the bare loop, + s
MOST_RESIDENT = 400  # MiB
MOST_DESCRIPTORS = 4  # an interface
MOST_SHOW = 0.1  # s
CHURN = 1000  # interfaces
RATE = 10_000  # packets/s
FRAME = 64

METRICS = [Metric("ready", "ready s", 2), Metric("resident", "resident MiB", 0), Metric("each", "descriptors each", 2),
           Metric("show", "show ms", 1), Metric("stop", "stop s", 2)]
CHURN_METRICS = [Metric("rate_error", "rate error ppm", 0), Metric("churn", "churn s", 1, better="")]

CLASS = """
  [[shape.class]]
  name  = "all"
  key   = "dst"
  rate  = "{}pps"
  queue = "100p"
"""


class ByPattern(ManyShapes):
    def config(self, path):
        return '[[shape]]\ninterface = "in*"\n' + CLASS.format(1000)


class BareAttach(sides.Side):
    """The same program on the same hooks, and nothing else."""

    def __init__(self):
        super().__init__("bare attach loop")

    def set_up(self, path, undo):
        self.process = path.shaper.start("prlimit", "--nofile=4096", "--", paths.PROGRAMS / "bare_attach", "in",
                                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        undo.callback(paths.processes.end, self.process)
        line = self.process.stderr.readline()
        if line != "attached\n":
            raise RuntimeError(line)


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def seconds_of_show(daemon):
    started = time.monotonic()
    daemon.control("show")
    return time.monotonic() - started


def one_round(host, empty, side):
    if not side.is_headgate:
        started = time.monotonic()
        with side.on(host):
            return {"ready": time.monotonic() - started}
    with side.on(empty):
        of_itself = descriptors(side.process.pid)
    started = time.monotonic()
    with side.on(host):
        pid = side.process.pid
        seconds_until_all_divert(side.daemon, started)
        return {"ready": time.monotonic() - started, "resident": resident_bytes(pid) / 2**20,
                "each": (descriptors(pid) - of_itself) / NUMBER,
                "show": statistics.median(seconds_of_show(side.daemon) for _ in range(5)) * 1000,
                "stop": seconds_to_stop(side.daemon)}


def measure_start(figure, effort):
    bare, ours = BareAttach(), ByPattern()
    ours.by_both_builds = False  # the other build may know no patterns
    table = Table(f"{NUMBER} interfaces:", ours.name, METRICS, compared="ready")
    with Host(NUMBER) as host, Host(1) as empty:
        for side in effort.turns([bare, ours]):
            table.add(side.name, one_round(host, empty, side))
    figure.show(table)
    ready, limit = table.median(ours.name, "ready"), MOST_READY * table.median(bare.name, "ready") + READY_BESIDE
    figure.bar(f"ready within {MOST_READY} x the bare loop + {READY_BESIDE} s", f"{ready:.2f} s of {limit:.2f}", ready <= limit)
    for key, most, unit, what in (("resident", MOST_RESIDENT, "MiB", "resident"),
                                  ("each", MOST_DESCRIPTORS, "", "descriptors an interface"),
                                  ("show", MOST_SHOW * 1000, "ms", "of show")):
        value = table.median(ours.name, key)
        figure.bar(f"at most {most:.0f} {unit} {what}".replace("  ", " "), f"{value:.1f}", value <= most)


class PatternBesideTraffic(sides.Headgate):
    """Shapes eth0, and whatever comes and goes."""

    def __init__(self):
        super().__init__("")

    def config(self, path):
        return '[[shape]]\ninterface = "*"\n' + CLASS.format(RATE)


def come_and_go(namespace):
    batch = "".join(f"link add in{number} type veth peer name out{number}\nlink set in{number} up\nlink del in{number}\n"
                    for number in range(CHURN))
    started = time.monotonic()
    paths.processes.run(namespace.command("sh", "-c", 'printf %s "$1" | ip -batch -', "sh", batch))
    return time.monotonic() - started


def one_round_of_churn(path, side):
    with side.on(path):
        source = paths.Source(path, "--flows", 1, "--rate", 2 * RATE, "--seconds", 600)
        time.sleep(0.5)
        start, before = path.arrived()
        churn = come_and_go(path.shaper)
        end, after = path.arrived()
        source.stop()
    return {"rate_error": abs((after - before) / (end - start) / RATE - 1) * 1e6, "churn": churn}


def measure_churn(figure, effort):
    path = paths.egress()
    try:
        ours, tbf = PatternBesideTraffic(), sides.tbf(path, RATE * FRAME * 8, FRAME)
        ours.by_both_builds = False
        table = Table(f"{RATE} packets/s while {CHURN} interfaces come and go:", ours.name, CHURN_METRICS,
                      compared="rate_error")
        for side in effort.turns([ours, tbf]):
            table.add(side.name, one_round_of_churn(path, side))
        figure.show(table)
        error, without = table.median(ours.name, "rate_error"), table.median(tbf.name, "rate_error")
        figure.bar("rates as by tbf under the same churn, or within 0.1 %", f"{error:.0f} ppm, tbf {without:.0f}",
                   error <= max(without * 1.2, 1000))
    finally:
        path.delete()


def measure(figure, effort):
    measure_start(figure, effort)
    measure_churn(figure, effort)
