"""Whether a monitor of dropped packets takes what headgate has captured for lost."""

import socket

import pytest

import network
from conftest import kernel_has_tcx
from packet_socket import inside

ROUNDS, PACKETS = 10, 100
SHAPE = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "all"
  rate = "5000pps"
"""


def exchange(net):
    """Each packet is read before the next one is sent, so the kernel has none to drop."""
    with inside(net.peer):
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind((network.PEER_IPV4, 5000))
    with inside(net.host):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.settimeout(5)
    with sender, receiver:
        for number in range(PACKETS):
            sender.sendto(number.to_bytes(4), (network.PEER_IPV4, 5000))
            assert receiver.recv(4) == number.to_bytes(4)


@pytest.mark.measured
@pytest.mark.parametrize("back_end, method, reported",
                         [("bpf", "tcx", False), ("bpf", "clsact", False), ("ring", "tcx", True), ("ring", "clsact", False)])
def test_what_is_captured_is_reported_as_a_drop_by_the_ring_and_tcx_alone(net, headgate, monitor, figure, back_end, method,
                                                                          reported):
    if method == "tcx" and not kernel_has_tcx():
        method, reported = "clsact", False
    headgate.start(SHAPE.replace('"eth0"\n', f'"eth0"\ncapture = "{back_end}"\n'), divert=method)
    drops = []
    for _ in range(ROUNDS):
        before = monitor.drops()
        exchange(net)
        drops.append(monitor.drops() - before)
    fewest = min(drops)  # what else the machine drops comes and goes
    figure(f"drops reported of {PACKETS} packets", fewest)
    assert fewest >= PACKETS if reported else fewest < PACKETS / 2
