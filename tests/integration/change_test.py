"""Whatever happens to the interface, or to what is ours on it, the shape is right again within a second."""

import json
import signal
import time

import pytest

import network
import processes
import traces
from conversations import Conversations
from daemon import check_law, class_of, trouble_of
from link_events import LinkEvents
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


def divert_link(end, verb, *arguments):
    """Of the divert device as it is called now; `end`: "" or "p"."""
    def change(net):
        names = [name.split("@")[0] for name in traces.divert_devices(net.host)]
        net.host.run("ip", "link", verb, next(name for name in names if name.endswith("p") == bool(end)), *arguments)
    return change


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
    "the divert device is deleted": divert_link("", "delete"),
    "the other end of the divert device is deleted": divert_link("p", "delete"),
    "the divert device is set down": divert_link("", "set", "down"),
    "the divert device's MTU changes": divert_link("", "set", "mtu", 900),
    "the other end of the divert device is set down": divert_link("p", "set", "down"),
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
    assert trouble_of(shape) == ""
    load.stop(refusals=True)
    flow = [arrival for arrival in receiver.stop().only() if changed + 1 <= arrival.time / 1e9 < changed + 1.6]
    assert rate_while_running(flow, 1000) == pytest.approx(1000, rel=0.01)
    check_law(shape)
    assert class_of(shape, "load")["received"]["packets"] > received, "the counters began anew"
    assert len(traces.divert_devices(net.host)) == 2


INGRESS_CHANGES = {change: CHANGES[change] for change in (
    "down and up", "its MAC changes", "its MTU changes", "it is renamed", "all qdiscs are deleted", "the divert device is deleted",
    "the divert device's MTU changes", "the other end of the divert device is set down", "the firewall is flushed")}


@pytest.mark.timed
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


@pytest.mark.each_back_end
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


# How far a start has come, in changes of links: a divert pair is made, named, told its offloads, and set up.
@pytest.mark.parametrize("changes_of_links", [0, 1, 2, 4, 6, 8])
def test_an_interface_that_vanishes_during_the_start_is_waited_for(net, headgate, divert, changes_of_links):
    events = LinkEvents(net.host)
    eth0 = net.host.links()["eth0"]["ifindex"]
    headgate.start(SHAPE, divert=divert, wait=False)
    assert events.wait(changes_of_links)
    events.delete_link(eth0)
    headgate.wait_ready()
    wait_until(lambda: not headgate.shape()["diverting"])
    assert headgate.shape()["state"] in headgate.log()
    assert traces.divert_devices(net.host) == []
    network.connect(["netns", net.host.name], ["netns", net.peer.name])
    network.configure(net.host.run, [f"{network.HOST_IPV4}/24"], [f"{network.HOST_IPV6}/64"])
    network.configure_peer(net.peer)
    wait_until(lambda: headgate.shape()["diverting"])
    network.wait_for_answers(net.host.run)
    assert trouble_of(headgate.shape()) == ""
    events.close()


@pytest.mark.measured
@pytest.mark.parametrize("direction", ["egress", "ingress"])
def test_another_interface_that_takes_over_the_name_is_shaped_and_the_renamed_one_is_free(net, headgate, programs, divert,
                                                                                          direction):
    here, there = "10.78.0.1", "10.78.0.2"
    network.connect(["netns", net.host.name], ["netns", net.peer.name], "eth9")
    network.configure(net.host.run, [f"{here}/24"], ["fd78::1/64"], "eth9")
    network.configure(net.peer.run, [f"{there}/24"], ["fd78::2/64"], "eth9")
    headgate.start(SHAPE if direction == "egress" else INGRESS, divert=divert)
    source, to, old = ((net.host, there, network.PEER_IPV4) if direction == "egress" else
                       (net.peer, here, network.HOST_IPV4))
    loads = [Sender(source, programs, address, rate=3000, seconds=600) for address in (old, to)]
    time.sleep(0.5)
    net.host.run("ip", "link", "set", "eth0", "name", "old0")
    wait_until(lambda: headgate.shape()["diverting"])  # a rename alone changes nothing
    before = class_of(headgate.shape(), "load")["received"]["packets"]
    net.host.run("ip", "link", "set", "eth9", "name", "eth0")
    time.sleep(1)
    shape = headgate.shape()
    assert shape["diverting"] and trouble_of(shape) == ""
    first, start = class_of(shape, "load"), time.monotonic()
    time.sleep(0.7)
    shape, seconds = headgate.shape(), time.monotonic() - start
    last = class_of(shape, "load")
    check_law(shape)
    assert first["received"]["packets"] >= before
    assert last["received"]["packets"] - first["received"]["packets"] == pytest.approx(3000 * seconds, rel=0.05)
    assert last["sent"]["packets"] - first["sent"]["packets"] == pytest.approx(1000 * seconds, rel=0.05)
    assert "eth0 is another interface by now, the one before is called old0" in headgate.log()
    assert traces.tcx_programs(net.host, "old0") == 0 and traces.clsact_filters(net.host, "old0") == []
    assert len(traces.divert_devices(net.host)) == 2
    for load in loads:
        load.stop(refusals=True)


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
    "the other end of a divert device is set down": ["ip", "link", "set", "hg0p", "down"],
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


