"""What the link adds to a packet counts for bit rates."""

import pytest

import network
from traffic import Receiver, Sender, rate_while_running

CONFIG = """
[[shape]]
interface = "eth0"
overhead = {overhead}
mpu = {mpu}
  [[shape.class]]
  name = "all"
  match = "udp"
  rate = "{rate}"
  queue = "500p"
"""

@pytest.mark.measured
@pytest.mark.parametrize("overhead, mpu, size, charged", [
    (0, 0, 100, 100),
    (24, 84, 1000, 1024),
    (24, 84, 60, 84),
    (24, 84, 50, 84),  # 74 with the overhead alone
    (-14, 0, 500, 486),
    (-64, 84, 100, 84),
])
def test_a_packet_is_charged_for_its_frame_and_the_overhead_but_at_least_the_mpu(net, headgate, programs, overhead, mpu,
                                                                                size, charged):
    expected = 1000  # packets per second
    headgate.start(CONFIG.format(overhead=overhead, mpu=mpu, rate=f"{charged * expected * 8}bit"))
    receiver = Receiver(net.peer, programs)
    sent = Sender(net.host, programs, network.PEER_IPV4, rate=2 * expected, seconds=2, size=size).finish()["sent"]
    counters = headgate.settled_class("all", sent)
    flow = receiver.stop().only()
    assert rate_while_running(flow, expected) == pytest.approx(expected, rel=0.005)
    # The counters stay those of the frames.
    assert counters["sent"]["bytes"] == counters["sent"]["packets"] * size


@pytest.mark.measured
def test_packet_rates_do_not_change(net, headgate, programs):
    headgate.start(CONFIG.format(overhead=200, mpu=256, rate="1000pps").replace('"500p"', '"500kb"'))
    receiver = Receiver(net.peer, programs)
    Sender(net.host, programs, network.PEER_IPV4, rate=2000, seconds=2).finish()
    assert rate_while_running(receiver.stop(settle=1).only(), 1000) == pytest.approx(1000, rel=0.005)


def test_show_says_what_the_link_adds(net, headgate):
    headgate.start(CONFIG.format(overhead=-14, mpu=64, rate="10mbit"))
    shape = headgate.shape()
    assert (shape["overhead"], shape["mpu"]) == (-14, 64)
    screen = headgate.control("show").stdout
    assert "overhead -14" in screen and "mpu 64" in screen


@pytest.mark.measured
def test_a_reload_changes_the_accounting(net, headgate, programs):
    headgate.start(CONFIG.format(overhead=0, mpu=0, rate="800kbit"))
    headgate.write(CONFIG.format(overhead=100, mpu=0, rate="800kbit"))
    headgate.reload()
    receiver = Receiver(net.peer, programs)
    Sender(net.host, programs, network.PEER_IPV4, rate=1000, seconds=2).finish()
    assert rate_while_running(receiver.stop(settle=1).only(), 500) == pytest.approx(500, rel=0.005)
