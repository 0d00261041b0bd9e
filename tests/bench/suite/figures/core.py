"""The shaper's core alone, by Google Benchmark."""

import json
import re

from suite import paths
from suite.other_build import PREFIX, of_other_build
from suite.report import Metric, Table

TITLE = "the core alone: admit and release, one thread, random order, offered load equal to the flows' rates"
# Million packets a second, by flows, of 64-byte frames.
BARS = {1: 20, 1_000: 20, 100_000: 8, 1_000_000: 5}

QUICK = "flows:(1|1000)/bytes:64"  # a million flows take most of a minute

METRICS = [Metric("mpps", "million packets/s", 2, better="more"), Metric("dropped", "dropped %", 2)]


class Benchmark:
    """One build's core_benchmark."""

    is_headgate = by_both_builds = True

    def __init__(self, programs, named=str):
        self.program, self._named = programs / "core_benchmark", named

    def by(self, build):
        return Benchmark(build.programs, of_other_build)

    def one_round(self, which):
        """The values of each of its runs by name; `which` is a pattern of names."""
        command = [self.program, "--benchmark_format=json", f"--benchmark_filter={which}"]
        output = paths.processes.run(paths.pinned(paths.FORWARDER_CPU, *command), timeout=1200).stdout
        for run in json.loads(output)["benchmarks"]:
            if "items_per_second" in run:
                dropped = run.get("dropped")
                yield (self._named(re.sub(r"/(min_time|repeats):[^/]*", "", run["name"])),
                       {"mpps": run["items_per_second"] / 1e6, "dropped": dropped * 100 if dropped is not None else None})


def by_flows_and_bytes(row):
    name, _ = row
    return [int(number) for number in re.findall(r":(\d+)", name)], name.removeprefix(PREFIX)


def measure(figure, effort):
    benchmark = Benchmark(paths.PROGRAMS)
    missing = [one for one in effort.builds(benchmark) if not one.program.exists()]
    if missing:
        figure.remark(f"the other build is left out: there is no {missing[0].program}")
        effort = effort.without_other_build()
    table = Table(f"on CPU {paths.FORWARDER_CPU}:", "", METRICS)
    for side in effort.turns([benchmark]):
        for name, values in side.one_round(QUICK if effort.quick else "."):
            table.add(name, values)
    table.rounds = dict(sorted(table.rounds.items(), key=by_flows_and_bytes))
    figure.show(table)
    for flows, bar in BARS.items():
        name = f"shape/flows:{flows}/bytes:64"
        if table.has(name):
            median = table.median(name, "mpps")
            figure.bar(f"{flows} flows: at least {bar} million/s", f"{median:.2f}", median >= bar)
