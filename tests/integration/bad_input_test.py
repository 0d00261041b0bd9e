"""Bad configurations and command lines: the exact message, the exit code, and what runs stays as it was.

The tables are those of the unit tests, tests/config/bad: NAME.toml with NAME.expected, and command_lines.json.
"""

import json
import shutil

import pytest

import network
from conftest import ROOT
from daemon import EXIT_REFUSED, EXIT_USAGE
from traffic import Receiver, Sender

BAD = ROOT / "tests" / "config" / "bad"
FILES = sorted(path.stem for path in BAD.glob("*.toml"))
COMMAND_LINES = json.loads((BAD / "command_lines.json").read_text())

GOOD = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "good"
  rate = "1000pps"
"""


def expected_messages(name, path):
    """What must be said of a bad file that lies at `path`."""
    lines = (BAD / f"{name}.expected").read_text().splitlines()
    return [f"{path}{line.removeprefix(f'{name}.toml')}" for line in lines]


def said(result):
    """The errors on standard error, without the name of the program before them and the hint after them."""
    lines = [line.removeprefix("headgated: error: ") for line in result.stderr.splitlines()]
    return [line for line in lines if ": warning: " not in line and line != "see headgated --help"]


@pytest.fixture(scope="module")
def host():
    namespace = network.Namespace("host")
    yield namespace
    namespace.delete()


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_refused_with_its_message(host, programs, name):
    path = BAD / f"{name}.toml"
    check = host.run(programs / "headgated", "--check", "--config", path, check=False)
    assert check.returncode == EXIT_USAGE
    assert said(check) == expected_messages(name, path)
    # headgatectl checks without a daemon, and says the same.
    by_control = host.run(programs / "headgatectl", "check", path, check=False)
    assert by_control.returncode == EXIT_USAGE
    assert said(by_control) == expected_messages(name, path)


@pytest.mark.parametrize("row", COMMAND_LINES, ids=lambda row: " ".join(row["arguments"]) or "none")
def test_a_bad_command_line_is_refused_with_its_message(host, programs, row):
    result = host.run(programs / "headgated", *row["arguments"], check=False)
    assert result.returncode == EXIT_USAGE
    assert said(result) == row["errors"]


def test_a_running_daemon_keeps_its_good_configuration(net, headgate, programs):
    headgate.start(GOOD)
    kept = configuration(headgate)
    receiver = Receiver(net.peer, programs)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=500, seconds=600)
    for name in FILES:
        shutil.copy(BAD / f"{name}.toml", headgate.config_path)
        result = headgate.control("reload", check=False)
        assert result.returncode == EXIT_REFUSED, name
        for message in expected_messages(name, headgate.config_path):
            assert message in result.stderr, name
        assert configuration(headgate) == kept, name
    sent = load.stop()["sent"]
    assert len(receiver.stop(settle=0.3)) == sent
    assert len(FILES) >= 40


def configuration(headgate):
    """What is in force, without what traffic changes."""
    shapes = headgate.show()["shapes"]
    return [(shape["interface"], shape["direction"], shape["diverting"],
             [(its["name"], its["match"], its["key"], its["rate"], its["burst"], its["queue"])
              for its in shape["classes"]]) for shape in shapes]
