"""Classes that select by what only the kernel knows of a packet: its firewall mark, and the cgroup of its socket."""

import signal
import socket
import time

import pytest

import cgroups
import network
import processes
from daemon import EXIT_REFUSED, EXIT_USAGE, class_of
from frames import numbered, udp_frame
from packet_socket import inside
from traffic import Receiver, Sender
from transfer import Transfer

SHAPE = """
[[shape]]
interface = "eth0"
{more}
  [[shape.class]]
  name = "selected"
  {selectors}
  {limits}
  [[shape.class]]
  name = "rest"
  match = "udp"
  rate = "2000pps"
  queue = "1000p"
"""
SHAPED = 'rate = "2000pps"\n  queue = "1000p"'
SLOW = 'rate = "10pps"\n  queue = "1000p"'
BYPASS = "bypass = true"
LIMITS = [SHAPED, BYPASS]

PACKETS = 50
SO_MARK = 36
HOOK_DECIDES = 1.2  # s after a start or a reload, at the latest
NOTICED = 1.5  # s after a cgroup has changed


def config(selectors, limits=SHAPED, more=""):
    return SHAPE.format(selectors=selectors, limits=limits, more=more)


def received(headgate, name="selected"):
    return class_of(headgate.shape(), name)["received"]["packets"]


def settle(headgate, selected, rest):
    """Waits for so many packets of the two classes, and sees that there are no more."""
    headgate.settled_class("rest", rest)
    assert headgate.settled_class("selected", selected)["received"]["packets"] == selected
    assert received(headgate, "rest") == rest


@pytest.fixture
def hierarchy():
    made = cgroups.Hierarchy()
    yield made
    made.close()


def send(net, hierarchy=None, path=None, **options):
    before = hierarchy.joining(path) if path else ()
    cgroups.send(net.host, network.PEER_IPV4, count=PACKETS, before=before, **options)


# Marks


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("to", [network.PEER_IPV4, network.PEER_IPV6])
def test_marks_select_by_value_and_mask(net, headgate, divert, to, limits):
    headgate.start(config('mark = ["0x10/0xff", "32"]', limits), divert=divert)
    assert class_of(headgate.shape(), "selected")["mark"] == ["0x10/0xff", "0x20"]
    for wait in (0, HOOK_DECIDES):  # by headgated, then by the hook where that can be
        time.sleep(wait)
        for mark in (0x10, 0xabcd0010, 0x20, 0, 0x11, 0x120):
            cgroups.send(net.host, to, mark=mark, count=PACKETS)
    settle(headgate, 6 * PACKETS, 6 * PACKETS)


def test_marks_of_the_firewall_select(net, headgate, divert):
    net.host.run("nft", "add table inet marks; add chain inet marks out { type route hook output priority mangle; }; "
                        "add rule inet marks out udp dport 5001 meta mark set 0x10010")
    headgate.start(config('mark = "0x10/0xff"'), divert=divert)
    for port in (5000, 5001, 5002):
        send(net, port=port)
    settle(headgate, PACKETS, 2 * PACKETS)


def test_marks_of_what_arrives_select(net, headgate, divert):
    """As a veth device keeps them whose other end is in the same namespace."""
    net.host.run("ip", "link", "add", "far", "type", "veth", "peer", "name", "near")
    for end in ("far", "near"):
        net.host.run("ip", "link", "set", end, "up")
    headgate.start(config('mark = "7"', more='direction = "ingress"').replace("eth0", "near"), divert=divert)
    with inside(net.host), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("far", 0))
        for mark in (7, 8):
            sender.setsockopt(socket.SOL_SOCKET, SO_MARK, mark)
            for number in range(PACKETS):
                sender.send(udp_frame(numbered(number)))
    for name in ("selected", "rest"):
        assert headgate.settled_class(name, PACKETS, interface="near")["received"]["packets"] == PACKETS


def test_all_selectors_must_hold(net, headgate, hierarchy, divert):
    headgate.start(config(f'mark = "1"\n  cgroup = "{hierarchy.name}"\n  dst = "{network.PEER_IPV4}"\n'
                        '  match = "udp port 5000"'), divert=divert)
    send(net, hierarchy, hierarchy.name, mark=1)
    send(net, hierarchy, hierarchy.name, mark=2)
    send(net, hierarchy, hierarchy.name, mark=1, port=5001)
    send(net, mark=1)
    settle(headgate, PACKETS, 3 * PACKETS)


