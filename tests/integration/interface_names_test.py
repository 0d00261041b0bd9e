"""An interface may be called by its alternative names, too: it is one interface by all of them."""

import time

import pytest

import network
import traces
from daemon import EXIT_REFUSED, check_law, class_of, trouble_of
from traffic import Receiver, Sender

SHAPE = """
[[shape]]
interface = "{interface}"
  [[shape.class]]
  name = "load"
  match = "udp dst portrange 5000-5999"
  rate = "1000pps"
  queue = "500p"
"""
LONG_NAME = "an-uplink-by-a-name-that-is-longer-than-any-interface-may-have"


def call_also(namespace, name, interface="eth0"):
    namespace.run("ip", "link", "property", "add", "dev", interface, "altname", name)


def shape_of(interface, **keys):
    lines = "".join(f'{key} = "{value}"\n' for key, value in keys.items())
    return SHAPE.format(interface=interface).replace(f'"{interface}"\n', f'"{interface}"\n{lines}')


@pytest.mark.parametrize("name,seconds", [("wan0", 10), (LONG_NAME, 2)])
def test_by_an_alternative_name_an_interface_is_attached_once_and_all_its_packets_are_shaped(net, headgate, programs, divert,
                                                                                          name, seconds):
    call_also(net.host, name)
    headgate.start(shape_of(name), divert=divert)
    receiver = Receiver(net.peer, programs)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=500, seconds=seconds)
    while load.running():
        net.host.run("ip", "link", "set", "eth0", "alias", f"looked at {time.monotonic()}")  # an event of the interface
        time.sleep(0.5)
    offered = load.finish()["sent"]
    counters = headgate.settled_class("load", offered, interface=name)
    assert counters["received"]["packets"] == counters["sent"]["packets"] == offered == len(receiver.stop())
    shape = headgate.shape(name)
    assert shape["diverting"] and trouble_of(shape) == ""
    assert headgate.log().count(f"shaping {name} egress") == 1
    assert "again" not in headgate.log() and "unshaped" not in headgate.log()
    assert len(traces.divert_devices(net.host)) == 2


@pytest.mark.measured
def test_an_alternative_name_that_goes_to_another_interface_takes_the_shaping_along(net, headgate, divert):
    network.connect(["netns", net.host.name], ["netns", net.peer.name], "eth9")
    call_also(net.host, "wan0")
    headgate.start(shape_of("wan0"), divert=divert)
    net.host.run("ip", "link", "property", "del", "dev", "eth0", "altname", "wan0")
    time.sleep(1.2)
    assert headgate.shape("wan0")["diverting"]  # a name alone that goes changes nothing
    call_also(net.host, "wan0", "eth9")
    deadline = time.monotonic() + 1.3
    while "wan0 is another interface by now, the one before is called eth0" not in headgate.log():
        assert time.monotonic() < deadline, headgate.log()
        time.sleep(0.02)
    assert headgate.shape("wan0")["diverting"]
    assert traces.tcx_programs(net.host, "eth0") == 0 and traces.clsact_filters(net.host, "eth0") == []
    assert traces.tcx_programs(net.host, "eth9") == 1 or len(traces.clsact_filters(net.host, "eth9")) == 1


@pytest.mark.measured
def test_an_interface_that_comes_is_known_by_its_alternative_name(net, headgate, divert):
    headgate.start(shape_of("wan0"), divert=divert)
    assert headgate.shape("wan0")["state"] == "there is no interface wan0 yet"
    call_also(net.host, "wan0")
    deadline = time.monotonic() + 1.3
    while not headgate.shape("wan0")["diverting"]:
        assert time.monotonic() < deadline, headgate.log()
        time.sleep(0.02)


def test_a_wire_between_interfaces_by_their_alternative_names_carries_everything_shaped(inline_net, headgates, programs, divert):
    call_also(inline_net.middle, "lan0", "eth0")
    call_also(inline_net.middle, "wan0", "eth1")
    headgate = headgates(inline_net.middle)
    headgate.start(shape_of("eth0", forward_to="wan0") + shape_of("wan0", forward_to="lan0"), divert=divert)
    inline_net.wait_for_answers()
    receiver = Receiver(inline_net.peer, programs)
    offered = Sender(inline_net.host, programs, network.PEER_IPV4, rate=500, seconds=3).finish()["sent"]
    counters = headgate.settled_class("load", offered)
    assert counters["received"]["packets"] == counters["sent"]["packets"] == offered == len(receiver.stop())
    assert "again" not in headgate.log()
    assert all(trouble_of(shape) == "" for shape in headgate.show()["shapes"])


