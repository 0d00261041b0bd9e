"""headgatectl explain: what it says would become of a packet is what becomes of it, and asking changes nothing."""

import struct
import time

import pytest

import network
from daemon import EXIT_OK, EXIT_USAGE, check_law, class_of
from frames import ARP, IPV4_ADDRESSES, ethernet, tagged, udp_frame
from packet_socket import FrameSender
from traffic import Sender

# Of the class "slow" three packets leave at once, one waits for a minute, and further ones are dropped: no time is judged.
CONFIG = """
[[shape]]
interface = "{interface}"
direction = "{direction}"
{more}
  [[shape.class]]
  name   = "names"
  match  = "udp port 53"
  bypass = true

  [[shape.class]]
  name  = "voice"
  dscp  = "ef"
  rate  = "1000pps"
  queue = "10p"

  [[shape.class]]
  name  = "slow"
  match = "udp dst portrange 5000-5099"
  dst   = "{destination}/32"
  key   = "5-tuple"
  rate  = "1p/min"
  burst = "3p"
  queue = "1p"
"""
SOURCE, DESTINATION = IPV4_ADDRESSES


def config(direction="egress", interface="eth0", more="", destination=DESTINATION):
    return CONFIG.format(direction=direction, interface=interface, more=more, destination=destination)


def words(port=5000, destination=DESTINATION, more=""):
    return f"src {SOURCE} dst {destination} udp sport 4000 dport {port} {more}"


def frame(port=5000, dscp=0, destination=DESTINATION):
    return udp_frame(b"\0" * 22, (4000, port), (SOURCE, destination), dscp=dscp)


def counts(headgate, interface="eth0"):
    """Of each class and of none: what it has received."""
    shape = headgate.shape(interface)
    check_law(shape)
    received = {each["name"]: each["received"]["packets"] for each in shape["classes"]}
    return received | {None: shape["unmatched"]["packets"]}


def wait_for(look, wanted, patience=3):
    deadline = time.monotonic() + patience
    while (seen := look()) != wanted:
        assert time.monotonic() < deadline, (seen, wanted)
        time.sleep(0.02)


def stands_in(said):
    """What the hook says of packets that no class shapes: capture back ends other than the ring buffer take out all."""
    return said["hook"]["verdict"] in ("let_go", "taken_out") and said["fate"] == "goes_on"


CASES = [("names", 53, 0), ("voice", 9, 46), ("slow", 5000, 0), (None, 9, 0), (None, 6000, 0)]


@pytest.mark.each_back_end
@pytest.mark.parametrize("direction", ["egress", "ingress"])
def test_each_packet_is_counted_in_the_class_that_was_said(net, headgate, divert, direction):
    headgate.start(config(direction), divert=divert)
    sender = FrameSender(net.host if direction == "egress" else net.peer)
    for name, port, dscp in CASES:
        said = headgate.json("explain", "eth0", words(port, more=f"dscp {dscp}"))
        assert (said["direction"], said["class"]) == (direction, name)
        assert said["charged"] == {"packets": 1, "bytes": 64}
        if name in ("voice", "slow"):
            assert said["hook"]["verdict"] == "taken_out"
            assert said["fate"] == "leaves" and said["flow"]["known"] is False
        else:
            assert stands_in(said), said
        before = counts(headgate)
        sender.send(frame(port, dscp))
        wait_for(lambda: counts(headgate), before | {name: before[name] + 1})


def test_why_the_classes_before_did_not_take_it(net, headgate):
    headgate.start(config())
    said = headgate.json("explain", "eth0", words(5000, destination="10.77.0.99"))
    verdicts = [(each["name"], each["verdict"], each["value"]) for each in said["classes"]]
    assert verdicts == [("names", "match", "udp port 53"), ("voice", "dscp", ["ef"]),
                        ("slow", "destination", [f"{DESTINATION}/32"])]
    shown = headgate.control("explain", "eth0", *words(5000, destination="10.77.0.99").split()).stdout
    assert "3 slow: no: its destination is none of" in shown
    assert "no class takes it" in shown and "goes on, not shaped" in shown


