"""Tables of what was measured, for people and for machines."""

import json
import pathlib
import statistics
from typing import NamedTuple

from suite.other_build import of_other_build
from suite.paths import ROOT

OUTPUT = ROOT / "build" / "bench"


class Metric(NamedTuple):
    key: str  # of a round's values
    heading: str  # with its unit
    digits: int = 1
    better: str = "less"  # or "more"; "": neither


def _number(value, digits):
    return f"{value:.{digits}f}"


def spread(values, digits):
    """The median, and the smallest and the largest where they differ."""
    text = _number(statistics.median(values), digits)
    low, high = _number(min(values), digits), _number(max(values), digits)
    return text if low == high else f"{text} ({low}-{high})"


class Comparison:
    """This build's values of one metric beside the other build's, round by round."""

    def __init__(self, metric, ratios, digits):
        self.metric, self.ratios, self.digits = metric, ratios, max(digits, 3)

    def __str__(self):
        return spread(self.ratios, self.digits)

    def better_in(self):
        """In how many rounds; None where neither is better."""
        if not self.metric.better:
            return None
        return sum(ratio > 1 if self.metric.better == "more" else ratio < 1 for ratio in self.ratios)

    def worse_in_all(self):
        return self.metric.better and all(ratio < 1 if self.metric.better == "more" else ratio > 1
                                          for ratio in self.ratios)

    def json(self):
        return {"median": statistics.median(self.ratios), "smallest": min(self.ratios), "largest": max(self.ratios),
                "rounds": len(self.ratios), "better_in": self.better_in()}


def _aligned(rows):
    """The first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    first = [f"{row[0]:<{widths[0]}}" for row in rows]
    rest = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:])) for row in rows]
    return [f"  {name}  {cells}".rstrip() for name, cells in zip(first, rest)]


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

    def has(self, *sides):
        return all(side in self.rounds for side in sides)

    def ratios(self, peer, key, ours=None):
        """Ours to the peer's, of the rounds that both have."""
        rounds = zip(self.rounds.get(ours or self.ours, []), self.rounds.get(peer, []))
        pairs = ((mine.get(key), its.get(key)) for mine, its in rounds)
        return [one / other for one, other in pairs if one is not None and other]

    def against(self):
        """By each side that the other build has, too: its Comparisons by metric, where a ratio means something."""
        return {side: dict(self._compare(side)) for side in self.rounds if of_other_build(side) in self.rounds}

    def _compare(self, side):
        for metric in self.metrics:
            digits = self.ratio_digits if metric.key == self.compared else 0
            signed = any(value < 0 for one in (side, of_other_build(side)) for value in self.values(one, metric.key))
            ratios = self.ratios(of_other_build(side), metric.key, ours=side)
            if ratios and not signed:
                yield metric.key, Comparison(metric, ratios, digits)

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
        return [self.title, *_aligned(rows), *self._lines_against()]

    def _lines_against(self):
        compared = self.against()
        if not compared:
            return []
        rows = [["", *(metric.heading for metric in self.metrics)]]
        for side, comparisons in compared.items():
            rows.append([side, *(str(comparisons.get(metric.key, "-")) for metric in self.metrics)])
        rounds = min(len(self.rounds[name]) for side in compared for name in (side, of_other_build(side)))
        return [f"  this build / the other, round by round, {rounds} rounds:", *_aligned(rows)]

    def worse(self):
        """What is worse than by the other build in every round; two rounds would say nothing."""
        return [f"{side}, {comparison.metric.heading}: {comparison}" for side, comparisons in self.against().items()
                for comparison in comparisons.values() if len(comparison.ratios) > 2 and comparison.worse_in_all()]

    def json(self):
        content = {"title": self.title, "ours": self.ours, "compared": self.compared,
                   "metrics": {metric.key: metric.heading for metric in self.metrics}, "rounds": self.rounds,
                   "medians": {side: {metric.key: self.median(side, metric.key) for metric in self.metrics}
                               for side in self.rounds}}
        compared = self.against()
        if compared:
            content["against"] = {side: {key: comparison.json() for key, comparison in its.items()}
                                  for side, its in compared.items()}
        return content


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
        """Once, however often it is made."""
        if text in self.remarks:
            return
        self.remarks.append(text)
        print(f"  {text}", flush=True)

    def failed(self, problem):
        self.problem = problem
        print(f"  could not be measured: {problem}", flush=True)

    def finish(self, seconds):
        for table in self.tables:
            for line in table.worse():
                print(f"  worse than the other build in every round: {table.title.rstrip(':')}: {line}")
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
              f"median (smallest-largest) of the rounds; CPU: of all cores, interrupts included")
        if effort.capture:
            print(f"capture {effort.capture}: every shape of this build")
        if effort.against:
            other = effort.against.describe()
            print(f"beside another build: {other['programs']}, sources {other['commit'] or 'unknown'}")
        print(flush=True)

    def figure(self, name, title):
        self.figures.append(Figure(name, title))
        return self.figures[-1]

    def write(self, path):
        content = {"schema": 1, "machine": self.machine, "rounds": self.effort.rounds, "quick": self.effort.quick,
                   "capture": self.effort.capture,
                   "figures": {figure.name: figure.json() for figure in self.figures}}
        if self.effort.against:
            content["against"] = self.effort.against.describe()
        pathlib.Path(path).write_text(json.dumps(content, indent=1) + "\n")
