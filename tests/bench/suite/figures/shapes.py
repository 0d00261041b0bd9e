"""One daemon with many shapes: how soon it is ready, what it takes, how soon it is gone."""

import os
import resource
import time

from suite import paths, sides
from suite.machine import locked_bytes, process_seconds, resident_bytes
from suite.report import Metric, Table

TITLE = "a daemon with many shapes, each of an end of a veth pair"
NUMBERS = (20, 60)
# Open files, as LimitNOFILE= of a unit sets it, or as many as the machine lets us have.
DESCRIPTORS = min(65_536, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
PATIENCE = 120  # s
# Of the largest number.
MOST_READY, MOST_STOP = 6, 5  # s
MOST_RESIDENT = 1024  # MiB

METRICS = [Metric("ready", "ready s", 2), Metric("diverting", "all diverting s", 2), Metric("start_cpu", "its CPU s", 2),
           Metric("resident", "resident MiB", 0), Metric("locked", "locked MiB", 0),
           Metric("descriptors", "descriptors", 0), Metric("threads", "threads", 0), Metric("stop", "stop s", 2)]


class Host:
    """A namespace with so many veth pairs. Stands in for a paths.Path, and has no traffic."""

    def __init__(self, number):
        self.source = self.shaper = paths.network.Namespace("shapes")
        self.interfaces = [f"in{index}" for index in range(number)]
        batch = "".join(f"link add {name} type veth peer name out{index}\nlink set {name} up\nlink set out{index} up\n"
                        for index, name in enumerate(self.interfaces))
        paths.processes.run(self.shaper.command("sh", "-c", 'printf %s "$1" | ip -batch -', "sh", batch))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shaper.delete()


class ManyShapes(sides.Headgate):
    patience = PATIENCE

    def __init__(self):
        super().__init__("", cpu=None)

    def config(self, path):
        return "".join(f"""
[[shape]]
interface = "{interface}"

  [[shape.class]]
  name = "all"
  key  = "dst"
  rate = "1000pps"
""" for interface in path.interfaces)

    def namespace(self, path):
        return _RaisedLimit(path.shaper)


class _RaisedLimit:
    """A namespace whose processes may open many files."""

    def __init__(self, namespace):
        self._namespace = namespace

    def start(self, *command, **options):
        return self._namespace.start("prlimit", f"--nofile={DESCRIPTORS}", "--", *command, **options)


def seconds_until_all_divert(daemon, started):
    while not all(shape["diverting"] for shape in daemon.show()["shapes"]):
        if time.monotonic() - started > PATIENCE:
            raise RuntimeError(f"not all shapes divert after {PATIENCE} s")
        time.sleep(0.01)
    return time.monotonic() - started


def seconds_to_stop(daemon):
    started = time.monotonic()
    daemon.process.terminate()
    code = daemon.process.wait(PATIENCE)
    if code != 0:
        raise RuntimeError(f"headgated ended with {code}: {daemon.log()[-500:]}")
    return time.monotonic() - started


def one_round(host, side):
    started = time.monotonic()
    with side.on(host):
        daemon, pid = side.daemon, side.process.pid
        values = {"ready": time.monotonic() - started, "diverting": seconds_until_all_divert(daemon, started),
                  "start_cpu": process_seconds(pid), "resident": resident_bytes(pid) / 2**20,
                  "locked": locked_bytes(pid) / 2**20, "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
                  "threads": len(os.listdir(f"/proc/{pid}/task"))}
        return {**values, "stop": seconds_to_stop(daemon)}


def one_round_if_it_can(figure, host, side):
    """The other build may not be able to, which is no reason to know nothing of this one."""
    try:
        return one_round(host, side)
    except Exception as problem:
        if side.name == sides.HEADGATE:
            raise
        figure.remark(f"{side.name} with {len(host.interfaces)} shapes: {str(problem).strip().splitlines()[-1]}")
        return {}


def judge(figure, table):
    ready, stop, resident = (table.median(sides.HEADGATE, key) for key in ("ready", "stop", "resident"))
    number = max(NUMBERS)
    figure.bar(f"{number} shapes: ready within {MOST_READY} s", f"{ready:.2f} s", ready <= MOST_READY)
    figure.bar(f"{number} shapes: at most {MOST_RESIDENT} MiB resident", f"{resident:.0f} MiB", resident <= MOST_RESIDENT)
    figure.bar(f"{number} shapes: a stop within {MOST_STOP} s", f"{stop:.2f} s", stop <= MOST_STOP)


def measure(figure, effort):
    figure.remark(f"no traffic; by default settings; at most {DESCRIPTORS} open files")
    for number in NUMBERS:
        table = Table(f"{number} shapes:", sides.HEADGATE, METRICS)
        with Host(number) as host:
            for side in effort.turns([ManyShapes()], most=3):
                table.add(side.name, one_round_if_it_can(figure, host, side))
        figure.show(table)
    judge(figure, table)
