"""A shape whose interface is a pattern: an instance for each interface that matches, as they come and go."""

import json
import re
import time

import pytest

import network
import processes
import traces
from daemon import EXIT_REFUSED, EXIT_USAGE, check_law, class_of, trouble_of
from traffic import Receiver, Sender, rate_while_running

SHAPE = """
[[shape]]
interface = "{interface}"
  [[shape.class]]
  name  = "load"
  match = "udp dst portrange 5000-5999"
  key   = "dst"
  rate  = "{rate}"
  queue = "{queue}"
"""


def shape_of(interface="veth*", rate="200pps", queue="20p"):
    return SHAPE.format(interface=interface, rate=rate, queue=queue)


def far_address(number):
    return f"10.78.{number}.2"


def add_wire(net, number, name=None):
    """An interface of the host, with its far end, of the same name, at the peer."""
    name = name or f"veth{number}"
    network.connect(["netns", net.host.name], ["netns", net.peer.name], name)
    network.configure(net.host.run, [f"10.78.{number}.1/24"], [], name)
    network.configure(net.peer.run, [f"{far_address(number)}/24"], [], name)
    deadline = time.monotonic() + 5
    while net.host.run("ping", "-n", "-c", 1, "-W", 0.1, far_address(number), check=False).returncode != 0:
        assert time.monotonic() < deadline, f"{name} carries nothing"
    return name


def pattern_of(reply, interface="veth*"):
    return next(pattern for pattern in reply["patterns"] if pattern["interface"] == interface)


def instances_of(reply, interface="veth*"):
    return [shape for shape in reply["shapes"] if shape["pattern"] == interface]


def wait_for_interfaces(headgate, expected, interface="veth*", patience=5):
    deadline = time.monotonic() + patience
    while True:
        reply = headgate.show()
        pattern = pattern_of(reply, interface)
        if pattern["interfaces"] == expected and all(shape["diverting"] for shape in instances_of(reply, interface)):
            return reply
        assert time.monotonic() < deadline, f"not {expected}: {json.dumps(pattern)}\n{headgate.log()}"
        time.sleep(0.05)


def settled_pattern(headgate, received, interface="veth*", patience=3):
    """The sums once so many packets have come and none waits; checks the law all the while."""
    deadline = time.monotonic() + patience
    while True:
        pattern = pattern_of(headgate.show(), interface)
        check_law(pattern)
        counters = class_of(pattern, "load")
        if counters["received"]["packets"] >= received and counters["queued"]["packets"] == 0:
            return counters
        assert time.monotonic() < deadline, json.dumps(pattern, indent=1)
        time.sleep(0.05)


def check_sums(reply, interface="veth*"):
    """What is there counts no more than the sums."""
    pattern = pattern_of(reply, interface)
    check_law(pattern)
    for shape in instances_of(reply, interface):
        check_law(shape)
    for member in ("received", "sent", "queued"):
        for unit in ("packets", "bytes"):
            assert pattern[member][unit] >= sum(shape[member][unit] for shape in instances_of(reply, interface))


