"""What others do on the hooks where our programs are, on the interface, on the divert device and ahead of a wire: it is
noticed within a second, said, and no packet vanishes by it for longer."""

import time

import pytest

import network
import traces
from conftest import kernel_has_tcx
from daemon import check_law, class_of, trouble_of
from foreign_program import DROP, NEXT, PASS, XDP_DROP, XDP_PASS, ForeignProgram, detach_tcx_link
from frames import EXPERIMENTAL, ethernet, numbered
from packet_socket import FrameRecorder, FrameSender
from traffic import Sender

SHAPE = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "load"
  match = "udp dst portrange 5000-5999"
  rate = "1000pps"
  queue = "500p"
"""
INGRESS = SHAPE.replace('"eth0"\n', '"eth0"\ndirection = "ingress"\n')
SHAPES = {"egress": SHAPE, "ingress": INGRESS}
INLINE = SHAPE.replace('"eth0"\n', '"eth0"\nforward_to = "eth1"\n')
WIRE = INLINE + INLINE.replace("eth0", "eth2").replace("eth1", "eth0").replace("eth2", "eth1")



def capture_by_tcx_on(hook):
    """The back end whose program stands there by TCX: a BPF ring buffer needs clsact to end packets on hg0's egress."""
    return "ring" if hook == "hg0 egress" else None


SOON = 1.3  # s: the daemon looks once in a second

needs_tcx = pytest.mark.skipif(not kernel_has_tcx(), reason="this kernel has no TCX")


def wait_until(condition, patience=SOON):
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"not within {patience} s"
        time.sleep(0.02)


def sends(net, direction):
    """From where to where there is something to shape."""
    return (net.host, network.PEER_IPV4) if direction == "egress" else (net.peer, network.HOST_IPV4)


def assert_shaped_again(net, headgate, programs, direction):
    wait_until(lambda: headgate.shape()["diverting"] and trouble_of(headgate.shape()) == "")
    before = class_of(headgate.shape(), "load")["received"]["packets"]
    source, to = sends(net, direction)
    offered = Sender(source, programs, to, rate=500, count=50).finish()["sent"]
    counters = headgate.settled_class("load", before + offered)
    assert counters["received"]["packets"] == before + offered


@pytest.mark.measured
@needs_tcx
@pytest.mark.parametrize("direction", SHAPES)
def test_a_program_ahead_of_ours_on_the_interface_is_said_while_shaping_goes_on(net, headgate, programs, divert, direction):
    headgate.start(SHAPES[direction], divert=divert)
    assert trouble_of(headgate.shape()) == ""
    foreign = ForeignProgram(net.host, "eth0", direction, PASS, "steals_all")
    wait_until(lambda: headgate.shape()["state"] != "")
    shape = headgate.shape()
    assert shape["diverting"]
    assert shape["state"].startswith("another program (steals_all, id ")
    assert shape["state"].endswith(f") runs ahead of headgate's on eth0 {direction}: what it passes by is not shaped")
    time.sleep(2.2)
    assert headgate.log().count("another program") == 1
    assert shape["state"] in headgate.log()
    assert f"diverting by {divert}: another program" in headgate.control("show").stdout
    assert any("another program" in line for line in headgate.notifications() if line.startswith("STATUS="))
    foreign.detach()
    assert_shaped_again(net, headgate, programs, direction)
    assert "nothing runs ahead of headgate's program any more" in headgate.log()
    assert "shaping again" not in headgate.log()


@pytest.mark.measured
@pytest.mark.parametrize("priority", [1, 7])
def test_a_filter_ahead_of_ours_is_said_and_one_behind_it_is_not(net, headgate, programs, priority):
    net.host.run("tc", "qdisc", "add", "dev", "eth0", "clsact")
    net.host.run("tc", "filter", "add", "dev", "eth0", "egress", "protocol", "ip", "prio", priority, "u32", "match", "u8", 0, 0)
    headgate.start(SHAPE, divert="clsact")
    time.sleep(SOON)
    shape = headgate.shape()
    assert shape["diverting"]
    if priority == 7:
        assert trouble_of(shape) == ""
        return
    assert shape["state"] == ("another filter (u32, priority 1) runs ahead of headgate's on eth0 egress: "
                              "what it passes by is not shaped")
    net.host.run("tc", "filter", "del", "dev", "eth0", "egress", "prio", priority)
    assert_shaped_again(net, headgate, programs, "egress")


