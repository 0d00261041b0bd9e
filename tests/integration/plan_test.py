"""Plans: keys of one class with rates of their own, by the file and at run time."""

import json
import time

import pytest

import network
import processes
from daemon import EXIT_REFUSED, EXIT_USAGE, check_law, class_of
from frames import IPV4_ADDRESSES, numbered, udp_frame
from packet_socket import FrameSender
from traffic import TcpLoad

# At such a rate what leaves is the burst, and one more packet waits: no time is judged.
CONFIG = """
[[shape]]
interface = "{interface}"
  [[shape.class]]
  name = "customers"
  match = "udp"
  key = "dst"
  rate = "1p/min"
  burst = "5p"
  queue = "1p"
    [[shape.class.plan]]
    name = "gold"
    rate = "1p/min"
    burst = "50p"
    members = ["10.77.1.1", "2001:db8:1::/48"]
    {gold}
    [[shape.class.plan]]
    name = "silver"
    rate = "1p/min"
    burst = "20p"
    members = "10.77.1.0/24"
    {silver}
"""
BURSTS = {"gold": 50, "silver": 20, None: 5}
IPV6_SOURCE = "2001:db8::1"


def config(gold="", silver="", interface="eth0"):
    return CONFIG.format(gold=gold, silver=silver, interface=interface)


def send(sender, address, count=100):
    source = IPV6_SOURCE if ":" in address else IPV4_ADDRESSES[0]
    sender.send_all([udp_frame(numbered(number), addresses=(source, address)) for number in range(count)])


def flow_of(headgate, address, offered, patience=3):
    """The flow to this address, once all that was offered to it has come."""
    deadline = time.monotonic() + patience
    while True:
        flows = [flow for flow in headgate.json("flows", "-n", "1000")["flows"] if address in json.dumps(flow["key"])]
        counts = [flow["sent"]["packets"] + flow["dropped"]["packets"] + flow["queued"]["packets"] for flow in flows]
        if counts == [offered]:
            return flows[0]
        assert time.monotonic() < deadline, (address, flows)
        time.sleep(0.05)


def assert_plan(headgate, sender, address, plan):
    """A flow that is new has this plan, and its burst."""
    send(sender, address)
    flow = flow_of(headgate, address, 100)
    assert flow["plan"] == plan
    assert (flow["sent"]["packets"], flow["queued"]["packets"]) == (BURSTS[plan], 1)


def members(headgate):
    shape = headgate.shape()
    check_law(shape)
    return {plan["name"]: plan["members"] for plan in class_of(shape, "customers")["plans"]}


def test_the_smallest_network_says_which_plan_a_key_has(net, headgate, divert):
    headgate.start(config(), divert=divert)
    sender = FrameSender(net.host)
    for address, plan in [("10.77.1.1", "gold"), ("10.77.1.2", "silver"), ("10.77.1.3", "silver"), ("10.77.2.1", None),
                          ("2001:db8:1::5", "gold"), ("2001:db8:2::5", None)]:
        assert_plan(headgate, sender, address, plan)
    assert members(headgate) == {"gold": 2, "silver": 1}


def test_members_change_at_run_time(net, headgate, divert):
    headgate.start(config(), divert=divert)
    sender = FrameSender(net.host)
    assert_plan(headgate, sender, "10.77.1.2", "silver")
    headgate.control("plan", "customers", "10.77.1.2", "gold")
    assert flow_of(headgate, "10.77.1.2", 100)["plan"] == "gold"
    headgate.control("plan", "customers", "10.77.1.9", "gold")
    assert_plan(headgate, sender, "10.77.1.9", "gold")
    headgate.control("plan", "customers", "10.77.1.9", "none")
    assert flow_of(headgate, "10.77.1.9", 100)["plan"] == "silver"
    reply = headgate.json("plan", "customers", "10.77.3.0/24", "silver")
    assert (reply["class"], reply["plan"], reply["before"]) == ("eth0/egress/customers", "silver", None)
    assert_plan(headgate, sender, "10.77.3.77", "silver")
    assert members(headgate) == {"gold": 3, "silver": 2}


def test_many_members_change_by_one_call(net, headgate):
    headgate.start(config())
    lines = "".join(f"10.80.{number // 256}.{number % 256} {'gold' if number % 2 else 'silver'}\n" for number in range(5000))
    command = [headgate.programs / "headgatectl", "--control", headgate.control_path, "plan", "customers", "-"]
    done = processes.subprocess.run([str(part) for part in command], input=lines + "10.80.0.1 brass\n", text=True,
                                    capture_output=True, timeout=60)
    assert done.returncode == EXIT_REFUSED
    assert "5001" in done.stderr and "brass" in done.stderr
    assert members(headgate) == {"gold": 2502, "silver": 2501}
    assert_plan(headgate, FrameSender(net.host), "10.80.0.1", "gold")