@pytest.mark.each_back_end
@pytest.mark.measured
def test_instances_come_and_go_under_traffic_each_held_to_its_own_rate(net, headgate, programs, divert):
    add_wire(net, 1)
    headgate.start(shape_of(), divert=divert)
    reply = wait_for_interfaces(headgate, ["veth1"])
    receivers = {1: Receiver(net.peer, programs, interface="veth1")}
    senders = {1: Sender(net.host, programs, far_address(1), rate=600, seconds=7)}
    for number in (2, 3):
        add_wire(net, number)
        wait_for_interfaces(headgate, [f"veth{i}" for i in range(1, number + 1)])
        receivers[number] = Receiver(net.peer, programs, interface=f"veth{number}")
        senders[number] = Sender(net.host, programs, far_address(number), rate=600, seconds=3)
    deadline = time.monotonic() + 20
    while any(sender.running() for sender in senders.values()):
        check_sums(headgate.show())
        assert time.monotonic() < deadline
        time.sleep(0.2)
    sent = {number: sender.finish()["sent"] for number, sender in senders.items()}
    before = settled_pattern(headgate, sum(sent.values()))
    assert before["received"]["packets"] == sum(sent.values())
    for number, receiver in receivers.items():
        arrivals = receiver.stop().only()
        assert rate_while_running(arrivals, 200) == pytest.approx(200, rel=0.02)
        counters = headgate.settled_class("load", sent[number], interface=f"veth{number}")
        assert counters["received"]["packets"] == sent[number]
        assert counters["sent"]["packets"] == len(arrivals)
    assert before["sent"]["packets"] == sum(class_of(shape, "load")["sent"]["packets"]
                                            for shape in instances_of(headgate.show()))
    net.host.run("ip", "link", "delete", "veth2")
    reply = wait_for_interfaces(headgate, ["veth1", "veth3"])
    assert class_of(pattern_of(reply), "load")["received"] == before["received"]
    assert class_of(pattern_of(reply), "load")["sent"] == before["sent"]
    for line in ("now shaped: veth1 egress, by veth*", "now shaped: veth2 egress, by veth*",
                 "no longer shaped: veth2 egress, by veth*"):
        assert headgate.log().count(line) == 1
    add_wire(net, 2)
    reply = wait_for_interfaces(headgate, ["veth1", "veth2", "veth3"])
    again = class_of(next(shape for shape in reply["shapes"] if shape["interface"] == "veth2"), "load")
    assert again["received"]["packets"] == 0  # an instance of its own
    assert class_of(pattern_of(reply), "load")["received"] == before["received"]


def test_what_an_instance_had_queued_when_its_interface_went_stays_in_the_sums_as_dropped(net, headgate, programs, divert):
    add_wire(net, 1)
    headgate.start(shape_of(rate="1pps", queue="500p"), divert=divert)
    wait_for_interfaces(headgate, ["veth1"])
    sent = Sender(net.host, programs, far_address(1), rate=500, count=100).finish()["sent"]
    deadline = time.monotonic() + 3
    while class_of(headgate.shape("veth1"), "load")["received"]["packets"] < sent:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert class_of(headgate.shape("veth1"), "load")["queued"]["packets"] > 90
    net.host.run("ip", "link", "delete", "veth1")
    reply = wait_for_interfaces(headgate, [])
    pattern = pattern_of(reply)
    check_law(pattern)
    counters = class_of(pattern, "load")
    assert counters["received"]["packets"] == sent and counters["queued"]["packets"] == 0
    assert counters["sent"]["packets"] + counters["dropped"]["packets"] == sent
    assert reply["shapes"] == [] and not pattern["diverting"]


def test_an_exact_name_beats_a_pattern_and_then_the_order_decides(net, headgate, divert):
    for number in (1, 2, 30):
        add_wire(net, number)
    headgate.start(shape_of("veth*") + shape_of("veth1") + shape_of("*") + shape_of("veth3?"), divert=divert)
    reply = wait_for_interfaces(headgate, ["veth2", "veth30"])
    assert pattern_of(reply, "*")["interfaces"] == ["eth0"]  # neither lo nor headgate's own devices
    assert pattern_of(reply, "veth3?")["interfaces"] == []
    assert [shape["interface"] for shape in reply["shapes"] if shape["pattern"] is None] == ["veth1"]
    assert all(shape["diverting"] for shape in reply["shapes"])
    assert len(reply["shapes"]) == 4


def test_directions_are_matched_apart(net, headgate, divert):
    add_wire(net, 1)
    ingress = shape_of("*").replace('"*"\n', '"*"\ndirection = "ingress"\n')
    headgate.start(shape_of("veth1") + ingress, divert=divert)
    reply = headgate.show()
    assert pattern_of(reply, "*")["interfaces"] == ["eth0", "veth1"]
    assert sorted((shape["interface"], shape["direction"]) for shape in reply["shapes"]) == [
        ("eth0", "ingress"), ("veth1", "egress"), ("veth1", "ingress")]


