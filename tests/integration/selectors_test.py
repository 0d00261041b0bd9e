"""Classes that select by DSCP and by networks, in lists and in files of their own."""

import pytest

import network
from daemon import EXIT_OK, EXIT_REFUSED, EXIT_USAGE, class_of
from frames import IEEE_802_1AD, IEEE_802_1Q, IPV4_ADDRESSES, IPV6_ADDRESSES, numbered, udp_frame
from packet_socket import FrameRecorder, FrameSender, assert_same_frames
from traffic import Receiver, Sender

SHAPE = """
[[shape]]
interface = "eth0"
{direction}
  [[shape.class]]
  name = "selected"
  {selectors}
  rate = "1000pps"
  queue = "1000p"
  [[shape.class]]
  name = "rest"
  match = "udp"
  rate = "1000pps"
  queue = "1000p"
"""

PACKETS = 50
FIRST, SECOND = network.PEER_MORE_IPV4[:2]
FIRST_IPV6, SECOND_IPV6 = network.PEER_MORE_IPV6[:2]


def config(selectors, direction="egress"):
    return SHAPE.format(selectors="\n  ".join(selectors), direction=f'direction = "{direction}"')


def received(headgate, name="selected"):
    return class_of(headgate.shape(), name)["received"]["packets"]


def send(net, programs, to, **options):
    return Sender(net.host, programs, to, rate=1000, count=PACKETS, **options).finish()["sent"]


@pytest.mark.each_back_end
def test_marked_packets_go_to_the_class_that_selects_their_dscp(net, headgate, programs, divert):
    headgate.start(config(['dscp = ["ef", "AF41", "3"]']), divert=divert)
    assert class_of(headgate.shape(), "selected")["dscp"] == ["3", "af41", "ef"]
    receiver = Receiver(net.peer, programs)
    for to in (network.PEER_IPV4, network.PEER_IPV6):
        for dscp in (46, 34, 3, 0, 45, 63):
            send(net, programs, to, port=5000 + dscp, dscp=dscp)
    headgate.settled_class("selected", 6 * PACKETS)
    headgate.settled_class("rest", 6 * PACKETS)
    assert received(headgate) == received(headgate, "rest") == 6 * PACKETS
    assert len(receiver.stop()) == 12 * PACKETS


@pytest.mark.each_back_end
@pytest.mark.parametrize("addresses", [IPV4_ADDRESSES, IPV6_ADDRESSES])
def test_the_ip_header_is_read_behind_vlan_tags(net, headgate, divert, addresses):
    headgate.start(config(['dscp = "ef"', f'dst = "{addresses[1]}"']), divert=divert)
    tags = [[], [(IEEE_802_1Q, 5)], [(IEEE_802_1AD, 5), (IEEE_802_1Q, 7)]]
    sent = [udp_frame(numbered(number), addresses=addresses, dscp=dscp, tags=its)
            for number, its in enumerate(tags) for dscp in (46, 0)]
    recorder = FrameRecorder(net.peer)
    FrameSender(net.host).send_all(sent)
    assert_same_frames(sent, recorder.frames(len(sent)))
    headgate.settled_class("selected", len(tags))
    assert received(headgate) == received(headgate, "rest") == len(tags)


@pytest.mark.each_back_end
def test_networks_select_by_destination_and_all_selectors_together(net, headgate, programs, divert):
    headgate.start(config([f'dst = ["192.168.0.0/16", "{FIRST}/32", "{FIRST_IPV6}"]', 'dscp = "cs5"',
                           'src = ["10.77.0.0/24", "fd77::/64"]', 'match = "udp dst port 5000"']), divert=divert)
    assert class_of(headgate.shape(), "selected")["dst"] == ["192.168.0.0/16", f"{FIRST}/32", FIRST_IPV6]
    for to in (FIRST, SECOND, FIRST_IPV6, SECOND_IPV6):
        send(net, programs, to, dscp=40)
        send(net, programs, to, dscp=46)
        send(net, programs, to, dscp=40, port=5001)
    headgate.settled_class("rest", 10 * PACKETS)
    assert headgate.settled_class("selected", 2 * PACKETS)["received"]["packets"] == 2 * PACKETS
    assert received(headgate, "rest") == 10 * PACKETS


