"""Plans: how fast 100 000 members are loaded, and what changing them one by one does to departures."""

import ipaddress
import json
import pathlib
import socket
import statistics
import tempfile
import threading
import time

from suite import paths, sides
from suite.machine import CpuTime
from suite.report import Metric, Table

TITLE = "100 000 members of plans: loading, and 10 000 changes a second while 1 000 of them send"
MEMBERS = 100_000
FLOWS, RATE = 1_000, 10  # that send, packets/s of each
OFFERED = 2  # times the rate
SKIPPED = 0.5  # s, until all are backlogged
CHANGES = 10_000  # a second
AT_ONCE = 50  # changes, in one write
FIRST_ADDRESS = 0x0A800000  # as frame_source has it: 10.128.0.0
PLANS = ("gold", "silver")
BAR = 1.2

METRICS = [Metric("late_p50", "late p50 us", 1), Metric("late_p99", "p99 us", 1), Metric("late_p99.9", "p99.9 us", 1),
           Metric("late_max", "max us", 0), Metric("changes", "changes/s", 0, better="more"), Metric("reload", "reload ms", 0),
           Metric("cpu", "CPU s/s", 2)]

CLASSES = """
  [[shape.class]]
  name  = "customers"
  key   = "dst"
  rate  = "1pps"
  queue = "20p"
    [[shape.class.plan]]
    name = "gold"
    rate = "{rate}pps"
    members_file = "{gold}"
    [[shape.class.plan]]
    name = "silver"
    rate = "{rate}pps"
    members_file = "{silver}"
"""


def address(number):
    """That of the flow of this number, as frame_source sends it."""
    return str(ipaddress.IPv4Address(FIRST_ADDRESS + number))


class Members(sides.Headgate):
    """headgated with all members by file, half of them in each of two plans of one rate."""

    by_both_builds = False

    def __init__(self, name=sides.HEADGATE, changes=0):
        super().__init__("", name)
        self.changes = changes  # of members, a second

    def set_up(self, path, undo):
        directory = pathlib.Path(undo.enter_context(tempfile.TemporaryDirectory()))
        files = {plan: directory / plan for plan in PLANS}
        half = MEMBERS // 2
        for number, file in enumerate(files.values()):
            file.write_text("".join(f"{address(member)}\n" for member in range(number * half, (number + 1) * half)))
        self._classes = CLASSES.format(rate=RATE, **files)
        super().set_up(path, undo)
        self.daemon.write(self.config(path).replace('"1pps"', '"2pps"'))
        began = time.monotonic()
        self.daemon.reload()
        self.reload_ms = (time.monotonic() - began) * 1e3


class Changes:
    """Changes members one by one over one connection: each from its plan to the other, and back in the next turn."""

    def __init__(self, daemon, rate):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(str(daemon.control_path))
        self._rate, self.done, self._refused, self._ending = rate, 0, [], False
        self._threads = [threading.Thread(target=work) for work in (self._write, self._read)]
        for thread in self._threads:
            thread.start()

    def _write(self):
        began, sent = time.monotonic(), 0
        while not self._ending:
            self._socket.sendall("".join(map(self._request, range(sent, sent + AT_ONCE))).encode())
            sent += AT_ONCE
            time.sleep(max(0, began + sent / self._rate - time.monotonic()))
        self._socket.shutdown(socket.SHUT_WR)

    @staticmethod
    def _request(number):
        turn, member = divmod(number, MEMBERS)
        plan = PLANS[(member * 2 // MEMBERS + turn + 1) % 2]
        return json.dumps({"command": "plan", "class": "customers", "member": address(member), "plan": plan}) + "\n"

    def _read(self):
        rest = b""
        while received := self._socket.recv(1 << 20):
            *lines, rest = (rest + received).split(b"\n")
            self.done += len(lines)
            self._refused += [line for line in lines if b'"error"' in line]

    def stop(self):
        self._ending = True
        for thread in self._threads:
            thread.join()
        self._socket.close()
        if self._refused:
            raise RuntimeError(f"{len(self._refused)} changes were refused, the first: {self._refused[0].decode()}")


def one_round(path, side, seconds):
    with side.on(path):
        far = paths.FarEnd(path, "--flow-period", 1_000_000_000 // RATE, "--skip", SKIPPED)
        changes = Changes(side.daemon, side.changes) if side.changes else None
        cpu = CpuTime()
        seconds += SKIPPED
        paths.Source(path, "--flows", FLOWS, "--rate", OFFERED * FLOWS * RATE, "--seconds", seconds).finish()
        used = cpu.used() / seconds
        done = changes.done / seconds if changes else 0
        if changes:
            changes.stop()
        seen = far.stop(settle=0)
        if seen["flows"] != FLOWS:
            raise RuntimeError(f"{side.name}: packets of {seen['flows']} flows have arrived")
        late = seen["lateness_ns"]
        return {**{f"late_{part}": late[part] / 1e3 for part in ("p50", "p99", "p99.9", "max")}, "changes": done,
                "reload": side.reload_ms, "cpu": used}


def measure(figure, effort):
    figure.remark("late: after the flow's own ideal schedule; both plans have the same rate, so a change of plan moves no "
                  "departure; reload: with another rate of the class")
    path = paths.egress()
    try:
        ours, quiet = Members("headgate, members change", CHANGES), Members("headgate, at rest")
        table = Table("each flow:", ours.name, METRICS, compared="late_p99.9")
        for side in effort.turns([ours, quiet]):
            table.add(side.name, one_round(path, side, effort.seconds(10, 2)))
        figure.show(table)
        ratio = statistics.median(table.ratios(quiet.name, "late_p99.9"))
        figure.bar(f"p99.9 lateness at most {BAR} x that at rest", f"{ratio:.2f}", ratio <= BAR)
        done, reload = table.median(ours.name, "changes"), table.median(ours.name, "reload")
        figure.bar(f"{CHANGES} changes a second", f"{done:.0f}", done >= 0.99 * CHANGES)
        figure.bar("100 000 members loaded within 1 s", f"{reload:.0f} ms", reload <= 1000)
    finally:
        path.delete()
