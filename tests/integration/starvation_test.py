"""A daemon that gets too little of the processor says so, and why."""

import os
import time

import network
import pytest
from control_group import ControlGroup
from daemon import check_law, class_of
from traffic import Sender

FLOWS = 20

EACH_FLOW = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "clients"
  rate  = "2000pps"
  queue = "20p"
"""


@pytest.fixture
def quota(headgate):
    """Ends after the daemon, which must have left the group."""
    group = ControlGroup(f"headgate-{os.getpid()}")
    yield group
    headgate.kill()
    group.remove()


def test_a_quota_of_processor_time_is_named_and_its_drops_are_starved(net, headgate, programs, quota):
    with quota.join():
        headgate.start(EACH_FLOW)
    assert not headgate.shape()["state"]
    quota.set_quota(3000)
    load = Sender(net.host, programs, network.PEER_IPV4, flows=FLOWS, rate=FLOWS * 1900, seconds=15)
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
    assert reasons.get("queue_full", {"packets": 0})["packets"] == 0, "each flow keeps to its rate"
    assert "the quota of" in headgate.log()
    # Said for some seconds longer than it lasts, and no more.
    deadline = time.monotonic() + 10
    while headgate.shape()["state"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
