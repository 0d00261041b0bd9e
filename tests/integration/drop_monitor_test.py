"""Whether a monitor of dropped packets takes what headgate has captured for lost."""

import pytest

import network
from drop_monitor import DropMonitor

PACKETS = 1000
SHAPE = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "all"
  rate = "5000pps"
"""


@pytest.fixture
def monitor():
    try:
        made = DropMonitor()
    except OSError as error:
        pytest.skip(f"no program can look at drops here: {error}")
    yield made
    made.close()


@pytest.mark.measured
@pytest.mark.each_divert
def test_what_is_captured_is_reported_as_a_drop_by_tcx_alone(net, headgate, divert, monitor, figure):
    headgate.start(SHAPE, divert=divert)
    before = monitor.drops()
    result = net.host.run("ping", "-n", "-q", "-c", PACKETS, "-i", 0.002, "-W", 1, network.PEER_IPV4)
    assert " 0% packet loss" in result.stdout, result.stdout
    drops = monitor.drops() - before
    figure("drops reported of 1000 packets", drops)
    if divert == "clsact":
        assert drops < PACKETS / 2  # of the whole machine
    else:
        assert drops >= PACKETS
