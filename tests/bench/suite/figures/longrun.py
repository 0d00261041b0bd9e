"""The rate over ten seconds, and whether packets burst out after a pause."""

import time

from suite import paths, sides
from suite.figures.spacing import FREE, OFFERED, RATES, TBF, both_placements, source, tbf
from suite.machine import CpuTime
from suite.report import Metric, Table

TITLE = "rate over 10 s against the configured one, and bursts after idle"
AT_ONCE = 200  # packets offered after the pause
COUNTED_GAPS = 100

METRICS = [Metric("rate", "packets/s", 2, better=""), Metric("ppm", "rate error ppm", 2, better=""),
           Metric("ends_ppm", "by first and last", 2, better=""), Metric("offered", "offered, 1000/s", 1, better=""),
           Metric("burst", "packets ahead after idle", 0),
           Metric("cpu", "CPU s/s", 3)]


def packets_ahead(records, gap):
    """How many packets came within some gaps of the first, more than their rate allows."""
    limit = records[0][0] + (COUNTED_GAPS + 0.5) * gap
    return sum(at < limit for at, _, _ in records) - (COUNTED_GAPS + 1)


def one_round(path, side, rate, effort):
    gap = 1e9 / rate
    with side.on(path):
        far, cpu = paths.FarEnd(path, "--skip", 0.2), CpuTime()
        offered = source(path, side, "--rate", OFFERED * rate, "--seconds", effort.seconds(10, 1) + 0.2).finish()
        used = cpu.per_second()
        seen = far.stop(settle=0)
        # Until the queue is empty, and a pause in which a bucket of tokens fills.
        time.sleep(1000 / rate + effort.seconds(1, 0.2))
        far = paths.FarEnd(path, keep_records=True)
        paths.Source(path, "--count", AT_ONCE).finish()
        after_idle = far.stop(settle=AT_ONCE / rate + 0.1)
    by_ends = (seen["packets"] - 1) * 1e9 / (seen["last"] - seen["first"])
    return {"rate": seen["rate"], "ppm": (seen["rate"] / rate - 1) * 1e6, "ends_ppm": (by_ends / rate - 1) * 1e6,
            "offered": offered["sent"] / (effort.seconds(10, 1) + 0.2) / 1e3,
            "burst": packets_ahead(after_idle["records"], gap), "cpu": used}


def measure(figure, effort):
    figure.remark("the rate by least squares over all arrivals, so that one late packet at an end does not count more "
                  "than any other")
    path = paths.egress()
    try:
        for rate in RATES:
            table = Table(f"{rate} packets/s:", sides.HEADGATE, METRICS, compared="rate", ratio_digits=5)
            for side in effort.turns([*both_placements(rate, sides.HEADGATE), tbf(path, rate)]):
                table.add(side.name, one_round(path, side, rate, effort))
            figure.show(table)
            for name in (sides.HEADGATE, sides.HEADGATE + FREE):
                error, ahead = table.median(name, "ppm"), table.median(name, "burst")
                figure.bar(f"{rate} pps, {name}: within 10 ppm", f"{error:+.2f} ppm", abs(error) <= 10)
                tbf_ahead = f" (tbf: {table.median(TBF, 'burst'):.0f})" if table.has(TBF) else ""
                figure.bar(f"{rate} pps, {name}: no burst after idle", f"{ahead:.0f} packets ahead{tbf_ahead}", ahead <= 1)
    finally:
        path.delete()