def test_an_interface_that_gets_another_name_leaves_or_enters_the_pattern(net, headgate, programs, divert):
    add_wire(net, 1)
    add_wire(net, 2, name="other2")
    headgate.start(shape_of(), divert=divert)
    wait_for_interfaces(headgate, ["veth1"])

    def rename(now, then):
        net.host.run("ip", "link", "set", now, "down")
        net.host.run("ip", "link", "set", now, "name", then)
        net.host.run("ip", "link", "set", then, "up")

    rename("other2", "veth2")
    wait_for_interfaces(headgate, ["veth1", "veth2"])
    rename("veth1", "away1")
    wait_for_interfaces(headgate, ["veth2"])
    traces_left = traces.of_headgate(net.host, "away1")
    assert "TCX programs" not in traces_left and "filters" not in traces_left
    rename("veth2", "veth9")
    reply = wait_for_interfaces(headgate, ["veth9"])
    assert [shape["interface"] for shape in reply["shapes"]] == ["veth9"]
    sent = Sender(net.host, programs, far_address(2), rate=100, count=20).finish()["sent"]
    assert headgate.settled_class("load", sent, interface="veth9")["sent"]["packets"] == sent


def test_interfaces_that_swap_their_names_are_both_shaped_soon(net, headgate, divert):
    for number in (1, 2):
        add_wire(net, number)
    headgate.start(shape_of(), divert=divert)
    wait_for_interfaces(headgate, ["veth1", "veth2"])
    net.host.run("sh", "-c", "ip link set veth1 name away; ip link set veth2 name veth1; ip link set away name veth2")
    wait_for_interfaces(headgate, ["veth1", "veth2"])
    assert "cannot be shaped" not in headgate.log()


def test_a_reload_adds_changes_and_removes_a_pattern(net, headgate, programs, divert):
    for number in (1, 2):
        add_wire(net, number)
    headgate.start(shape_of("eth0"), divert=divert)
    assert headgate.show()["patterns"] == []

    headgate.write(shape_of("eth0") + shape_of(rate="1000pps"), divert=divert)
    assert "now shaped: veth* egress" in headgate.reload().stdout
    wait_for_interfaces(headgate, ["veth1", "veth2"])
    sent = Sender(net.host, programs, far_address(1), rate=100, count=20).finish()["sent"]
    headgate.settled_class("load", sent, interface="veth1")

    headgate.write(shape_of("eth0") + shape_of(rate="500pps"), divert=divert)
    messages = headgate.reload().stdout
    assert messages.count("changed: veth* egress") == 1 and "veth1" not in messages
    reply = headgate.show()
    assert {str(class_of(shape, "load")["rate"]) for shape in instances_of(reply)} == {"['500pps']"}
    assert class_of(pattern_of(reply), "load")["rate"] == ["500pps"]
    assert class_of(headgate.shape("veth1"), "load")["received"]["packets"] == sent  # the same instance

    headgate.write(shape_of("eth0") + shape_of(rate="500pps"), divert=divert)
    assert "nothing changed" in headgate.reload().stdout

    headgate.write(shape_of("eth0") + shape_of("veth2*", rate="500pps"), divert=divert)
    headgate.reload()
    reply = wait_for_interfaces(headgate, ["veth2"], "veth2*")
    assert [pattern["interface"] for pattern in reply["patterns"]] == ["veth2*"]
    assert sorted(shape["interface"] for shape in reply["shapes"]) == ["eth0", "veth2"]

    headgate.write(shape_of("eth0"), divert=divert)
    assert "no longer shaped: veth2* egress" in headgate.reload().stdout
    reply = headgate.show()
    assert reply["patterns"] == [] and [shape["interface"] for shape in reply["shapes"]] == ["eth0"]
    for interface in ("veth1", "veth2"):
        assert traces.tcx_programs(net.host, interface) == 0 and not traces.clsact_filters(net.host, interface)