@pytest.mark.parametrize("segmentation", ["auto", "precise", "whole"])
@pytest.mark.parametrize("workers", [1, 2])
def test_every_piece_of_a_super_packet_has_the_mark_and_the_cgroup(net, headgate, hierarchy, divert, segmentation, workers):
    """TCP passes, and what the class of its cgroup does not take are the packets of no socket."""
    net.host.run("nft", "add table inet marks; add chain inet marks out { type route hook output priority mangle; }; "
                        "add rule inet marks out tcp dport 5300 meta mark set 5")
    text = config(f'mark = "5"\n  cgroup = "{hierarchy.name}"', 'key = "5-tuple"\n  rate = "400mbit"\n  queue = "100ms"',
                  more=f'segmentation = "{segmentation}"\nworkers = {workers}').replace('match = "udp"', 'match = "tcp"')
    headgate.start(text, divert=divert)
    time.sleep(HOOK_DECIDES)
    with hierarchy.joined(hierarchy.name):
        transfer = Transfer(net.host, net.peer, network.PEER_IPV4, 4_000_000, port=5300)
    transfer.finish()
    shape = headgate.shape()
    assert class_of(shape, "selected")["received"]["bytes"] > 4_000_000
    assert class_of(shape, "rest")["received"]["packets"] < 10


# Control groups


@pytest.mark.parametrize("limits", LIMITS)
def test_cgroups_select_what_their_sockets_send(net, headgate, hierarchy, divert, limits):
    for path in ("a", "a/below", "b", "c"):
        hierarchy.make(f"{hierarchy.name}/{path}")
    headgate.start(config(f'cgroup = ["/{hierarchy.name}/a", "{hierarchy.name}/b/"]', limits), divert=divert)
    assert class_of(headgate.shape(), "selected")["cgroup"] == [f"{hierarchy.name}/a", f"{hierarchy.name}/b"]
    for wait in (0, HOOK_DECIDES):
        time.sleep(wait)
        send(net)
        for path in ("a", "a/below", "b", "c"):
            send(net, hierarchy, f"{hierarchy.name}/{path}")
    settle(headgate, 6 * PACKETS, 4 * PACKETS)


@pytest.mark.parametrize("limits", LIMITS)
def test_a_cgroup_may_come_later_and_be_made_anew(net, headgate, hierarchy, divert, limits):
    path = f"{hierarchy.name}/service"
    headgate.start(config(f'cgroup = "{path}"', limits), divert=divert)
    send(net)
    for _ in range(2):
        hierarchy.make(path)
        time.sleep(NOTICED)
        send(net, hierarchy, path)
        hierarchy.remove(path)
    settle(headgate, 2 * PACKETS, PACKETS)


def test_a_reload_names_other_cgroups(net, headgate, hierarchy, divert):
    paths = [f"{hierarchy.name}/{number}" for number in range(3)]
    for path in paths:
        hierarchy.make(path)
    expected = 0
    for number in (0, 1, 2, 0):
        headgate.write(config(f'cgroup = "{paths[number]}"'), divert=divert)
        if headgate.running():
            headgate.reload()
        else:
            headgate.start(config(f'cgroup = "{paths[number]}"'), divert=divert)
        for path in paths:
            send(net, hierarchy, path)
        expected += PACKETS
        settle(headgate, expected, 2 * expected)
        time.sleep(HOOK_DECIDES)  # places that are not used any more are free


def test_what_waits_is_still_of_its_cgroup_after_a_reload(net, headgate, hierarchy, programs, divert):
    """The classes change places and keys, so what waits is classified anew."""
    paths = {name: f"{hierarchy.name}/{name}" for name in ("a", "b")}
    for path in paths.values():
        hierarchy.make(path)

    def text(key, limits, *names):
        return '[[shape]]\ninterface = "eth0"\n' + "".join(
            f'[[shape.class]]\nname = "{key}-{name}"\nkey = "{key}"\ncgroup = "{paths[name]}"\n{limits}\n' for name in names)

    headgate.start(text("dst", SLOW, "a", "b"), divert=divert)
    receiver = Receiver(net.peer, programs)
    for port, name in enumerate(paths, 5000):
        send(net, hierarchy, paths[name], port=port)
    send(net, port=5002)
    headgate.write(text("src", SLOW, "b", "a"), divert=divert)
    headgate.reload()
    for name in paths:
        counters = class_of(headgate.shape(), f"src-{name}")
        assert counters["received"]["packets"] > PACKETS * 0.8
        assert counters["queued"]["packets"] > PACKETS * 0.5
    # Now a's place is free, and then another's. What waits of a belongs to no class, and leaves.
    headgate.write(text("dst", SHAPED, "b"), divert=divert)
    headgate.reload()
    assert headgate.settled_class("dst-b", PACKETS * 0.5)["received"]["packets"] <= PACKETS
    assert len(receiver.stop()) == 3 * PACKETS


