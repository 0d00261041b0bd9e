"""Many shapes at few workers: what they share, and what they do not take from each other."""

import os
import pathlib
import signal
import time

import pytest

import network
import traces
from daemon import check_law, class_of
from foreign_program import DROP, ForeignProgram
from traffic import Receiver, Sender, gaps

SHAPES = 20

PER_DESTINATION = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "clients"
  key   = "dst"
  rate  = "{rate}"
  queue = "{queue}"
"""

NOT_LIMITED = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "all"
  rate  = "1000000pps"
  queue = "10000p"
"""


def many_shapes(count):
    return "".join(f'[[shape]]\ninterface = "many{i}"\n  [[shape.class]]\n  name = "all"\n  rate = "1000pps"\n'
                   for i in range(count))


def worker_threads(headgate):
    names = (path.read_text().strip()
             for path in pathlib.Path(f"/proc/{headgate.process.pid}/task").glob("*/comm"))
    return sorted(name for name in names if name.startswith("hg-worker"))


def resident_megabytes(headgate):
    status = pathlib.Path(f"/proc/{headgate.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


def test_twenty_shapes_share_at_most_a_worker_a_processor_and_little_memory(net, headgate, divert, figure):
    for i in range(SHAPES):
        net.host.run("ip", "link", "add", f"many{i}", "type", "veth", "peer", "name", f"far{i}")
        net.host.run("ip", "link", "set", f"many{i}", "up")
        net.host.run("ip", "link", "set", f"far{i}", "up")
    headgate.start(many_shapes(SHAPES), divert=divert, wait=False)
    headgate.wait_ready(patience=60)
    shapes = headgate.show()["shapes"]
    assert len(shapes) == SHAPES
    assert all(shape["diverting"] for shape in shapes)
    assert 1 <= len(worker_threads(headgate)) <= os.cpu_count()
    megabytes = resident_megabytes(headgate)
    figure("resident memory of twenty shapes, MB", round(megabytes))
    if headgate.programs.parent.name == "release":
        assert megabytes < 600  # twenty capture rings take half of it
    headgate.stop(patience=60)
    traces.assert_none(net.host)


def test_the_number_of_workers_is_set_for_the_daemon(net, headgate, divert):
    for i in range(3):
        net.host.run("ip", "link", "add", f"many{i}", "type", "veth", "peer", "name", f"far{i}")
        net.host.run("ip", "link", "set", f"many{i}", "up")
    headgate.start(many_shapes(3), divert=divert, workers=1)
    assert worker_threads(headgate) == ["hg-worker-0"]


def test_large_packets_and_exact_departures_have_workers_of_their_own(net, headgate, divert):
    for i in range(2):
        net.host.run("ip", "link", "add", f"many{i}", "type", "veth", "peer", "name", f"far{i}")
        net.host.run("ip", "link", "set", f"many{i}", "up")
    config = many_shapes(2).replace('interface = "many1"', 'interface = "many1"\nsegmentation = "whole"')
    headgate.start(config, divert=divert, workers=1)
    assert worker_threads(headgate) == ["hg-worker-0", "hg-worker-1"]


def test_a_queue_that_is_full_for_one_destination_starves_no_other(net, headgate, programs, divert):
    """One destination has 1 Mbit/s below headgate and gets 30 000 packets/s; its refusals must hold up nobody."""
    host = net.host
    host.run("tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb", "default", "20")
    host.run("tc", "class", "add", "dev", "eth0", "parent", "1:", "classid", "1:10", "htb", "rate", "1mbit")
    host.run("tc", "class", "add", "dev", "eth0", "parent", "1:", "classid", "1:20", "htb", "rate", "1gbit")
    host.run("tc", "qdisc", "add", "dev", "eth0", "parent", "1:10", "pfifo", "limit", "1000")
    host.run("tc", "qdisc", "add", "dev", "eth0", "parent", "1:20", "pfifo", "limit", "100000")
    host.run("tc", "filter", "add", "dev", "eth0", "parent", "1:", "protocol", "ip", "u32",
             "match", "ip", "dport", "6000", "0xffff", "flowid", "1:10")
    headgate.start(NOT_LIMITED, divert=divert)
    receiver = Receiver(net.peer, programs)
    flood = Sender(host, programs, network.PEER_IPV4, rate=30_000, seconds=5, port=6000)
    time.sleep(1)
    sent = Sender(host, programs, network.PEER_IPV4, rate=1000, count=3000, port=5000).finish()["sent"]
    flood.stop(refusals=True)
    arrived = receiver.stop(settle=0.5).of_port(5000)
    shape = headgate.shape()
    check_law(shape)
    assert class_of(shape, "all")["dropped"]["reasons"]["send_failed"]["packets"] > 0
    lost = shape["lost"]["ring"]["packets"] + shape["lost"]["device"]["packets"]
    assert len(arrived) >= sent - lost
    assert len(arrived) >= sent * 0.99


def test_a_queue_that_is_full_on_one_interface_starves_no_other(net, headgate, programs):
    host = net.host
    host.run("ip", "link", "add", "other0", "type", "veth", "peer", "name", "far0")
    for device in ("other0", "far0"):
        host.run("ip", "link", "set", device, "up")
    host.run("ip", "addr", "add", "10.78.0.1/24", "dev", "other0")
    host.run("ip", "neigh", "add", "10.78.0.2", "lladdr", "02:00:00:00:00:77", "dev", "other0")
    host.run("tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb", "default", "1")
    host.run("tc", "class", "add", "dev", "eth0", "parent", "1:", "classid", "1:1", "htb", "rate", "1mbit")
    host.run("tc", "qdisc", "add", "dev", "eth0", "parent", "1:1", "pfifo", "limit", "1000")
    headgate.start(NOT_LIMITED + NOT_LIMITED.replace("eth0", "other0"), workers=1)
    flood = Sender(host, programs, network.PEER_IPV4, rate=30_000, seconds=5)
    time.sleep(1)
    sent = Sender(host, programs, "10.78.0.2", rate=1000, count=3000).finish()["sent"]
    flood.stop(refusals=True)
    counters = headgate.settled_class("all", sent, interface="other0")
    assert counters["sent"]["packets"] >= sent
    assert counters["dropped"]["packets"] == 0
    assert class_of(headgate.shape("eth0"), "all")["dropped"]["reasons"]["send_failed"]["packets"] > 0


def test_what_a_program_behind_ours_drops_is_tried_once_and_delays_no_other(net, headgate, programs):
    headgate.start(PER_DESTINATION.format(rate="800pps", queue="20p"), divert="tcx")
    refused = network.PEER_MORE_IPV4[0]
    ForeignProgram(net.host, "eth0", "egress", DROP, place="behind", to=refused)
    receiver = Receiver(net.peer, programs)
    loads = [Sender(net.host, programs, to, rate=700, count=2100) for to in (network.PEER_IPV4, refused)]
    for load in loads:
        load.finish(refusals=True)
    counters = headgate.settled_class("clients", 4200)
    assert {to for to, _ in receiver.stop(settle=0.5).flows} == {network.PEER_IPV4}
    assert counters["sent"]["packets"] == 2100
    assert counters["dropped"]["reasons"]["send_failed"]["packets"] == 2100


@pytest.mark.measured
def test_while_a_removed_shape_sends_its_long_queue_another_shape_of_its_worker_gets_on(net, headgate, programs, divert, figure):
    queued = 150_000
    network.connect(["netns", net.host.name], ["netns", net.peer.name], "eth9")
    network.configure(net.host.run, ["10.78.0.1/24"], ["fd78::1/64"], "eth9")
    network.configure(net.peer.run, ["10.78.0.2/24"], ["fd78::2/64"], "eth9")
    long_queue = PER_DESTINATION.format(rate="10pps", queue=f"{queued}p")
    other = PER_DESTINATION.format(rate="2000pps", queue="100p").replace('"eth0"', '"eth9"')
    headgate.start(long_queue + other, divert=divert, workers=1)
    Sender(net.host, programs, network.PEER_IPV4, rate=100_000, count=queued).finish(refusals=True)
    waiting = class_of(headgate.shape(), "clients")["queued"]["packets"]
    assert waiting > queued * 0.9
    receiver = Receiver(net.peer, programs, interface="eth9")
    load = Sender(net.host, programs, "10.78.0.2", rate=1000, seconds=3)
    time.sleep(1)
    headgate.write(other, divert=divert, workers=1)
    began = time.monotonic()
    headgate.reload()
    took = time.monotonic() - began
    offered = load.finish()["sent"]
    headgate.settled_class("clients", offered, interface="eth9")
    flow = receiver.stop().only()
    longest = max(gaps(flow)) / 1e6
    figure("reload that sends what is queued", f"{waiting} packets, {took:.2f} s")
    figure("longest gap of the other shape, ms", round(longest, 1))
    assert len(flow) == offered
    assert longest < 40


def test_after_a_stop_of_the_process_no_flow_overtakes_itself(net, headgate, programs, divert):
    headgate.start(PER_DESTINATION.format(rate="3000pps", queue="2000p"), divert=divert)
    receiver = Receiver(net.peer, programs)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=20_000, seconds=60, flows=4)
    for _ in range(3):
        time.sleep(0.5)
        headgate.signal(signal.SIGSTOP)
        time.sleep(1)
        headgate.signal(signal.SIGCONT)
    time.sleep(0.5)
    load.stop()
    arrivals = receiver.stop(settle=1)
    shape = headgate.shape()
    check_law(shape)
    assert shape["unshaped"]["times"] >= 1
    assert class_of(shape, "clients")["dropped"]["reasons"]["overtaken"]["packets"] > 0
    assert arrivals.reordered() == 0
