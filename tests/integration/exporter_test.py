"""The exporter of a real daemon: metrics, what happens without the daemon, and a real Prometheus that scrapes it."""

import json
import re
import signal
import subprocess
import time

import pytest

import network
import processes
from conftest import ROOT
from daemon import EXIT_NOT_RUNNING, EXIT_OK, EXIT_REFUSED, EXIT_USAGE, class_of
from traffic import Sender
from web import Exporter, Prometheus, samples

CONFIG = """
[[shape]]
interface = "eth0"
workers = 1
rate = "20mbit"
  [[shape.group]]
  name = "guests"
  ceiling = "5mbit"
  [[shape.class]]
  name = "office"
  match = "udp portrange 5100-5199"
  guarantee = "1mbit"
  ceiling = "{ceiling}"
  [[shape.class]]
  name = "guest"
  group = "guests"
  match = "udp portrange 5200-5299"
  key = "dst"
  rate = "1mbit"
  queue = "20p"
    [[shape.class.plan]]
    name = "gold"
    rate = "3mbit"
    members = ["10.77.0.99"]
  [[shape.class]]
  name = "around"
  match = "udp port 53"
  bypass = true

[[shape]]
interface = "veth*"
  [[shape.class]]
  name = "tenants"
  rate = "1000pps"
"""
OFFICE = 'interface="eth0",direction="egress",class="office"'
GUEST = 'interface="eth0",direction="egress",class="guest"'


def promtool(text):
    """Judges metrics."""
    result = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False)
    assert (result.returncode, result.stdout + result.stderr) == (0, "")


@pytest.fixture
def shaped(net, headgates):
    """A daemon with two instances of a pattern besides."""
    for number in (1, 2):
        net.host.run("ip", "link", "add", f"veth{number}", "up", "type", "veth", "peer", "name", f"far{number}")
        net.host.run("ip", "link", "set", f"far{number}", "up")
    return headgates(net.host).start(CONFIG.format(ceiling="10mbit"))


@pytest.fixture
def exporters(programs):
    made = []

    def make(headgate, *arguments):
        made.append(Exporter(headgate.namespace, programs, headgate.control_path, *arguments))
        return made[-1]

    yield make
    for exporter in made:
        exporter.close()


def send_both(headgate, seconds):
    """To both shaped classes, and to the one that is not. Nobody listens there, so the peer's kernel refuses."""
    senders = [Sender(headgate.namespace, headgate.programs, network.PEER_IPV4, rate=rate, seconds=seconds, port=port,
                      size=500) for port, rate in ((5100, 800), (5200, 800), (53, 50))]
    for sender in senders:
        sender.finish(refusals=True)


def assert_nothing_went_back(before, after):
    for name, value in before.items():
        if re.match(r"\w+_(total|bucket|count|sum)\b", name) and "exporter" not in name:
            assert after[name] >= value, name


def test_metrics_are_what_the_daemon_counts_and_never_go_back(shaped, exporters):
    exporter = exporters(shaped)
    send_both(shaped, 1)
    shaped.settled_class("guest", 500)
    text = exporter.metrics()
    promtool(text)
    found, shape = samples(text), shaped.shape()
    for name, labels in (("office", OFFICE), ("guest", GUEST)):
        counters = class_of(shape, name)
        assert found[f"headgate_packets_received_total{{{labels}}}"] == counters["received"]["packets"] > 500
        assert found[f"headgate_bytes_sent_total{{{labels}}}"] == counters["sent"]["bytes"]
        assert found[f'headgate_dropped_packets_total{{{labels},reason="queue_full"}}'] == (
            counters["dropped"]["reasons"]["queue_full"]["packets"])
        assert found[f"headgate_delay_seconds_count{{{labels}}}"] == counters["sent"]["packets"]
        assert found[f'headgate_delay_seconds_bucket{{{labels},le="+Inf"}}'] == counters["sent"]["packets"]
    assert found[f'headgate_dropped_packets_total{{{GUEST},reason="queue_full"}}'] > 0
    # The guest's queue of 20 packets is as long as its delay: 20 x 542 bytes at 1 Mbit/s are 87 ms.
    packets = found[f"headgate_delay_seconds_count{{{GUEST}}}"]
    assert found[f'headgate_delay_seconds_bucket{{{GUEST},le="0.131072"}}'] >= 0.9 * packets
    assert found[f'headgate_delay_seconds_bucket{{{GUEST},le="0.032768"}}'] < 0.5 * packets
    assert found[f"headgate_ceiling_bytes_per_second{{{OFFICE}}}"] == 1_250_000
    assert found['headgate_pattern_interfaces{interface="veth*",direction="egress"}'] == 2
    assert found['headgate_open{interface="eth0",direction="egress"}'] == 0
    assert "10.77" not in text and "veth1" not in text

    shaped.write(CONFIG.format(ceiling="12mbit"))
    shaped.reload()
    shaped.namespace.run("ip", "link", "delete", "veth2")
    time.sleep(0.3)
    after = exporter.samples()
    assert_nothing_went_back(found, after)
    assert after[f"headgate_ceiling_bytes_per_second{{{OFFICE}}}"] == 1_500_000
    assert after['headgate_pattern_interfaces{interface="veth*",direction="egress"}'] == 1


