"""A reload loses no packet, reorders none, and keeps the counters."""

import signal
import time

import pytest

import network
import traces
from daemon import EXIT_OK, EXIT_REFUSED, class_of, trouble_of
from traffic import Receiver, Sender, rate_while_running

CONFIG = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "udp"
  match = "udp dst portrange 5000-5999"
  key   = "{key}"
  rate  = "{rate}"
  queue = "{queue}"
"""


def config(key, rate, queue="100p"):
    return CONFIG.format(key=key, rate=rate, queue=queue)


OTHER_CLASS = """
  [[shape.class]]
  name = "other"
  match = "tcp"
  rate = "10pps"
"""


@pytest.mark.each_back_end
def test_reloads_under_load_lose_and_reorder_nothing(net, headgate, programs, divert):
    headgate.start(config(key="dst", rate="2000pps", queue="2000p"), divert=divert)
    receiver = Receiver(net.peer, programs)
    load = Sender(net.host, programs, network.PEER_MORE_IPV4, rate=9000, seconds=6)
    reloads = 0
    while load.running():
        # Another rate, another class, another key: each of them a way to lose packets.
        rate, key, more = [("3000pps", "dst", ""), ("2000pps", "dst", OTHER_CLASS), ("2000pps", "dst/31", ""),
                           ("2000pps", "5-tuple", ""), ("2000pps", "dst", "")][reloads % 5]
        headgate.write(config(key=key, rate=rate, queue="2000p") + more, divert=divert)
        if reloads % 2:
            headgate.signal(signal.SIGHUP)
        else:
            headgate.reload()
        reloads += 1
        time.sleep(0.05)
    offered = load.finish()["sent"]
    counters = headgate.settled_class("udp", offered)
    arrivals = receiver.stop()

    assert reloads > 20
    assert counters["received"]["packets"] == counters["sent"]["packets"] == offered, counters
    assert len(arrivals) == offered
    assert arrivals.reordered() == 0


@pytest.mark.each_back_end
def test_a_full_queue_survives_its_class_being_keyed_anew(net, headgate, programs, divert):
    headgate.start(config(key="class", rate="10pps"), divert=divert)
    receiver = Receiver(net.peer, programs)
    Sender(net.host, programs, network.PEER_MORE_IPV4[:4], rate=1000, count=100).finish()
    time.sleep(0.2)
    headgate.write(config(key="dst", rate="100pps"), divert=divert)
    headgate.reload()
    headgate.settled_class("udp", 100)
    arrivals = receiver.stop()
    assert len(arrivals) == 100
    assert arrivals.reordered() == 0


def test_a_queue_of_a_class_that_was_removed_is_sent(net, headgate, programs, divert):
    headgate.start(config(key="class", rate="10pps"), divert=divert)
    receiver = Receiver(net.peer, programs)
    Sender(net.host, programs, network.PEER_IPV4, rate=1000, count=90).finish()
    headgate.write('[[shape]]\ninterface = "eth0"\n' + OTHER_CLASS, divert=divert)
    headgate.reload()
    arrivals = receiver.stop(settle=0.5)
    assert len(arrivals) == 90
    assert arrivals.reordered() == 0


@pytest.mark.each_back_end
@pytest.mark.measured
def test_a_new_rate_holds_from_the_next_packet_on(net, headgate, programs, divert):
    headgate.start(config(key="class", rate="1000pps"), divert=divert)
    receiver = Receiver(net.peer, programs)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=5000, seconds=4)
    time.sleep(2)
    headgate.write(config(key="class", rate="500pps"), divert=divert)
    headgate.reload()
    reloaded = time.time()
    offered = load.finish()["sent"]
    headgate.settled_class("udp", offered)
    flow = receiver.stop().only()
    before = [arrival for arrival in flow if arrival.time / 1e9 < reloaded - 0.1]
    after = [arrival for arrival in flow if arrival.time / 1e9 > reloaded + 0.1]
    assert rate_while_running(before, 1000) == pytest.approx(1000, rel=0.005)
    assert rate_while_running(after, 500) == pytest.approx(500, rel=0.005)


# What is added beside a shape that changes, and why it is refused.
REFUSALS = {
    "it cannot be shaped": ("loop0", "loop0 (lo) is the loopback interface"),
    "a second daemon shapes it": ("eth9", "eth9 egress is already shaped by process"),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_of_several_shapes_none_changes_when_one_is_refused(net, headgate, headgates, programs, divert, refusal):
    added, reason = REFUSALS[refusal]
    network.connect(["netns", net.host.name], ["netns", net.peer.name], "eth9")
    network.connect(["netns", net.host.name], ["netns", net.peer.name], "eth8")
    net.host.run("ip", "link", "property", "add", "dev", "lo", "altname", "loop0")
    headgates(net.host).start(config(key="class", rate="5pps").replace("eth0", "eth9"), divert=divert)
    headgate.start(config(key="class", rate="1000pps"), divert=divert)
    offered = Sender(net.host, programs, network.PEER_IPV4, rate=500, count=50).finish()["sent"]
    before = headgate.settled_class("udp", offered)
    devices = traces.divert_devices(net.host)
    changed = config(key="dst", rate="10pps") + OTHER_CLASS
    headgate.write(changed + "".join(config(key="class", rate="10pps").replace("eth0", one) for one in ("eth8", added)),
                   divert=divert)
    refused = headgate.control("reload", check=False)
    assert refused.returncode == EXIT_REFUSED
    assert reason in refused.stderr
    shape, = headgate.show()["shapes"]
    assert shape["interface"] == "eth0" and shape["diverting"] and trouble_of(shape) == ""
    assert [counters["name"] for counters in shape["classes"]] == ["udp"]
    assert {key: class_of(shape, "udp")[key] for key in before if key != "delay_us"} == {
        key: before[key] for key in before if key != "delay_us"}
    assert traces.divert_devices(net.host) == devices
    headgate.write(changed + config(key="class", rate="10pps").replace("eth0", "eth8"), divert=divert)
    headgate.reload()
    assert class_of(headgate.shape(), "udp")["rate"] == ["10pps"] and headgate.shape("eth8")["diverting"]


def test_a_bad_file_changes_nothing(net, headgate, programs):
    headgate.start(config(key="class", rate="1000pps"))
    before = headgate.shape()
    headgate.config_path.write_text('[[shape]]\ninterface = "eth0"\n[[shape.class]]\nname = "udp"\nrate = "fast"\n')
    result = headgate.control("reload", check=False)
    assert result.returncode == EXIT_REFUSED
    assert f"{headgate.config_path}:5:" in result.stderr
    after = headgate.shape()
    assert after["diverting"]
    assert class_of(after, "udp")["rate"] == class_of(before, "udp")["rate"]
    headgate.write(config(key="class", rate="1000pps"))
    assert headgate.reload().returncode == EXIT_OK


def test_a_file_that_is_just_being_written_removes_no_shape(net, headgate):
    headgate.start(config(key="class", rate="1000pps"))
    headgate.config_path.write_text("")
    result = headgate.control("reload", check=False)
    assert result.returncode == EXIT_REFUSED
    assert f"{headgate.config_path}: the file is empty" in result.stderr
    assert headgate.shape()["diverting"]