def test_a_cgroup_that_a_reload_names_first_has_nothing_of_what_waits(net, headgate, hierarchy, divert):
    for name in ("a", "b"):
        hierarchy.make(f"{hierarchy.name}/{name}")
    text = config(f'cgroup = "{hierarchy.name}/a"', SLOW)
    headgate.start(text, divert=divert)
    send(net, hierarchy, f"{hierarchy.name}/a")
    headgate.write(text.replace(f"{hierarchy.name}/a", f"{hierarchy.name}/b").replace('name = "selected"', 'name = "other"'),
                 divert=divert)
    headgate.reload()
    shape = headgate.shape()
    assert class_of(shape, "other")["received"]["packets"] == 0
    assert class_of(shape, "rest")["received"]["packets"] >= PACKETS * 0.8


def test_thirty_three_cgroups_are_too_many_also_at_a_reload(net, headgate, hierarchy, divert):
    def named(first, count):
        return config("cgroup = [" + ", ".join(f'"{hierarchy.name}/{number}"' for number in range(first, first + count)) + "]")

    for number in (0, 31, 40):
        hierarchy.make(f"{hierarchy.name}/{number}")
    headgate.start(named(0, 32), divert=divert)
    send(net, hierarchy, f"{hierarchy.name}/0")
    send(net, hierarchy, f"{hierarchy.name}/31")
    settle(headgate, 2 * PACKETS, 0)
    headgate.write(named(0, 33), divert=divert)
    refused = headgate.control("reload", check=False)
    assert refused.returncode == EXIT_REFUSED and "cgroup: " in refused.stderr and "expected at most 32" in refused.stderr
    headgate.write(named(31, 32), divert=divert)
    refused = headgate.control("reload", check=False)
    assert refused.returncode == EXIT_REFUSED
    assert f"eth0 egress: there is no place for the cgroup {hierarchy.name}/32: at most 32" in refused.stderr
    for first, count in ((31, 1), (31, 31)):  # in two steps
        headgate.write(named(first, count), divert=divert)
        headgate.reload()
        time.sleep(HOOK_DECIDES)
    send(net, hierarchy, f"{hierarchy.name}/0")
    send(net, hierarchy, f"{hierarchy.name}/31")
    send(net, hierarchy, f"{hierarchy.name}/40")
    settle(headgate, 4 * PACKETS, PACKETS)


def test_a_packet_that_is_explained_is_of_no_cgroup_not_of_the_daemons_own(net, hierarchy, headgate, divert):
    with hierarchy.joined(hierarchy.name):
        headgate.start(config(f'cgroup = "{hierarchy.name}"'), divert=divert)
    send(net, hierarchy, hierarchy.name)
    settle(headgate, PACKETS, 0)
    said = headgate.json("explain", "eth0", f"src {network.HOST_IPV4} dst {network.PEER_IPV4} udp sport 4000 dport 5000")
    assert said["class"] == "rest", said


def test_where_cgroup_v2_is_not_mounted_it_is_found_later(net, headgate, request, divert):
    """`ip netns exec` takes away what is mounted below /sys."""
    headgate.start(config(f'cgroup = "{cgroups.Hierarchy.name}"'), divert=divert)
    headgate.wait_for_log("cgroup v2 is mounted nowhere that headgated can see")
    send(net)
    processes.run(["nsenter", "-t", headgate.process.pid, "-m", "mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"])
    hierarchy = request.getfixturevalue("hierarchy")
    time.sleep(NOTICED)
    send(net, hierarchy, hierarchy.name)
    settle(headgate, PACKETS, PACKETS)


