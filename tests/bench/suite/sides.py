"""The sides of a comparison. Each is set up on a path for one round and taken down after it.

A side is used as `with side.on(path):`, has a `name` for tables, and may say more of itself while it is up.
"""

import contextlib
import copy
import subprocess

from suite.other_build import of_other_build
from suite.paths import FORWARDER_CPU, PROGRAMS, pinned, processes

from daemon import Headgate as Daemon  # tests/integration

HEADGATE = "headgate"
BY_RING = ", capture ring"  # of the names of its sides


class Side:
    is_headgate = False
    by_both_builds = False  # measured by the other build, too, where there is one
    cpu = FORWARDER_CPU  # of its process, if it has one; None: where the kernel has it

    def __init__(self, name):
        self.name = name

    @contextlib.contextmanager
    def on(self, path):
        with contextlib.ExitStack() as undo:
            self.set_up(path, undo)
            yield self

    def set_up(self, path, undo):
        """Makes everything; `undo` gets the callbacks that take it away."""


class Headgate(Side):
    """headgated, pinned. `classes` is what follows the shape's keys in the configuration."""

    is_headgate = True
    by_both_builds = True
    capture = None  # the back end of every shape; None: headgated's default
    patience = 60  # s, until it is ready
    _programs = PROGRAMS

    def __init__(self, classes, name=HEADGATE, shape_keys="", cpu=FORWARDER_CPU, **daemon_keys):
        super().__init__(name)
        self._classes, self._shape_keys, self.cpu, self._daemon_keys = classes, shape_keys, cpu, daemon_keys
        self.daemon = None

    def by(self, build):
        """The same side by another build of headgate, which may not know what `capture` says."""
        other = copy.copy(self)
        other.name = of_other_build(self.name)
        other.capture = None
        other._programs = build.programs
        return other

    def by_ring(self):
        """The same side with `capture = "ring"`, by this build alone, in a list: empty where all sides have one back end."""
        if self.capture:
            return []
        twin = copy.copy(self)
        twin.name, twin.capture, twin.by_both_builds = self.name + BY_RING, "ring", False
        return [twin]

    @property
    def process(self):
        return self.daemon.process

    def config(self, path):
        if path.shaper is path.source:
            shape = '[[shape]]\ninterface = "eth0"\n'
        else:
            shape = '[[shape]]\ninterface = "eth0"\nforward_to = "eth1"\n'
        return shape + self._shape_keys + "\n" + self._classes

    def set_up(self, path, undo):
        self.daemon = self._make_daemon(self.namespace(path))
        undo.callback(self.daemon.close)
        undo.push(self._kill_after_failure)
        self.daemon.start(self.config(path), wait=False, **self._daemon_keys)
        self.daemon.wait_ready(self.patience)

    def _make_daemon(self, namespace):
        daemon = Daemon(namespace, self._programs)
        daemon.capture = self.capture
        return daemon

    def _kill_after_failure(self, failure, *_):
        """So that it is the failure that is told, and not that a stop did not come to its end either."""
        if failure and self.daemon.running():
            self.daemon.kill()

    def namespace(self, path):
        """Where it runs, and in what manner."""
        return _Pinned(path.shaper, self.cpu)

    def knows(self, path):
        """Whether this headgated takes the configuration."""
        daemon = self._make_daemon(path.shaper)
        try:
            daemon.write(self.config(path), **self._daemon_keys)
            check = path.shaper.command(self._programs / "headgated", "--check", "--config", daemon.config_path)
            return processes.run(check, check=False).returncode == 0
        finally:
            daemon.close()


class _Pinned:
    """A namespace whose processes start on one CPU."""

    def __init__(self, namespace, cpu):
        self._namespace, self._cpu = namespace, cpu

    def start(self, *command, **options):
        return self._namespace.start(*pinned(self._cpu, *command), **options)

    def __getattr__(self, name):
        return getattr(self._namespace, name)