PINGS = 200


def received_while_all_is_answered(net, headgate, direction):
    """All that is sent arrives, unshaped. How many packets came to headgate meanwhile."""
    source, to = sends(net, direction)
    before = headgate.shape()["received"]["packets"]
    result = source.run("ping", "-n", "-q", "-c", PINGS, "-i", 0.002, "-W", 1, to)
    assert " 0% packet loss" in result.stdout, result.stdout
    return headgate.shape()["received"]["packets"] - before


# Of a shape in this direction: on which device, on which hook, what it answers.
OBSTRUCTIONS = {
    "a program on the divert device": ("ingress", "hg0", "ingress", PASS),
    "a program that drops on the divert device": ("egress", "hg0", "ingress", DROP),
    "a program that drops what is to be captured": ("egress", "hg0", "egress", DROP),
    "a program on its other end": ("egress", "hg0p", "ingress", PASS),
    "a program that drops what is given back": ("ingress", "hg0p", "egress", DROP),
    "a program that lets go on": ("ingress", "hg0p", "ingress", NEXT),
    "an XDP program on the divert device": ("ingress", "hg0", "xdp", XDP_DROP),
    "an XDP program on its other end": ("egress", "hg0p", "xdp", XDP_PASS),
}


@pytest.mark.measured
@needs_tcx
@pytest.mark.parametrize("obstruction", OBSTRUCTIONS)
def test_where_others_stand_in_the_way_on_the_divert_device_the_host_is_open_until_they_have_gone(
        net, headgate, programs, divert, obstruction):
    direction, device, hook, verdict = OBSTRUCTIONS[obstruction]
    headgate.start(SHAPES[direction], divert=divert)
    devices = traces.divert_devices(net.host)
    foreign = ForeignProgram(net.host, device, hook, verdict)
    wait_until(lambda: not headgate.shape()["diverting"])
    state = headgate.shape()["state"]
    if hook == "xdp":
        assert state.startswith("an XDP program (monitor, id ")
        assert state.endswith(f") runs ahead of headgate's on {device}: packets would be lost there")
    else:
        assert state.startswith("another program (monitor, id ")
        assert state.endswith(f") runs ahead of headgate's on {device} {hook}: packets would be lost there")
    assert received_while_all_is_answered(net, headgate, direction) == 0
    time.sleep(1.5)
    assert not headgate.shape()["diverting"]
    assert headgate.log().count("traffic passes unshaped: ") == 1
    assert "shaping again" not in headgate.log()
    assert traces.divert_devices(net.host) == devices
    foreign.detach()
    assert_shaped_again(net, headgate, programs, direction)
    assert headgate.log().count("shaping again") == 1
    check_law(headgate.shape())


@pytest.mark.measured
def test_a_filter_in_the_way_on_the_divert_device_opens_the_host_until_it_has_gone(net, headgate, programs):
    headgate.start(INGRESS, divert="clsact")
    # Ours leaves no room ahead of it but by its own priority, in which the newest filter runs first.
    bytecode = ["bpf", "bytecode", "1,6 0 0 4294967295"]
    net.host.run("tc", "filter", "add", "dev", "hg0", "ingress", "prio", 1, "handle", 2, *bytecode)
    wait_until(lambda: not headgate.shape()["diverting"])
    assert "another filter (bpf, priority 1) runs ahead of headgate's on hg0 ingress" in headgate.shape()["state"]
    assert received_while_all_is_answered(net, headgate, "ingress") == 0
    net.host.run("tc", "filter", "del", "dev", "hg0", "ingress", "prio", 1, "handle", 2, "bpf")
    assert_shaped_again(net, headgate, programs, "ingress")


# Of a shape in this direction: the hook that its packets pass.
HOOKS = {"hg0 egress": "egress", "hg0p ingress": "egress", "hg0p egress": "ingress", "hg0 ingress": "ingress"}


def assert_nothing_is_in_the_way(net, headgate, direction):
    time.sleep(SOON)
    shape = headgate.shape()
    assert shape["diverting"] and trouble_of(shape) == ""
    assert received_while_all_is_answered(net, headgate, direction) >= PINGS
    assert headgate.shape()["dropped"]["packets"] == 0


