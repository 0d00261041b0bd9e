"""A link shared by classes: what each gets, and what a class of priority 0 waits for the others."""

import contextlib
import json
import statistics
import time

from suite import paths, sides
from suite.machine import CpuTime
from suite.report import Metric, Table

from traffic import Ping, Sender, percentile  # tests/integration

TITLE = "a link of 100 Mbit/s: voip (guarantee 2, priority 0), office (guarantee 40, weight 2), guests (ceiling 20), rest"
LINK = 100e6
FRAME = 1000  # bytes
INTERVAL = 0.002  # s, of the pings that are voip
BAR = 1.2

METRICS = [Metric("p50", "voip p50 us", 0), Metric("p99.9", "p99.9 us", 0), Metric("alone", "p99.9 without the others us", 0),
           Metric("ratio", "with / without", 2), Metric("office", "office Mbit/s", 2), Metric("guests", "guests", 2),
           Metric("rest", "rest", 2), Metric("cpu", "CPU s/s", 2)]

# Offered, in Mbit/s, by port; and what each is to get: 40 guaranteed, and 60 by weight 2 : 1 : 1.
OFFERED = {"office": (5100, 100), "guests": (5200, 60), "rest": (5300, 100)}
EXPECTED = {"office": 70, "guests": 15, "rest": 15}

SHAPE_KEYS = 'rate = "100mbit"\n'
CLASSES = """
  [[shape.class]]
  name = "voip"
  match = "icmp"
  guarantee = "2mbit"
  priority = 0
  [[shape.class]]
  name = "office"
  match = "udp port 5100"
  guarantee = "40mbit"
  weight = 2
  queue = "100p"
  [[shape.class]]
  name = "guests"
  match = "udp port 5200"
  ceiling = "20mbit"
  queue = "100p"
  [[shape.class]]
  name = "rest"
  match = "udp port 5300"
  queue = "100p"
"""


def htb(path):
    commands = ["qdisc add dev {dev} root handle 1: htb default 40",
                "class add dev {dev} parent 1: classid 1:1 htb rate 100mbit"]
    for number, rate, ceiling, priority in [(10, 2, 100, 0), (20, 40, 100, 3), (30, 1, 20, 3), (40, 1, 100, 3)]:
        quantum = 6000 if number == 20 else 3000
        commands.append(f"class add dev {{dev}} parent 1:1 classid 1:{number} htb rate {rate}mbit ceil {ceiling}mbit "
                        f"prio {priority} quantum {quantum}")
        commands.append(f"qdisc add dev {{dev}} parent 1:{number} pfifo limit 100")
    commands.append("filter add dev {dev} parent 1: protocol ip prio 1 u32 match ip protocol 1 0xff flowid 1:10")
    for number, port in [(20, 5100), (30, 5200), (40, 5300)]:
        commands.append(f"filter add dev {{dev}} parent 1: protocol ip prio 1 u32 match ip dport {port} 0xffff "
                        f"flowid 1:{number}")
    return sides.Kernel(sides.with_bridge(path, "htb"), commands)


def trips(path, seconds):
    ping = Ping(path.source, paths.network.PEER_IPV4, interval=INTERVAL, count=int(seconds / INTERVAL))
    return [echo.round_trip * 1e6 for echo in ping.finish()][20:]


def received(path, seconds):
    """Mbit/s of frames, as they come in at the far end."""
    far, ports = path.net.peer, {name: port for name, (port, _) in OFFERED.items()}
    counters = "".join(f"counter c{port} {{\n}}\n" for port in ports.values())
    rules = "".join(f"udp dport {port} counter name c{port}\n" for port in ports.values())
    far.run("nft", f"table inet hgt {{\n{counters}chain in {{\ntype filter hook input priority 0;\n{rules}}}\n}}")
    time.sleep(seconds)
    listing = json.loads(far.run("nft", "-j", "list", "counters").stdout)["nftables"]
    far.run("nft", "delete", "table", "inet", "hgt")
    packets = {item["counter"]["name"]: item["counter"]["packets"] for item in listing if "counter" in item}
    return {name: packets[f"c{port}"] * FRAME * 8e-6 / seconds for name, port in ports.items()}


def one_round(path, side, seconds):
    with side.on(path):
        alone = percentile(trips(path, seconds), 99.9)
        with contextlib.ExitStack() as undo:
            for port, megabits in OFFERED.values():
                sender = Sender(path.source, paths.PROGRAMS, paths.network.PEER_IPV4, rate=megabits * 1e6 / 8 / FRAME,
                                seconds=600, port=port, size=FRAME)
                undo.callback(sender.stop)
            time.sleep(0.5)
            cpu = CpuTime()
            with_others = trips(path, seconds)
            used = cpu.per_second()
            shares = received(path, seconds)
    busy = percentile(with_others, 99.9)
    return {"p50": statistics.median(with_others), "p99.9": busy, "alone": alone, "ratio": busy / alone, "cpu": used, **shares}


def measure(figure, effort):
    figure.remark(f"voip: ping every {INTERVAL * 1e3:.0f} ms; the others offer 100, 60 and 100 Mbit/s; nothing is pinned")
    path = paths.egress()
    try:
        ours = sides.Headgate(CLASSES, shape_keys=SHAPE_KEYS, cpu=None)
        table = Table("each class, by the far end:", ours.name, METRICS, compared="p99.9")
        for side in effort.turns([ours, htb(path)]):
            table.add(side.name, one_round(path, side, effort.seconds(5, 1)))
        figure.show(table)
        for name, wanted in EXPECTED.items():
            got = table.median(ours.name, name)
            figure.bar(f"{name} within 1 % of the link of {wanted} Mbit/s", f"{got:.2f}", abs(got - wanted) <= LINK / 1e8)
        ratio = table.median(ours.name, "ratio")
        figure.bar(f"voip's p99.9 at most {BAR} x that without the others", f"{ratio:.2f}", ratio <= BAR)
    finally:
        path.delete()
