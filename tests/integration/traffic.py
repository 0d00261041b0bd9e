"""Traffic between the namespaces, and what arrived of it by the clock of the receiving kernel."""

import json
import pathlib
import re
import signal
import struct
import subprocess
import tempfile
import time
from collections import defaultdict
from typing import NamedTuple

import processes


class Sender:
    """UDP packets at a fixed rate, round the flows in turn (see traffic_send)."""

    def __init__(self, namespace, programs, to, *, rate, count=None, seconds=None, port=5000, flows=1, size=100,
                 dscp=0):
        addresses = [to] if isinstance(to, str) else to
        command = [programs / "traffic_send", "--rate", rate, "--port", port, "--flows", flows, "--size", size,
                   "--dscp", dscp]
        for address in addresses:
            command += ["--to", address]
        command += ["--count", count] if count is not None else ["--duration", f"{seconds}s"]
        self._process = namespace.start(*command, stdout=subprocess.PIPE, text=True)

    def running(self):
        return self._process.poll() is None

    def finish(self, patience=60, refusals=False):
        """Waits for the end; what was sent. `refusals`: the sender's kernel may have refused packets."""
        output, _ = self._process.communicate(timeout=patience)
        assert self._process.returncode == 0, "traffic_send failed"
        report = json.loads(output)
        assert refusals or report["failed"] == 0, f"the sender's kernel refused packets: {report}"
        return report

    def stop(self, refusals=False):
        if self.running():
            self._process.send_signal(signal.SIGTERM)
        return self.finish(refusals=refusals)


class Arrival(NamedTuple):
    time: int  # ns, CLOCK_REALTIME of the receiving kernel
    sequence: int  # of the packet in its flow, from 0


class Arrivals:
    """What reached the peer, by (address, port)."""

    def __init__(self, report, flows):
        assert report["lost_by_capture"] == 0, "the measurement itself lost packets"
        self.flows = flows

    def __len__(self):
        return sum(len(arrivals) for arrivals in self.flows.values())

    def only(self):
        """The arrivals of the one flow there is."""
        assert len(self.flows) == 1, f"one flow was expected, not {sorted(self.flows)}"
        return next(iter(self.flows.values()))

    def of_port(self, port):
        return [arrival for (_, its), flow in self.flows.items() if its == port for arrival in flow]

    def reordered(self):
        """Packets that came after a later one of their flow."""
        count = 0
        for arrivals in self.flows.values():
            highest = -1
            for arrival in arrivals:
                count += arrival.sequence < highest
                highest = max(highest, arrival.sequence)
        return count


