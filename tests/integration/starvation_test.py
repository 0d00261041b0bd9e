"""A daemon that gets too little of the processor says so, and why."""

import os
import subprocess
import time

import network
import pytest
from control_group import ControlGroup
from daemon import check_law, class_of
from traffic import Sender

# On each processor, ahead of every thread of a lower priority: busy for 80 of each 100 ms.
BUSY = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(90))
end = time.monotonic() + 60
while time.monotonic() < end:
    until = time.monotonic() + 0.08
    while time.monotonic() < until:
        pass
    time.sleep(0.02)
"""

FLOWS = 20

EACH_FLOW = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "clients"
  rate  = "2000pps"
  queue = "60p"
"""


def command_with_sys_as_it_is(namespace):
    """`ip netns exec` puts another /sys in the place of the one with the control groups."""
    return lambda *command: ["nsenter", f"--net=/run/netns/{namespace.name}", *command]


@pytest.fixture
def quota(headgate, monkeypatch):
    """Ends after the daemon, which must have left the group."""
    monkeypatch.setattr(headgate.namespace, "command", command_with_sys_as_it_is(headgate.namespace))
    group = ControlGroup(f"headgate-{os.getpid()}")
    yield group
    headgate.kill()
    group.remove()


def test_a_quota_of_processor_time_is_named_and_its_drops_are_starved(net, headgate, programs, quota):
    with quota.join():
        headgate.start(EACH_FLOW)
    assert not headgate.shape()["state"]
    quota.set_quota(3000)
    load = Sender(net.host, programs, network.PEER_IPV4, flows=FLOWS, rate=FLOWS * 1500, seconds=15)
    deadline = time.monotonic() + 12
    while "quota" not in (state := headgate.shape()["state"]):
        assert time.monotonic() < deadline, f"{state}:\n{headgate.log()}"
        time.sleep(0.1)
    assert f"the quota of /headgate-{os.getpid()} (cpu.max, CPUQuota=) withheld" in state
    assert "the quota of" in headgate.control("show").stdout
    load.stop()
    quota.end_quota()

    shape = headgate.shape()
    check_law(shape)
    assert shape["schedule_shifts"]["times"] > 0
    reasons = class_of(shape, "clients")["dropped"]["reasons"]
    assert reasons["starved"]["packets"] > 0
    # Each flow keeps to its rate, but for what a late sender makes up for.
    assert reasons["queue_full"]["packets"] < reasons["starved"]["packets"] / 20
    assert "the quota of" in headgate.log()
    # Said for some seconds longer than it lasts, and no more.
    deadline = time.monotonic() + 10
    while headgate.shape()["state"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.timed
def test_other_threads_of_real_time_priority_are_named(net, headgate, programs):
    headgate.start(EACH_FLOW)
    busy = [subprocess.Popen(["/usr/bin/python3", "-c", BUSY, str(processor)])
            for processor in sorted(os.sched_getaffinity(0))]
    try:
        load = Sender(net.host, programs, network.PEER_IPV4, flows=FLOWS, rate=FLOWS * 1000, seconds=10)
        deadline = time.monotonic() + 9
        while "real-time priority" not in (state := headgate.shape()["state"]):
            assert time.monotonic() < deadline, f"{state}:\n{headgate.log()}"
            time.sleep(0.1)
        assert state.startswith("too little processor time: other threads of real-time priority")
        load.stop(refusals=True)
    finally:
        for process in busy:
            process.kill()
            process.wait()
