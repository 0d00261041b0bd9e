"""Whatever happens to the interface, or to what is ours on it, the shape is right again within a second."""

import json
import signal
import time

import pytest

import network
import processes
import traces
from daemon import check_law, class_of
from traffic import Receiver, Sender, answers, rate_while_running
from transfer import Transfer

SHAPE = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "load"
  match = "udp dst portrange 5000-5999"
  rate = "1000pps"
  queue = "500p"
"""

INGRESS = SHAPE.replace('"eth0"\n', '"eth0"\ndirection = "ingress"\n')


def link(*arguments):
    return lambda net: net.host.run("ip", "link", *arguments)


def delete_clsact(net):
    net.host.run("tc", "qdisc", "del", "dev", "eth0", "clsact", check=False)  # by TCX there is none


def delete_all_qdiscs(net):
    for hook in ("root", "ingress", "clsact"):
        net.host.run("tc", "qdisc", "del", "dev", "eth0", hook, check=False)


def flush_firewall(net):
    net.host.run("nft", "flush", "ruleset")


def down_and_up(net):
    net.host.run("ip", "link", "set", "eth0", "down")
    time.sleep(0.2)
    net.host.run("ip", "link", "set", "eth0", "up")


def delete_and_come_back(net):
    net.host.run("ip", "link", "delete", "eth0")
    time.sleep(0.2)
    network.connect(["netns", net.host.name], ["netns", net.peer.name])
    network.configure(net.host.run, [f"{network.HOST_IPV4}/24"], [f"{network.HOST_IPV6}/64"])
    network.configure_peer(net.peer)


def peer_mac_to(net):
    net.host.run("ip", "link", "set", "eth0", "address", "02:68:67:00:00:99")
    net.peer.run("ip", "neighbour", "flush", "dev", "eth0")


CHANGES = {
    "down and up": down_and_up,
    "its MAC changes": peer_mac_to,
    "its MTU changes": link("set", "eth0", "mtu", 9000),
    "its MTU becomes the smallest": link("set", "eth0", "mtu", 1280),
    "it is renamed": link("set", "eth0", "name", "wan0"),
    "its queue changes": lambda net: net.host.run("tc", "qdisc", "replace", "dev", "eth0", "root", "pfifo"),
    "clsact is deleted": delete_clsact,
    "all qdiscs are deleted": delete_all_qdiscs,
    "the divert device is deleted": link("delete", "hg0"),
    "the capture device is deleted": link("delete", "hg0p"),
    "the divert device is set down": link("set", "hg0", "down"),
    "the capture device is set down": link("set", "hg0p", "down"),
    "the divert device's clsact is deleted": lambda net: net.host.run("tc", "qdisc", "del", "dev", "hg0p", "clsact",
                                                                      check=False),
    "the firewall is flushed": flush_firewall,
}


@pytest.mark.measured
@pytest.mark.parametrize("change", CHANGES)
def test_the_rate_holds_again_a_second_after(net, headgate, programs, divert, change):
    headgate.start(SHAPE, divert=divert)
    receiver = Receiver(net.peer, programs)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=600)
    time.sleep(0.3)
    received = class_of(headgate.shape(), "load")["received"]["packets"]
    CHANGES[change](net)
    changed = time.time()
    time.sleep(1.6)
    shape = headgate.shape()
    assert shape["diverting"], shape["state"]
    assert shape["state"] == ""
    load.stop(refusals=True)
    flow = [arrival for arrival in receiver.stop().only() if changed + 1 <= arrival.time / 1e9 < changed + 1.6]
    assert rate_while_running(flow, 1000) == pytest.approx(1000, rel=0.01)
    check_law(shape)
    assert class_of(shape, "load")["received"]["packets"] > received, "the counters began anew"
    assert len(traces.divert_devices(net.host)) == 2


INGRESS_CHANGES = {change: CHANGES[change] for change in (
    "down and up", "its MTU changes", "it is renamed", "all qdiscs are deleted", "the divert device is deleted",
    "the capture device is set down", "the firewall is flushed")}


@pytest.mark.parametrize("change", INGRESS_CHANGES)
def test_the_rate_of_what_arrives_holds_again_a_second_after(net, headgate, programs, divert, change):
    headgate.start(INGRESS, divert=divert)
    load = Sender(net.peer, programs, network.HOST_IPV4, rate=3000, seconds=600)
    time.sleep(0.2)
    INGRESS_CHANGES[change](net)
    time.sleep(1)
    before = headgate.shape()
    start = time.monotonic()
    time.sleep(0.6)
    shape, seconds = headgate.shape(), time.monotonic() - start
    assert shape["diverting"], shape["state"]
    check_law(shape)
    arrived = class_of(shape, "load")["received"]["packets"] - class_of(before, "load")["received"]["packets"]
    assert arrived == pytest.approx(3000 * seconds, rel=0.05)
    assert shape["unshaped"]["packets"] == before["unshaped"]["packets"]
    load.stop()


@pytest.mark.measured
def test_deleted_the_host_is_open_and_says_why_and_come_back_the_interface_is_shaped(net, headgate, programs, divert):
    headgate.start(SHAPE, divert=divert)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=1)
    load.finish()
    before = class_of(headgate.shape(), "load")
    net.host.run("ip", "link", "delete", "eth0")
    wait_until(lambda: not headgate.shape()["diverting"])
    shape = headgate.shape()
    assert shape["state"] == "interface eth0 was deleted"
    assert "interface eth0 was deleted" in headgate.log()
    assert traces.divert_devices(net.host) == []
    check_law(shape)
    assert class_of(shape, "load")["received"] == before["received"]

    network.connect(["netns", net.host.name], ["netns", net.peer.name])
    network.configure(net.host.run, [f"{network.HOST_IPV4}/24"], [f"{network.HOST_IPV6}/64"])
    network.configure_peer(net.peer)
    wait_until(lambda: headgate.shape()["diverting"])
    assert_shaped(net, headgate, programs)
    assert "shaping again" in headgate.log()


@pytest.mark.measured
def test_missing_at_the_start_it_is_shaped_when_it_appears(net, headgate, programs, divert):
    net.host.run("ip", "link", "delete", "eth0")
    headgate.start(SHAPE, divert=divert)
    shape = headgate.shape()
    assert not shape["diverting"]
    assert "no interface eth0" in shape["state"] and "no interface eth0" in headgate.log()
    network.connect(["netns", net.host.name], ["netns", net.peer.name])
    network.configure(net.host.run, [f"{network.HOST_IPV4}/24"], [f"{network.HOST_IPV6}/64"])
    network.configure_peer(net.peer)
    wait_until(lambda: headgate.shape()["diverting"])
    network.wait_for_answers(net.host.run)
    assert_shaped(net, headgate, programs)


@pytest.mark.measured
def test_an_end_of_the_wire_deleted_and_come_back_the_wire_carries_again(inline_net, headgates, programs, divert):
    config = SHAPE.replace('"eth0"\n', '"eth0"\nforward_to = "eth1"\n')
    back = config.replace('"eth0"', '"x"').replace('"eth1"', '"eth0"').replace('"x"', '"eth1"')
    headgate = headgates(inline_net.middle).start(config + back, divert=divert)
    inline_net.wait_for_answers()
    inline_net.middle.run("ip", "link", "delete", "eth1")
    wait_until(lambda: not any(shape["diverting"] for shape in headgate.show()["shapes"]))
    assert all("eth1" in shape["state"] or "deleted" in shape["state"] for shape in headgate.show()["shapes"])
    processes.run(["ip", "link", "add", "eth0", "netns", inline_net.peer.name, "type", "veth", "peer", "name", "eth1",
                   "netns", inline_net.middle.name])
    inline_net.middle.run("ip", "link", "set", "eth1", "up")
    network.configure_peer(inline_net.peer)
    inline_net.host.run("ip", "neighbour", "flush", "dev", "eth0")  # the peer has another MAC now
    wait_until(lambda: all(shape["diverting"] for shape in headgate.show()["shapes"]))
    inline_net.wait_for_answers()
    assert_shaped(inline_net, headgate, programs)


WIRE_CHANGES = {
    "an MTU changes": ["ip", "link", "set", "eth1", "mtu", "9000"],
    "a divert device is deleted": ["ip", "link", "delete", "hg0"],
    "a capture device is set down": ["ip", "link", "set", "hg1p", "down"],
    "clsact is deleted": ["tc", "qdisc", "del", "dev", "eth0", "clsact"],
    "promiscuous mode is set off": ["ip", "link", "set", "eth1", "promisc", "off"],
}


@pytest.mark.measured
@pytest.mark.parametrize("change", WIRE_CHANGES)
def test_the_wire_is_whole_and_shaped_again_a_second_after(inline_net, headgates, programs, divert, change):
    config = SHAPE.replace('"eth0"\n', '"eth0"\nforward_to = "eth1"\n')
    back = config.replace('"eth0"', '"x"').replace('"eth1"', '"eth0"').replace('"x"', '"eth1"')
    headgate = headgates(inline_net.middle).start(config + back, divert=divert)
    inline_net.wait_for_answers()
    receiver = Receiver(inline_net.peer, programs)
    load = Sender(inline_net.host, programs, network.PEER_IPV4, rate=3000, seconds=600)
    inline_net.middle.run(*WIRE_CHANGES[change])
    changed = time.time()
    time.sleep(1.6)
    assert all(shape["diverting"] for shape in headgate.show()["shapes"])
    assert answers(inline_net.host, network.PEER_IPV4)
    load.stop()
    flow = [arrival for arrival in receiver.stop().only() if changed + 1 <= arrival.time / 1e9 < changed + 1.6]
    assert rate_while_running(flow, 1000) == pytest.approx(1000, rel=0.01)
    for interface in ("eth0", "eth1"):
        assert inline_net.middle.links()[interface]["promiscuity"] > 0


def test_a_transfer_survives_every_change_byte_for_byte(net, headgate, divert):
    headgate.start(SHAPE.replace('match = "udp dst portrange 5000-5999"', "").replace(
        'rate = "1000pps"', 'rate = "20mbit"').replace('"500p"', '["500p", "50ms"]'), divert=divert)
    transfer = Transfer(net.host, net.peer, network.PEER_IPV4, 20_000_000, pace=2_000_000)
    for change in ("its MTU changes", "clsact is deleted", "the divert device is deleted", "down and up",
                   "the capture device is set down", "its MTU becomes the smallest", "all qdiscs are deleted"):
        CHANGES[change](net)
        wait_until(lambda: headgate.shape()["diverting"])
        time.sleep(0.7)
        assert transfer.running(), "the transfer was over before the changes were"
    transfer.finish()
    shape = headgate.shape()
    check_law(shape)
    assert shape["dropped"]["reasons"]["clipped"]["packets"] == 0


def test_a_stall_is_counted_with_how_often_and_how_long(net, headgate, programs, divert):
    headgate.start(SHAPE, divert=divert)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=2000, seconds=600)
    time.sleep(0.3)
    for _ in range(2):
        headgate.signal(signal.SIGSTOP)
        time.sleep(1.5)
        headgate.signal(signal.SIGCONT)
        time.sleep(1.5)
    unshaped = headgate.shape()["unshaped"]
    print(json.dumps(unshaped))
    assert unshaped["packets"] == pytest.approx(2 * 2000, rel=0.2)  # of each stop all but the first half second
    assert unshaped["times"] == 2
    assert unshaped["seconds"] == pytest.approx(2, rel=0.2)
    assert headgate.log().count("unshaped") >= 2
    load.stop()


def wait_until(condition, patience=1):
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"not within {patience} s"
        time.sleep(0.02)


def assert_shaped(net, headgate, programs):
    """What is sent now arrives at the rate, and is counted."""
    before = class_of(headgate.shape(), "load")["received"]["packets"]
    receiver = Receiver(net.peer, programs)
    offered = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=1.5).finish()["sent"]
    flow = receiver.stop(settle=0.6).only()
    assert rate_while_running(flow, 1000) == pytest.approx(1000, rel=0.01)
    assert class_of(headgate.shape(), "load")["received"]["packets"] == before + offered