def test_a_reload_takes_an_interface_away_from_a_pattern_and_gives_it_back(net, headgate, programs, divert):
    for number in (1, 2):
        add_wire(net, number)
    headgate.start(shape_of(), divert=divert)
    wait_for_interfaces(headgate, ["veth1", "veth2"])
    sent = Sender(net.host, programs, far_address(1), rate=100, count=20).finish()["sent"]
    counted = settled_pattern(headgate, sent)["received"]

    headgate.write(shape_of() + shape_of("veth1", rate="77pps"), divert=divert)
    assert "now shaped: veth1 egress" in headgate.reload().stdout
    reply = wait_for_interfaces(headgate, ["veth2"])
    exact = next(shape for shape in reply["shapes"] if shape["interface"] == "veth1")
    assert exact["pattern"] is None and exact["diverting"] and class_of(exact, "load")["rate"] == ["77pps"]
    assert class_of(pattern_of(reply), "load")["received"] == counted

    headgate.write(shape_of(), divert=divert)
    assert "no longer shaped: veth1 egress" in headgate.reload().stdout
    reply = wait_for_interfaces(headgate, ["veth1", "veth2"])
    assert class_of(headgate.shape("veth1"), "load")["rate"] == ["200pps"]
    assert class_of(pattern_of(reply), "load")["received"] == counted


def test_a_refused_reload_gives_the_instance_back_that_it_took(net, headgate, divert):
    add_wire(net, 1)
    net.host.run("ip", "tuntap", "add", "tun7", "mode", "tun")
    net.host.run("ip", "link", "set", "tun7", "up")
    headgate.start(shape_of(), divert=divert)
    wait_for_interfaces(headgate, ["veth1"])
    by_mac = shape_of("tun7").replace('key   = "dst"', 'key   = "dst-mac"')
    headgate.write(shape_of() + shape_of("veth1") + by_mac, divert=divert)
    assert headgate.control("reload", check=False).returncode == EXIT_REFUSED
    reply = wait_for_interfaces(headgate, ["veth1"])
    assert [shape["pattern"] for shape in reply["shapes"]] == ["veth*"]


@pytest.mark.each_back_end
def test_the_instances_share_the_memory_of_the_shape_and_the_long_queue_pays(net, headgate, programs, divert):
    for number in (1, 2, 3):
        add_wire(net, number)
    headgate.start(shape_of(rate="1pps", queue="1000000p"), divert=divert, memory="1mb")
    wait_for_interfaces(headgate, ["veth1", "veth2", "veth3"])
    for number in (1, 2):
        Sender(net.host, programs, far_address(number), rate=4000, count=1500, size=1000).finish()
    Sender(net.host, programs, far_address(3), rate=100, count=5, size=1000).finish()
    deadline = time.monotonic() + 5
    while class_of(pattern_of(headgate.show()), "load")["received"]["packets"] < 3005:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    reply = headgate.show()
    check_sums(reply)
    pattern = pattern_of(reply)
    assert 0.7e6 < pattern["queued"]["bytes"] <= 1 << 20  # one shape's, and full
    reasons = {shape["interface"]: class_of(shape, "load")["dropped"]["reasons"]["pool_full"]["packets"]
               for shape in instances_of(reply)}
    assert reasons["veth3"] == 0 and reasons["veth1"] > 0 and reasons["veth2"] > 0
    queued = {shape["interface"]: shape["queued"]["packets"] for shape in instances_of(reply)}
    assert queued["veth3"] >= 3 and queued["veth1"] > 100 and queued["veth2"] > 100


def test_the_instances_share_the_flow_records_of_the_shape(net, headgate, programs, divert):
    for number in (1, 2):
        add_wire(net, number)
    # A flow makes room once its bucket is full again: after a second.
    by_connection = shape_of(rate="1pps").replace('key   = "dst"', 'key   = "5-tuple"')
    headgate.start(by_connection, divert=divert, max_flows=100)
    wait_for_interfaces(headgate, ["veth1", "veth2"])
    for number in (1, 2):
        Sender(net.host, programs, far_address(number), rate=1000, count=80, flows=80).finish()
    counters = settled_pattern(headgate, 160)
    assert counters["flows"] == 100
    assert counters["dropped"]["reasons"]["flow_table_full"]["packets"] == 60


