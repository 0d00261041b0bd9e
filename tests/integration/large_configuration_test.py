"""Many long match expressions: they are compiled beside the work of the daemon, which goes on. And sizes that do not fit."""

import signal
import threading
import time

import pytest

import processes
from daemon import EXIT_OK, EXIT_USAGE

CLASSES = HOSTS = 100
WATCHDOG = 2  # s
LONGEST_GAP = 1.5  # s


def many_hosts(salt):
    """A shape of 100 classes, each with 100 hosts of its own."""
    text = '[[shape]]\ninterface = "eth0"\n'
    for number in range(CLASSES):
        hosts = " or ".join(f"10.{salt}.{number}.{host}" for host in range(1, HOSTS + 1))
        text += f'[[shape.class]]\nname = "c{number}"\nrate = "1000pps"\nmatch = "host {hosts}"\n'
    return text


class Feeds:
    """The times at which the daemon fed the watchdog, from now on."""

    def __init__(self, headgate):
        self._headgate = headgate
        self._begin = time.monotonic()
        self._seen = self._count()
        self._times = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _count(self):
        return self._headgate.notifications().count("WATCHDOG=1")

    def _watch(self):
        while not self._end.wait(0.005):
            if (count := self._count()) > self._seen:
                self._seen = count
                self._times.append(time.monotonic())

    def longest_gap(self):
        """Of the time watched; ends the watching."""
        self._end.set()
        self._thread.join()
        times = [self._begin, *self._times, time.monotonic()]
        return max(after - before for before, after in zip(times, times[1:]))


@pytest.mark.measured
def test_the_watchdog_is_fed_while_a_reload_compiles_many_long_expressions(headgate, figure):
    headgate.write(many_hosts(salt=1))
    headgate.launch(["--config", headgate.config_path], watchdog=WATCHDOG)
    headgate.wait_ready(patience=60)
    notified = headgate.notifications()
    ready = next(number for number, message in enumerate(notified) if message == "READY=1")
    assert any(message.startswith("EXTEND_TIMEOUT_USEC=") for message in notified[:ready])

    headgate.wait_notification("WATCHDOG=1")
    feeds = Feeds(headgate)
    for salt, how in ((2, headgate.reload), (3, lambda: headgate.signal(signal.SIGHUP))):
        headgate.write(many_hosts(salt))
        since = len(headgate.notifications())
        how()
        headgate.wait_notification("READY=1", patience=60, since=since)
        assert headgate.shape()["classes"][7]["match"].startswith(f"host 10.{salt}.7.1 ")
    time.sleep(LONGEST_GAP)
    gap = feeds.longest_gap()
    figure("longest gap between two feeds", f"{gap:.2f} s")
    assert gap < LONGEST_GAP


MANY = 40
SHAPE = '[[shape]]\ninterface = "v{}"\n[[shape.class]]\nname = "all"\nrate = "1000pps"\n'


def make_links(namespace, directory, count):
    links = directory / "links"
    links.write_text("".join(f"link add v{number} type veth peer name w{number}\n"
                             f"link set v{number} up\nlink set w{number} up\n" for number in range(count)))
    namespace.run("ip", "-batch", links)


@pytest.mark.measured
def test_the_watchdog_is_fed_while_a_reload_adds_and_removes_many_shapes(net, headgate, divert, figure):
    make_links(net.host, headgate.directory, MANY)
    headgate.start(SHAPE.format(0), watchdog=WATCHDOG, divert=divert)
    headgate.wait_notification("WATCHDOG=1")
    feeds = Feeds(headgate)
    for what, count in (("adds", MANY), ("removes", 1)):
        headgate.write("".join(SHAPE.format(number) for number in range(count)), divert=divert)
        since = len(headgate.notifications())
        began = time.monotonic()
        headgate.signal(signal.SIGHUP)
        headgate.wait_notification("READY=1", patience=60, since=since)
        figure(f"a reload that {what} {MANY - 1} shapes", f"{time.monotonic() - began:.2f} s")
        assert len(headgate.show()["shapes"]) == count
    time.sleep(LONGEST_GAP)
    gap = feeds.longest_gap()
    figure("longest gap between two feeds", f"{gap:.2f} s")
    assert gap < LONGEST_GAP


