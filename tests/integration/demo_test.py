"""tools/demo, as a newcomer runs it."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time

import pytest

import network
import processes
import traces
from conftest import ROOT
from traffic import Sender

pytestmark = pytest.mark.release


class Demo:
    """A tools/demo that runs, with a directory of its own for temporary files."""

    def __init__(self, namespace, *arguments, path=None):
        self._temporary = tempfile.TemporaryDirectory(prefix="hgt-")  # short: a socket is to be in it
        programs = os.environ["PATH"] if path is None else f"{path}:{os.environ['PATH']}"
        environment = dict(os.environ, TMPDIR=self._temporary.name, PATH=programs)
        self.process = namespace.start(ROOT / "tools" / "demo", *arguments, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True, process_group=0, env=environment)
        self._output = ""

    def wait_until_it_handles_signals(self, patience=10):
        """Before, it is a shell that has not begun."""
        deadline = time.monotonic() + patience
        while not processes.handles_signal(self.process.pid, signal.SIGTERM):
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def wait_for(self, words):
        """Until it has written a line with these words."""
        for line in self.process.stdout:
            self._output += line
            if words in line:
                return
        raise AssertionError(f"it ended without {words!r}:\n{self._output}")

    def interrupt(self, how=signal.SIGINT):
        """SIGINT as a terminal sends it, to all of the process group; others as kill does, to the process."""
        (os.killpg if how == signal.SIGINT else os.kill)(self.process.pid, how)

    def assert_ends_well(self):
        """Soon, with exit code 0, no word of an error and nothing left; what it wrote."""
        rest, _ = self.process.communicate(timeout=30)
        output = self._output + rest
        assert self.process.returncode == 0, output
        assert not re.search("Traceback|[Ee]rror|[Ff]ailed|Terminated|Killed", output), output
        assert os.listdir(self._temporary.name) == []
        assert namespaces_of_the_dead() == []
        return output


@pytest.fixture
def demo(net):
    """Starts it: demo("eth0"). It is ended after the test."""
    made = []

    def start(*arguments, **options):
        made.append(Demo(net.host, *arguments, **options))
        return made[-1]

    yield start
    for its in made:
        processes.end(its.process)


def namespaces_of_the_dead():
    """Network namespaces whose maker has ended, and should have taken them away."""
    listing = processes.run(["ip", "netns", "list"]).stdout
    return [name for name, pid in re.findall(r"^(hgt(\d+)-\S+)", listing, re.M) if not os.path.exists(f"/proc/{pid}")]


def test_without_an_interface_it_ends_by_itself_with_numbers_that_add_up(tmp_path):
    started = time.monotonic()
    result = processes.run([ROOT / "tools" / "demo", "--html", tmp_path / "demo.html"], timeout=120)
    assert time.monotonic() - started < 60
    assert result.stderr == ""
    numbers = re.search(r"headgate: received (\d+) = sent (\d+) \+ dropped (\d+) \+ queued (\d+)\n", result.stdout)
    received, sent, dropped, queued = map(int, numbers.groups())
    assert received == sent + dropped + queued
    assert queued == 0 and sent > 0 and dropped > 0
    counted = re.findall(r"^all +(\d+) +(\d+) +(\d+)$", result.stdout, re.M)[-1]
    assert counted == (str(received), str(sent), str(dropped))
    assert "\033" not in result.stdout  # not a terminal
    check_page((tmp_path / "demo.html").read_text(), counted)


def check_page(page, counted):
    """It has the figures that were shown, and at the far end each flow that was held back comes each millisecond."""
    figures = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
    assert tuple(str(figures[what]["packets"]) for what in ("received", "sent", "dropped")) == counted
    for what, name in (("offered_packets", "received"), ("sent_packets", "sent")):
        in_bins = sum(sum(one[what]) for one in figures["series"]["classes"])
        assert in_bins == pytest.approx(figures[name]["packets"], rel=0.1)  # the first and the last packets lie outside
    for flow in figures["flows"]:
        assert flow["received"]["packets"] == flow["sent"]["packets"] + flow["dropped"]["packets"]
    gaps = figures["spacing"][3]
    near = sum(count for at, count in zip(gaps["from_us"], gaps["count"]) if 900 <= at <= 1100)
    assert near > sum(gaps["count"]) / 2


def test_with_an_interface_it_shapes_until_interrupted(net, demo, programs):
    shown = demo("eth0", "500pps")
    shown.wait_for("diverting")
    Sender(net.host, programs, network.PEER_IPV4, rate=1500, seconds=3).finish()
    shown.interrupt()
    output = shown.assert_ends_well()
    assert output.rstrip().endswith("eth0 is no longer shaped.")
    assert re.search(r"500pps", output)
    traces.assert_none(net.host)


MOMENTS = [0, 0.03, 0.1, 0.3, 0.7, 1, 1.4, 1.8, 2.5, 3.5]  # s; it builds for a second, and sets up for another


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda how: how.name)
@pytest.mark.parametrize("moment", MOMENTS)
def test_interrupted_so_long_after_its_start_it_ends_well(demo, moment, how):
    shown = demo()
    shown.wait_until_it_handles_signals()
    time.sleep(moment)
    shown.interrupt(how)
    shown.assert_ends_well()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
@pytest.mark.parametrize("fraction", [0, 0.3, 0.6, 0.9, 1, 1.05])
def test_interrupted_at_any_part_of_a_second_it_has_stopped_shaping(net, demo, fraction, how):
    shown = demo("eth0", "500pps")
    shown.wait_for("diverting")
    time.sleep(fraction)  # it draws once a second, and asks headgated for what it draws
    shown.interrupt(how)
    assert shown.assert_ends_well().rstrip().endswith("eth0 is no longer shaped.")
    traces.assert_none(net.host)


@pytest.mark.parametrize("arguments, words", [((), "second 1 of"), (("eth0",), "diverting")])
def test_interrupted_again_and_again_it_still_takes_away_what_it_made(net, demo, arguments, words):
    shown = demo(*arguments)
    shown.wait_for(words)
    while shown.process.poll() is None:
        shown.interrupt()
        time.sleep(0.01)
    shown.assert_ends_well()
    traces.assert_none(net.host)


def test_interrupted_while_it_builds_it_ends_the_build(demo, tmp_path):
    compiler = tmp_path / "cmake"
    compiler.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid\nsleep 600\n")
    compiler.chmod(0o755)
    shown = demo(path=tmp_path)
    deadline = time.monotonic() + 10
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    shown.interrupt(signal.SIGTERM)
    shown.assert_ends_well()
    assert not os.path.exists(f"/proc/{(tmp_path / 'pid').read_text().strip()}")


def test_killed_its_show_ends_too(net, demo):
    shown = demo("eth0")
    shown.wait_for("diverting")
    shown.interrupt(signal.SIGKILL)
    traces.assert_none(net.host, patience=5)


@pytest.mark.parametrize("arguments, words", [(["nosuch0"], "there is no interface nosuch0"),
                                              (["eth0", "500"], '"500" has no unit')])
def test_a_wrong_call_is_explained(net, arguments, words):
    result = net.host.run(ROOT / "tools" / "demo", *arguments, check=False, timeout=120)
    assert result.returncode == 1
    assert words in result.stderr
    assert not traces.divert_devices(net.host)
