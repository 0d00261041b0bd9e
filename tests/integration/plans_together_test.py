"""Plans whose members are together: a customer with several addresses has one bucket, and both ways stand side by side."""

import time

import pytest

import network
from daemon import EXIT_REFUSED, EXIT_USAGE, check_law, class_of
from frames import IPV4_ADDRESSES, numbered, udp_frame
from packet_socket import FrameSender
from traffic import Receiver, Sender, rate_while_running

IPV6_SOURCE = "2001:db8::1"

# At such a rate what leaves is the burst, and one more packet waits: no time is judged.
BURSTS = """
[[shape]]
interface = "eth0"
workers = 1
{shape}
  [[shape.class]]
  name = "customers"
  match = "udp"
  key = "dst"
  rate = "1p/min"
  burst = "5p"
  queue = "1p"
    [[shape.class.plan]]
    name = "acme"
    rate = "1p/min"
    burst = "50p"
    together = true
    members = ["10.77.0.5", "10.77.9.0/28", "2001:db8:5::/48"]
    [[shape.class.plan]]
    name = "other"
    rate = "1p/min"
    burst = "20p"
    together = true
    members = ["10.77.0.6", "2001:db8:6::/48"]
"""
TREE = 'rate = "1gbit"'
OURS = ["10.77.0.5", "10.77.9.3", "10.77.9.14", "2001:db8:5::1", "2001:db8:5:7::9"]

CUSTOMER = [network.PEER_IPV4, network.PEER_MORE_IPV4[0], network.PEER_IPV6]
STRANGER = network.PEER_MORE_IPV4[1]

LOAD = """
[[shape]]
interface = "eth0"
workers = 1
{shape}
  [[shape.class]]
  name = "customers"
  match = "udp dst portrange 5000-5999"
  key = "dst"
  rate = "300pps"
  queue = "5000p"
    [[shape.class.plan]]
    name = "acme"
    rate = "300pps"
    together = true
    members = {members}
"""


def send(sender, addresses, count=100):
    for number in range(count):
        for address in addresses:
            source = IPV6_SOURCE if ":" in address else IPV4_ADDRESSES[0]
            sender.send(udp_frame(numbered(number), addresses=(source, address)))


def flows_of(headgate, offered, patience=5):
    """By name, once all that was offered has come."""
    deadline = time.monotonic() + patience
    while True:
        shape = headgate.shape()
        check_law(shape)
        received = class_of(shape, "customers")["received"]["packets"]
        if received == offered:
            return {flow["text"]: flow for flow in headgate.json("flows", "customers", "-n", "100")["flows"]}
        assert time.monotonic() < deadline, (received, offered)
        time.sleep(0.05)


class Load:
    """To addresses of both families, each with as much of the rate; the ports of a flow tell it from others."""

    def __init__(self, namespace, programs, addresses, *, rate, **options):
        families = [[one for one in addresses if (":" in one) == ipv6] for ipv6 in (False, True)]
        self._senders = [Sender(namespace, programs, family, rate=rate * len(family) / len(addresses), **options)
                         for family in families if family]

    def running(self):
        return any(sender.running() for sender in self._senders)

    def finish(self):
        return sum(sender.finish()["sent"] for sender in self._senders)


def wait_for(condition, patience):
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"not so within {patience} s"
        time.sleep(0.05)


def members(addresses):
    return "[" + ", ".join(f'"{address}"' for address in addresses) + "]"


@pytest.mark.each_back_end
@pytest.mark.parametrize("shape", ["", TREE])
def test_all_addresses_share_a_bucket_and_others_do_not(net, headgate, divert, shape):
    headgate.start(BURSTS.format(shape=shape), divert=divert)
    sender = FrameSender(net.host)
    send(sender, OURS)
    flows = flows_of(headgate, 100 * len(OURS))
    assert list(flows) == ["acme"]
    acme = flows["acme"]
    assert acme["key"] == {"plan": "acme"} and acme["plan"] == "acme"
    assert (acme["sent"]["packets"], acme["queued"]["packets"]) == (50, 1)
    send(sender, ["10.77.0.6", "2001:db8:6::1", "10.77.0.7"])
    flows = flows_of(headgate, 100 * len(OURS) + 300)
    assert {name: flow["sent"]["packets"] for name, flow in flows.items()} == {"acme": 50, "other": 20, "→ 10.77.0.7": 5}
    assert "acme" in headgate.control("flows", "customers").stdout


@pytest.mark.parametrize("address", OURS)
def test_one_address_alone_has_the_whole_bucket(net, headgate, address):
    headgate.start(BURSTS.format(shape=""))
    send(FrameSender(net.host), [address])
    assert flows_of(headgate, 100)["acme"]["sent"]["packets"] == 50


@pytest.mark.measured
@pytest.mark.parametrize("addresses", [CUSTOMER, CUSTOMER[:1], CUSTOMER[2:]])
def test_the_customer_gets_its_rate_however_many_addresses_are_active(net, headgate, programs, addresses):
    headgate.start(LOAD.format(shape="", members=members(CUSTOMER)))
    receiver = Receiver(net.peer, programs)
    load = Load(net.host, programs, addresses, rate=900, seconds=3, flows=3)
    other = Sender(net.host, programs, STRANGER, rate=200, seconds=3, port=5100)
    load.finish()
    other.finish()
    arrivals = receiver.stop()
    ours = sorted(arrival for (address, _), flow in arrivals.flows.items() if address != STRANGER for arrival in flow)
    assert rate_while_running(ours, 300) == pytest.approx(300, rel=0.01)
    assert rate_while_running(arrivals.flows[STRANGER, 5100], 200) == pytest.approx(200, rel=0.02)
    assert arrivals.reordered() == 0


