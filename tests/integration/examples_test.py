"""The examples that are installed: rates by the time of day, a rate that follows the link; the README's recipes."""

import configparser
import re
import shlex
import subprocess
import time

import pytest

import network
import processes
from conftest import ROOT
from traffic import Sender

EXAMPLES = ROOT / "systemd" / "examples"
LINK = """
[[shape]]
interface = "eth0"
rate = "10mbit"
"""


def unit(name):
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read_string((EXAMPLES / name).read_text())
    return parser


def rate_within(headgate, suits, patience):
    """The rate of the link in bit/s, once it suits; what was seen until then is said where it does not."""
    seen = []
    deadline = time.monotonic() + patience
    while not seen or not suits(seen[-1]):
        assert time.monotonic() < deadline, f"no such rate within {patience} s: {seen}"
        number, prefix = re.fullmatch(r"([\d.]+)(k|m)bit", headgate.shape()["rate"]).groups()
        rate = float(number) * {"k": 1e3, "m": 1e6}[prefix]
        if not seen or rate != seen[-1]:
            seen.append(rate)
        time.sleep(0.05)
    return seen[-1]


@pytest.mark.release
def test_units_of_the_time_of_day_are_valid(programs, tmp_path):
    for name in EXAMPLES.glob("headgate-*"):
        (tmp_path / name.name).write_text(name.read_text().replace("/usr/bin/headgatectl", f"{programs}/headgatectl"))
    (tmp_path / "headgated.service").write_text(f"[Service]\nExecStart={programs}/headgated\n")
    verified = processes.run(["systemd-analyze", "--no-pager", "--man=no", "verify", *tmp_path.glob("headgate-*")])
    assert verified.stdout + verified.stderr == ""
    times = [unit(f"headgate-{when}.timer")["Timer"]["OnCalendar"] for when in ("night", "day")]
    assert "22:00:00" in processes.run(["systemd-analyze", "calendar", times[0]]).stdout
    assert "06:00:00" in processes.run(["systemd-analyze", "calendar", times[1]]).stdout


def test_units_of_the_time_of_day_change_the_rate(headgate, divert):
    headgate.start(LINK, divert=divert)
    for when, rate in (("night", "90mbit"), ("day", "40mbit")):
        program, *arguments = shlex.split(unit(f"headgate-{when}.service")["Service"]["ExecStart"])
        assert program == "/usr/bin/headgatectl"
        assert headgate.control(*arguments).stdout == ""
        assert headgate.shape()["rate"] == rate


@pytest.mark.timed
def test_the_rate_follows_a_bottleneck_behind_it(inline_net, headgates, programs):
    middle = inline_net.middle
    middle.run("ip", "link", "add", "br0", "type", "bridge")
    for interface in ("eth0", "eth1"):
        middle.run("ip", "link", "set", interface, "master", "br0")
    middle.run("ip", "link", "set", "br0", "up")
    inline_net.wait_for_answers()

    def narrow(rate, how="change"):
        middle.run("tc", "qdisc", how, "dev", "eth1", "root", "tbf", "rate", rate, "burst", "10kb", "limit", "100kb")

    narrow("12mbit", "add")
    headgate = headgates(inline_net.host).start(LINK)
    load = Sender(inline_net.host, programs, network.PEER_IPV4, rate=2500, size=1000, seconds=60)
    script = inline_net.host.start(
        EXAMPLES / "follow-latency", "eth0/egress", network.PEER_IPV4, "--floor", "1mbit", "--ceiling", "10mbit",
        "--slow", 40, "--hold", 2, "--control", headgate.control_path, "--headgatectl", programs / "headgatectl",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    time.sleep(1.5)
    assert headgate.shape()["rate"] == "10mbit"
    narrow("3mbit")
    rate_within(headgate, lambda rate: rate < 3e6, 10)
    narrow("12mbit")
    rate_within(headgate, lambda rate: rate > 4.5e6, 20)
    processes.end(script)
    assert script.stdout.read() == ""
    load.stop(refusals=True)
    rate_within(headgate, lambda rate: rate == 10e6, 5)  # by itself: no rate is set for longer than --hold


def test_recipes_of_the_readme_are_valid(programs, tmp_path):
    readme = (ROOT / "README.md").read_text()
    section = readme[readme.index("## Recipes"):readme.index("## Change it live")]
    recipes = re.findall(r"```toml\n(.*?)```", section, re.S)
    assert len(recipes) == 6
    (tmp_path / "gold").write_text("10.3.0.0/24\n2001:db8:3::/48\n")
    for number, recipe in enumerate(recipes):
        file = tmp_path / f"{number}.toml"
        file.write_text(recipe.replace("/etc/headgate/gold", str(tmp_path / "gold")))
        assert " is valid: " in processes.run([programs / "headgatectl", "check", file]).stdout
