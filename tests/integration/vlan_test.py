"""VLAN tags go where they came from, and tell flows apart."""

import pytest

import network
from frames import (IEEE_802_1AD, IEEE_802_1Q, IPV4_ADDRESSES, IPV6_ADDRESSES, numbered, udp_frame)
from packet_socket import FrameRecorder, FrameSender, assert_same_frames
from daemon import class_of

pytestmark = pytest.mark.each_back_end(mtu=[1500], key=['["vlan", "dst"]'])

EGRESS = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "all"
  match = "{match}"
  key = {key}
  rate = "{rate}"
  queue = "{queue}"
"""

INLINE = EGRESS.replace('"eth0"\n', '"eth0"\nforward_to = "eth1"\n')

TAGGED = {
    "802.1Q": [(IEEE_802_1Q, 5)],
    "802.1Q with priority and drop eligibility": [(IEEE_802_1Q, 0xF005)],
    "the highest identifier": [(IEEE_802_1Q, 4094)],
    "priority alone": [(IEEE_802_1Q, 0x6000)],
    "802.1ad": [(IEEE_802_1AD, 5)],
    "802.1Q in 802.1ad": [(IEEE_802_1AD, 0x2005), (IEEE_802_1Q, 0x6007)],
    "802.1Q in 802.1Q": [(IEEE_802_1Q, 5), (IEEE_802_1Q, 7)],
    "none": [],
}
TAG = 4  # bytes


def tagged_frames(family, mtu, room_for_tags):
    """Each kind of tag on small and large frames, the largest of which have `room_for_tags` bytes above the MTU."""
    addresses, headers = (IPV4_ADDRESSES, 28) if family == "IPv4" else (IPV6_ADDRESSES, 48)
    made = []
    for number, tags in enumerate(TAGGED.values()):
        largest = mtu - headers + min(room_for_tags(tags) - TAG * len(tags), 0)
        made += [udp_frame(numbered(number, size), (4000, 5000 + number), addresses, tags=tags)
                 for size in (8, 500, mtu - headers - 8, largest - 1, largest)]
    return made


def set_mtu(namespace, mtu, interface="eth0"):
    namespace.run("ip", "link", "set", interface, "mtu", mtu)


SHAPED = {"match": "udp dst portrange 5000-5999", "key": '["vlan", "5-tuple"]', "rate": "1000pps", "queue": "100p"}


def assert_tags_stay(headgate, source, destination, sent):
    recorder = FrameRecorder(destination)
    FrameSender(source).send_all(sent)
    assert_same_frames(sent, recorder.frames(len(sent)))
    counters = headgate.settled_class("all", len(sent))
    assert counters["received"] == counters["sent"] == {"packets": len(sent), "bytes": sum(map(len, sent))}
    # A tag that carries a priority alone is no VLAN.
    assert counters["flows"] == len(TAGGED)


@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
@pytest.mark.parametrize("mtu", [1500, 9000])
def test_tags_leave_an_interface_as_they_were_sent(net, headgate, divert, family, mtu):
    for namespace in net.namespaces:
        set_mtu(namespace, mtu)
    headgate.start(EGRESS.format(**SHAPED), divert=divert)

    def room_of_a_packet_socket(tags):
        return TAG if tags and tags[0][0] == IEEE_802_1Q else 0

    assert_tags_stay(headgate, net.host, net.peer, tagged_frames(family, mtu, room_of_a_packet_socket))


@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
@pytest.mark.parametrize("mtu", [1500, 9000])
def test_tags_leave_the_wire_as_they_entered(inline_net, headgates, divert, family, mtu):
    set_mtu(inline_net.host, mtu + 2 * TAG)  # so that the host's packet socket lets the tags by
    for namespace, interface in ((inline_net.middle, "eth0"), (inline_net.middle, "eth1"), (inline_net.peer, "eth0")):
        set_mtu(namespace, mtu, interface)
    headgate = headgates(inline_net.middle).start(INLINE.format(**SHAPED), divert=divert)
    # A veth takes one tag above its MTU, whatever its kind.
    assert_tags_stay(headgate, inline_net.host, inline_net.peer, tagged_frames(family, mtu, lambda tags: TAG))


def test_tags_come_back_to_the_host_as_they_went_in(net, headgate, divert):
    config = EGRESS.replace('"eth0"\n', '"eth0"\ndirection = "ingress"\n')
    headgate.start(config.format(match="udp", key='"vlan"', rate="1000pps", queue="100p"), divert=divert)
    recorder = FrameRecorder(net.host)  # sees each twice, as headgate.toml(5) says
    sent = tagged_frames("IPv4", 1500, lambda tags: 0)
    FrameSender(net.peer).send_all(sent)
    assert_same_frames(2 * sent, recorder.frames(2 * len(sent)))
    headgate.settled_class("all", len(sent))


@pytest.mark.parametrize("key, buckets", [('["vlan", "dst"]', 8), ('"dst"', 2), ('"vlan"', 4)])
def test_a_key_with_vlan_keeps_the_same_address_in_two_vlans_apart(net, headgate, divert, key, buckets):
    headgate.start(EGRESS.format(match="dst net 10.77.0.0/16", key=key, rate="100pps", queue="10p"), divert=divert)
    tags = [[], [(IEEE_802_1Q, 5)], [(IEEE_802_1Q, 6)], [(IEEE_802_1AD, 5), (IEEE_802_1Q, 6)]]
    sent = [udp_frame(numbered(number), addresses=("10.77.0.1", address), tags=its)
            for number in range(50) for its in tags for address in network.PEER_MORE_IPV4[:2]]
    recorder = FrameRecorder(net.peer)
    FrameSender(net.host).send_all(sent)
    counters = headgate.settled_class("all", len(sent))
    came = recorder.frames(10 * buckets)
    assert counters["flows"] == buckets
    # Each bucket lets its first packet go at once and then holds ten; while they are sent, a few more may leave.
    assert 10 * buckets <= len(came) <= 20 * buckets
    assert counters["sent"]["packets"] == len(came)
    assert set(came) <= set(sent)


def test_addresses_inside_tags_are_matched(net, headgate, divert):
    headgate.start(EGRESS.format(match="udp dst port 5000 and dst host fd77::2", key='"dst"', rate="1000pps",
                                 queue="1000p"), divert=divert)
    matching = [udp_frame(numbered(number), (1, 5000), IPV6_ADDRESSES, tags=tags)
                for number, tags in enumerate(TAGGED.values())]
    others = [udp_frame(numbered(number), (1, 5000), ("fd77::1", "fd77::11"), tags=tags)
              for number, tags in enumerate(TAGGED.values())]
    recorder = FrameRecorder(net.peer)
    FrameSender(net.host).send_all(matching + others)
    assert_same_frames(matching + others, recorder.frames(len(matching + others)))
    counters = headgate.settled_class("all", len(matching))
    assert counters["received"]["packets"] == len(matching)
    assert class_of(headgate.shape(), "all")["flows"] == 1
