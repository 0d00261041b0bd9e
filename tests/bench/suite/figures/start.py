"""What a flow gets in its first moments: the rate, or a burst."""

from suite import paths, sides
from suite.machine import CpuTime
from suite.report import Metric, Table

TITLE = "the start of a flow: 10 Mbit/s, offered 100 Mbit/s in frames of 1000 bytes"
BITS, FRAME = 10_000_000, 1000
OFFERED = 100_000_000 // 8 // FRAME  # packets/s
LASTS = 0.5  # s
WINDOW = 10_000_000  # ns
TBF, TBF_OF_A_SECOND = "tc tbf, burst rate / 250 Hz", "tc tbf, burst of a second"

METRICS = [Metric("first", "first 10 ms, Mbit/s", 1, better=""), Metric("second", "10-20 ms", 1, better=""),
           Metric("later", "200-300 ms", 2, better=""), Metric("cpu", "CPU s/s", 2)]


def by_window(records):
    """Mbit/s in each window since the first packet."""
    counts = [0] * int(LASTS * 1e9 / WINDOW)
    for at, _, _ in records:
        index = (at - records[0][0]) // WINDOW
        if index < len(counts):
            counts[index] += 1
    return [count * FRAME * 8 / (WINDOW / 1e9) / 1e6 for count in counts]


def one_round(path, side):
    with side.on(path):
        far, cpu = paths.FarEnd(path, keep_records=True), CpuTime()
        paths.Source(path, "--size", FRAME, "--rate", OFFERED, "--seconds", LASTS).finish()
        used = cpu.per_second()
        records = far.stop(settle=0)["records"]
        return by_window(records), [(at - records[0][0]) / 1e6 for at, _, _ in records], used


def measure(figure, effort):
    path = paths.egress()
    ours = sides.Headgate(f"""
  [[shape.class]]
  name  = "all"
  rate  = "{BITS // 1_000_000}mbit"
  queue = "100p"
""")
    peers = [sides.Kernel(name, [f"qdisc add dev {{dev}} root tbf rate {BITS}bit burst {burst} limit {100 * FRAME}"])
             for name, burst in ((TBF, BITS // 8 // sides.TIMER_RATE), (TBF_OF_A_SECOND, BITS // 8))]
    try:
        table = Table("rate at the far end; the ratio is that of the first 10 ms:", ours.name, METRICS, compared="first")
        for side in effort.turns([ours, *peers]):
            rates, figure.series[side.name], used = one_round(path, side)
            table.add(side.name, {"first": rates[0], "second": rates[1], "later": sum(rates[20:30]) / 10, "cpu": used})
        figure.show(table)
    finally:
        path.delete()