def test_shapes_share_cgroups(net, headgate, hierarchy, divert):
    """Of two interfaces, one of which goes."""
    network.connect(["netns", net.host.name], ["netns", net.peer.name], "eth1")
    text = config(f'cgroup = "{hierarchy.name}"')
    headgate.start(text + text.replace("eth0", "eth1"), divert=divert)
    send(net, hierarchy, hierarchy.name)
    headgate.write(text, divert=divert)
    headgate.reload()
    time.sleep(HOOK_DECIDES)
    send(net, hierarchy, hierarchy.name)
    settle(headgate, 2 * PACKETS, 0)


# What goes on from the hook


def assert_goes_on_from_the_hook(net, headgate, programs, sends, expected):
    """A daemon that stands still cannot send: what the peer gets of it then, in less time than the dead-man switch takes, has
    not been taken out."""
    receiver = Receiver(net.peer, programs)
    before = headgate.shape()
    headgate.signal(signal.SIGSTOP)
    began = time.monotonic()
    for each in sends:
        each()
    time.sleep(0.05)
    assert time.monotonic() - began < 0.45, "the machine is too slow for this test"
    arrivals = receiver.stop(settle=0)
    headgate.signal(signal.SIGCONT)
    assert len(arrivals) == expected
    headgate.settled_class("selected", class_of(before, "selected")["received"]["packets"] + expected)
    assert headgate.shape()["unshaped"]["packets"] == before["unshaped"]["packets"]


@pytest.mark.measured
@pytest.mark.parametrize("selectors", ['mark = "0x10/0xff"', f'dst = "{network.PEER_IPV4}/31"', 'src = "10.77.0.0/24"',
                                       'src = "fd77::/64"\n  dst = ["fd77::2", "10.0.0.1"]'])
def test_what_bypasses_by_mark_or_networks_goes_on_from_the_hook(net, headgate, programs, divert, selectors):
    headgate.start(config(selectors, BYPASS), divert=divert)
    to = network.PEER_IPV6 if "fd77" in selectors else network.PEER_IPV4
    Sender(net.host, programs, to, rate=1000, count=1).finish()
    time.sleep(HOOK_DECIDES)
    assert_goes_on_from_the_hook(net, headgate, programs, [lambda: cgroups.send(net.host, to, mark=0x110, count=PACKETS)],
                                 PACKETS)


@pytest.mark.measured
def test_what_bypasses_by_cgroup_goes_on_from_the_hook(net, headgate, hierarchy, programs, divert):
    headgate.start(config(f'cgroup = "{hierarchy.name}"', BYPASS), divert=divert)
    send(net, hierarchy, hierarchy.name)
    time.sleep(HOOK_DECIDES)
    assert_goes_on_from_the_hook(net, headgate, programs,
                                 [lambda: send(net, hierarchy, hierarchy.name)], PACKETS)


# What is refused


BAD_SHAPES = {
    "mark by ring": ('capture = "ring"', 'mark = "1"', 'mark: does not go with capture = "ring"'),
    "cgroup by pcap": ('capture = "pcap"', 'cgroup = "a"', 'cgroup: does not go with capture = "pcap"'),
    "cgroup of what arrives": ('direction = "ingress"', 'cgroup = "a"', 'cgroup: does not go with direction = "ingress"'),
    "cgroup of what passes through": ('forward_to = "eth1"', 'cgroup = "a"', "cgroup: does not go with forward_to"),
}


@pytest.mark.parametrize("case", BAD_SHAPES)
def test_where_they_cannot_be_told_they_are_refused(net, headgate, case):
    more, selectors, problem = BAD_SHAPES[case]
    headgate.start(config('mark = "1"'))
    headgate.write(config(selectors, more=more))
    refused = headgate.control("reload", check=False)
    assert refused.returncode == EXIT_REFUSED
    assert f"{headgate.config_path}:7:" in refused.stderr and problem in refused.stderr
    checked = headgate.control("check", headgate.config_path, check=False)
    assert checked.returncode == EXIT_USAGE and problem in checked.stderr


def test_a_shape_that_was_started_by_ring_refuses_a_mark_at_a_reload(net, headgate):
    headgate.start(config('dscp = "ef"', more='capture = "ring"'))
    headgate.write(config('mark = "1"'))
    refused = headgate.control("reload", check=False)
    assert refused.returncode == EXIT_REFUSED
    assert 'eth0 egress: class selected: mark needs capture = "bpf", and this shape captures by "ring"' in refused.stderr