def test_what_waits_and_what_is_dropped(net, headgate):
    headgate.start(config())
    sender = FrameSender(net.host)

    def explained():
        return headgate.json("explain", "eth0", words())

    def queued_and_dropped():
        slow = class_of(headgate.shape(), "slow")
        return slow["queued"]["packets"], slow["dropped"]["packets"]

    assert explained()["fate"] == "leaves"
    sender.send_all([frame()] * 3)
    wait_for(lambda: counts(headgate)["slow"], 3)
    said = explained()
    assert (said["fate"], said["wait_is_exact"]) == ("waits", True)
    assert 0 < said["wait_us"] <= 60e6 and said["bucket"]["opens_in_us"] == said["wait_us"]
    assert said["held_by"] == {"what": "packet_rate", "name": "slow", "rate": "1p/min"}
    assert said["flow"]["sent"]["packets"] == 3
    sender.send(frame())
    wait_for(queued_and_dropped, (1, 0))
    said = explained()
    assert (said["fate"], said["reason"]) == ("dropped", "queue_full")
    assert said["flow"]["queued"] == {"packets": 1, "bytes": 64}
    sender.send(frame())
    wait_for(queued_and_dropped, (1, 1))


def counters_of(shape):
    """All but what hosts send by themselves, and how busy the machine is."""
    return {key: value for key, value in shape.items() if key not in ("state", "starved", "control_traffic")}


def test_asking_changes_nothing(net, headgate, divert):
    headgate.start(config(), divert=divert)
    FrameSender(net.host).send_all([frame()] * 5)
    wait_for(lambda: counts(headgate)["slow"], 5)
    before = counters_of(headgate.shape())
    for port in (53, 9, 5000, 5001, 67):
        for more in ("", "dscp ef", "vlan 7", "1400b"):
            headgate.json("explain", "eth0", words(port, more=more))
    assert counters_of(headgate.shape()) == before


def test_control_traffic_is_not_shaped_and_not_charged(net, headgate):
    headgate.start(config(more='control_limit = "1pps"'))
    sender = FrameSender(net.host)

    def verdict_behind(count):
        sender.send_all([frame(67)] * count)
        return headgate.json("explain", "eth0", words(67))["hook"]["verdict"]

    wait_for(lambda: verdict_behind(100), "let_go")
    headgate.write(config(more='control_limit = "1000pps"'))
    headgate.reload()
    wait_for(lambda: verdict_behind(1), "control_traffic")
    for _ in range(5):
        said = headgate.json("explain", "eth0", words(67))
        assert said["hook"]["verdict"] == "control_traffic" and said["fate"] == "goes_on"


def test_load_goes_on_undisturbed_while_packets_are_explained(net, headgate, programs):
    headgate.start(config())
    load = Sender(net.host, programs, network.PEER_IPV4, rate=5000, seconds=3, port=5000, flows=4)
    explained = 0
    while load.running():
        assert headgate.json("explain", "eth0", words(5000))["class"] == "slow"
        headgate.json("explain", "eth0", words(9))
        explained += 1
    sent = load.finish()["sent"]
    assert explained > 5
    shape = headgate.shape()
    check_law(shape)
    assert shape["received"]["packets"] - shape["unmatched"]["packets"] == sum(
        each["received"]["packets"] for each in shape["classes"])
    assert class_of(shape, "slow")["received"]["packets"] + shape["lost"]["ring"]["packets"] == sent
    assert shape["unshaped"]["packets"] == 0


def test_with_two_workers_the_one_that_has_the_flow_is_asked(net, headgate):
    headgate.start(config(more="workers = 2"))
    sender = FrameSender(net.host)
    workers = set()
    for port in range(5000, 5020):
        sender.send(frame(port))
    wait_for(lambda: counts(headgate)["slow"], 20)
    for port in range(5000, 5020):
        flow = headgate.json("explain", "eth0", words(port))["flow"]
        assert flow["known"] and flow["sent"]["packets"] == 1
        workers.add(flow["worker"])
    assert workers == {0, 1}


@pytest.fixture
def tun_net():
    made = network.TunNetwork()
    yield made
    made.delete()


@pytest.mark.parametrize("direction", ["egress", "ingress"])
def test_of_a_link_without_an_ethernet_header_the_ip_packet_counts(tun_net, headgates, direction):
    headgate = headgates(tun_net.host).start(config(direction, "tun0"))
    said = headgate.json("explain", "tun0", words(5000))
    assert (said["class"], said["hook"]["verdict"], said["fate"]) == ("slow", "taken_out", "leaves")
    assert said["charged"]["bytes"] == 64 - 14
    assert headgate.json("explain", "tun0", words(9))["hook"]["verdict"] == "let_go"
    refused = headgate.control("explain", "tun0", words(9, more="vlan 7"), check=False)
    assert refused.returncode == EXIT_USAGE and "no VLAN tag" in refused.stderr