class Receiver:
    """Records the UDP packets that come in at an interface (see traffic_receive)."""

    def __init__(self, namespace, programs, interface="eth0", patterns="udp"):
        self._file = tempfile.NamedTemporaryFile("r", prefix="hgt-arrivals-")  # gone with this object
        self._process = namespace.start(programs / "traffic_receive", "--interface", interface, "--duration", "600s",
                                        "--filter", patterns, "--timestamps", self._file.name,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self._process.stderr.readline()
        assert line.startswith("listening"), f"traffic_receive: {line}"

    def stop(self, settle=0.1):
        """Ends the recording after `settle` seconds and returns the Arrivals."""
        time.sleep(settle)
        self._process.send_signal(signal.SIGTERM)
        output, errors = self._process.communicate(timeout=30)
        assert self._process.returncode == 0, errors
        flows = defaultdict(list)
        for line in self._file:
            address, port, nanoseconds, sequence = line.split()
            flows[address, int(port)].append(Arrival(int(nanoseconds), int(sequence)))
        self._file.close()
        return Arrivals(json.loads(output), dict(flows))


class Echo(NamedTuple):
    sent: float  # s, CLOCK_REALTIME
    round_trip: float  # s


class Ping:
    """Echo requests at a fixed interval."""

    def __init__(self, namespace, to, interval=0.01, count=None):
        limit = ["-c", count] if count else []
        self._output = tempfile.TemporaryFile("w+")
        self._process = namespace.start("ping", "-n", "-D", "-i", interval, *limit, to, stdout=self._output,
                                        stderr=subprocess.STDOUT)

    def finish(self):
        self._process.wait(60)
        return self._echoes()

    def stop(self):
        processes.end(self._process, signal.SIGINT)
        return self._echoes()

    def _echoes(self):
        self._output.seek(0)
        text = self._output.read()
        self.transmitted = int(re.search(r"(\d+) packets transmitted", text)[1])
        return [Echo(float(received) - float(milliseconds) / 1e3, float(milliseconds) / 1e3)
                for received, milliseconds in re.findall(r"^\[([\d.]+)\] .*icmp_seq=.* time=([\d.]+) ms", text, re.M)]


def answers(namespace, to, patience=1):
    """Whether one ping comes back."""
    return namespace.run("ping", "-n", "-c", 1, "-W", patience, to, check=False).returncode == 0


class TcpLoad:
    """iperf3 from one namespace to an address of another."""

    def __init__(self, source, destination, to, *, seconds, streams=1, port=5201):
        self._server = destination.start("iperf3", "--server", "--one-off", "--forceflush", "--port", port,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self._server.stdout:
            if "listening" in line:
                break
        self._client = source.start("iperf3", "--client", to, "--port", port, "--congestion", "cubic", "--time",
                                    seconds, "--parallel", streams, "--json", stdout=subprocess.PIPE, text=True)

    def finish(self, patience=60):
        """iperf3's own report."""
        output, _ = self._client.communicate(timeout=patience)
        self._server.communicate(timeout=10)
        report = json.loads(output)
        assert "error" not in report, report["error"]
        return report


def percentile(values, percent):
    """Nearest rank: the smallest value that at least `percent` of the values do not exceed."""
    ordered = sorted(values)
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(int(rank), 1) - 1]


def gaps(arrivals):
    return [after.time - before.time for before, after in zip(arrivals, arrivals[1:])]


def rate_of(arrivals):
    """Packets per second between the first and the last."""
    return (len(arrivals) - 1) * 1e9 / (arrivals[-1].time - arrivals[0].time)


def rate_while_running(arrivals, rate):
    """Packets per second, as rate_of(), but for pauses of the whole machine.

    A wake-up that is late by more than 10 ms shifts the schedule of a bucket and is not caught up; virtual machines with
    busy neighbours are stopped for longer at times. Only what lies beyond is left out, so more than the rate is never
    excused, and not more than a tenth of the time.
    """
    longest = 10_000_000 + 1e9 / rate
    paused = sum(max(0, gap - longest) for gap in gaps(arrivals))
    span = arrivals[-1].time - arrivals[0].time
    assert paused < span / 10, f"for {paused / 1e9} s of {span / 1e9} s nothing came"
    return (len(arrivals) - 1) * 1e9 / (span - paused)


def most_ahead(frames, per_second):
    """How much more any stretch of time holds than `per_second` allows, of (time in ns, amount): 0 for what is even.

    By the departure schedule and so by no clock but the kernel's: a late reader, a slow sender or a pause of the machine
    cannot raise it, but for what a shaper catches up after one.
    """
    before, lowest, most = 0, 0.0, 0.0
    start = frames[0][0]
    for time_of, amount in frames:
        ahead = before - (time_of - start) * per_second / 1e9
        lowest = min(lowest, ahead)
        most = max(most, ahead - lowest)
        before += amount
    return most


def nothing_missing(arrivals):
    """Whether all packets of the flow came that were sent between the first and the last of these."""
    numbers = {arrival.sequence for arrival in arrivals}
    return len(numbers) == max(numbers) - min(numbers) + 1


class FrameTrace:
    """The kernel's time, in ns, and the length of each frame that comes in at an interface, or goes out, by tcpdump."""

    def __init__(self, namespace, patterns, interface="eth0", direction="in"):
        self._file = tempfile.NamedTemporaryFile(prefix="hgt-frames-")  # gone with this object
        self._process = namespace.start("tcpdump", "-n", "-i", interface, "-Q", direction, "--nano", "-s", 64, "-B", 16384,
                                        "-Z", "root", "-w", self._file.name, patterns, stderr=subprocess.PIPE, text=True)
        line = self._process.stderr.readline()
        assert "listening" in line, line

    def stop(self):
        time.sleep(0.1)
        self._process.send_signal(signal.SIGINT)
        _, errors = self._process.communicate(timeout=10)
        assert "\n0 packets dropped by kernel" in errors, errors
        content, at, frames = pathlib.Path(self._file.name).read_bytes(), 24, []
        assert content[:4] == struct.pack("=I", 0xA1B23C4D)  # times in ns
        while at < len(content):
            seconds, nanoseconds, kept, length = struct.unpack_from("=IIII", content, at)
            frames.append((seconds * 1_000_000_000 + nanoseconds, length))
            at += 16 + kept
        return frames