def test_a_reload_keeps_what_run_time_said_until_the_file_says_something_else(net, headgate, divert, tmp_path):
    headgate.start(config(), divert=divert)
    sender = FrameSender(net.host)
    headgate.control("plan", "customers", "10.77.1.2", "gold")
    headgate.control("plan", "customers", "10.77.4.1", "silver")
    assert_plan(headgate, sender, "10.77.1.2", "gold")
    file = tmp_path / "gold.txt"
    file.write_text("10.77.5.0/24  # a village\n")
    headgate.write(config(gold=f'members_file = "{file}"'), divert=divert)
    headgate.reload()
    assert flow_of(headgate, "10.77.1.2", 100)["plan"] == "gold"
    assert_plan(headgate, sender, "10.77.4.1", "silver")
    assert_plan(headgate, sender, "10.77.5.9", "gold")
    file.write_text("10.77.4.1\n")
    headgate.reload()
    assert flow_of(headgate, "10.77.4.1", 100)["plan"] == "gold"
    assert flow_of(headgate, "10.77.5.9", 100)["plan"] is None
    assert members(headgate) == {"gold": 4, "silver": 1}


def test_an_interface_that_comes_later_has_the_members_of_run_time(net, headgate):
    headgate.start(config(interface="late*"))
    headgate.control("plan", "late*/egress/customers", "10.77.4.1", "gold")
    net.host.run("ip", "link", "add", "late0", "type", "veth", "peer", "name", "end0")
    net.host.run("ip", "link", "set", "end0", "up")
    net.host.run("ip", "link", "set", "late0", "up")
    headgate.wait_for_log("now shaped: late0")
    headgate.control("plan", "late*/egress/customers", "10.77.4.2", "silver")
    sender = FrameSender(net.host, "late0")
    assert_plan(headgate, sender, "10.77.4.1", "gold")
    assert_plan(headgate, sender, "10.77.4.2", "silver")


def test_with_several_workers_each_has_the_members(net, headgate):
    headgate.start(config().replace("[[shape]]", "[[shape]]\nworkers = 2"))
    for last in range(1, 9):
        headgate.control("plan", "customers", f"10.77.4.{last}", "gold")
    sender = FrameSender(net.host)
    for last in range(1, 9):
        assert_plan(headgate, sender, f"10.77.4.{last}", "gold")


@pytest.mark.parametrize("arguments, said", [
    (("customer", "10.77.1.1", "gold"), "customers"),
    (("customers", "10.77.1.1", "golf"), "gold"),
    (("customers", "10.77.1", "gold"), "10.77.1"),
])
def test_what_cannot_be_changed_is_said_with_what_was_meant(headgate, arguments, said):
    headgate.start(config())
    done = headgate.control("plan", *arguments, check=False)
    assert done.returncode == EXIT_USAGE
    assert said in done.stderr
    assert members(headgate) == {"gold": 2, "silver": 1}


def test_a_hundred_thousand_members_by_file(net, headgate, divert, tmp_path):
    files = {"gold": tmp_path / "gold", "silver": tmp_path / "silver"}
    for first, file in zip((100, 101), files.values()):
        file.write_text("".join(f"10.{first}.{number // 250}.{number % 250}\n" for number in range(49_990)))
    headgate.start(config(**{plan: f'members_file = "{file}"' for plan, file in files.items()}), divert=divert)
    assert members(headgate) == {"gold": 49_992, "silver": 49_991}
    assert_plan(headgate, FrameSender(net.host), "10.100.199.7", "gold")
    with files["gold"].open("a") as file:
        file.write("".join(f"10.102.0.{number}\n" for number in range(18)))
    done = headgate.control("reload", check=False)
    assert done.returncode == EXIT_REFUSED
    assert "100000" in done.stderr
    assert members(headgate) == {"gold": 49_992, "silver": 49_991}
    for number in range(17):
        headgate.control("plan", "customers", f"10.103.0.{number}", "gold")
    done = headgate.control("plan", "customers", "10.103.0.200", "gold", check=False)
    assert done.returncode == EXIT_REFUSED
    assert "100000" in done.stderr


def test_a_super_packet_is_cut_as_the_slowest_plan_needs_it(net, headgate):
    """A megabyte by TCP through a plan of 20 Mbit/s with a queue of 20 packets, in a class of 10 Gbit/s: it needs no more
    than a few retransmissions, which pieces larger than the queue would."""
    plain = config().replace('match = "udp"', "").replace('"1p/min"', '"10gbit"').replace('burst = "5p"', "").replace(
        'queue = "1p"', "")
    slow = f"""
    [[shape.class.plan]]
    name = "slow"
    rate = "20mbit"
    queue = "20p"
    members = "{network.PEER_IPV4}"
"""
    headgate.start(plain.replace('burst = "50p"', "").replace('burst = "20p"', "") + slow)
    report = TcpLoad(net.host, net.peer, network.PEER_IPV4, seconds=4).finish()
    goodput = report["end"]["sum_received"]["bits_per_second"] / 1e6
    assert 17 < goodput < 20
    counters = class_of(headgate.shape(), "customers")
    assert counters["dropped"]["packets"] < 0.05 * counters["received"]["packets"]
    assert headgate.json("flows", "-n", "10")["flows"][0]["plan"] == "slow"