@pytest.mark.measured
def test_the_watchdog_is_fed_while_many_shapes_attach_again_and_while_a_reload_fails_at_the_last(net, headgate, divert, figure):
    make_links(net.host, headgate.directory, MANY)
    all_of_them = "".join(SHAPE.format(number) for number in range(MANY))
    headgate.start(SHAPE.format(0), watchdog=WATCHDOG, divert=divert)
    headgate.wait_notification("WATCHDOG=1")
    feeds = Feeds(headgate)
    net.host.run("ip", "link", "property", "add", "dev", "lo", "altname", "loop0")
    headgate.write(all_of_them + SHAPE.format(0).replace("v0", "loop0"), divert=divert)
    since = len(headgate.notifications())
    headgate.signal(signal.SIGHUP)
    headgate.wait_notification("READY=1", patience=60, since=since)
    assert "loop0 (lo) is the loopback interface" in headgate.log()
    assert len(headgate.show()["shapes"]) == 1

    headgate.write(all_of_them, divert=divert)
    headgate.reload()
    mtus = headgate.directory / "mtus"
    mtus.write_text("".join(f"link set v{number} mtu 1400\n" for number in range(MANY)))
    net.host.run("ip", "-batch", mtus)
    headgate.wait_for_log(f"v{MANY - 1} egress: shaping again", patience=30)
    time.sleep(LONGEST_GAP)
    gap = feeds.longest_gap()
    figure("longest gap between two feeds", f"{gap:.2f} s")
    assert gap < LONGEST_GAP
    assert all(shape["diverting"] for shape in headgate.show()["shapes"])


def test_a_reload_of_the_same_expressions_compiles_none(headgate):
    headgate.start(many_hosts(salt=1), watchdog=WATCHDOG)
    before = processor_time(headgate.process.pid)
    headgate.write(many_hosts(salt=1).replace("1000pps", "2000pps"))
    headgate.reload()
    assert headgate.shape()["classes"][7]["rate"] == ["2000pps"]
    with_the_same = processor_time(headgate.process.pid) - before
    headgate.write(many_hosts(salt=2))
    headgate.reload()
    with_others = processor_time(headgate.process.pid) - before - with_the_same
    assert with_the_same < with_others / 2


def processor_time(pid):
    """Of all threads, in ticks of the kernel."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.timed
def test_a_check_of_five_hundred_shapes_with_a_hundred_hosts_each_takes_seconds(headgate, programs, figure):
    def write(hosts):
        headgate.config_path.write_text('[daemon]\nmemory = "1mb"\nmax_flows = 1024\n' + "".join(
            SHAPE.format(number) + f'match = "host {hosts(number)}"\n' for number in range(500)))

    def check():
        began = time.monotonic()
        result = processes.run([programs / "headgated", "--check", "--config", headgate.config_path], check=False)
        return result, time.monotonic() - began

    write(lambda number: " or ".join(f"10.{number // 250}.{number % 250}.{host}" for host in range(1, HOSTS + 1)))
    result, seconds = check()
    figure("seconds", round(seconds, 1))
    assert result.returncode == EXIT_OK, result.stderr
    assert seconds < 10
    write(lambda number: " or ".join(["10.0.0.1"] * HOSTS) + (" or" if number == 499 else ""))
    result, seconds = check()
    assert result.returncode == EXIT_USAGE and f"{headgate.config_path}:" in result.stderr
    assert seconds < 10


TOO_LARGE = '[daemon]\nmemory = "64gb"\n' + "".join(
    f'[[shape]]\ninterface = "none{number}"\n[[shape.class]]\nname = "a"\nrate = "1000pps"\n' for number in range(100))


def test_memory_that_is_not_there_is_refused_at_the_start(headgate):
    headgate.config_path.write_text(TOO_LARGE)
    headgate.launch(["--config", headgate.config_path])
    assert headgate.process.wait(timeout=10) == EXIT_USAGE
    assert f'{headgate.config_path}:2:10: memory: 100 shapes may use "64gb"' in headgate.log()


def test_memory_that_is_not_there_is_refused_by_a_reload_and_a_check(headgate, net, programs):
    headgate.start(TOO_LARGE.replace("64gb", "1mb").partition("[[shape]]")[0])
    headgate.config_path.write_text(TOO_LARGE)
    refused = headgate.control("reload", check=False)
    check = net.host.run(programs / "headgated", "--check", "--config", headgate.config_path, check=False)
    assert check.returncode == EXIT_USAGE
    for said in (refused.stderr, check.stderr):
        assert f'{headgate.config_path}:2:10: memory: 100 shapes may use "64gb"' in said
    assert headgate.show()["shapes"] == []
