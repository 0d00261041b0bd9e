"""Two hundred changes under load, after which nothing has grown."""

import os
import re
import time

import network
import traces
from daemon import check_law
from traffic import Sender, answers

CONFIG = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "load"
  match = "udp dst portrange 5000-5999"
  key = "5-tuple"
  rate = "1000pps"
  queue = "100p"

[[shape]]
interface = "eth0"
direction = "ingress"
  [[shape.class]]
  name = "load"
  rate = "10000pps"
"""

CHANGES = 200
WARM_UP = 60  # until every buffer has been needed once, and every queue been as long as it gets


def resident_kilobytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1])


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def bpf_objects(pid):
    """Programs and maps that the process holds, by its descriptors."""
    return sum("bpf" in os.readlink(f"/proc/{pid}/fd/{descriptor}") for descriptor in os.listdir(f"/proc/{pid}/fd"))


def holdings(pid, net, patience=5):
    """Descriptors, BPF objects, threads and interfaces, once two looks in a row agree: some last for a request only."""
    deadline, last = time.monotonic() + patience, None
    while True:
        try:
            now = [descriptors(pid), bpf_objects(pid), threads(pid), len(net.host.links())]
        except FileNotFoundError:  # a descriptor that was closed between listing and reading it
            now = None
        if now and now == last:
            return now
        assert time.monotonic() < deadline, f"does not come to rest: {last}, {now}"
        last = now
        time.sleep(0.3)


def test_memory_descriptors_and_devices_do_not_grow(net, headgate, programs, divert, figure):
    headgate.start(CONFIG, divert=divert)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=2000, flows=20, seconds=600)
    back = Sender(net.peer, programs, network.HOST_IPV4, rate=2000, flows=20, seconds=600)

    def ip(*arguments):
        net.host.run("ip", "link", *arguments, check=False)

    changes = [
        lambda: ip("set", "eth0", "mtu", 9000),
        lambda: ip("delete", traces.divert_devices(net.host)[0].split("p@")[0]),
        lambda: ip("set", "eth0", "mtu", 1500),
        lambda: net.host.run("tc", "qdisc", "del", "dev", "eth0", "clsact", check=False),
        lambda: ip("set", traces.divert_devices(net.host)[-1], "down"),
    ]
    pid = headgate.process.pid
    before = None
    for number in range(CHANGES):
        changes[number % len(changes)]()
        wait_until_shaping(headgate)
        if number + 1 == WARM_UP:
            memory_before, before = resident_kilobytes(pid), holdings(pid, net)
    memory = resident_kilobytes(pid)
    figure("resident kB before and after", [memory_before, memory])
    assert holdings(pid, net) == before
    assert headgate.log().count("shaping again") >= CHANGES  # of two shapes, which most changes concern both
    # One step of the packets' memory, if more of them wait than before, and of 140 changes less than 15 kB each: of no ring
    # and no table.
    assert memory - memory_before <= 2048 + 2048
    assert answers(net.host, network.PEER_IPV4)
    for shape in headgate.show()["shapes"]:
        check_law(shape)
    load.stop(refusals=True)
    back.stop(refusals=True)
    headgate.stop()
    traces.assert_none(net.host)


def wait_until_shaping(headgate, patience=1.5):
    deadline = time.monotonic() + patience
    while not all(shape["diverting"] for shape in headgate.show()["shapes"]):
        assert time.monotonic() < deadline, headgate.log()
        time.sleep(0.01)
