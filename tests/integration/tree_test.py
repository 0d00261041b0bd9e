"""A link shared by classes: guarantees, groups, priorities, fair queues, and queues that stay short."""

import time

import pytest

import network
from daemon import check_law, class_of
from traffic import Ping, Receiver, Sender, TcpLoad, percentile

LINK = """
[[shape]]
interface = "eth0"
workers = 1
rate = "100mbit"
  [[shape.group]]
  name = "guests"
  ceiling = "20mbit"
  [[shape.class]]
  name = "voip"
  match = "udp port 5060"
  guarantee = "2mbit"
  priority = 0
  [[shape.class]]
  name = "office"
  match = "udp portrange 5100-5199"
  guarantee = "40mbit"
  weight = 2
  fair = true
  [[shape.class]]
  name = "guest"
  match = "udp portrange 5200-5299"
  group = "guests"
  key = "dst"
  rate = "5mbit"
  queue = "100p"
"""

ONE_LINK = """
[[shape]]
interface = "eth0"
workers = 1
rate = "{rate}"
  [[shape.class]]
  name = "all"
{keys}
"""

FRAME = 1000  # bytes


def megabits_sent(before, after, seconds):
    """What each class has sent from one answer of `show` to another."""
    return {item["name"]: (item["sent"]["bytes"] - class_of(before, item["name"])["sent"]["bytes"]) * 8e-6 / seconds
            for item in after["classes"]}


def shares_over(headgate, seconds):
    """What the classes of eth0 get, by the daemon's own time."""
    before = headgate.show()
    time.sleep(seconds)
    after = headgate.show()
    check_law(after["shapes"][0])
    return megabits_sent(before["shapes"][0], after["shapes"][0], after["uptime_s"] - before["uptime_s"])


def wait_until_empty(headgate, name, patience=5):
    deadline = time.monotonic() + patience
    while class_of(headgate.shape(), name)["queued"]["packets"] > 0:
        assert time.monotonic() < deadline, f"{name} still has packets after {patience} s"
        time.sleep(0.02)


def offer(net, programs, megabits, port, to=network.PEER_IPV4, flows=1, seconds=60):
    return Sender(net.host, programs, to, rate=megabits * 1e6 / 8 / FRAME, seconds=seconds, port=port, flows=flows, size=FRAME)


@pytest.mark.measured
def test_classes_get_what_they_are_promised_as_demands_come_and_go(net, headgate, programs, divert, figure):
    headgate.start(LINK, divert=divert)
    offered = {"voip": offer(net, programs, 1, 5060),
               "office": offer(net, programs, 100, 5100, flows=10),
               "guest": offer(net, programs, 60, 5200, to=network.PEER_MORE_IPV4[:6]),
               "(default)": offer(net, programs, 100, 5300)}
    # Guarantees first: 1 of voip and 40 of office. The other 59 go by weight, 2 : 1 : 1.
    # Then of 59 by 2 : 1; then guests up to their ceiling, and what is left to nobody.
    phases = [((), {"voip": 1, "office": 40 + 29.5, "guest": 14.75, "(default)": 14.75}),
              (("(default)",), {"voip": 1, "office": 40 + 2 * 59 / 3, "guest": 59 / 3, "(default)": 0}),
              (("office",), {"voip": 1, "office": 0, "guest": 20, "(default)": 0})]
    time.sleep(1)  # until the queues are full
    for ends, expected in phases:
        for name in ends:
            offered[name].stop()
            wait_until_empty(headgate, name)
        time.sleep(0.1)
        got = shares_over(headgate, 1.5)
        figure(f"Mbit/s after the end of {', '.join(ends) or 'nothing'}",
               {name: [round(got[name], 2), round(expected[name], 2)] for name in got})
        for name, wanted in expected.items():
            assert got[name] == pytest.approx(wanted, abs=1), (name, got)  # a hundredth of the link
    for name in ("voip", "guest"):
        offered[name].stop()


def test_a_link_has_a_class_for_the_rest_and_says_what_holds_whom(net, headgate, programs, divert):
    headgate.start(LINK, divert=divert)
    sender = offer(net, programs, 60, 5200, to=network.PEER_MORE_IPV4[:6], seconds=3)
    deadline = time.monotonic() + 2.5
    while class_of(shape := headgate.shape(), "guest")["held_by"] != "guests":  # seldom its own buckets hold all of them
        assert time.monotonic() < deadline, class_of(shape, "guest")
    sender.finish()
    assert [item["name"] for item in shape["classes"]] == ["voip", "office", "guest", "(default)"]
    assert [group["name"] for group in shape["groups"]] == ["guests"]
    offer(net, programs, 10, 5300, seconds=0.5).finish()
    default = headgate.settled_class("(default)", 100)
    assert default["sent"] == default["received"] and default["flows"] >= 1
    text = headgate.control("show").stdout
    assert "guests" in text and "20mbit" in text and "100mbit" in text


