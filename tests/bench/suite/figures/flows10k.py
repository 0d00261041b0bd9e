"""Ten thousand flows that all wait, each with its own rate."""

from suite import paths, sides
from suite.machine import CpuTime
from suite.report import Metric, Table

TITLE = "10 000 flows at 10 packets/s each, all backlogged"
FLOWS, RATE = 10_000, 10
OFFERED = 2  # times the rate
SKIPPED = 0.5  # s, until all are backlogged

METRICS = [Metric("rate_p50", "rate error p50 %", 4), Metric("rate_max", "max %", 4), Metric("late_p50", "late p50 us", 1),
           Metric("late_p99", "p99 us", 1), Metric("late_p99.9", "p99.9 us", 0), Metric("late_max", "max us", 0),
           Metric("cpu", "CPU s/s", 2)]

CLASSES = f"""
  [[shape.class]]
  name  = "all"
  key   = "dst"
  rate  = "{RATE}pps"
  queue = "20p"
"""


def one_round(path, side, seconds):
    with side.on(path):
        far = paths.FarEnd(path, "--flow-period", 1_000_000_000 // RATE, "--skip", SKIPPED)
        cpu = CpuTime()
        seconds += SKIPPED
        paths.Source(path, "--flows", FLOWS, "--rate", OFFERED * FLOWS * RATE, "--seconds", seconds).finish()
        used = cpu.used() / seconds
        seen = far.stop(settle=0)
    if seen["flows"] != FLOWS:
        raise RuntimeError(f"{side.name}: packets of {seen['flows']} flows have arrived")
    rate, late = seen["rate_error"], seen["lateness_ns"]
    return {"rate_p50": rate["p50"] * 100, "rate_max": rate["max"] * 100, "late_p50": late["p50"] / 1e3,
            "late_p99": late["p99"] / 1e3, "late_p99.9": late["p99.9"] / 1e3, "late_max": late["max"] / 1e3, "cpu": used}


def measure(figure, effort):
    figure.remark("late: after the flow's own ideal schedule, which is the latest one of its period before which none of "
                  "its packets has come; offered twice the rate, round the flows")
    path = paths.egress()
    try:
        ours = sides.Headgate(CLASSES)
        htb = sides.htb(path, FLOWS, RATE * 64 * 8, limit=20)
        table = Table("each flow:", ours.name, METRICS, compared="late_p99")
        for side in effort.turns([ours, htb]):
            table.add(side.name, one_round(path, side, effort.seconds(10, 2)))
        figure.show(table)
        error, late = table.median(ours.name, "rate_max"), table.median(ours.name, "late_p99")
        figure.bar("each flow's rate within 0.1 %", f"the worst {error:.4f} %", error <= 0.1)
        figure.bar("p99 lateness at most 100 us", f"{late:.1f} us", late <= 100)
    finally:
        path.delete()