@pytest.mark.measured
@needs_tcx
@pytest.mark.parametrize("hook", HOOKS)
def test_a_program_behind_ours_on_the_divert_device_loses_nothing(net, headgate, hook):
    headgate.capture = capture_by_tcx_on(hook)
    headgate.start(SHAPES[HOOKS[hook]], divert="tcx")
    ForeignProgram(net.host, *hook.split(), DROP, place="behind")
    assert_nothing_is_in_the_way(net, headgate, HOOKS[hook])


@pytest.mark.measured
@pytest.mark.parametrize("hook", HOOKS)
def test_a_filter_behind_ours_on_the_divert_device_loses_nothing(net, headgate, divert, hook):
    headgate.start(SHAPES[HOOKS[hook]], divert=divert)
    device, direction = hook.split()
    net.host.run("tc", "qdisc", "add", "dev", device, "clsact", check=False)
    net.host.run("tc", "filter", "add", "dev", device, direction, "protocol", "all", "prio", 9, "bpf",
                 "bytecode", f"1,6 0 0 {DROP}", "direct-action")
    assert_nothing_is_in_the_way(net, headgate, HOOKS[hook])


@pytest.mark.measured
@needs_tcx
@pytest.mark.parametrize("place", ["ahead", "behind"])
def test_a_program_that_keeps_frames_from_the_wire_is_said_while_forwarding_goes_on(inline_net, headgates, divert, place):
    headgate = headgates(inline_net.middle).start(WIRE, divert=divert)
    inline_net.wait_for_answers()
    assert trouble_of(headgate.shape("eth0")) == trouble_of(headgate.shape("eth1")) == ""
    foreign = ForeignProgram(inline_net.middle, "eth0", "ingress", PASS, place=place)
    wait_until(lambda: headgate.shape("eth0")["state"] != "")
    shape = headgate.shape("eth0")
    assert shape["diverting"]
    assert shape["state"].startswith("another program (monitor, id ")
    assert shape["state"].endswith(
        ") runs ahead of headgate's wire on eth0 ingress: what it does not let go on is not forwarded")
    assert trouble_of(headgate.shape("eth1")) == ""
    recorder = FrameRecorder(inline_net.peer)
    sender, frame = FrameSender(inline_net.host), ethernet(numbered(1), EXPERIMENTAL)
    sender.send(frame)
    assert recorder.frames(1, patience=0.3) == []
    foreign.detach()
    wait_until(lambda: trouble_of(headgate.shape("eth0")) == "")
    sender.send(frame)
    assert recorder.frames(1) == [frame]
    assert "traffic passes unshaped" not in headgate.log()


@pytest.mark.measured
@needs_tcx
@pytest.mark.parametrize("hook", ["eth0 egress", *HOOKS])
def test_a_program_of_ours_that_somebody_detached_is_attached_again(net, headgate, programs, hook):
    headgate.capture = capture_by_tcx_on(hook)
    headgate.start(SHAPE, divert="tcx")
    detach_tcx_link(net.host, *hook.split())
    wait_until(lambda: "shaping again" in headgate.log())
    assert f"traffic passes unshaped: its program on {hook} was detached or replaced" in headgate.log()
    assert_shaped_again(net, headgate, programs, "egress")
    assert len(traces.divert_devices(net.host)) == 2
    assert traces.tcx_programs(net.host) == 1


@pytest.mark.measured
@pytest.mark.parametrize("hook", ["eth0 egress", *HOOKS])
def test_a_filter_of_ours_that_somebody_replaced_by_another_of_its_name_is_attached_again(net, headgate, programs, hook):
    headgate.start(SHAPE, divert="clsact")
    device, direction = hook.split()
    ours = net.host.run("tc", "-j", "filter", "show", "dev", device, direction).stdout
    assert '"pref":1' in ours and "headgate-" in ours
    net.host.run("tc", "filter", "replace", "dev", device, direction, "protocol", "all", "prio", 1, "handle", 1, "bpf",
                 "bytecode", "1,6 0 0 4294967295")
    wait_until(lambda: "shaping again" in headgate.log())
    assert f"traffic passes unshaped: its program on {hook} was detached or replaced" in headgate.log()
    if device == "eth0":  # it stands where ours was, and stays: it is not ours to remove
        net.host.run("tc", "filter", "del", "dev", "eth0", "egress", "prio", 1, "handle", 1, "bpf")
    assert_shaped_again(net, headgate, programs, "egress")
