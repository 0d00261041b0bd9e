"""Nothing leaves or arrives by headgate's own devices but what it has taken itself."""

import errno

import pytest

from frames import numbered, udp_frame
from packet_socket import FrameRecorder, FrameSender

SHAPE = """
[[shape]]
interface = "eth0"
{direction}
  [[shape.class]]
  name = "all"
  rate = "1000pps"
"""


def send_by_hand(namespace, device, frame):
    """As dhcpcd, avahi or a person with a packet socket would; what the kernel drops at once it says so."""
    try:
        FrameSender(namespace, device).send(frame)
    except OSError as refusal:
        assert refusal.errno == errno.ENOBUFS


def devices(namespace):
    return sorted(name for name in namespace.links() if name.startswith("hg"))


def assert_nothing_passes(headgate, namespace, recorders, frames_of_headgate):
    device, peer = devices(namespace)
    for number, name in enumerate((device, peer, device, peer)):
        send_by_hand(namespace, name, udp_frame(numbered(number)))
    for recorder in recorders:
        assert recorder.frames(1, patience=0.5) == []
    counters = headgate.shape()
    assert counters["foreign"] == {"packets": 4, "bytes": 4 * len(udp_frame(numbered(0)))}
    assert counters["received"]["packets"] == frames_of_headgate
    assert counters["lost"]["device"]["packets"] == 0
    assert "another program sent them on the divert device: 4 packets" in headgate.control("show").stdout
    headgate.wait_for_log("another program sends on the divert device")


@pytest.mark.parametrize("direction", ["egress", "ingress"])
def test_what_others_send_on_the_divert_devices_goes_nowhere(net, headgate, divert, direction):
    net.host.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
    net.peer.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
    headgate.start(SHAPE.format(direction=f'direction = "{direction}"'), divert=divert)
    recorders = [FrameRecorder(net.peer), FrameRecorder(net.host)]
    assert_nothing_passes(headgate, net.host, recorders, frames_of_headgate=0)
    # What it has taken itself does pass.
    sender, receiver = (net.host, net.peer) if direction == "egress" else (net.peer, net.host)
    recorder = FrameRecorder(receiver)
    FrameSender(sender).send(udp_frame(numbered(9)))
    assert udp_frame(numbered(9)) in recorder.frames(1)


def test_what_others_send_on_the_divert_devices_of_a_wire_goes_nowhere(inline_net, headgates, divert):
    for namespace in inline_net.namespaces:
        namespace.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
    headgate = headgates(inline_net.middle)
    headgate.start(SHAPE.format(direction='forward_to = "eth1"'), divert=divert)
    recorders = [FrameRecorder(inline_net.host), FrameRecorder(inline_net.peer)]
    assert_nothing_passes(headgate, inline_net.middle, recorders, frames_of_headgate=0)
