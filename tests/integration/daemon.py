"""A headgated under test, and what headgatectl says of it."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import processes

# ExitCode of daemon/vocabulary/control_message.hpp
EXIT_OK, EXIT_USAGE, EXIT_REFUSED, EXIT_NOT_RUNNING, EXIT_NOT_PERMITTED = range(5)

_SANITIZER_SIGNS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error:", "WARNING: ThreadSanitizer")


class ServiceManager:
    """Stands in for systemd: takes in what the daemon notifies of, all the time, as systemd does."""

    def __init__(self, path):
        self.path = path
        self.messages = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while datagram := self._socket.recv(4096):
            self.messages += datagram.decode().splitlines()

    def close(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as goodbye:
            goodbye.sendto(b"", str(self.path))


class Headgate:
    """One daemon with its own configuration file and control socket, in a directory of its own."""

    capture = None  # the capture back end of every shape; None: as the configuration says
    standard_error = None  # a descriptor; None: the log file
    workers = 1  # of each shape in a configuration that says nothing of them

    def __init__(self, namespace, programs):
        self.namespace = namespace
        self.programs = programs
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="hgt-"))
        self.config_path = self.directory / "headgate.toml"
        self.control_path = self.directory / "control.sock"
        self.log_path = self.directory / "headgated.log"
        self.process = None
        self._manager = None

    # Life

    def write(self, config, **daemon):
        """Writes the configuration; keywords become keys of its [daemon] table."""
        table = "".join(f"{key} = {json.dumps(value)}\n" for key, value in daemon.items() if value is not None)
        if self.capture:
            config = config.replace("[[shape]]\n", f'[[shape]]\ncapture = "{self.capture}"\n')
        if self.workers > 1 and "workers =" not in config and 'capture = "pcap"' not in config:
            config = config.replace("[[shape]]", f"[[shape]]\nworkers = {self.workers}")
        self.config_path.write_text((f"[daemon]\n{table}\n" if table else "") + config)

    def start(self, config=None, *, arguments=(), watchdog=None, wait=True, **daemon):
        """Starts with a configuration, or with `arguments` alone, and waits until it is ready."""
        if config is not None:
            self.write(config, **daemon)
            arguments = ["--config", self.config_path, *arguments]
        self.launch(arguments, watchdog)
        if wait:
            self.wait_ready()
        return self

    def launch(self, arguments, watchdog=None):
        assert self.process is None or self.process.poll() is not None
        self._end_manager()
        self._manager = ServiceManager(self.directory / f"notify-{time.monotonic_ns()}.sock")
        environment = dict(os.environ, NOTIFY_SOCKET=str(self._manager.path))
        if watchdog:
            environment["WATCHDOG_USEC"] = str(int(watchdog * 1e6))
        with open(self.log_path, "a") as log:
            self.process = self.namespace.start(self.programs / "headgated", "--control", self.control_path,
                                                *arguments, stdin=subprocess.DEVNULL, stdout=log,
                                                stderr=log if self.standard_error is None else self.standard_error,
                                                env=environment)

    def wait_ready(self, patience=30):
        self.wait_notification("READY=1", patience)
        return self

    def notifications(self):
        return self._manager.messages

    def wait_notification(self, wanted, patience=5, since=0):
        deadline = time.monotonic() + patience
        while not any(wanted in message for message in self.notifications()[since:]):
            assert self.process.poll() is None, f"headgated exited with {self.process.returncode}:\n{self.log()}"
            assert time.monotonic() < deadline, f"no {wanted} within {patience} s:\n{self.log()}"
            time.sleep(0.005)

    def _end_manager(self):
        if self._manager:
            self._manager.close()
            self._manager = None

    def running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, patience=10):
        """A clean stop; must succeed."""
        code = processes.end(self.process, patience=patience)
        assert code == 0, f"headgated ended with {code}:\n{self.log()}"

    def close(self):
        """Ends what still runs, checks the log for a sanitizer's words, and removes the directory."""
        try:
            if self.running():
                self.signal(signal.SIGCONT)
                self.stop()
            for sign in _SANITIZER_SIGNS:
                assert sign not in self.log(), self.log()
        finally:
            if self.running():
                self.kill()
            self._end_manager()
            shutil.rmtree(self.directory)

    def log(self):
        return self.log_path.read_text() if self.log_path.exists() else ""

    def wait_for_log(self, wanted, patience=5):
        deadline = time.monotonic() + patience
        while wanted not in self.log():
            assert time.monotonic() < deadline, f"no {wanted!r} within {patience} s:\n{self.log()}"
            time.sleep(0.05)

    # Questions

    def control(self, *arguments, check=True):
        return processes.run([self.programs / "headgatectl", "--control", self.control_path, *arguments], check=check)

    def json(self, *arguments):
        reply = json.loads(self.control("-j", *arguments).stdout)
        assert reply["schema"] == 1
        return reply

    def show(self):
        return self.json("show")

    def shape(self, interface="eth0", direction=None):
        return next(shape for shape in self.show()["shapes"]
                    if shape["interface"] == interface and direction in (None, shape["direction"]))

    def reload(self):
        return self.control("reload")

    def settled_class(self, name, received, patience=3, interface="eth0", direction=None):
        """The counters of a class once it has received so many packets and none is queued; checks the law."""
        deadline = time.monotonic() + patience
        while True:
            shape = self.shape(interface, direction)
            check_law(shape)
            counters = class_of(shape, name)
            if counters["received"]["packets"] >= received and counters["queued"]["packets"] == 0:
                return counters
            assert time.monotonic() < deadline, (
                f"class {name} has not received and emptied {received} packets: {json.dumps(shape, indent=1)}")
            time.sleep(0.05)


def class_of(shape, name):
    return next(counters for counters in shape["classes"] if counters["name"] == name)


def overflowed(counters):
    """Packets that found their bucket full. After a pause of the machine a part of them reads `starved`."""
    reasons = counters["dropped"]["reasons"]
    return reasons["queue_full"]["packets"] + reasons["starved"]["packets"]


def trouble_of(shape):
    """What `state` says, but for want of processor time: beside other tests any shape may have that."""
    return "" if shape["state"].startswith("too little processor time") else shape["state"]


def check_law(shape):
    """received = sent + dropped by reason + queued, for the shape and for each class, in packets and in bytes."""
    for counters in [shape, *shape["classes"]]:
        dropped = counters["dropped"]
        for unit in ("packets", "bytes"):
            assert counters["received"][unit] == (
                counters["sent"][unit] + dropped[unit] + counters["queued"][unit]), json.dumps(counters)
            if "reasons" in dropped:
                assert dropped[unit] == sum(reason[unit] for reason in dropped["reasons"].values())
