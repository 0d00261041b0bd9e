"""The two ways that traffic takes through the machine under test, made of network namespaces.

egress:   host eth0 ───────────────────── eth0 far end;     the host's eth0 is shaped
forward:  source eth0 ─ eth0 middle eth1 ─ eth0 far end;    the middle forwards, shaped

CPU 0 has the source of the traffic, and with it all that the kernel does with a packet in the context of who sends it:
the divert up to the capture ring, or the whole way of a bridge. CPU 1 has the forwarding process, if there is one, with
all its threads. So all sides have the same two cores, and each part runs on the same one in every round.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "build" / "release" / "bin"
sys.path.insert(0, str(ROOT / "tests" / "integration"))

import network  # noqa: E402
import processes  # noqa: E402

SOURCE_CPU, FORWARDER_CPU = 0, 1
EGRESS, FORWARD = "egress shape", "forward_to"  # names of paths

_made = []


def pinned(cpu, *command):
    return ["taskset", "--cpu-list", cpu, *command] if cpu is not None else [*command]


class Path:
    """`source` sends on its eth0; `shaper` is where sides are set up, on `interface`; `far` is where packets arrive."""

    def __init__(self, name, net, source, shaper, interface):
        self.name = name
        self.net = net
        self.source, self.shaper, self.far = source, shaper, net.peer
        self.interface = interface  # where a packet that is shaped leaves
        self._holder = self.far.start("sleep", "infinity")
        _made.append(self)

    def delete(self):
        _made.remove(self)
        self.net.delete()

    def arrived(self):
        """When, and how many packets have arrived at the far end so far."""
        # A process sees the interfaces of its own namespace here, which is cheaper than to go there.
        lines = pathlib.Path(f"/proc/{self._holder.pid}/net/dev").read_text().splitlines()
        at = time.monotonic()
        return at, next(int(line.split()[2]) for line in lines if line.strip().startswith("eth0:"))


def egress():
    net = network.Network()
    return Path(EGRESS, net, net.host, net.host, "eth0")


def forward():
    net = network.InlineNetwork()
    return Path(FORWARD, net, net.host, net.middle, "eth1")


def delete_all():
    for path in list(_made):
        path.delete()


class Source:
    """frame_source on the path's source, running until it has sent what it was told or is stopped."""

    def __init__(self, path, *arguments, cpu=SOURCE_CPU):
        # In the wire the source is another host, whose own qdisc is no part of the path.
        bypass = ["--bypass-qdisc"] if path.source is not path.shaper else []
        self._process = path.source.start(*pinned(cpu, PROGRAMS / "frame_source", "--interface", "eth0", *bypass,
                                                  *arguments), stdout=subprocess.PIPE, text=True)

    def running(self):
        return self._process.poll() is None

    def finish(self, patience=60):
        output, _ = self._process.communicate(timeout=patience)
        if self._process.returncode != 0:
            raise RuntimeError(f"frame_source ended with {self._process.returncode}")
        return json.loads(output)

    def stop(self):
        if self.running():
            self._process.terminate()
        return self.finish()


class FarEnd:
    """far_end at the end of the path."""

    def __init__(self, path, *arguments, keep_records=False, cpu=SOURCE_CPU):
        self._records = tempfile.NamedTemporaryFile(prefix="hgt-records-") if keep_records else None
        if self._records:
            arguments = [*arguments, "--records", self._records.name]
        self._process = path.far.start(*pinned(cpu, PROGRAMS / "far_end", "--interface", "eth0", *arguments),
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self._process.stderr.readline()
        if not line.startswith("listening"):
            raise RuntimeError(f"far_end: {line}{self._process.stderr.read()}")

    def stop(self, settle=0.1):
        """What it says of the packets; `records` are (ns, flow, number) where they were to be kept."""
        time.sleep(settle)
        self._process.terminate()
        output, errors = self._process.communicate(timeout=120)
        if self._process.returncode != 0:
            raise RuntimeError(f"far_end: {errors}")
        result = json.loads(output)
        if result["lost_by_recording"]:
            raise RuntimeError(f"the far end's recording lost {result['lost_by_recording']} packets")
        if self._records:
            result["records"] = self._read()
        return result

    def _read(self):
        import struct
        with open(self._records.name, "rb") as file:
            return [(at, flow, number) for at, number, flow in struct.iter_unpack("<qII", file.read())]
