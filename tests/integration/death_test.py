"""Whatever happens to the daemon, the host stays reachable, and the next start works."""

import signal
import time

import pytest

import network
import traces
from daemon import EXIT_OK, EXIT_REFUSED, check_law, class_of
from link_events import LinkEvents
from traffic import Ping, Receiver, Sender, nothing_missing, rate_while_running

CONFIG = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "ping"
  match = "icmp"
  rate = "1000pps"

  [[shape.class]]
  name  = "load"
  match = "udp dst portrange 5000-5999"
  rate  = "1000pps"
  queue = "100p"
"""

# By TCX the kernel undoes the divert with the process; by clsact the dead-man switch must notice.
LONGEST_OUTAGE = {"tcx": 0.2, "clsact": 0.8}


def first_answer_after(echoes, moment):
    return next(echo.sent + echo.round_trip for echo in echoes if echo.sent > moment) - moment


def longest_outage(echoes):
    """The longest time without an answer."""
    received = sorted(echo.sent + echo.round_trip for echo in echoes)
    return max(after - before for before, after in zip(received, received[1:]))


def wait_for_shaping(headgate, patience=3):
    """Until the load is being shaped."""
    deadline = time.monotonic() + patience
    while True:
        shape = headgate.shape()
        check_law(shape)
        if shape["diverting"] and class_of(shape, "load")["dropped"]["packets"] > 0:
            return
        assert time.monotonic() < deadline, f"the load is not shaped: {shape}"
        time.sleep(0.02)


@pytest.mark.timed
@pytest.mark.each_divert
def test_killed_twenty_times_under_load_the_host_answers_at_once(net, headgate, programs, divert, figure):
    load = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=600)
    ping = Ping(net.host, network.PEER_IPV4, interval=0.01)
    killed = []
    for _ in range(20):
        headgate.start(CONFIG, divert=divert)
        wait_for_shaping(headgate)
        killed.append(time.time())
        headgate.kill()
        time.sleep(LONGEST_OUTAGE[divert] + 0.2)
    echoes = ping.stop()
    load.stop()

    outages = [first_answer_after(echoes, moment) for moment in killed]
    figure("seconds until the first answer after kill -9, worst of 20", round(max(outages), 4))
    assert max(outages) <= LONGEST_OUTAGE[divert]

    headgate.start(CONFIG, divert=divert)
    headgate.stop()
    traces.assert_none(net.host)


def test_a_start_right_after_a_kill_works(net, headgate, programs, divert):
    load = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=600)
    for _ in range(5):
        headgate.start(CONFIG, divert=divert)
        headgate.kill()
    headgate.start(CONFIG, divert=divert)
    wait_for_shaping(headgate)
    load.stop()
    assert len(traces.divert_devices(net.host)) == 2


@pytest.mark.measured
def test_stopped_by_a_signal_traffic_passes_and_shaping_returns(net, headgate, programs, divert, figure):
    headgate.start(CONFIG, divert=divert)
    receiver = Receiver(net.peer, programs)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=600)
    ping = Ping(net.host, network.PEER_IPV4, interval=0.01)
    wait_for_shaping(headgate)
    stopped = time.time()
    headgate.signal(signal.SIGSTOP)
    time.sleep(3)
    continued = time.time()
    headgate.signal(signal.SIGCONT)
    time.sleep(3)
    ended = time.time()
    load.stop()
    echoes = ping.stop()
    flow = receiver.stop().only()

    outage = first_answer_after(echoes, stopped)
    figure("seconds until the first answer after SIGSTOP", round(outage, 3))
    assert outage <= 1

    def between(start, end):
        return [arrival for arrival in flow if start <= arrival.time / 1e9 < end]

    unshaped = between(stopped + 1, continued)
    assert nothing_missing(unshaped) and len(unshaped) > 1.5 * 1000 * 2
    assert rate_while_running(between(continued + 1, ended), 1000) == pytest.approx(1000, rel=0.005)  # shaped again
    check_law(headgate.shape())


@pytest.mark.measured
def test_a_second_instance_is_refused_and_harms_nothing(net, headgate, headgates, programs, divert):
    headgate.start(CONFIG, divert=divert)
    receiver = Receiver(net.peer, programs)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=600)
    wait_for_shaping(headgate)
    time.sleep(0.3)
    started = time.time()

    second = headgates(net.host)
    second.start(CONFIG, divert=divert, wait=False)
    assert second.process.wait(10) == EXIT_REFUSED
    assert "eth0" in second.log() and "already" in second.log()
    assert len(second.log().splitlines()) == 1, second.log()

    # The same control socket is refused too.
    third = headgates(net.host)
    third.control_path = headgate.control_path
    third.start("# nothing", wait=False)
    assert third.process.wait(10) == EXIT_REFUSED
    assert "another headgated answers on" in third.log()

    time.sleep(1)
    ended = time.time()
    shape = headgate.shape()
    assert shape["diverting"]
    check_law(shape)
    load.stop()
    flow = [arrival for arrival in receiver.stop().only() if started <= arrival.time / 1e9 < ended]
    assert rate_while_running(flow, 1000) == pytest.approx(1000, rel=0.005)


def test_cleanup_removes_what_a_killed_daemon_left(net, headgate, programs, divert):
    headgate.start(CONFIG, divert=divert)
    headgate.kill()
    assert traces.divert_devices(net.host)
    result = net.host.run(programs / "headgated", "--cleanup")
    assert result.returncode == EXIT_OK
    traces.assert_none(net.host)

    # Nothing is left to remove, and that is no error.
    assert net.host.run(programs / "headgated", "--cleanup").returncode == EXIT_OK


# In changes of links: from the moment at which the divert pair is made to when it stands.
@pytest.mark.parametrize("changes_of_links", [1, 2, 3, 4, 6])
def test_killed_while_its_divert_pair_is_being_made_it_leaves_nothing_that_cleanup_does_not_find(
        net, headgate, programs, divert, changes_of_links):
    events = LinkEvents(net.host)
    headgate.start(CONFIG, divert=divert, wait=False)
    assert events.wait(changes_of_links)
    headgate.kill()
    events.close()
    net.host.run(programs / "headgated", "--cleanup")
    traces.assert_none(net.host)
    headgate.start(CONFIG, divert=divert)
    assert headgate.shape()["diverting"]
    assert traces.divert_devices(net.host) == ["hg0p", "hg0"]


DIVERT_GROUP = 0x6867  # of both ends from the first instant, before they have an alias


def test_a_divert_pair_without_an_alias_is_known_by_its_group_and_others_are_left_alone(net, headgate, programs):
    pairs = {"hg0": DIVERT_GROUP, "hg1": 0, "other": DIVERT_GROUP}
    for name, group in pairs.items():
        net.host.run("ip", "link", "add", name, "group", group, "type", "veth", "peer", "name", name + "p", "group", group)
    headgate.start(CONFIG)  # beside them: they may be those of another daemon that is about to name them
    assert headgate.shape()["diverting"]
    headgate.stop()
    result = net.host.run(programs / "headgated", "--cleanup")
    assert "hg0" in result.stdout + result.stderr
    assert {name for name in net.host.links()} == {"lo", "eth0", "hg1", "hg1p", "other", "otherp"}


def test_cleanup_beside_a_live_daemon_is_refused(net, headgate, programs, divert):
    headgate.start(CONFIG, divert=divert)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=600)
    wait_for_shaping(headgate)
    result = net.host.run(programs / "headgated", "--cleanup", check=False)
    assert result.returncode == EXIT_REFUSED
    assert "eth0 egress is being shaped by process" in result.stderr
    before = class_of(headgate.shape(), "load")["sent"]["packets"]
    time.sleep(0.5)
    shape = headgate.shape()
    assert shape["diverting"] and class_of(shape, "load")["sent"]["packets"] > before
    load.stop()


def test_the_watchdog_is_fed_only_while_packets_move(net, headgate):
    headgate.start(CONFIG, watchdog=1)
    headgate.wait_notification("WATCHDOG=1", patience=1)
    headgate.signal(signal.SIGSTOP)
    time.sleep(0.2)
    known = len(headgate.notifications())
    time.sleep(1.5)
    assert headgate.notifications()[known:] == []
    headgate.signal(signal.SIGCONT)
    headgate.wait_notification("WATCHDOG=1", patience=1, since=known)
