"""headgatectl simulate: packets a second through the core in virtual time, traffic and reports included."""

import json
import resource
import tempfile

from suite import paths
from suite.report import Metric, Table

TITLE = "headgatectl simulate, one thread: synthetic traffic and a trace"

BUCKETS = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "clients"
  match = "udp"
  key   = "dst"
  rate  = "10000pps"
  queue = "50p"
"""
TREE = """
[[shape]]
interface = "eth0"
rate      = "1gbit"
  [[shape.class]]
  name      = "clients"
  match     = "udp"
  guarantee = "100mbit"
  fair      = true
"""
# Name: configuration, traffic, seconds of virtual time.
RUNS = {
    "100 flows, 64 bytes": (BUCKETS, "udp 10.0.0.1:1>10.1.0.1:2 64b 12000pps flows 100 destinations", 5),
    "1000 flows, 64 bytes, Poisson": (
        BUCKETS, "poisson udp 10.0.0.1:1>10.1.0.1:2 64b 9900pps flows 1000 destinations", 1),
    "100 flows, 600 bytes": (BUCKETS, "udp 10.0.0.1:1>10.1.0.1:2 600b 12000pps flows 100 destinations", 5),
    "100 flows, 1514 bytes": (BUCKETS, "udp 10.0.0.1:1>10.1.0.1:2 1514b 12000pps flows 100 destinations", 2),
    "a fair class of 1 Gbit/s, 100 flows, 600 bytes": (TREE, "udp 10.0.0.1:1>10.1.0.1:2 600b 2500pps flows 100", 10),
}
BAR = 3  # million packets a second

METRICS = [Metric("mpps", "million packets/s of CPU time", 2, better="more"), Metric("dropped", "dropped %", 2)]


def one_run(config, *arguments):
    """What its CPU time and its figures say."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(config)
        file.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        output = paths.processes.run(paths.pinned(paths.FORWARDER_CPU, paths.PROGRAMS / "headgatectl", "-j", "simulate",
                                                  "--config", file.name, *arguments), timeout=600).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    figures = json.loads(output)
    received = figures["received"]["packets"]
    return {"mpps": received / seconds / 1e6, "dropped": figures["dropped"]["packets"] * 100 / received}


def measure(figure, effort):
    table = Table(f"on CPU {paths.FORWARDER_CPU}:", "", METRICS)
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as directory:
        trace = f"{directory}/trace.pcapng"
        one_run(BUCKETS, "--traffic", RUNS["100 flows, 600 bytes"][1], "--until", "1s", "--out", trace)
        for _ in range(effort.rounds):
            for name, (config, traffic, seconds) in RUNS.items():
                table.add(name, one_run(config, "--traffic", traffic, "--until", f"{1 if effort.quick else seconds}s"))
            table.add("a trace, 100 flows, 600 bytes", one_run(BUCKETS, "--trace", trace))
    figure.show(table)
    for name in table.rounds:
        median = table.median(name, "mpps")
        figure.bar(f"{name}: at least {BAR} million/s", f"{median:.2f}", median >= BAR)