EVERYTHING = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "all"
  key = "5-tuple"
  rate = "20mbit"
  queue = ["500p", "50ms"]
"""

BOTH_WAYS = {
    "host": EVERYTHING + EVERYTHING.replace('"eth0"\n', '"eth0"\ndirection = "ingress"\n'),
    "wire": EVERYTHING.replace('"eth0"\n', '"eth0"\nforward_to = "eth1"\n')
            + EVERYTHING.replace('"eth0"\n', '"eth1"\nforward_to = "eth0"\n'),
}

# In turn, while everything is said both ways. An MTU that grows small is so at every end: the others do not know of it.
ALL_CHANGES = {
    "host": [change for change in CHANGES if change != "it is renamed"] + ["it is renamed"],
    "wire": ["its MTU changes", "clsact is deleted", "the divert device is deleted", "down and up",
             "the other end of the divert device is set down", "all qdiscs are deleted", "the firewall is flushed"],
}


@pytest.mark.each_back_end
@pytest.mark.parametrize("where", BOTH_WAYS)
def test_all_that_is_said_meanwhile_arrives_byte_for_byte_through_every_change(net, inline_net, headgates, divert, where):
    chosen = inline_net if where == "wire" else net
    shaped = inline_net.middle if where == "wire" else net.host
    shaped.run("sysctl", "-qw", "net.ipv6.conf.all.keep_addr_on_down=1")  # the kernel's own forgetfulness is not meant
    headgate = headgates(shaped).start(BOTH_WAYS[where], divert=divert)
    network.wait_for_answers(chosen.host.run)

    class Here:  # where the changes are made
        host, peer = shaped, chosen.peer

    said = Conversations(chosen.host, chosen.peer)
    for change in ALL_CHANGES[where]:
        if change == "its MTU becomes the smallest":
            net.peer.run("ip", "link", "set", "eth0", "mtu", 1280)
        CHANGES[change](Here)
        wait_until(lambda: all(shape["diverting"] for shape in headgate.show()["shapes"]))
        time.sleep(0.5)
        assert said.running(), "a connection broke"
    said.finish(copies=(1, 2 if where == "host" else 1))  # what is shaped as it arrives a packet socket sees twice
    for shape in headgate.show()["shapes"]:
        check_law(shape)
        assert shape["dropped"]["reasons"]["clipped"]["packets"] == 0
        assert trouble_of(shape) == ""


@pytest.mark.each_back_end
def test_a_transfer_survives_its_interface_being_deleted_and_coming_back(net, headgate, divert):
    headgate.start(BOTH_WAYS["host"], divert=divert)
    transfers = [Transfer(net.host, net.peer, network.PEER_IPV4, pace=1_000_000),
                 Transfer(net.peer, net.host, network.HOST_IPV6, port=5301, pace=1_000_000)]
    for _ in range(2):
        time.sleep(0.5)
        delete_and_come_back(net)
        wait_until(lambda: all(shape["diverting"] for shape in headgate.show()["shapes"]))
    assert all(transfer.running() for transfer in transfers)
    for transfer in transfers:
        transfer.finish()
    for shape in headgate.show()["shapes"]:
        check_law(shape)


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


@pytest.mark.parametrize("change", ["its MTU changes", "down and up", "the divert device is deleted"])
def test_what_waits_survives_a_change_in_order_and_what_is_lost_is_counted(net, headgate, programs, divert, change):
    headgate.start(SHAPE.replace("1000pps", "50pps"), divert=divert)
    receiver = Receiver(net.peer, programs)
    sent = Sender(net.host, programs, network.PEER_IPV4, rate=1000, count=100).finish()["sent"]
    CHANGES[change](net)
    wait_until(lambda: headgate.shape()["diverting"])
    counters = headgate.settled_class("load", sent)
    arrivals = receiver.stop()
    assert counters["received"]["packets"] == sent
    assert counters["sent"]["packets"] == len(arrivals)
    assert counters["dropped"]["packets"] == sent - len(arrivals)
    assert arrivals.reordered() == 0
    if change != "down and up":
        assert len(arrivals) == sent
