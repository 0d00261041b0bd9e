"""Drawings (SVG) of what the figures have recorded, by gnuplot."""

import shutil
import subprocess

from suite.report import OUTPUT

STYLE = """set terminal svg size 800,480 font "sans-serif,13" background "white"
set output "{output}"
set title "{title}"
set xlabel "{x}"
set ylabel "{y}"
set grid
set key {key}
{more}
"""

PANELS = """set terminal svg size 1000,400 font "sans-serif,13" background "white"
set output "{output}"
set multiplot layout 1,2 title "One flow at 10 Mbit/s, offered ten times as much, at the far end"
set grid
set key right top
"""
RATE_PANEL = """set xlabel "ms since its first packet"
set ylabel "Mbit/s, in windows of 10 ms"
set yrange [0:110]
"""
SPACING_PANEL = """set xrange [0:{until}]
set ylabel "ms since the packet before"
set yrange [0:1.5]
"""


def _draw(name, title, x, y, lines, key="right top", more="", style="lines linewidth 2"):
    """`lines` are points (x, y) by their names."""
    if not any(lines.values()):
        return None
    output = OUTPUT / f"{name}.svg"
    commands = [STYLE.format(output=output, title=title, x=x, y=y, key=key, more=more)]
    for number, points in enumerate(lines.values()):
        commands += [f"$data{number} << end", *(f"{at} {value}" for at, value in points), "end"]
    commands.append("plot " + ", ".join(f'$data{number} using 1:2 with {style} title "{its}"'
                                        for number, its in enumerate(lines)))
    subprocess.run(["gnuplot"], input="\n".join(commands) + "\n", text=True, check=True)
    return output


def _distribution(values, steps=400):
    """How many percent of the values are larger than each of them."""
    ordered = sorted(values)
    ranks = {len(ordered) - max(1, round(len(ordered) * 10 ** (-4 * step / steps))) for step in range(steps)}
    return [(max(ordered[rank], 1e-2), (len(ordered) - rank) / len(ordered) * 100) for rank in sorted(ranks)]


def draw_spacing(figure, rate=10_000):
    errors = {side: [abs(gap - 1e9 / rate) / 1e3 for gap in gaps] for side, gaps in figure.series.items()}
    return _draw("spacing", f"{rate} packets/s, one flow: gaps that are further from {1e6 / rate:.0f} us than this",
                 "|gap - ideal| in us", "percent of the gaps", {side: _distribution(its) for side, its in errors.items()},
                 more="set logscale xy\nset xrange [0.1:]\nset yrange [0.01:100]", key="left bottom")


def _rates(arrivals, window=10, until=300, bits=8000):
    """Mbit/s in each window, by its middle; `arrivals` in ms, of packets of so many bits."""
    counts = [0] * (until // window)
    for at in arrivals:
        if at < until:
            counts[int(at // window)] += 1
    return [(window * index + window / 2, count * bits / window / 1e3) for index, count in enumerate(counts)]


def draw_start(figure, until=40):
    """Two panels: rate and spacing of each side, of the same packets."""
    output = OUTPUT / "start.svg"
    sides = list(figure.series)
    if not sides:
        return None
    commands = [PANELS.format(output=output)]
    for number, arrivals in enumerate(figure.series.values()):
        gaps = [(after, after - before) for before, after in zip(arrivals, arrivals[1:]) if after < until]
        for name, points in ((f"$rates{number}", _rates(arrivals)), (f"$gaps{number}", gaps)):
            commands += [f"{name} << end", *(f"{x} {y}" for x, y in points), "end"]
    for data, settings, style in (("rates", RATE_PANEL, "linespoints linewidth 2 pointsize 0.5"),
                                  ("gaps", SPACING_PANEL, "points pointsize 0.5")):
        commands.append(settings.format(until=until))
        commands.append("plot " + ", ".join(f'${data}{number} using 1:2 with {style} title "{side}"'
                                            for number, side in enumerate(sides)))
    subprocess.run(["gnuplot"], input="\n".join(commands) + "\n", text=True, check=True)
    return output


def draw_cost(figure):
    lines = {}
    for table in figure.tables:
        for side, rounds in table.rounds.items():
            if "flows" in rounds[0]:
                point = (rounds[0]["flows"], table.median(side, "cpu_us"))
                lines.setdefault(side.split(",")[0], []).append(point)
    return _draw("cost", "CPU time of a packet, by the number of flows", "flows, each with its bucket or class",
                 "us of CPU, of the whole machine", {name: sorted(points) for name, points in lines.items()},
                 more="set logscale x\nset yrange [0:]", style="linespoints linewidth 2", key="left top")


DRAWINGS = {"spacing": draw_spacing, "start": draw_start, "million": draw_cost}


def draw(report):
    """An SVG for each figure that can be drawn, in build/bench/."""
    if shutil.which("gnuplot") is None:
        print("no drawings: gnuplot is not installed")
        return
    OUTPUT.mkdir(parents=True, exist_ok=True)
    drawn = [DRAWINGS[figure.name](figure) for figure in report.figures
             if figure.name in DRAWINGS and not figure.problem]
    if any(drawn):
        print("drawn:", ", ".join(str(path) for path in drawn if path))
