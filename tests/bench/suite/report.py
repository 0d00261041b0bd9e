"""Tables of what was measured, for people and for machines."""

import json
import pathlib
import statistics
from typing import NamedTuple

from suite.paths import ROOT

OUTPUT = ROOT / "build" / "bench"


class Metric(NamedTuple):
    key: str  # of a round's values
    heading: str  # with its unit
    digits: int = 1


def _number(value, digits):
    return f"{value:.{digits}f}"


def spread(values, digits):
    """The median, and the smallest and the largest where they differ."""
    text = _number(statistics.median(values), digits)
    low, high = _number(min(values), digits), _number(max(values), digits)
    return text if low == high else f"{text} ({low}-{high})"


class Table:
    """Rounds of several sides. Metrics are columns; of `compared` the ratio of ours to each peer is shown."""

    def __init__(self, title, ours, metrics, compared=None, ratio_digits=2):
        self.title, self.ours, self.metrics = title, ours, metrics
        self.compared, self.ratio_digits = compared, ratio_digits
        self.rounds = {}  # side: its rounds' values by key

    def add(self, side, values):
        self.rounds.setdefault(side, []).append(values)

    def values(self, side, key):
        return [values[key] for values in self.rounds.get(side, []) if values.get(key) is not None]

    def median(self, side, key):
        values = self.values(side, key)
        return statistics.median(values) if values else None

    def ratios(self, peer, key, ours=None):
        """Ours to the peer's, of the rounds that both have."""
        pairs = zip(self.values(ours or self.ours, key), self.values(peer, key))
        return [one / other for one, other in pairs if other]

    def lines(self):
        header = ["", *(metric.heading for metric in self.metrics)]
        if self.compared:
            header.append(f"{self.ours} / it")
        rows = [header]
        for side in self.rounds:
            row = [side]
            for metric in self.metrics:
                values = self.values(side, metric.key)
                row.append(spread(values, metric.digits) if values else "-")
            if self.compared:
                ratios = self.ratios(side, self.compared) if side != self.ours else []
                row.append(spread(ratios, self.ratio_digits) if ratios else "")
            rows.append(row)
        widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
        first = [f"{row[0]:<{widths[0]}}" for row in rows]
        rest = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:])) for row in rows]
        return [self.title, *(f"  {name}  {cells}".rstrip() for name, cells in zip(first, rest))]

    def json(self):
        return {"title": self.title, "ours": self.ours, "compared": self.compared,
                "metrics": {metric.key: metric.heading for metric in self.metrics}, "rounds": self.rounds,
                "medians": {side: {metric.key: self.median(side, metric.key) for metric in self.metrics}
                            for side in self.rounds}}


class Figure:
    """One figure's tables, the bars that it is held against, and remarks. Printed as they come."""

    def __init__(self, name, title):
        self.name, self.title = name, title
        self.tables, self.bars, self.remarks, self.problem, self.series = [], [], [], None, {}
        print(f"== {name}: {title}", flush=True)

    def show(self, table):
        self.tables.append(table)
        print("\n".join(table.lines()), flush=True)

    def bar(self, text, measured, holds):
        """`measured` is a text; `holds` is None when there is nothing to judge."""
        word = {True: "holds", False: "does not hold", None: "not judged"}[holds]
        self.bars.append({"bar": text, "measured": measured, "holds": holds})
        print(f"  bar: {text}: {measured}: {word}", flush=True)

    def remark(self, text):
        self.remarks.append(text)
        print(f"  {text}", flush=True)

    def failed(self, problem):
        self.problem = problem
        print(f"  could not be measured: {problem}", flush=True)

    def finish(self, seconds):
        print(f"  ({seconds:.0f} s)\n", flush=True)

    def json(self):
        return {"title": self.title, "tables": [table.json() for table in self.tables], "bars": self.bars,
                "remarks": self.remarks, "problem": self.problem}


class Report:
    def __init__(self, machine, effort):
        self.machine, self.effort, self.figures = machine, effort, []
        print(f"headgate {machine['commit']}, Linux {machine['kernel']}, {machine['cores']} cores of {machine['cpu']}"
              f"{' (virtual)' if machine['virtual'] else ''}, {machine['date']}")
        print(f"{effort.rounds} rounds{', quick: the figures mean little' if effort.quick else ''}; "
              f"median (smallest-largest) of the rounds; CPU: of all cores, interrupts included\n", flush=True)

    def figure(self, name, title):
        self.figures.append(Figure(name, title))
        return self.figures[-1]

    def write(self, path):
        content = {"schema": 1, "machine": self.machine, "rounds": self.effort.rounds, "quick": self.effort.quick,
                   "figures": {figure.name: figure.json() for figure in self.figures}}
        pathlib.Path(path).write_text(json.dumps(content, indent=1) + "\n")
