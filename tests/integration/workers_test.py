"""Several workers share the flows of a shape: each flow in one bucket and in order, whoever captures and sends it."""

import pathlib
import re
import signal
import time

import pytest

import network
import traces
from capture_test import comments, end, start_capture
from daemon import EXIT_USAGE, check_law, class_of
from traffic import Ping, Receiver, Sender, answers, rate_while_running

MANY = 20  # flows

SHAPES = {
    "egress": 'interface = "eth0"',
    "ingress": 'interface = "eth0"\ndirection = "ingress"',
    "inline": 'interface = "eth0"\nforward_to = "eth1"',
}

CLASS = """
  [[shape.class]]
  name  = "udp"
  match = "udp dst portrange 5000-5999"
  key   = "{key}"
  rate  = "{rate}"
  queue = "{queue}"
"""


BACK = """
[[shape]]
interface = "eth1"
forward_to = "eth0"
workers = 2
  [[shape.class]]
  name = "back"
  rate = "1gbit"
"""


def config(where="egress", *, key="5-tuple", rate="500pps", queue="100p", workers=2, more=""):
    shape = f"[[shape]]\n{SHAPES[where]}\nworkers = {workers}\n{more}" + CLASS.format(key=key, rate=rate, queue=queue)
    return shape + BACK if where == "inline" else shape


def work_by_thread(headgate, names):
    """How often the threads of each name that matches have slept."""
    slept = {}
    for task in pathlib.Path(f"/proc/{headgate.process.pid}/task").iterdir():
        name = (task / "comm").read_text().strip()
        if re.fullmatch(rf"{names}-\d+", name):
            status = (task / "status").read_text()
            count = int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.M)[1])
            slept[name] = slept.get(name, 0) + count
    return slept


@pytest.fixture(params=list(SHAPES))
def place(request, net, inline_net, headgates):
    """Where the shape is, the daemon there, and who sends to whom."""
    if request.param == "inline":
        return request.param, headgates(inline_net.middle), inline_net.host, inline_net.peer, network.PEER_IPV4
    if request.param == "ingress":
        return request.param, headgates(net.host), net.peer, net.host, network.HOST_IPV4
    return request.param, headgates(net.host), net.host, net.peer, network.PEER_IPV4


@pytest.mark.measured
def test_each_of_many_flows_has_its_rate_and_its_order(place, inline_net, programs, divert, figure):
    where, headgate, source, destination, to = place
    headgate.start(config(where), divert=divert)
    if where == "inline":
        inline_net.wait_for_answers()
    # A packet socket sees what is shaped on its way in twice: there the counters and the tests of ingress tell.
    receiver = None if where == "ingress" else Receiver(destination, programs)
    before = work_by_thread(headgate, "hg-worker")
    offered = Sender(source, programs, to, flows=MANY, rate=3 * 500 * MANY, seconds=8).finish()["sent"]
    after = work_by_thread(headgate, "hg-worker")
    counters = headgate.settled_class("udp", offered)

    assert set(after) == {"hg-worker-0", "hg-worker-1"}
    for name, slept in after.items():
        assert slept > before[name] + 100, f"{name} had nothing to do"
    assert counters["received"]["packets"] == offered
    if receiver is None:
        assert counters["sent"]["packets"] == pytest.approx(MANY * (8 * 500 + 100), rel=0.005)
        flows = headgate.json("flows", "udp")["flows"]
        assert len(flows) == MANY
        assert all(flow["sent"]["packets"] == pytest.approx(8 * 500 + 100, rel=0.01) for flow in flows)
        return
    arrivals = receiver.stop()
    assert counters["sent"]["packets"] == len(arrivals)
    assert len(arrivals.flows) == MANY
    rates = [rate_while_running(flow, 500) for flow in arrivals.flows.values()]
    figure("packets per second of 500, lowest and highest", [round(min(rates), 3), round(max(rates), 3)])
    assert all(rate == pytest.approx(500, rel=0.005) for rate in rates)
    assert arrivals.reordered() == 0


@pytest.mark.measured
@pytest.mark.parametrize("rate", ["2000pps", "2mbit"])
def test_one_bucket_for_many_connections_is_exact(net, headgate, programs, divert, figure, rate):
    size = 200
    wanted = 2000 if rate.endswith("pps") else 2e6 / 8 / size
    headgate.start(config(key="class", rate=rate), divert=divert)
    receiver = Receiver(net.peer, programs)
    offered = Sender(net.host, programs, network.PEER_IPV4, flows=MANY, rate=9000, seconds=8,
                     size=size).finish()["sent"]
    counters = headgate.settled_class("udp", offered)
    arrivals = receiver.stop()

    together = sorted(arrival for flow in arrivals.flows.values() for arrival in flow)
    rate_held = rate_while_running(together, wanted)
    figure(f"packets per second of {wanted}", round(rate_held, 3))
    assert rate_held == pytest.approx(wanted, rel=0.005)
    assert len(arrivals.flows) == MANY
    assert arrivals.reordered() == 0
    assert counters["sent"]["packets"] == len(together)