def test_show_folds_the_instances_and_all_shows_each(net, headgate, divert):
    headgate.start(shape_of(), divert=divert)
    assert "\nveth* egress  no interface matches\n" in headgate.control("show").stdout
    for number in (1, 2):
        add_wire(net, number)
    wait_for_interfaces(headgate, ["veth1", "veth2"])
    folded = headgate.control("show").stdout
    assert re.search(r"^veth\* egress  2 interfaces, all diverting by (tcx|clsact)$", folded, re.M)
    assert "veth1" not in folded and folded.count("load") == 1
    for option in ("-a", "--all"):
        every = headgate.control("show", option).stdout
        assert re.search(r"^veth1 egress  diverting by", every, re.M) and re.search(r"^veth2 egress  diverting by", every, re.M)
        assert every.count("load") == 3
    reply = headgate.show()
    assert [shape["pattern"] for shape in reply["shapes"]] == ["veth*", "veth*"]
    pattern = pattern_of(reply)
    assert set(pattern) == set(reply["shapes"][0]) | {"interfaces", "diverting_interfaces", "not_shaped"}
    assert pattern["pattern"] == "veth*" and pattern["not_shaped"] == [] and pattern["diverting"]
    assert pattern["diverting_interfaces"] == 2
    headgate.wait_notification("STATUS=shaping veth* egress on 2 interfaces", patience=3)


def test_flows_are_those_of_one_instance_or_of_all_together(net, headgate, programs, divert):
    for number in (1, 2):
        add_wire(net, number)
    headgate.start(shape_of(), divert=divert)
    wait_for_interfaces(headgate, ["veth1", "veth2"])
    for number, count in ((1, 30), (2, 20)):
        Sender(net.host, programs, far_address(number), rate=100, count=count).finish()
    settled_pattern(headgate, 50)
    for name in ("load", "veth*/egress/load"):
        reply = headgate.json("flows", name)
        assert [(one["name"], one["flows"]) for one in reply["classes"]] == [("veth*/egress/load", 2)]
        assert [(flow["class"], flow["text"], flow["sent"]["packets"]) for flow in reply["flows"]] == [
            ("veth1/egress/load", f"→ {far_address(1)}", 30), ("veth2/egress/load", f"→ {far_address(2)}", 20)]
    reply = headgate.json("flows", "veth2/egress/load")
    assert [flow["text"] for flow in reply["flows"]] == [f"→ {far_address(2)}"]
    assert "veth1/egress/load" in headgate.control("flows", "load").stdout
    refused = headgate.control("capture", "load", "-w", "-", check=False)
    assert refused.returncode == EXIT_REFUSED
    assert "write veth1/egress/load, or that of another interface" in refused.stderr


def test_an_instance_can_be_captured(net, headgate, programs, divert, tmp_path):
    add_wire(net, 1)
    headgate.start(shape_of(), divert=divert)
    wait_for_interfaces(headgate, ["veth1"])
    trace = tmp_path / "trace.pcapng"
    capture = processes.start([programs / "headgatectl", "--control", headgate.control_path, "capture",
                               "veth1/egress/load", "--sent", "-c", "5", "-w", trace])
    deadline = time.monotonic() + 5
    while not trace.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.3)
    Sender(net.host, programs, far_address(1), rate=100, count=20).finish()
    assert capture.wait(10) == 0
    shown = net.host.run("tcpdump", "-nr", trace).stdout
    assert shown.count(far_address(1)) == 5