def test_headgatectl_writes_the_same_metrics_to_a_file(shaped, exporters, tmp_path):
    exporter = exporters(shaped)
    file = tmp_path / "headgate.prom"
    shaped.control("metrics", "--output", file)
    promtool(file.read_text())
    own = re.compile("headgate_exporter|uptime")
    assert {name for name in samples(file.read_text()) if not own.search(name)} == \
        {name for name in exporter.samples() if not own.search(name)}
    shaped.kill()
    assert shaped.control("metrics", "--output", file, check=False).returncode == EXIT_NOT_RUNNING
    assert samples(file.read_text()) == {"headgate_up": 0}


def test_it_goes_on_without_the_daemon_and_while_that_hangs(shaped, exporters):
    exporter = exporters(shaped)
    assert exporter.samples()["headgate_up"] == 1
    shaped.signal(signal.SIGSTOP)
    time.sleep(0.3)  # what it knows may be that old
    begin = time.monotonic()
    assert exporter.samples()["headgate_up"] == 0
    assert time.monotonic() - begin < 10
    shaped.signal(signal.SIGCONT)
    time.sleep(0.3)
    assert exporter.samples()["headgate_up"] == 1
    shaped.kill()
    time.sleep(0.3)
    found = exporter.samples()
    assert found["headgate_up"] == 0 and not any(name.startswith("headgate_open") for name in found)
    status, text = exporter.get("api/show")
    assert (status, json.loads(text)["error"]["code"]) == (503, "not_running")
    shaped.start(CONFIG.format(ceiling="10mbit"))
    time.sleep(0.3)
    assert exporter.samples()["headgate_up"] == 1


def test_a_wrong_command_line_and_an_address_that_is_taken_are_said(net, programs):
    program = programs / "headgate-exporter"
    for arguments, code, words in (
            (["--listen", "9469"], EXIT_USAGE, 'headgate-exporter: --listen "9469" has no port'),
            (["--flow"], EXIT_USAGE, 'did you mean "--flows"?'),
            (["--listen", "192.0.2.1:9469"], EXIT_REFUSED,
             "cannot listen at 192.0.2.1:9469: Cannot assign requested address"),
            (["--help"], EXIT_OK, ""), (["--version"], EXIT_OK, "")):
        result = net.host.run(program, *arguments, check=False)
        assert result.returncode == code, result.stderr
        assert words in result.stderr
    taken = Exporter(net.host, programs, "/nonexistent", "--listen", "[::1]:9469")
    result = net.host.run(program, "--listen", "[::1]:9469", check=False)
    assert result.returncode == EXIT_REFUSED
    assert "cannot listen at [::1]:9469: Address already in use" in result.stderr
    assert taken.samples()["headgate_up"] == 0
    taken.close()


# A dashboard and rules

RULES = ROOT / "share/prometheus/headgate.rules.yml"
# Of a system where nothing is wrong, no packet is lost, no class marks or polices, and nothing goes by a budget.
EMPTY = ["headgate_packets_marked_total", "headgate_packets_remarked_total", "headgate_budget_"]


def dashboard_expressions():
    dashboard = json.loads((ROOT / "share/grafana/headgate.json").read_text())
    variables = {"$__rate_interval": "5s", "$instance": ".*", "$interface": ".*", "$direction": ".*", "$class": ".*"}
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"]
            for name, value in variables.items():
                expression = expression.replace(name, value)
            assert "$" not in expression, expression
            yield expression


def test_the_rules_alert_where_they_should():
    processes.run(["promtool", "check", "rules", RULES])
    processes.run(["promtool", "test", "rules", ROOT / "tests/prometheus/headgate.rules.test.yml"])


@pytest.mark.release
def test_prometheus_has_data_for_each_expression_of_the_dashboard(shaped, exporters, tmp_path):
    exporter = exporters(shaped)
    prometheus = Prometheus(exporter, tmp_path, RULES)
    try:
        expressions = list(dashboard_expressions())
        assert len(expressions) >= 35
        deadline = time.monotonic() + 40
        missing = expressions
        while missing:
            assert time.monotonic() < deadline, f"no data for {missing}\n{prometheus.log()[-2000:]}"
            send_both(shaped, 1)
            if not prometheus.is_ready():
                continue
            results = prometheus.query_all(expressions)
            missing = [expression for expression, series in zip(expressions, results)
                       if not series and not any(name in expression for name in EMPTY)]
        for expression, series in zip(expressions, results):
            if any(name in expression for name in EMPTY):
                assert series == [], expression

        groups = prometheus.get_all(["api/v1/rules"])[0]["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        assert [(rule["name"], rule.get("lastError")) for rule in rules if rule["health"] != "ok"] == []
        alerts = {rule["name"] for rule in rules if rule["state"] != "inactive"}
        assert alerts <= {"HeadgateDrops", "HeadgateStarved", "HeadgateTroubled"}
        shaped.kill()
        deadline = time.monotonic() + 10
        while prometheus.query_all(['ALERTS{alertname="HeadgateDown"}'])[0] == []:
            assert time.monotonic() < deadline
            time.sleep(0.3)
    finally:
        prometheus.close()