@pytest.mark.parametrize("shape", ["", TREE])
def test_members_come_and_go_under_load_without_loss_or_reordering(net, headgate, programs, divert, shape):
    """Each change finds packets of the address waiting, in its own queue or in that of the plan."""
    headgate.start(LOAD.format(shape=shape, members=members(CUSTOMER[:1])), divert=divert)
    receiver = Receiver(net.peer, programs)
    load = Load(net.host, programs, CUSTOMER, rate=1200, seconds=2.5, flows=6)
    changes = 0
    while load.running():
        for address in CUSTOMER:
            headgate.control("plan", "customers", address, "none" if changes % 2 else "acme")
        changes += 1
    offered = load.finish()
    wait_for(lambda: class_of(headgate.shape(), "customers")["sent"]["packets"] == offered, patience=30)
    arrivals = receiver.stop(settle=0.3)
    assert changes > 3
    assert len(arrivals) == offered and arrivals.reordered() == 0
    check_law(headgate.shape())


def test_a_reload_brings_members_together_and_apart_under_load(net, headgate, programs, divert):
    together = LOAD.format(shape="", members=members(CUSTOMER))
    headgate.start(together, divert=divert)
    receiver = Receiver(net.peer, programs)
    load = Load(net.host, programs, CUSTOMER, rate=900, seconds=2.5, flows=6)
    reloads = 0
    while load.running():
        reloads += 1
        headgate.write(together.replace("together = true", "together = false") if reloads % 2 else together, divert=divert)
        headgate.reload()
        time.sleep(0.2)
    offered = load.finish()
    wait_for(lambda: class_of(headgate.shape(), "customers")["sent"]["packets"] == offered, patience=30)
    arrivals = receiver.stop(settle=0.3)
    assert reloads > 3
    assert len(arrivals) == offered and arrivals.reordered() == 0
    check_law(headgate.shape())


def test_together_is_set_live_and_seen_in_diff(net, headgate):
    headgate.start(BURSTS.format(shape=""))
    headgate.control("set", "customers", "plan.acme.together=false")
    assert "together" in headgate.control("diff").stdout
    send(FrameSender(net.host), OURS)
    flows = flows_of(headgate, 100 * len(OURS))
    assert {flow["sent"]["packets"] for flow in flows.values()} == {50} and len(flows) == len(OURS)
    headgate.control("set", "customers", "plan.acme.together=true")
    assert list(flows_of(headgate, 100 * len(OURS))) == ["acme"]
    done = headgate.control("set", "customers", "plan.acme.together=perhaps", check=False)
    assert done.returncode == EXIT_REFUSED and "true or false" in done.stderr


def test_several_workers_are_refused(headgate):
    apart = BURSTS.format(shape="").replace("workers = 1", "workers = 2").replace("together = true", "together = false")
    headgate.start(apart)
    headgate.write(apart.replace("workers = 2", "workers = 1").replace("together = false", "together = true"))
    done = headgate.control("reload", check=False)
    assert done.returncode == EXIT_REFUSED and "together" in done.stderr


BOTH_WAYS = """
[[shape]]
interface = "eth0"
workers = 1
  [[shape.class]]
  name = "customers"
  match = "udp"
  key = "dst"
  rate = "1gbit"
    [[shape.class.plan]]
    name = "acme"
    rate = "1gbit"
    together = true
    members = {members}
[[shape]]
interface = "eth0"
direction = "ingress"
workers = 1
  [[shape.class]]
  name = "customers"
  match = "udp"
  key = "src"
  rate = "1gbit"
    [[shape.class.plan]]
    name = "acme"
    rate = "1gbit"
    together = true
    members = {members}
"""


def test_down_and_up_stand_side_by_side(net, headgate, programs):
    headgate.start(BOTH_WAYS.format(members=members(CUSTOMER)), workers=2)
    for address in CUSTOMER:
        Sender(net.host, programs, address, rate=0, count=10).finish()
    Sender(net.host, programs, STRANGER, rate=0, count=7).finish()
    Sender(net.peer, programs, network.HOST_IPV4, rate=0, count=20).finish()

    def counts():
        return {pair["text"]: [pair[way] and pair[way]["sent"]["packets"] for way in ("down", "up")]
                for pair in headgate.json("flows", "--both", "customers")["pairs"]}
    wait_for(lambda: counts() == {"acme": [30, 20], STRANGER: [7, None]}, patience=10)
    for name in ("eth0/egress/customers", "eth0/ingress/customers"):
        reply = headgate.json("flows", "--both", name)
        assert [one["name"] for one in reply["classes"]] == ["eth0/egress/customers", "eth0/ingress/customers"]
        assert [pair["text"] for pair in reply["pairs"]] == ["acme", STRANGER]
    screen = headgate.control("flows", "--both", "customers").stdout
    assert "DOWN" in screen and "UP" in screen and "acme" in screen


def test_a_class_without_the_other_way_is_told(headgate):
    headgate.start(BURSTS.format(shape=""))
    for arguments, said in [(("customers",), "eth0/ingress/customers"), (("customer",), "customers"), ((), "CLASS")]:
        done = headgate.control("flows", "--both", *arguments, check=False)
        assert done.returncode == EXIT_USAGE and said in done.stderr, done.stderr


def test_explain_names_the_plan_whose_bucket_it_is(headgate):
    headgate.start(BURSTS.format(shape=""))
    flow = headgate.json("explain", "eth0", f"src {network.HOST_IPV4} dst {OURS[1]} udp sport 4000 dport 5000")["flow"]
    assert flow["text"] == "acme" and flow["key"] == {"plan": "acme"}