def test_what_a_ceiling_holds_back(net, headgate):
    headgate.start("""
[[shape]]
interface = "eth0"
rate = "100mbit"
  [[shape.group]]
  name = "office"
  ceiling = "1kbit"
  [[shape.class]]
  name = "slow"
  group = "office"
  queue = "10p"
""")
    sender = FrameSender(net.host)
    sender.send_all([frame()] * 3)
    wait_for(lambda: counts(headgate)["slow"], 3)
    said = headgate.json("explain", "eth0", words())
    assert said["fate"] == "waits" and said["wait_is_exact"] is False
    assert said["held_by"] == {"what": "ceiling", "name": "office", "rate": "1kbit"}
    assert said["bucket"] is None


def pcap(frames):
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return header + b"".join(struct.pack("<IIII", 1, 0, len(each), len(each)) + each for each in frames)


def test_a_trace_packet_by_packet(net, headgate, tmp_path):
    headgate.start(config())
    path = tmp_path / "trace.pcap"
    path.write_bytes(pcap([frame(53), frame(5000), tagged(frame(9, 46), [(0x8100, 7)]), ethernet(b"\0" * 46, ARP)]))
    lines = headgate.control("explain", "eth0", "--trace", path).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2", "3", "4"]
    assert "names" in lines[0] and "slow" in lines[1] and "voice" in lines[2] and "vlan 7" in lines[2]
    assert headgate.json("explain", "eth0", "--trace", path, "--packet", "2")["class"] == "slow"
    assert headgate.json("explain", "eth0", "--trace", path, "--packet", "4")["hook"]["verdict"] == "not_ip"
    assert len(headgate.control("-j", "explain", "eth0", "--trace", path, "-n", "2").stdout.splitlines()) == 2
    beyond = headgate.control("explain", "eth0", "--trace", path, "--packet", "5", check=False)
    assert beyond.returncode == EXIT_USAGE and "the trace has 4 packets" in beyond.stderr

    path.write_bytes(pcap([frame(53), b"\0" * 13, frame(5000)]))
    too_short = f"{path}, packet 2: the frame has 13 bytes, less than the 14 of an Ethernet header"
    shown = headgate.control("explain", "eth0", "--trace", path)
    assert [line.split()[0] for line in shown.stdout.splitlines()] == ["1", "3"] and too_short in shown.stderr
    alone = headgate.control("explain", "eth0", "--trace", path, "--packet", "2", check=False)
    assert alone.returncode == EXIT_USAGE and too_short in alone.stderr


def test_long_packets_and_marks(net, headgate):
    headgate.start(config() + """
  [[shape.class]]
  name = "marked"
  mark = "0x10"
  rate = "1000pps"
  queue = "10p"
""")
    said = headgate.json("explain", "eth0", words(9, more="mark 0x10"))
    assert (said["class"], said["hook"]["verdict"]) == ("marked", "taken_out")
    assert headgate.json("explain", "eth0", words(9, more="mark 0x11"))["hook"]["verdict"] == "let_go"
    assert headgate.json("explain", "eth0", words(9, more="mark 0x68670000"))["hook"]["verdict"] == "own_packet"
    long = headgate.json("explain", "eth0", words(5000, more="9000b"))
    assert (long["class"], long["hook"]["verdict"]) == ("slow", "not_asked")
    assert "9000 bytes" in long["hook"]["why"] and long["fate"] == "leaves"


def test_wrong_questions_are_refused_with_what_was_expected(net, headgate):
    headgate.start(config())

    def refused(*arguments):
        result = headgate.control("explain", *arguments, check=False)
        assert result.returncode == EXIT_USAGE, result
        return result.stderr

    assert '"eth9" is not shaped; what is:\n  eth0 egress' in refused("eth9", words())
    assert "its ingress is not" in refused("eth0", words(), "--ingress")
    assert 'did you mean "dport"?' in refused("eth0", "src 10.0.0.1 udp dprot 53")
    assert "the packet has no address" in refused("eth0")
    assert "expected one of them" in refused("eth0", words(), "--trace", "x.pcap")
    assert "expected --trace" in refused("eth0", words(), "--packet", "2")


def test_an_open_host_is_said_to_be_open(net, headgate):
    headgate.start(config())
    net.host.run("ip", "link", "delete", "eth0")
    wait_for(lambda: headgate.shape()["diverting"], False)
    said = headgate.json("explain", "eth0", words())
    assert (said["hook"]["verdict"], said["class"], said["fate"]) == ("open", "slow", "goes_on")
    assert "was deleted" in said["state"]
    assert headgate.control("explain", "eth0", words()).returncode == EXIT_OK
