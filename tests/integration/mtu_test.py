"""Frames of every size pass whole, also while the MTU changes."""

import time

import pytest

import network
from daemon import check_law
from frames import IPV4_ADDRESSES, IPV6_ADDRESSES, numbered, udp_frame
from packet_socket import FrameRecorder, FrameSender, assert_same_frames
from traffic import Sender
from transfer import Transfer

pytestmark = pytest.mark.each_back_end(mtu=[1500, 65535])

LARGEST = 65535

EGRESS = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "all"
  match = "ip or ip6"
  rate = "1gbit"
  queue = ["10000p", "1s"]
"""

SHAPES = {
    "egress": EGRESS,
    "ingress": EGRESS.replace('"eth0"\n', '"eth0"\ndirection = "ingress"\n'),
    "inline": EGRESS.replace('"eth0"\n', '"eth0"\nforward_to = "eth1"\n'),
}


def set_mtu(net, mtu):
    for namespace in net.namespaces:
        for interface in [name for name in namespace.links() if name.startswith("eth")]:
            namespace.run("ip", "link", "set", interface, "mtu", mtu)


def frames_up_to(mtu):
    return [udp_frame(numbered(mtu + step, mtu - headers - step), addresses=addresses)
            for addresses, headers in ((IPV4_ADDRESSES, 28), (IPV6_ADDRESSES, 48)) for step in (0, 1, 2, mtu // 2)]


@pytest.mark.parametrize("where", SHAPES)
@pytest.mark.parametrize("mtu", [576, 1500, 9000, LARGEST])
def test_frames_of_the_whole_mtu_pass_unchanged(net, inline_net, headgates, divert, where, mtu):
    chosen = inline_net if where == "inline" else net
    set_mtu(chosen, mtu)
    headgate = headgates(inline_net.middle if where == "inline" else net.host).start(SHAPES[where], divert=divert)
    source, destination = (net.peer, net.host) if where == "ingress" else (chosen.host, chosen.peer)
    recorder = FrameRecorder(destination)
    sent = frames_up_to(mtu)
    if mtu < 1280:  # no IPv6 there
        sent = sent[:4]
    FrameSender(source).send_all(sent)
    copies = 2 if where == "ingress" else 1  # a packet socket sees what arrives before and after
    assert_same_frames(copies * sent, recorder.frames(copies * len(sent)))
    shape = headgate.shape()
    check_law(shape)
    assert shape["dropped"]["packets"] == 0


@pytest.mark.parametrize("where", ["egress", "inline"])
def test_while_the_mtu_changes_frames_pass_whole_or_not_at_all(net, inline_net, headgates, divert, where):
    chosen = inline_net if where == "inline" else net
    headgate = headgates(inline_net.middle if where == "inline" else net.host).start(SHAPES[where], divert=divert)
    recorder, sender = FrameRecorder(chosen.peer), FrameSender(chosen.host)
    sent = set()
    for mtu in (9000, 1500, LARGEST, 1280, 9000):
        set_mtu(chosen, mtu)
        changing = frames_up_to(1280) + frames_up_to(mtu)
        sent.update(changing)
        for attempt in range(30):
            sender.send_all(changing)
            time.sleep(0.01)
        wait_until(lambda: all(shape["diverting"] for shape in headgate.show()["shapes"]))
    # Once it has settled all pass.
    last = frames_up_to(9000)
    sender.send_all(last)
    came = recorder.frames(10**6, patience=1)
    assert set(came) <= sent
    assert set(last) <= set(came[-2 * len(last):])
    assert {len(frame) - 14 for frame in came} >= {1280, 9000, LARGEST}
    shape = headgate.shape()
    check_law(shape)
    assert shape["dropped"]["reasons"]["clipped"]["packets"] == shape["dropped"]["packets"]


def test_a_transfer_goes_on_byte_for_byte_while_the_mtu_changes(net, headgate, divert):
    headgate.start(EGRESS.replace("1gbit", "100mbit"), divert=divert)
    transfers = [Transfer(net.host, net.peer, to, 8_000_000, port=port, pace=2_000_000)
                 for to, port in ((network.PEER_IPV4, 5300), (network.PEER_IPV6, 5301))]
    for mtu in (9000, LARGEST, 1500, 1280, 9000):
        net.peer.run("ip", "link", "set", "eth0", "mtu", max(mtu, 9000))
        net.host.run("ip", "link", "set", "eth0", "mtu", mtu)
        wait_until(lambda: headgate.shape()["diverting"])
        time.sleep(0.4)
    for transfer in transfers:
        transfer.finish()


def test_after_a_change_the_rate_of_large_frames_holds(net, headgate, programs, divert):
    set_mtu(net, 9000)
    headgate.start(EGRESS.replace("1gbit", "80mbit"), divert=divert)
    set_mtu(net, LARGEST)
    wait_until(lambda: headgate.shape()["diverting"])
    start = time.monotonic()
    sent = Sender(net.host, programs, network.PEER_IPV4, rate=0, count=100, size=50_000).finish()["sent"]
    counters = headgate.settled_class("all", sent, patience=5)
    assert counters["sent"]["packets"] >= sent == 100
    assert time.monotonic() - start >= 99 * 50_000 * 8 / 80e6


def wait_until(condition, patience=1):
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"not within {patience} s"
        time.sleep(0.02)