class Bare(Side):
    """A program that forwards and does nothing else."""

    def __init__(self, name, program, fifo, cpu, *arguments):
        super().__init__(name + (", SCHED_FIFO" if fifo else ""))
        self._program, self._arguments = program, [*arguments, *(["--fifo"] if fifo else [])]
        self.cpu = cpu
        self.process = None

    def set_up(self, path, undo):
        to = ["--forward-to", "eth1"] if path.shaper is not path.source else []
        self.process = path.shaper.start(*pinned(self.cpu, PROGRAMS / self._program, "--interface", "eth0", *to,
                                                 *self._arguments),
                                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        undo.callback(processes.end, self.process)
        line = self.process.stderr.readline()
        if not line.startswith("forwarding"):
            raise RuntimeError(f"{self._program}: {line}{self.process.stderr.read()}")


class BareForwarder(Bare):
    def __init__(self, threads, fifo=False, name=None, cpu=FORWARDER_CPU):
        super().__init__(f"bare forwarder, {threads} thread{'s' if threads > 1 else ''}", "bare_forwarder", fifo, cpu,
                         "--threads", threads)
        self.name = name or self.name


class BareRingLoop(Bare):
    def __init__(self, fifo=True, cpu=FORWARDER_CPU):
        super().__init__("bare ring-buffer loop", "bare_ring_loop", fifo, cpu)


class Kernel(Side):
    """No process at all: the host's own egress, or a bridge of the kernel in the wire, perhaps with a qdisc."""

    def __init__(self, name, qdisc=()):
        super().__init__(name)
        self.qdisc = qdisc  # of commands: tc's arguments, {dev} for where packets leave

    def set_up(self, path, undo):
        if path.shaper is not path.source:
            self._set_up_bridge(path.shaper, undo)
        if self.qdisc:
            undo.callback(path.shaper.run, "tc", "qdisc", "del", "dev", path.interface, "root")
            batch = "\n".join(line.format(dev=path.interface) for line in self.qdisc) + "\n"
            tc = subprocess.run(list(map(str, path.shaper.command("tc", "-batch", "-"))), input=batch, text=True,
                                capture_output=True)
            if tc.returncode != 0:
                raise RuntimeError(f"tc: {tc.stderr[:2000]}")

    @staticmethod
    def _set_up_bridge(namespace, undo):
        namespace.run("ip", "link", "add", "br0", "type", "bridge")
        undo.callback(namespace.run, "ip", "link", "del", "br0")
        for interface in ("eth0", "eth1"):
            namespace.run("ip", "link", "set", interface, "master", "br0")
        namespace.run("ip", "link", "set", "br0", "up")


def no_divert(path):
    return Kernel("kernel bridge" if path.shaper is not path.source else "no divert")


def with_bridge(path, qdisc):
    return f"kernel bridge + {qdisc}" if path.shaper is not path.source else f"tc {qdisc}"


def htb(path, flows, bits_per_second, frame_bytes=64, limit=100):
    """One class for each flow, found by the destination in one step, whatever their number."""
    # tc has 16 bits for the number of a class, so 65 000 of them at most. The filter is a program for the classic BPF
    # machine that returns the class: 0x10000 + 1 + the flow, which is in the lower bits of the destination.
    burst = max(frame_bytes, 64)
    commands = ["qdisc add dev {dev} root handle 1: htb",
                "filter add dev {dev} parent 1: bpf bytecode '4,32 0 0 30,84 0 0 65535,4 0 0 65537,22 0 0 0'"]
    for flow in range(flows):
        commands.append(f"class add dev {{dev}} parent 1: classid 1:{flow + 1:x} htb rate {bits_per_second}bit "
                        f"burst {burst} cburst {burst}")
        commands.append(f"qdisc add dev {{dev}} parent 1:{flow + 1:x} pfifo limit {limit}")
    return Kernel(with_bridge(path, "htb"), commands)


TIMER_RATE = 250  # Hz


def tbf(path, bits_per_second, frame_bytes=64, limit=100):
    """With the burst that its manual asks for, what comes between two timer ticks, or it does not reach the rate."""
    burst = max(2 * frame_bytes, bits_per_second // 8 // TIMER_RATE)
    return Kernel(with_bridge(path, "tbf"), [f"qdisc add dev {{dev}} root tbf rate {bits_per_second}bit "
                                             f"burst {burst} limit {limit * frame_bytes}"])