def test_an_interface_that_cannot_be_shaped_is_said_once_and_is_no_instance(net, headgate, divert):
    add_wire(net, 1)
    headgate.start(shape_of().replace('key   = "dst"', 'key   = "dst-mac"'), divert=divert)
    wait_for_interfaces(headgate, ["veth1"])
    net.host.run("ip", "tuntap", "add", "vethtun", "mode", "tun")
    net.host.run("ip", "link", "set", "vethtun", "up")
    headgate.wait_for_log("veth* egress: vethtun cannot be shaped: ")
    for i in range(3):
        net.host.run("ip", "link", "set", "vethtun", "alias", f"look {i}")
    time.sleep(1.2)
    assert headgate.log().count("cannot be shaped") == 1
    reply = wait_for_interfaces(headgate, ["veth1"])
    pattern = pattern_of(reply)
    assert [one["interface"] for one in pattern["not_shaped"]] == ["vethtun"]
    assert pattern["state"].startswith("vethtun: cannot be shaped: ")
    assert "1 interface, diverting by" in headgate.control("show").stdout
    net.host.run("ip", "link", "delete", "vethtun")
    net.host.run("ip", "link", "set", "veth1", "alias", "look")
    deadline = time.monotonic() + 3
    while pattern_of(headgate.show())["not_shaped"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_pattern_goes_on_the_command_line_and_no_match_is_no_error(net, headgate, divert):
    headgate.start(arguments=["--interface", "veth*", "--rate", "200pps", "--divert", divert])
    assert pattern_of(headgate.show())["interfaces"] == []
    assert "veth* egress: no interface matches" in headgate.log()
    add_wire(net, 1)
    wait_for_interfaces(headgate, ["veth1"])
    headgate.stop()
    headgate.launch(["--interface", "veth*", "--rate", "200pps", "--forward-to", "eth0"])
    assert headgate.process.wait(10) == EXIT_USAGE
    assert '--forward-to: "eth0" does not go with "veth*", a pattern' in headgate.log()


@pytest.mark.parametrize("workers", [1, 2])
def test_the_instances_are_served_by_the_same_workers(net, headgate, programs, divert, workers):
    for number in (1, 2, 3):
        add_wire(net, number)
    config = shape_of(rate="1000pps").replace('"veth*"\n', f'"veth*"\nworkers = {workers}\n')
    headgate.start(config, divert=divert)
    wait_for_interfaces(headgate, ["veth1", "veth2", "veth3"])
    threads = processes.run(["ps", "-L", "-o", "comm=", "-p", headgate.process.pid]).stdout.split()
    assert len([name for name in threads if name.startswith("hg-worker")]) == workers
    sent = sum(Sender(net.host, programs, far_address(number), rate=500, count=100).finish()["sent"] for number in (1, 2, 3))
    assert settled_pattern(headgate, sent)["sent"]["packets"] == sent


def test_a_clean_stop_leaves_nothing(net, headgate, divert):
    names = [add_wire(net, number) for number in (1, 2, 3)]
    headgate.start(shape_of(), divert=divert)
    wait_for_interfaces(headgate, names)
    headgate.stop()
    for name in names:
        traces.assert_none(net.host, name)


def test_a_killed_daemon_leaves_nothing_once_it_has_been_cleaned_up(net, headgate, divert):
    names = [add_wire(net, number) for number in (1, 2, 3)]
    headgate.start(shape_of(), divert=divert)
    wait_for_interfaces(headgate, names)
    headgate.kill()
    for number in (1, 2, 3):  # the host is open
        net.host.run("ping", "-n", "-c", 1, "-W", 1, far_address(number))
    net.host.run(headgate.programs / "headgated", "--cleanup")
    for name in names:
        traces.assert_none(net.host, name)


def test_interfaces_that_come_and_go_in_quick_succession_end_in_the_right_state(net, headgate, divert):
    headgate.start(shape_of(), divert=divert)
    for round_ in range(3):
        for number in range(4, 9):
            net.host.run("ip", "link", "add", f"veth{number}", "type", "veth", "peer", "name", f"far{number}")
        for number in range(4, 8):
            net.host.run("ip", "link", "delete", f"veth{number}")
        if round_ < 2:
            net.host.run("ip", "link", "delete", "veth8")
    wait_for_interfaces(headgate, ["veth8"], patience=20)
    assert trouble_of(headgate.shape("veth8")) == ""
    assert len(traces.divert_devices(net.host)) == 2
