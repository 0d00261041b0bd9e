"""A real systemd as process 1 in namespaces, to run the service as an administrator would."""

import os
import pathlib
import shlex
import subprocess
import time

import processes

_BOOT = pathlib.Path(__file__).with_name("boot_systemd.sh")
_CONTROL_GROUP_MOUNTS = ["/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"]


class Machine:
    """Boots in the network namespace it is given; all of it is gone after shut_down()."""

    def __init__(self, namespace, patience=60):
        self._control_group = namespace.name
        self._boot = processes.start(["sh", _BOOT, namespace.name, self._control_group], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            self._wait_until_up(time.monotonic() + patience)
        except BaseException:
            self.shut_down()
            raise

    def _wait_until_up(self, deadline):
        while True:
            assert self._boot.poll() is None, f"systemd did not boot:\n{self._boot.stdout.read()}"
            assert time.monotonic() < deadline, "systemd is not up in time"
            children = self._children()
            if children and _name(children[0]) == "systemd":
                self.init = children[0]
                state = self.run("systemctl", "is-system-running", check=False).stdout.strip()
                if state in ("running", "degraded"):
                    return
            time.sleep(0.1)

    def _children(self):
        with open(f"/proc/{self._boot.pid}/task/{self._boot.pid}/children") as children:
            return [int(pid) for pid in children.read().split()]

    @property
    def root(self):
        """The machine's file system as seen from here."""
        return pathlib.Path(f"/proc/{self.init}/root")

    def command(self, *command):
        return ["nsenter", "--target", self.init, "--all", "--root", "--wdns=/", *command]

    def run(self, *command, **options):
        return processes.run(self.command(*command), **options)

    def shell(self, line, **options):
        return self.run("sh", "-c", line, **options)

    def systemctl(self, *arguments, **options):
        return self.run("systemctl", "--no-pager", *arguments, **options)

    def property(self, unit, name):
        return self.systemctl("show", "--value", "--property", name, unit).stdout.strip()

    def journal(self, unit):
        return self.run("journalctl", "--no-pager", "--output=cat", "--unit", unit, check=False).stdout

    def outside_pid(self, pid):
        """The number here of a process that the machine knows as `pid`."""
        for candidate in os.listdir("/proc"):
            if candidate.isdigit() and _inside_numbers(candidate)[-1:] == [int(pid)] and self._holds(candidate):
                return int(candidate)
        raise AssertionError(f"the machine has no process {pid}")

    def _holds(self, pid):
        return os.readlink(f"/proc/{pid}/ns/pid") == os.readlink(f"/proc/{self.init}/ns/pid")

    def shut_down(self):
        # Process 1 takes all others of its namespace with it, and the mounts go with the last of them.
        for child in self._children() if self._boot.poll() is None else []:
            os.kill(child, 9)
        self._boot.kill()
        self._boot.wait()
        for mount in _CONTROL_GROUP_MOUNTS:
            directory = f"{mount}/{self._control_group}"
            for _ in range(50):
                if not os.path.isdir(directory):
                    break
                processes.run(["sh", "-c", f"find {shlex.quote(directory)} -depth -type d -exec rmdir {{}} +"],
                              check=False)
                time.sleep(0.05)


def _name(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except FileNotFoundError:
        return None


def _inside_numbers(pid):
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith("NSpid:"):
                    return [int(number) for number in line.split()[1:]]
    except (FileNotFoundError, ProcessLookupError):
        pass
    return []
