"""The shaper's core alone, by Google Benchmark."""

import json
import re

from suite import paths
from suite.report import Metric, Table

TITLE = "the core alone: admit and release, one thread, random order, offered load equal to the flows' rates"
# Million packets a second, by flows, of 64-byte frames.
BARS = {1: 20, 1_000: 20, 100_000: 8, 1_000_000: 5}

METRICS = [Metric("mpps", "million packets/s", 2), Metric("dropped", "dropped %", 2)]


def measure(figure, effort):
    command = [paths.PROGRAMS / "core_benchmark", "--benchmark_format=json",
               f"--benchmark_repetitions={effort.rounds}", "--benchmark_enable_random_interleaving=true",
               f"--benchmark_min_time={effort.seconds(1, 0.05)}"]
    output = paths.processes.run(paths.pinned(paths.FORWARDER_CPU, *command), timeout=1200).stdout
    table = Table(f"on CPU {paths.FORWARDER_CPU}:", "", METRICS)
    for run in json.loads(output)["benchmarks"]:
        if run.get("run_type") == "aggregate" or "items_per_second" not in run:
            continue
        name = re.sub(r"/(min_time|repeats):[^/]*", "", run["name"])
        dropped = run.get("dropped")
        table.add(name, {"mpps": run["items_per_second"] / 1e6, "dropped": dropped * 100 if dropped is not None else None})
    table.rounds = dict(sorted(table.rounds.items(), key=lambda item: [int(n) for n in re.findall(r":(\d+)", item[0])]))
    figure.show(table)
    for flows, bar in BARS.items():
        median = table.median(f"shape/flows:{flows}/bytes:64", "mpps")
        figure.bar(f"{flows} flows: at least {bar} million/s", f"{median:.2f}", median >= bar)
