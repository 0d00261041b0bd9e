"""Hosts made of network namespaces, joined by veth pairs."""

import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import processes

HOST_IPV4, HOST_IPV6 = "10.77.0.1", "fd77::1"
PEER_IPV4, PEER_IPV6 = "10.77.0.2", "fd77::2"
# Further addresses of the peer, for tests with several destinations.
PEER_MORE_IPV4 = [f"10.77.0.{last}" for last in range(11, 21)]
PEER_MORE_IPV6 = [f"fd77::{last}" for last in range(11, 21)]

_PREFIX = "hgt"
_numbers = itertools.count(1)


class Namespace:
    """A network namespace. Whatever runs in it is killed when it is deleted."""

    def __init__(self, role):
        self.name = f"{_PREFIX}{os.getpid()}-{next(_numbers)}-{role}"
        processes.run(["ip", "netns", "add", self.name])
        self.run("ip", "link", "set", "lo", "up")

    def command(self, *command):
        return ["ip", "netns", "exec", self.name, *command]

    def run(self, *command, **options):
        return processes.run(self.command(*command), **options)

    def start(self, *command, **options):
        return processes.start(self.command(*command), **options)

    def links(self):
        return {link["ifname"]: link for link in json.loads(self.run("ip", "-j", "-d", "link", "show").stdout)}

    def delete(self):
        _delete(self.name)


class Network:
    """A host whose eth0 is to be shaped, and the peer at the far end of its wire."""

    def __init__(self, host=None):
        self.namespaces = []
        self.host = host or self._add("host")
        self.peer = self._add("peer")
        connect(["netns", self.host.name], ["netns", self.peer.name])
        configure(self.host.run, [f"{HOST_IPV4}/24"], [f"{HOST_IPV6}/64"])
        configure_peer(self.peer)
        wait_for_answers(self.host.run)

    def _add(self, role):
        namespace = Namespace(role)
        self.namespaces.append(namespace)
        return namespace

    def delete(self):
        for namespace in self.namespaces:
            namespace.delete()


class TunNetwork:
    """A host and the peer at the far end of a wire without Ethernet header, which carries tun0 of the one to tun0 of the
    other. The hardware type can be one that other devices have; with `offload` super-packets pass."""

    def __init__(self, hardware_type=None, offload=False):
        self.host, self.peer = self.namespaces = [Namespace(role) for role in ("host", "peer")]
        ferry_tun(self.host, self.peer, "tun0", hardware_type, offload)
        configure(self.host.run, [f"{HOST_IPV4}/24"], [f"{HOST_IPV6}/64"], "tun0")
        configure_peer(self.peer, "tun0")
        wait_for_answers(self.host.run)

    def delete(self):
        for namespace in self.namespaces:
            namespace.delete()


def ferry_tun(one, other, interface, hardware_type=None, offload=False):
    """Makes a tun device in each of two namespaces, and the wire between them. It ends with the later namespace."""
    options = (["--hardware-type", hardware_type] if hardware_type is not None else []) + (["--offload"] if offload else [])
    ferry = processes.start(["python3", pathlib.Path(__file__).with_name("tun_ferry.py"), one.name, other.name, interface,
                             *options], stdout=subprocess.PIPE, text=True)
    assert ferry.stdout.readline() == "ready\n"
    return ferry


class InlineNetwork:
    """A host and a peer, and between them a machine that is to be a wire: its eth0 is the host's, its eth1 the peer's."""

    def __init__(self):
        self.host, self.middle, self.peer = self.namespaces = [Namespace(role) for role in ("host", "middle", "peer")]
        for end, interface in ((self.host, "eth0"), (self.peer, "eth1")):
            processes.run(["ip", "link", "add", "eth0", "netns", end.name, "type", "veth", "peer", "name", interface,
                           "netns", self.middle.name])
            self.middle.run("ip", "link", "set", interface, "up")
        configure(self.host.run, [f"{HOST_IPV4}/24"], [f"{HOST_IPV6}/64"])
        configure_peer(self.peer)

    def wait_for_answers(self):
        wait_for_answers(self.host.run)

    def delete(self):
        for namespace in self.namespaces:
            namespace.delete()


def connect(host, peer, interface="eth0"):
    """Makes the wire. Each end is ["netns", name or process]."""
    processes.run(["ip", "link", "add", interface, *host, "type", "veth", "peer", "name", interface, *peer])


def configure(run, ipv4, ipv6, interface="eth0"):
    for address in ipv4:
        run("ip", "address", "add", address, "dev", interface)
    for address in ipv6:
        run("ip", "address", "add", address, "dev", interface, "nodad")
    run("ip", "link", "set", interface, "up")


def configure_peer(peer, interface="eth0"):
    configure(peer.run, [f"{address}/24" for address in [PEER_IPV4, *PEER_MORE_IPV4]],
              [f"{address}/64" for address in [PEER_IPV6, *PEER_MORE_IPV6]], interface)


def wait_for_answers(run, patience=10):
    """Until the peer can be reached; right after an interface comes up, IPv6 loses the first packets."""
    deadline = time.monotonic() + patience
    for address in (PEER_IPV4, PEER_IPV6):
        while run("ping", "-n", "-c", 1, "-W", 0.1, address, check=False).returncode != 0:
            assert time.monotonic() < deadline, f"{address} does not answer after {patience} s"


def _delete(name, check=True):
    for attempt in range(50):
        pids = processes.run(["ip", "netns", "pids", name], check=False).stdout.split()
        for pid in pids:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not pids:
            break
        time.sleep(0.02)
    processes.run(["ip", "netns", "delete", name], check=check)


def leftovers():
    """Namespaces of this run."""
    return [name for name, pid in _ours() if pid == os.getpid()]


def sweep():
    """Deletes the namespaces of runs that were killed, as another run that begins may do as well."""
    for name, pid in _ours():
        if not os.path.exists(f"/proc/{pid}"):
            _delete(name, check=False)


def _ours():
    listing = processes.run(["ip", "netns", "list"]).stdout
    for line in listing.splitlines():
        match = re.match(rf"({_PREFIX}(\d+)-\S+)", line)
        if match:
            yield match[1], int(match[2])
