"""headgatectl drops: live lines of what is dropped, and how many are left out."""

import json
import re
import signal
import subprocess
import time

import network
import processes
from daemon import EXIT_OK, EXIT_REFUSED, EXIT_USAGE, class_of
from traffic import Sender

CONFIG = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "limited"
  match = "udp dst port 5000"
  rate  = "100pps"
  queue = "10p"

  [[shape.class]]
  name   = "policed"
  match  = "udp dst port 5001"
  rate   = "100pps"
  action = "police"

  [[shape.class]]
  name   = "around"
  match  = "udp port 53"
  bypass = true
"""
LINE = re.compile(r"[\d:]{8}\.\d{6}  eth0/egress/(\w+)  (\w+)  10\.\S+ (?:→|->) 10\.\S+ udp \d+(?:→|->)(500\d)  \d+ B")
LEFT_OUT = re.compile(r"\.\.\. and (\d+) more: (.*)")


def start(headgate, *arguments):
    process = processes.start([headgate.programs / "headgatectl", "--control", headgate.control_path, *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    return process


def end(process):
    """What it printed."""
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (EXIT_OK, "")
    return output.splitlines()


def dropped(headgate, name):
    headgate.settled_class(name, 1000)
    return class_of(headgate.shape(), name)["dropped"]


def send(headgate, net, programs):
    senders = [Sender(net.host, programs, network.PEER_IPV4, rate=1000, count=1000, port=port) for port in (5000, 5001)]
    for sender in senders:
        sender.finish(refusals=True)


def test_each_drop_of_every_class_is_a_line_or_is_counted(net, headgate, programs):
    headgate.start(CONFIG)
    process = start(headgate, "drops")
    send(headgate, net, programs)
    counted = {name: dropped(headgate, name) for name in ("limited", "policed")}
    lines = end(process)
    shown = [match.groups() for match in map(LINE.fullmatch, lines) if match]
    left_out = [match.groups() for match in map(LEFT_OUT.fullmatch, lines) if match]
    assert len(shown) + len(left_out) == len(lines)
    assert len(left_out) >= 1 and len(shown) <= 10 * (len(left_out) + 1)
    total = len(shown) + sum(int(number) for number, _ in left_out)
    assert total == sum(counts["packets"] for counts in counted.values()) > 1000
    reasons = sum(int(number) for _, text in left_out for number in re.findall(r"policed (\d+)", text))
    assert reasons + sum(reason == "policed" for _, reason, _ in shown) == counted["policed"]["packets"]


def test_one_class_as_json_without_anything_left_out(net, headgate, programs):
    headgate.start(CONFIG)
    process = start(headgate, "-j", "drops", "policed", "-n", "100000")
    began = time.time_ns()
    send(headgate, net, programs)
    packets = dropped(headgate, "policed")["packets"]
    objects = [json.loads(line) for line in end(process)]
    assert len(objects) == packets > 500
    for each in objects:
        assert (each["schema"], each["class"], each["reason"]) == (1, "eth0/egress/policed", "policed")
        assert each["key"]["destination"] == network.PEER_IPV4
        assert (each["key"]["protocol"], each["key"]["destination_port"]) == (17, 5001)
        assert began <= each["time_ns"] <= time.time_ns()


def test_it_ends_when_its_class_goes_and_refuses_what_it_cannot_follow(net, headgate):
    headgate.start(CONFIG)
    process = start(headgate, "drops", "limited")
    headgate.write(CONFIG.replace("limited", "others"))
    headgate.reload()
    _, errors = process.communicate(timeout=10)
    assert process.returncode == EXIT_REFUSED
    assert "headgated ended what it tells of limited" in errors
    refused = headgate.control("drops", "nothing", check=False)
    assert refused.returncode == EXIT_USAGE and "nothing" in refused.stderr
    refused = headgate.control("drops", *5 * ["policed"], check=False)
    assert refused.returncode == EXIT_USAGE and "5 classes are named" in refused.stderr
