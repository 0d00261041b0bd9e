"""The page of a live run: what was offered and delivered each second, and how departures are spaced at the far end. The
page itself is that of headgatectl simulate (tools/simulate/page); only the figures are others."""

import collections
import json
import math
import os
import pathlib
import signal
import struct
import subprocess

import processes

PAGE = pathlib.Path(__file__).resolve().parent / "simulate" / "page"
SCRIPTS = ("format.js", "chart.js", "page.js", "sections.js")
STEPS = 16  # of a histogram, to a doubling


def write(path, figures):
    """As tools/simulate/page.cpp does."""
    text = json.dumps(figures).replace("<", "\\u003c")
    page = (PAGE / "page.html").read_text()
    page = page.replace("{{style}}", (PAGE / "page.css").read_text())
    page = page.replace("{{script}}", "".join((PAGE / script).read_text() for script in SCRIPTS))
    path.write_text(page.replace("{{data}}", text))
    if "SUDO_UID" in os.environ:
        os.chown(path, int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"]))


class ArrivalTrace:
    """What arrives at the far end, with the kernel's time stamps, in nanoseconds."""

    def __init__(self, namespace, interface, directory):
        self._path = directory / "arrivals.pcap"
        self._process = processes.start(namespace.command(
            "tcpdump", "-q", "-i", interface, "-s", "64", "-B", "65536", "--time-stamp-precision=nano",
            "--immediate-mode", "-w", self._path, "udp"), stderr=subprocess.DEVNULL, process_group=0)

    def end(self):
        processes.end(self._process, signal.SIGINT)

    def gaps(self):
        """By destination: from one arrival to the next, in nanoseconds."""
        trace = self._path.read_bytes()
        last, gaps, at = {}, collections.defaultdict(list), 24
        while at + 16 <= len(trace):
            seconds, nanoseconds, captured, _ = struct.unpack_from("=IIII", trace, at)
            frame = trace[at + 16:at + 16 + captured]
            at += 16 + captured
            if len(frame) < 34 or frame[12:14] != b"\x08\x00":
                continue
            destination, time = ".".join(map(str, frame[30:34])), seconds * 1_000_000_000 + nanoseconds
            if destination in last:
                gaps[destination].append(time - last[destination])
            last[destination] = time
        return gaps


def histogram(name, gaps):
    """Log-linear, as that of a simulation."""
    counts = collections.Counter()
    for gap in gaps:
        width = 1 << max(0, int(gap).bit_length() - int(math.log2(STEPS)) - 1)
        counts[(gap // width * width, width)] += 1
    steps = sorted(counts)
    return {"class": name, "from_us": [first / 1000 for first, _ in steps],
            "to_us": [(first + width) / 1000 for first, width in steps], "count": [counts[step] for step in steps]}


def figures_of(config, seconds, counters, sent, delivered, gaps):
    """`seconds`: of each second the packets offered, delivered and dropped, by destination. `counters`: what headgate
    says of its class. `sent` and `delivered`: packets in all, by destination."""
    size = counters["received"]["bytes"] / max(1, counters["received"]["packets"])

    def count(packets):
        return {"packets": packets, "bytes": round(packets * size)}

    def series_of(address):
        series = {"class": address}
        for what, name in (("offered", "offered"), ("delivered", "sent"), ("dropped", "dropped")):
            packets = [round(second[what][address]) for second in seconds]
            series[f"{name}_packets"] = packets
            if what != "dropped":
                series[f"{name}_bytes"] = [round(number * size) for number in packets]
        return series

    def flow_of(address):
        return {"class": "clients", "text": "→ " + address, "received": count(sent[address]),
                "sent": count(delivered[address]), "dropped": count(sent[address] - delivered[address]),
                "queued": count(0)}

    totals = {what: counters[what] for what in ("received", "sent", "dropped", "queued", "delay_us")}
    return {"schema": 1, "kind": "live", "shape": "eth0/egress", "config": " ".join(config.split()),
            "traffic": [f"UDP to {len(sent)} destinations"], "unit": "packets",
            "notes": ["Offered and delivered are counted by the kernel at both ends, the totals by headgate."],
            "duration_s": len(seconds), **totals,
            "classes": [{"name": "clients", "rate": counters["rate"], "flows": len(sent), **totals}],
            "flows": [flow_of(address) for address in sent], "flows_left_out": 0,
            "series": {"of": "destination", "interval_s": 1, "classes": [series_of(address) for address in sent]},
            "spacing_note": "Seen at the far end: from one arrival at a destination to the next.",
            "spacing": [histogram(address, gaps[address]) for address in sent if gaps[address]]}
