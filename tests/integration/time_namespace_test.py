"""A daemon whose CLOCK_MONOTONIC is not that of the eBPF programs: time_namespaces(7)."""

import os
import signal
import time

import pytest

import network
from daemon import class_of
from traffic import Sender

CONFIG = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "load"
  match = "udp dst portrange 5000-5999"
  rate  = "1000pps"
  queue = "100p"
"""


class InTimeNamespace:
    """A network namespace whose processes live by another clock."""

    def __init__(self, namespace, offset):
        self._namespace = namespace
        self._offset = offset

    def start(self, *command, **options):
        return self._namespace.start("unshare", "--time", "--monotonic", self._offset, *command, **options)


OFFSETS = {"ahead": lambda uptime: 1_000_000, "behind": lambda uptime: -int(uptime / 2)}


@pytest.mark.measured
@pytest.mark.parametrize("clock", OFFSETS)
def test_the_dead_man_switch_goes_by_the_clock_of_the_kernel(net, headgates, programs, clock):
    headgate = headgates(InTimeNamespace(net.host, OFFSETS[clock](time.clock_gettime(time.CLOCK_MONOTONIC))))
    headgate.start(CONFIG)
    assert os.readlink(f"/proc/{headgate.process.pid}/ns/time") != os.readlink("/proc/self/ns/time")
    load = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=600)
    states = []
    for _ in range(20):
        time.sleep(0.1)
        states.append(headgate.shape()["state"])
    assert set(states) == {""}
    assert class_of(headgate.shape(), "load")["dropped"]["packets"] > 0

    stopped = time.monotonic()
    headgate.signal(signal.SIGSTOP)
    time.sleep(2)
    headgate.signal(signal.SIGCONT)
    time.sleep(1)
    unshaped = headgate.shape()["unshaped"]
    ended = time.monotonic()
    load.stop()
    assert unshaped["times"] == 1
    assert 1 < unshaped["seconds"] < ended - stopped