@pytest.mark.parametrize("change", [("40mbit", "10mbit"), ("weight = 2", "weight = 1"), ('rate = "100mbit"', 'rate = "50mbit"'),
                                    ('ceiling = "20mbit"', 'ceiling = "8mbit"'), ('  group = "guests"\n', "")])
def test_a_reload_changes_the_tree_and_loses_nothing(net, headgate, programs, divert, change):
    headgate.start(LINK, divert=divert)
    receiver = Receiver(net.peer, programs)
    senders = [Sender(net.host, programs, network.PEER_IPV4, rate=500, seconds=3, port=port, size=FRAME)
               for port in (5060, 5100, 5200, 5300)]
    time.sleep(1)
    headgate.write(LINK.replace(*change))
    headgate.reload()
    sent = sum(sender.finish()["sent"] for sender in senders)
    arrivals = receiver.stop(settle=0.5)
    assert len(arrivals) == sent and arrivals.reordered() == 0
    check_law(headgate.shape())


def test_what_cannot_be_is_refused_and_what_runs_stays(headgate):
    headgate.start(LINK)
    for old, new, expected in [('guarantee = "40mbit"', 'guarantee = "120mbit"', "guarantee"),
                               ('group = "guests"', 'group = "guest"', "guests"),
                               ("workers = 1", "workers = 2", "workers"),
                               ('rate = "100mbit"', 'rate = "1000pps"', "rate"),
                               ("fair = true", 'fair = true\n  rate = "1mbit"', "fair")]:
        headgate.write(LINK.replace(old, new))
        result = headgate.control("reload", check=False)
        assert result.returncode != 0 and expected in result.stderr, result.stderr
    assert class_of(headgate.shape(), "office")["name"] == "office"


@pytest.mark.measured
def test_a_managed_queue_stays_short_at_full_speed(net, headgate, divert, figure):
    keys = '  rate = "20mbit"\n  queue = "500ms"\n'
    config = ONE_LINK.format(rate="20mbit", keys=keys).replace('rate = "20mbit"\n  [[', "  [[", 1)
    goodput, delay = {}, {}
    for aqm in ("none", "codel"):
        headgate.start(config + f'  aqm = "{aqm}"\n', divert=divert)
        load = TcpLoad(net.host, net.peer, network.PEER_IPV4, seconds=6)
        time.sleep(2)
        ping = Ping(net.host, network.PEER_IPV4)
        report = load.finish()
        delay[aqm] = percentile([echo.round_trip for echo in ping.stop()][:350], 50)
        goodput[aqm] = report["end"]["sum_received"]["bits_per_second"]
        headgate.stop()
    figure("median round trip in ms without and with", [round(delay[aqm] * 1e3, 1) for aqm in delay])
    figure("goodput in Mbit/s without and with", [round(goodput[aqm] / 1e6, 2) for aqm in goodput])
    assert delay["codel"] <= 0.015
    assert goodput["codel"] >= 0.95 * goodput["none"]


@pytest.mark.measured
def test_sixteen_connections_share_a_fair_class(net, headgate, divert, figure):
    headgate.start(ONE_LINK.format(rate="100mbit", keys="  fair = true\n"), divert=divert)
    report = TcpLoad(net.host, net.peer, network.PEER_IPV4, seconds=8, streams=16).finish()
    rates = [stream["receiver"]["bits_per_second"] for stream in report["end"]["streams"]]
    jain = sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))
    figure("Jain's index of 16", round(jain, 4))
    figure("goodput of 100 Mbit/s", round(sum(rates) / 1e6, 1))
    assert jain >= 0.98
    assert sum(rates) >= 0.9 * 100e6


def test_two_senders_that_understand_marks_lose_nothing(net, headgate, divert):
    for namespace in (net.host, net.peer):
        namespace.run("sysctl", "-q", "-w", "net.ipv4.tcp_ecn=1")
    headgate.start(ONE_LINK.format(rate="20mbit", keys="  fair = true\n"), divert=divert)
    TcpLoad(net.host, net.peer, network.PEER_IPV4, seconds=5, streams=2).finish()
    counters = class_of(headgate.shape(), "all")
    assert counters["dropped"]["packets"] == 0, counters["dropped"]
    assert counters["marked"]["packets"] > 0