def test_networks_select_senders_of_what_arrives(net, headgate, divert):
    headgate.start(config(['src = ["10.77.0.2/31", "fd77::2/127"]'], "ingress"), divert=divert)
    senders = [("10.77.0.1", 0), ("10.77.0.2", 1), ("10.77.0.3", 1), ("10.77.0.4", 0),
               ("fd77::1", 0), ("fd77::2", 1), ("fd77::3", 1), ("fd77::4", 0)]
    FrameSender(net.peer).send_all([udp_frame(numbered(number), addresses=(sender, "fd77::2" if ":" in sender else FIRST))
                                    for number in range(PACKETS) for sender, _ in senders])
    for name, wanted in (("rest", 0), ("selected", 1)):
        expected = PACKETS * sum(selected == wanted for _, selected in senders)
        assert headgate.settled_class(name, expected)["received"]["packets"] == expected


def test_a_class_of_networks_may_bypass(net, headgate, programs, divert):
    text = config([f'dst = "{FIRST}"']).replace('rate = "1000pps"\n  queue = "1000p"', "bypass = true", 1)
    headgate.start(text, divert=divert)
    send(net, programs, [FIRST, SECOND])
    headgate.settled_class("rest", PACKETS // 2)
    assert received(headgate) == received(headgate, "rest") == PACKETS // 2


@pytest.mark.each_back_end
def test_a_file_of_networks_is_read_again_at_a_reload(net, headgate, programs, divert):
    networks = headgate.directory / "networks"
    networks.write_text(f"# customers\n{FIRST}\n\n{FIRST_IPV6}/128  # the same one\n")
    headgate.start(config([f'dst = "{networks}"']), divert=divert)
    assert class_of(headgate.shape(), "selected")["dst"] == [str(networks)]
    receiver = Receiver(net.peer, programs)
    everybody = [FIRST, SECOND]
    send(net, programs, everybody)
    headgate.settled_class("rest", PACKETS // 2)
    assert received(headgate) == PACKETS // 2

    assert "nothing changed" in headgate.reload().stdout
    networks.write_text(f"{SECOND}\n{FIRST}\n")
    assert "nothing changed" not in headgate.reload().stdout
    send(net, programs, everybody)
    assert headgate.settled_class("selected", PACKETS // 2 + PACKETS)["received"]["packets"] == PACKETS // 2 + PACKETS
    assert received(headgate, "rest") == PACKETS // 2
    assert len(receiver.stop()) == 2 * PACKETS


BAD_FILES = {
    "a network is wrong": (f"{SECOND}\n10.77.0.1/8\n", ':2: "10.77.0.1/8" has bits set beyond its prefix: did you mean '
                                                       '"10.0.0.0/8"?'),
    "it is just being written": ("", ": the file is empty"),
    "it has gone": (None, ": cannot open the file: No such file or directory"),
    "it has too many": ("\n".join(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}" for number in range(100_001)),
                        ":100001: there are more networks than 100000"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_of_networks_changes_nothing(net, headgate, programs, case):
    content, problem = BAD_FILES[case]
    networks = headgate.directory / "networks"
    networks.write_text(f"{FIRST}\n")
    headgate.start(config([f'dst = "{networks}"']))
    if content is None:
        networks.unlink()
    else:
        networks.write_text(content)
    refused = headgate.control("reload", check=False)
    assert refused.returncode == EXIT_REFUSED
    assert f"{headgate.config_path}:" in refused.stderr and f": dst: {networks}{problem}" in refused.stderr
    check = net.host.run(programs / "headgated", "--check", "--config", headgate.config_path, check=False)
    assert check.returncode == EXIT_USAGE and f"{networks}{problem}" in check.stderr
    send(net, programs, [FIRST, SECOND])
    headgate.settled_class("rest", PACKETS // 2)
    assert received(headgate) == received(headgate, "rest") == PACKETS // 2
    networks.write_text(f"{SECOND}\n")
    assert headgate.reload().returncode == EXIT_OK


def test_a_hundred_thousand_networks_are_put_in_force_under_load(net, headgate, programs, divert):
    networks = headgate.directory / "networks"
    most = [f"172.{16 + (number >> 16)}.{number >> 8 & 255}.{number & 255}" for number in range(99_999)]
    networks.write_text("\n".join([*most, SECOND]))
    headgate.start(config([f'dst = "{networks}"']), divert=divert)
    receiver = Receiver(net.peer, programs)
    load = Sender(net.host, programs, [FIRST, SECOND], rate=1000, seconds=3)
    reloads = 0
    while load.running():
        networks.write_text("\n".join([*most, (FIRST, SECOND)[reloads % 2]]))
        headgate.reload()
        reloads += 1
    offered = load.finish()["sent"]
    headgate.settled_class("selected", 1)
    headgate.settled_class("rest", offered - received(headgate))
    arrivals = receiver.stop()
    assert reloads > 5
    assert received(headgate) + received(headgate, "rest") == len(arrivals) == offered
    assert received(headgate) > offered / 10