def test_reloads_under_load_lose_and_reorder_nothing(net, headgate, programs, divert):
    headgate.start(config(key="dst", rate="2000pps", queue="2000p"), divert=divert)
    receiver = Receiver(net.peer, programs)
    load = Sender(net.host, programs, network.PEER_MORE_IPV4, flows=2, rate=9000, seconds=6)
    reloads = 0
    while load.running():
        # Flows go to another bucket, and with that to another worker.
        rate, key = [("3000pps", "dst"), ("20000pps", "class"), ("2000pps", "dst/31"), ("2000pps", "5-tuple"),
                     ("2000pps", "dst")][reloads % 5]
        headgate.write(config(key=key, rate=rate, queue="2000p"), divert=divert)
        headgate.reload()
        check_law(headgate.shape())
        reloads += 1
        time.sleep(0.05)
    offered = load.finish()["sent"]
    counters = headgate.settled_class("udp", offered)
    arrivals = receiver.stop()

    assert reloads > 20
    assert counters["received"]["packets"] == counters["sent"]["packets"] == offered, counters
    assert len(arrivals) == offered
    assert arrivals.reordered() == 0


def test_what_is_not_shaped_keeps_its_order(net, headgate, programs, divert):
    headgate.start(config(rate="1000pps"), divert=divert)
    receiver = Receiver(net.peer, programs)
    load = Sender(net.host, programs, network.PEER_IPV4, port=7000, flows=MANY, rate=20_000, seconds=3)
    offered = load.finish()["sent"]
    arrivals = receiver.stop()
    assert len(arrivals) == offered
    assert arrivals.reordered() == 0


def test_a_stop_sends_every_packet_that_was_queued(net, headgate, programs, divert):
    headgate.start(config(rate="10pps"), divert=divert)
    receiver = Receiver(net.peer, programs)
    Sender(net.host, programs, network.PEER_IPV4, flows=MANY, rate=2000, count=50 * MANY).finish()
    shape = headgate.shape()
    check_law(shape)
    assert class_of(shape, "udp")["queued"]["packets"] > 40 * MANY
    assert class_of(shape, "udp")["flows"] == MANY
    headgate.stop()
    arrivals = receiver.stop()
    assert len(arrivals) == 50 * MANY
    assert arrivals.reordered() == 0
    traces.assert_none(net.host)


@pytest.mark.timed
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_the_host_is_open_when_the_daemon_dies_or_hangs(net, headgate, programs, divert, how):
    headgate.start(config(rate="1000pps"), divert=divert)
    load = Sender(net.host, programs, network.PEER_IPV4, flows=MANY, rate=30_000, seconds=600)
    ping = Ping(net.host, network.PEER_IPV4, interval=0.01)
    time.sleep(1)
    headgate.signal(how)
    struck = time.time()
    time.sleep(1.5)
    echoes = ping.stop()
    first = next(echo.sent + echo.round_trip for echo in echoes if echo.sent > struck)
    assert first - struck < 0.8
    if how == signal.SIGKILL:
        headgate.process.wait()
        headgate.start(config(rate="1000pps"), divert=divert)
    else:
        headgate.signal(signal.SIGCONT)
        deadline = time.monotonic() + 3
        while not headgate.shape()["diverting"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    load.stop()
    assert answers(net.host, network.PEER_IPV4)
    check_law(headgate.shape())


def test_every_packet_is_in_a_trace(net, headgate, programs):
    headgate.start(config(rate="200pps", queue="5p"))
    path = headgate.directory / "trace.pcapng"
    process = start_capture(headgate, "udp", "-w", path)
    Sender(net.host, programs, network.PEER_IPV4, flows=MANY, rate=10_000, count=10_000).finish()
    counters = headgate.settled_class("udp", 10_000)
    assert end(process) == "headgatectl: 20000 packets captured, 0 missed\n"
    dropped = counters["dropped"]["packets"]
    assert dropped > 0
    starved = counters["dropped"]["reasons"]["starved"]["packets"]
    expected = {"received": 10_000, "sent": counters["sent"]["packets"], "dropped: queue_full": dropped - starved}
    assert comments(path.read_bytes()) == expected | ({"dropped: starved": starved} if starved else {})


def test_the_number_is_shown_and_takes_effect_at_a_start(net, headgate):
    headgate.start(config(workers=16))
    assert headgate.shape()["workers"] == 16
    assert ", 16 workers" in headgate.control("show").stdout
    assert len(work_by_thread(headgate, "hg-worker")) == 16
    headgate.write(config(workers=2))
    assert "workers takes effect at the next start" in headgate.reload().stdout
    assert headgate.shape()["workers"] == 16
    headgate.stop()
    headgate.start(config(workers=1))
    assert headgate.shape()["workers"] == 1
    headgate.write(config(more='capture = "pcap"\n'))
    refused = headgate.control("check", headgate.config_path, check=False)
    assert refused.returncode == EXIT_USAGE
    assert 'do not go with capture = "pcap"' in refused.stdout + refused.stderr


BURSTS = f"""
import socket, time
one, many = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
many.setsockopt(socket.IPPROTO_UDP, 103, 100)  # UDP_SEGMENT
for _ in range(12):
    one.sendto(b"x", ("{network.PEER_IPV4}", 5000))
    time.sleep(0.0005)
    many.sendto(b"x" * 6000, ("{network.PEER_IPV4}", 5001))
    time.sleep(0.6)  # longer than the dead-man switch has patience
"""


def test_silence_behind_a_burst_does_not_open_the_host(net, headgate, divert):
    headgate.start(config(rate="1000000pps", queue="1000p"), divert=divert)
    net.host.run("python3", "-c", BURSTS)
    shape = headgate.shape()
    check_law(shape)
    assert shape["unshaped"]["packets"] == 0
    assert shape["dropped"]["packets"] == 0
