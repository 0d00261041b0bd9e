"""Control groups of version 2, and senders in them."""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

_SEND = """
import socket, struct, sys
to, port, count, mark = sys.argv[1], *map(int, sys.argv[2:])
family = socket.AF_INET6 if ":" in to else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as udp:
    udp.setsockopt(socket.SOL_SOCKET, 36, struct.pack("=I", mark))  # SO_MARK
    for number in range(count):
        udp.sendto(b"%08d" % number, (to, port))
"""


def send(namespace, to, port=5000, count=50, mark=0, before=()):
    """As fast as it can, by a process that `before` starts."""
    subprocess.run([*before, *namespace.command(sys.executable, "-c", _SEND, to, *map(str, (port, count, mark)))], check=True,
                   timeout=30)


class Hierarchy:
    """The groups of a test, below one of its own, in a hierarchy mounted for it. Daemons started later see it: `ip netns exec`
    takes away only what is mounted below /sys."""

    name = f"hgt{os.getpid()}"

    def __init__(self):
        self._mount = tempfile.mkdtemp(prefix="hgt-cgroup-")
        subprocess.run(["mount", "-t", "cgroup2", "cgroup2", self._mount], check=True)
        try:
            self.make(self.name)
        except OSError:
            self._unmount()
            raise

    def _directory(self, path):
        return pathlib.Path(self._mount) / path

    def make(self, path):
        self._directory(path).mkdir(parents=True)

    def remove(self, path):
        self._directory(path).rmdir()

    def joining(self, path):
        """What a command is to be started by, to be in it."""
        return ["sh", "-c", f'echo $$ > "{self._directory(path)}/cgroup.procs" && exec "$@"', "sh"]

    @contextlib.contextmanager
    def joined(self, path):
        """This process is in it meanwhile: what it opens then belongs to it."""
        own = next(line[3:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
        (self._directory(path) / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (self._directory(own.lstrip("/")) / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        below = sorted(self._directory(self.name).rglob("*/"), reverse=True)
        try:
            for directory in [*below, self._directory(self.name)]:
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    directory.rmdir()
        finally:
            self._unmount()

    def _unmount(self):
        subprocess.run(["umount", self._mount], check=True)
        os.rmdir(self._mount)
