"""What the kernel notes beside a packet, its mark and its priority, is the same behind headgate as before it."""

import re
import sys
import time

import pytest

import network
from traffic import Receiver, Sender

SHAPE = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "ssh"
  match = "tcp port 22"
  bypass = true
  [[shape.class]]
  name = "load"
  match = "udp dst portrange 5000-5999"
  key = "5-tuple"
  rate = "2000pps"
  queue = "500p"
"""

MARK = 0x10
ODD_MARK = 0x68681234  # not headgate's, but near it
PRIORITY = 0x10003  # names a class of htb
SEND = f"""
import socket
def send(port, mark, priority):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(socket.SOL_SOCKET, 36, mark)      # SO_MARK
        udp.setsockopt(socket.SOL_SOCKET, 12, priority)  # SO_PRIORITY
        for _ in range(100):
            udp.sendto(b"x" * 100, ("{network.PEER_IPV4}", port))
for port in (5000, 7000):  # shaped, and matched by no class
    send(port, 0, 0)
    send(port, {MARK}, 0)
    send(port, {ODD_MARK}, 0)
    send(port, 0, {PRIORITY})
"""

LOAD_MARK = 0xfffff000 + 20  # of classic BPF: SKF_AD_OFF + SKF_AD_MARK


def add_classes(host):
    """1:2 for all but what a priority names, or a mark puts in 1:4 or 1:5."""
    host.run("tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb", "default", "2")
    for number in (2, 3, 4, 5):
        host.run("tc", "class", "add", "dev", "eth0", "parent", "1:", "classid", f"1:{number}", "htb", "rate", "1gbit")
    for number, mark in ((4, MARK), (5, ODD_MARK)):
        code = f"4,32 0 0 {LOAD_MARK},21 0 1 {mark},6 0 0 4294967295,6 0 0 0"
        host.run("tc", "filter", "add", "dev", "eth0", "parent", "1:", "protocol", "all", "prio", str(number), "bpf",
                 "bytecode", code, "flowid", f"1:{number}")


def sent_by_class(host):
    shown = host.run("tc", "-s", "class", "show", "dev", "eth0").stdout
    return {int(number): int(packets)
            for number, packets in re.findall(r"class htb 1:(\d)[^\n]*\n\s*Sent \d+ bytes (\d+) pkt", shown)}


def test_mark_and_priority_decide_in_the_queueing_discipline_behind_headgate(net, headgate, divert):
    add_classes(net.host)
    headgate.start(SHAPE, divert=divert)
    before = sent_by_class(net.host)
    net.host.run(sys.executable, "-c", SEND)
    load = headgate.settled_class("load", 400)
    assert load["sent"]["packets"] == 400
    unmatched = headgate.shape()["unmatched"]
    after = sent_by_class(net.host)
    assert {number: after[number] - before[number] for number in (3, 4, 5)} == {3: 200, 4: 200, 5: 200}
    assert after[2] - before[2] >= 200
    assert unmatched["packets"] >= 400


def test_a_mark_that_leaves_no_room_is_said(net, headgate):
    headgate.start(SHAPE, mark=0x68670001)
    assert "lose their mark and priority" in headgate.log()
    net.host.run(sys.executable, "-c", SEND)
    assert headgate.settled_class("load", 400)["sent"]["packets"] == 400


@pytest.mark.parametrize("direction", ["egress", "ingress"])
def test_what_no_class_shapes_is_counted_where_it_passes(net, headgate, divert, direction):
    headgate.start(SHAPE.replace('"eth0"\n', f'"eth0"\ndirection = "{direction}"\n'), divert=divert)
    source, address = (net.host, network.PEER_IPV4) if direction == "egress" else (net.peer, network.HOST_IPV4)
    source.run("ping", "-c", "20", "-i", "0.01", address)
    shape = headgate.shape()
    assert shape["unmatched"]["packets"] >= 20
    assert shape["received"] == shape["sent"]


def test_a_class_that_changes_by_a_reload_is_counted_and_in_order(net, headgate, programs, divert):
    """Shaped, let go, shaped again, under load: nothing is lost, nothing overtakes."""
    headgate.start(SHAPE, divert=divert)
    receiver = Receiver(net.peer, programs)
    load = Sender(net.host, programs, network.PEER_IPV4, flows=2, rate=1000, seconds=7)
    for config in (SHAPE.replace('rate = "2000pps"\n', "bypass = true\n").replace('key = "5-tuple"\n', "")
                   .replace('queue = "500p"\n', ""), SHAPE):
        time.sleep(2.2)
        headgate.write(config, divert=divert)
        headgate.reload()
    offered = load.finish()["sent"]
    counters = headgate.settled_class("load", offered)
    arrivals = receiver.stop()
    assert len(arrivals) == offered
    assert arrivals.reordered() == 0
    assert counters["received"]["packets"] == counters["sent"]["packets"] == offered
