"""tools/demo, as a newcomer runs it."""

import os
import re
import signal
import subprocess
import time

import pytest

import network
import processes
import traces
from conftest import ROOT
from traffic import Sender

pytestmark = pytest.mark.release


def test_without_an_interface_it_ends_by_itself_with_numbers_that_add_up():
    started = time.monotonic()
    result = processes.run([ROOT / "tools" / "demo"], timeout=120)
    assert time.monotonic() - started < 60
    assert result.stderr == ""
    numbers = re.search(r"headgate: received (\d+) = sent (\d+) \+ dropped (\d+) \+ queued (\d+)\n", result.stdout)
    received, sent, dropped, queued = map(int, numbers.groups())
    assert received == sent + dropped + queued
    assert queued == 0 and sent > 0 and dropped > 0
    counted = re.findall(r"^all +(\d+) +(\d+) +(\d+)$", result.stdout, re.M)[-1]
    assert counted == (str(received), str(sent), str(dropped))
    assert "\033" not in result.stdout  # not a terminal


def test_with_an_interface_it_shapes_until_interrupted(net, programs):
    demo = net.host.start(ROOT / "tools" / "demo", "eth0", "500pps", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, process_group=0)
    for line in demo.stdout:
        if "diverting" in line:
            break
    load = Sender(net.host, programs, network.PEER_IPV4, rate=1500, seconds=3)
    load.finish()
    os.killpg(demo.pid, signal.SIGINT)  # as a terminal does
    output, _ = demo.communicate(timeout=20)
    assert demo.returncode == 0
    assert output.rstrip().endswith("eth0 is no longer shaped.")
    assert re.search(r"500pps", output)
    traces.assert_none(net.host)


@pytest.mark.parametrize("arguments, words", [(["nosuch0"], "there is no interface nosuch0"),
                                              (["eth0", "500"], '"500" has no unit')])
def test_a_wrong_call_is_explained(net, arguments, words):
    result = net.host.run(ROOT / "tools" / "demo", *arguments, check=False, timeout=120)
    assert result.returncode == 1
    assert words in result.stderr
    assert not traces.divert_devices(net.host)