CONFLICTS = {
    "shaped twice": (shape_of("eth0") + shape_of("wan0"),
                     'interface: "eth0" and "wan0" are names of the same interface, whose egress is shaped twice: expected '
                     "its classes in one [[shape]]"),
    "forwarded to itself": (shape_of("eth0", forward_to="wan0"),
                            "eth0 cannot be forwarded to itself, also called wan0"),
    "the other end of two wires": (shape_of("eth0", forward_to="eth8") + shape_of("eth8", forward_to="wan0")
                                   + shape_of("eth9", forward_to="wan8"),
                                   'forward_to: "eth8" and "wan8" are names of the same interface, which is inline itself '
                                   'and the other end of both "eth0" and "eth9": expected one'),
}


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_by_two_names_the_same_interface_is_refused(net, headgate, divert, conflict):
    config, message = CONFLICTS[conflict]
    for interface in ("eth8", "eth9"):
        network.connect(["netns", net.host.name], ["netns", net.peer.name], interface)
    call_also(net.host, "wan0")
    call_also(net.host, "wan8", "eth8")
    headgate.start(config, divert=divert, wait=False)
    assert headgate.process.wait(10) == EXIT_REFUSED
    assert message in headgate.log()
    traces.assert_none(net.host)

    headgate.start(shape_of("eth0"), divert=divert)
    headgate.write(config, divert=divert)
    result = headgate.control("reload", check=False)
    assert result.returncode == EXIT_REFUSED
    assert message in result.stderr or "eth0" in result.stderr and conflict == "forwarded to itself"
    assert headgate.shape()["diverting"]


@pytest.mark.measured
def test_two_names_that_turn_out_to_be_one_interface_later_shape_it_once_and_say_so(net, headgate, divert):
    headgate.start(shape_of("eth0") + shape_of("wan0"), divert=divert)
    assert headgate.shape("eth0")["diverting"] and not headgate.shape("wan0")["diverting"]
    call_also(net.host, "wan0")
    time.sleep(1.3)
    assert headgate.shape("eth0")["diverting"] and not headgate.shape("wan0")["diverting"]
    assert headgate.shape("wan0")["state"] == (
        "eth0 egress is already shaped by another [[shape]], that may call it by another of its names (eth0, wan0): "
        "expected its classes in one [[shape]]")
    assert headgate.log().count("is already shaped") == 1


def test_a_reload_that_calls_the_interface_by_another_of_its_names_goes_on_with_its_queues(net, headgate, programs, divert):
    call_also(net.host, "wan0")
    headgate.start(shape_of("eth0").replace("1000pps", "10pps"), divert=divert)
    receiver = Receiver(net.peer, programs)
    offered = Sender(net.host, programs, network.PEER_IPV4, rate=1000, count=100).finish()["sent"]
    headgate.write(shape_of("wan0").replace("1000pps", "10pps"), divert=divert)
    assert "changed: wan0 egress" in headgate.reload().stdout
    assert class_of(headgate.shape("wan0"), "load")["queued"]["packets"] > 0
    counters = headgate.settled_class("load", offered, interface="wan0", patience=15)
    arrivals = receiver.stop()
    assert counters["sent"]["packets"] == len(arrivals) == offered
    assert arrivals.reordered() == 0
    assert "again" not in headgate.log()

    # And by the name that the kernel gave it meanwhile.
    net.host.run("ip", "link", "property", "del", "dev", "eth0", "altname", "wan0")
    net.host.run("ip", "link", "set", "eth0", "name", "lan0")
    headgate.write(shape_of("lan0"), divert=divert)
    assert "changed: lan0 egress" in headgate.reload().stdout
    shape = headgate.shape("lan0")
    assert shape["diverting"] and class_of(shape, "load")["sent"]["packets"] == offered
    check_law(shape)
    assert len(traces.divert_devices(net.host)) == 2


def test_a_renamed_interface_that_the_file_has_by_both_names_is_refused_and_shaped_on(net, headgate, programs, divert):
    headgate.start(shape_of("eth0"), divert=divert)
    net.host.run("ip", "link", "set", "eth0", "name", "wan0")
    for both in (shape_of("eth0") + shape_of("wan0"), shape_of("wan0") + shape_of("eth0")):
        headgate.write(both.replace("1000pps", "2000pps"), divert=divert)
        refused = headgate.control("reload", check=False)
        assert refused.returncode == EXIT_REFUSED
        assert "wan0 egress is already shaped by another [[shape]]" in refused.stderr
        shape, = headgate.show()["shapes"]
        assert shape["interface"] == "eth0" and shape["diverting"]
        assert class_of(shape, "load")["rate"] == ["1000pps"]
    offered = Sender(net.host, programs, network.PEER_IPV4, rate=500, count=100).finish()["sent"]
    assert headgate.settled_class("load", offered)["sent"]["packets"] == offered
    headgate.write(shape_of("wan0"), divert=divert)
    assert "changed: wan0 egress" in headgate.reload().stdout
    assert class_of(headgate.shape("wan0"), "load")["sent"]["packets"] == offered


@pytest.mark.parametrize("key", ["interface", "forward_to"])
@pytest.mark.parametrize("name,what", [("loop0", "loop0 (lo) is the loopback interface"),
                                       ("own0", "own0 (hg0) is a divert device of headgate itself")])
def test_interfaces_that_cannot_be_shaped_cannot_be_by_an_alternative_name_either(net, headgate, headgates, key, name, what):
    network.connect(["netns", net.host.name], ["netns", net.peer.name], "eth9")
    headgate.start(shape_of("eth9"))
    call_also(net.host, "loop0", "lo")
    call_also(net.host, "own0", "hg0")
    config = shape_of(name) if key == "interface" else shape_of("eth0", forward_to=name)
    refused = headgates(net.host).start(config, wait=False)
    assert refused.process.wait(10) == EXIT_REFUSED
    assert what in refused.log()
