"""What is in force is changed while packets flow: set, limit, try, undo, diff and save."""

import json
import subprocess
import time

import network
import traces
from daemon import EXIT_REFUSED, EXIT_USAGE, check_law, class_of
from traffic import Receiver, Sender

CONFIG = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "udp"
  match = "udp dst portrange 5000-5999"
  key = "dst"
  rate = "2000pps"
  queue = "4000p"
"""


def refused(headgate, *arguments, code=EXIT_REFUSED):
    result = headgate.control(*arguments, check=False)
    assert result.returncode == code, (arguments, result)
    return result.stderr


def rate_of(headgate):
    return class_of(headgate.shape(), "udp")["rate"]


def test_a_thousand_sets_under_load_lose_and_reorder_nothing(net, headgate, programs, divert):
    headgate.start(CONFIG, divert=divert)
    receiver = Receiver(net.peer, programs)
    load = Sender(net.host, programs, network.PEER_MORE_IPV4, rate=3000, seconds=4)
    lines = "".join(f"udp rate={2000 + number % 7}pps\n" for number in range(1000))
    result = subprocess.run([programs / "headgatectl", "--control", headgate.control_path, "set", "-"], input=lines,
                            stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    assert result.returncode == 0 and "values changed, 0 refused" in result.stdout, result
    offered = load.finish()["sent"]
    counters = headgate.settled_class("udp", offered, patience=10)
    arrivals = receiver.stop()
    assert counters["sent"]["packets"] == offered == len(arrivals), counters
    assert arrivals.reordered() == 0
    assert rate_of(headgate) == [f"{2000 + 999 % 7}pps"]
    check_law(headgate.shape())


def test_a_value_is_set_for_a_time_kept_over_a_reload_and_saved(headgate, divert):
    headgate.start(CONFIG, divert=divert)
    assert "set for 4s" in headgate.control("set", "udp", "rate=10pps", "--for", "4s").stdout
    assert rate_of(headgate) == ["10pps"]
    headgate.control("set", "udp", "burst=5p", "-q")
    deadline = time.monotonic() + 20
    while rate_of(headgate) != ["2000pps"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    headgate.reload()
    difference, = headgate.json("diff")["differences"]
    assert difference == {"where": "eth0/egress/udp", "key": "burst", "in_files": "1p", "in_force": "5p",
                          "why": "set by root"}
    headgate.control("save")
    assert headgate.json("diff")["differences"] == []
    headgate.stop()
    headgate.start(CONFIG, divert=divert)
    assert class_of(headgate.shape(), "udp")["burst"] == ["5p"]


def test_what_is_wrong_is_said_and_changes_nothing(headgate, divert):
    headgate.start(CONFIG, divert=divert)
    assert "run time: rate: " in refused(headgate, "set", "udp", "rate=fast")
    assert "did you mean \"rate\"" in refused(headgate, "set", "udp", "rat=1pps")
    assert "expected such as rate=500pps" in refused(headgate, "set", "udp", "rate", code=EXIT_USAGE)
    assert "no class \"upd\"" in refused(headgate, "set", "upd", "rate=1pps", code=EXIT_USAGE)
    assert "there is no interface" in refused(headgate, "limit", "none0", "1mbit")
    assert "is shaped by " in refused(headgate, "limit", "eth0", "1mbit")
    assert "nothing to undo" in refused(headgate, "undo")
    assert "no trial" in refused(headgate, "confirm")
    assert headgate.json("diff")["differences"] == []
    assert rate_of(headgate) == ["2000pps"]


def test_limit_shapes_with_an_empty_file_and_unlimit_leaves_nothing(net, headgate, programs, divert):
    headgate.start("# nothing\n", divert=divert)
    headgate.control("limit", "eth0", "8mbit")
    assert headgate.shape()["diverting"] and headgate.shape()["rate"] == "8mbit"
    receiver = Receiver(net.peer, programs)
    Sender(net.host, programs, network.PEER_IPV4, rate=500, count=100).finish()
    headgate.settled_class("(default)", 100)
    headgate.control("limit", "eth0", "4mbit", "--for", "1h")
    assert headgate.shape()["rate"] == "4mbit"
    headgate.control("undo")
    assert headgate.shape()["rate"] == "8mbit"
    headgate.control("unlimit", "eth0")
    assert headgate.show()["shapes"] == []
    assert len(receiver.stop()) == 100
    headgate.stop()
    traces.assert_none(net.host)


def test_a_trial_goes_back_by_itself_and_stays_when_confirmed(net, headgate, divert, tmp_path):
    headgate.start(CONFIG, divert=divert)
    new = tmp_path / "new.toml"
    new.write_text(CONFIG.replace("2000pps", "30pps"))
    headgate.control("try", new, "--confirm", "4s")
    assert rate_of(headgate) == ["30pps"]
    assert "a trial of" in refused(headgate, "set", "udp", "rate=1pps")
    deadline = time.monotonic() + 20
    while rate_of(headgate) != ["2000pps"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    headgate.control("try", new, "--confirm", "60s")
    headgate.control("confirm")
    assert "no trial" in refused(headgate, "confirm")
    assert rate_of(headgate) == ["30pps"]
    headgate.reload()
    assert rate_of(headgate) == ["2000pps"]
    headgate.control("undo")
    assert rate_of(headgate) == ["30pps"]
    new.write_text("[[shape]]\ninterface = \"eth0\"\nspeed = 1\n")
    assert f"{new}:3:1: unknown key" in refused(headgate, "try", new, "--confirm", "60s")


def test_half_a_file_behind_a_request_changes_nothing(net, headgate, divert):
    headgate.start(CONFIG, divert=divert)
    half = json.dumps({"command": "try", "file": "x", "bytes": 1000, "confirm_s": 60}) + "\n# half"
    script = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(headgate.control_path)!r}); s.sendall({half!r}.encode())"
    net.host.run("/usr/bin/python3", "-c", script)
    assert headgate.json("diff")["differences"] == []


def test_drop_ins_are_read_by_name_and_named_in_errors(headgate, divert):
    directory = headgate.config_path.with_suffix(".d")
    directory.mkdir()
    (directory / "20.toml").write_text('[[shape]]\ninterface = "eth0"\n[[shape.class]]\nname = "udp"\nrate = "20pps"\n')
    (directory / "10.toml").write_text('[[shape]]\ninterface = "eth0"\n[[shape.class]]\nname = "first"\n'
                                       'match = "tcp"\nrate = "1pps"\n[[shape.class]]\nname = "udp"\nrate = "10pps"\n')
    headgate.start(CONFIG, divert=divert)
    assert [one["name"] for one in headgate.shape()["classes"]] == ["first", "udp"]
    assert rate_of(headgate) == ["20pps"]
    (directory / "20.toml").write_text('[[shape]]\ninterface = "eth0"\nspeed = 1\n')
    assert f"{directory}/20.toml:3:1: unknown key \"speed\"" in refused(headgate, "reload")
    assert rate_of(headgate) == ["20pps"]
