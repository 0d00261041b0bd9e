"""What the machine is, and what its processors have been doing."""

import os
import pathlib
import platform
import re
import subprocess
import time

from suite.paths import ROOT

TICK = 1 / os.sysconf("SC_CLK_TCK")  # s


def commit_of(source):
    """Of a source tree; empty where git does not know it."""
    return subprocess.run(["git", "-c", f"safe.directory={source}", "describe", "--always", "--dirty"], cwd=source,
                          capture_output=True, text=True).stdout.strip()


def describe():
    cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())[1])
    return {"kernel": platform.release(), "cpu": cpu[1] if cpu else platform.machine(), "cores": os.cpu_count(),
            "memory_gib": round(memory / 2**20, 1), "virtual": "hypervisor" in pathlib.Path("/proc/cpuinfo").read_text(),
            "commit": commit_of(ROOT), "date": time.strftime("%Y-%m-%d %H:%M:%S %z")}


class CpuTime:
    """Seconds that all processors together have worked since construction, interrupts included, and been robbed of."""

    def __init__(self):
        self._start, self._since = self._read(), time.monotonic()

    def per_second(self):
        return self.used() / (time.monotonic() - self._since)

    @staticmethod
    def _read():
        with open("/proc/stat") as file:
            user, nice, system, _, _, interrupt, soft_interrupt, steal, *_ = map(int, file.readline().split()[1:])
        return (user + nice + system + interrupt + soft_interrupt) * TICK, steal * TICK

    def used(self):
        return self._read()[0] - self._start[0]

    def stolen(self):
        return self._read()[1] - self._start[1]


class ProcessTime:
    """Of a process since construction: seconds of CPU, and how often its threads have been woken."""

    def __init__(self, pid):
        self._pid = pid
        self._start = self._read()

    def _read(self):
        seconds, switches = 0.0, 0
        for thread in pathlib.Path(f"/proc/{self._pid}/task").iterdir():
            seconds += int((thread / "schedstat").read_text().split()[0]) / 1e9
            switches += int(re.search(r"\nvoluntary_ctxt_switches:\s*(\d+)", (thread / "status").read_text())[1])
        return seconds, switches

    def used(self):
        return self._read()[0] - self._start[0]

    def sleeps(self):
        """How often they have gone to sleep by themselves, which is how often they were woken."""
        return self._read()[1] - self._start[1]


def process_seconds(pid):
    """Of CPU since its start, threads that have ended included."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK


class ProgramTime:
    """Of the BPF programs that a process holds, all together, since construction: their runs and seconds.

    The kernel measures while an instance is entered with `with`, which costs each run some nanoseconds more.
    """

    _SWITCH = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")

    def __init__(self, pid):
        self._pid = pid

    def __enter__(self):
        self._before = self._SWITCH.read_text()
        self._SWITCH.write_text("1")
        self._start = self._read()
        return self

    def __exit__(self, *_):
        self._SWITCH.write_text(self._before)

    def _read(self):
        """By the identifier of each program, for several descriptors may stand for one."""
        programs = {}
        for descriptor in pathlib.Path(f"/proc/{self._pid}/fdinfo").iterdir():
            fields = dict(re.findall(r"^(prog_id|run_cnt|run_time_ns):\s*(\d+)$", descriptor.read_text(), re.MULTILINE))
            if "run_cnt" in fields:
                programs[fields["prog_id"]] = int(fields["run_cnt"]), int(fields["run_time_ns"]) / 1e9
        return programs

    def used(self):
        now = self._read().values()
        return [sum(column) - sum(before) for column, before in zip(zip(*now), zip(*self._start.values()))]


def status_bytes(pid, field):
    return int(re.search(rf"{field}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def resident_bytes(pid):
    return status_bytes(pid, "VmRSS")


def locked_bytes(pid):
    return status_bytes(pid, "VmLck")
