"""headgatectl simulate: a trace in, tables, JSON, CSV, a trace and a page out; the page in a real browser."""

import collections
import csv
import io
import json
import re
import struct

import pytest

import processes
from browser import Browser
from daemon import EXIT_USAGE

CONFIG = """
[[shape]]
interface = "eth0"
rate      = "20mbit"
  [[shape.class]]
  name      = "voice"
  match     = "udp port 5060"
  guarantee = "1mbit"
  priority  = 0
  [[shape.class]]
  name  = "clients"
  match = "udp"
  key   = "dst"
  rate  = "1000pps"
  queue = "20p"

[[shape]]
interface = "eth1"
direction = "ingress"
  [[shape.class]]
  name  = "all"
  rate  = "1mbit"
"""

TRAFFIC = ["udp 10.0.0.1:5060>10.0.1.1:5060 200b 500kbit from 1s to 3s",
           "poisson udp 10.0.0.1:9>10.0.1.1:53 64b..1200b 900pps flows 4 destinations to 2s"]


def test_what_is_read_is_not_written(simulate, tmp_path):
    config, trace = tmp_path / "headgate.toml", tmp_path / "trace.pcapng"
    simulate("--out", trace)
    before = trace.read_bytes()
    for arguments, file in ((["--trace", trace, "--out", trace], trace), (["--html", config], config)):
        refused = simulate(*arguments, check=False)
        assert refused.returncode == EXIT_USAGE and f"{file}: this file is read; expected another one" in refused.stderr
    assert trace.read_bytes() == before and config.read_text() == CONFIG
    assert "--out -: expected a file" in simulate("--out", "-", check=False).stderr
    assert "both write x" in simulate("--out", "x", "--html", "x", check=False).stderr


@pytest.fixture
def simulate(programs, tmp_path):
    (tmp_path / "headgate.toml").write_text(CONFIG)

    def run(*arguments, traffic=TRAFFIC, shape="eth0/egress", check=True):
        said = [word for one in traffic for word in ("--traffic", one)]
        said += ["--shape", shape] if shape else []
        # Also of this: it needs nobody's permission.
        return processes.run(["setpriv", "--reuid", "nobody", "--clear-groups", programs / "headgatectl", "simulate",
                              "--config", tmp_path / "headgate.toml", *said, *arguments], check=check)

    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:
        if parent.stat().st_mode & 0o5 != 0o5 and parent.is_relative_to("/tmp/pytest-of-root"):
            parent.chmod(0o755)
    return run


def law(figures):
    return figures["received"]["packets"] == sum(figures[what]["packets"] for what in ("sent", "dropped", "queued"))


def test_all_that_it_writes_says_the_same(simulate):
    figures = json.loads(simulate("--json").stdout)
    assert figures["schema"] == 1
    assert law(figures) and all(map(law, figures["classes"])) and all(map(law, figures["flows"]))
    assert figures["dropped"]["packets"] > 0
    lines = list(csv.DictReader(io.StringIO(simulate("--csv").stdout)))
    for one in figures["classes"]:
        line = next(line for line in lines if line["kind"] == "class" and line["class"] == one["name"])
        for what in ("received", "sent", "dropped", "queued"):
            assert int(line[f"{what}_packets"]) == one[what]["packets"]
        series = next((its for its in figures["series"]["classes"] if its["class"] == one["name"]), None)
        assert (series is None) == (one["received"]["packets"] == 0)
        if series:
            assert sum(series["offered_packets"]) == one["received"]["packets"]
            assert sum(series["sent_bytes"]) == one["sent"]["bytes"]
            assert sum(series["dropped_packets"]) == one["dropped"]["packets"]
    numbers = re.search(r"^received ([\d ]+) = sent ([\d ]+) \+ dropped ([\d ]+) \+ queued (\d+) packets$",
                        simulate().stdout, re.M)
    counted = [int(number.replace(" ", "")) for number in numbers.groups()]
    assert counted == [figures[what]["packets"] for what in ("received", "sent", "dropped", "queued")]


def blocks(trace):
    """Type and body of each block of a pcapng trace."""
    at = 0
    while at < len(trace):
        kind, length = struct.unpack_from("=II", trace, at)
        yield kind, trace[at + 8:at + length - 4]
        at += length


def packets_of(trace):
    """Time, length and comment of each packet."""
    for kind, body in blocks(trace):
        if kind != 6:
            continue
        _, high, low, captured, length = struct.unpack_from("=IIIII", body)
        code, size = struct.unpack_from("=HH", body, 20 + (captured + 3) // 4 * 4)
        start = 24 + (captured + 3) // 4 * 4
        yield high << 32 | low, length, body[start:start + size].decode() if code == 1 else ""


def test_what_departs_is_a_trace_that_can_be_simulated_again(simulate, tmp_path):
    out, again = tmp_path / "out.pcapng", tmp_path / "again.pcapng"
    figures = json.loads(simulate("--json", "--out", out).stdout)
    simulate("--out", again)
    assert out.read_bytes() == again.read_bytes()
    packets = list(packets_of(out.read_bytes()))
    comments = collections.Counter(comment for _, _, comment in packets)
    for one in figures["classes"]:
        assert comments[one["name"]] == one["sent"]["packets"]
        for reason, count in one["dropped"]["reasons"].items():
            assert comments[f"{one['name']} dropped: {reason}"] == count["packets"]
    assert [time for time, _, _ in packets] == sorted(time for time, _, _ in packets)
    listed = processes.run(["tcpdump", "-nr", out, "udp"]).stdout.splitlines()
    assert len(listed) == len(packets)

    first = json.loads(simulate("--json", "--trace", out, traffic=[]).stdout)
    assert first["received"]["packets"] == len(packets)
    filtered = json.loads(simulate("--json", "--trace", out, "--filter", "port 5060", traffic=[]).stdout)
    assert filtered["received"]["packets"] == figures["classes"][0]["received"]["packets"]


def test_it_ends_when_it_is_told(simulate):
    figures = json.loads(simulate("--json", "--until", "1s").stdout)
    assert figures["duration_s"] == 1
    assert sum(sum(one["offered_packets"]) for one in figures["series"]["classes"]) == figures["received"]["packets"]
    assert figures["queued"]["packets"] > 0 and law(figures)


@pytest.mark.parametrize("wrong", [
    ([], [], "eth0", "--trace FILE or --traffic SPEC"),
    ([], TRAFFIC, "eth2", "expected one of eth0/egress, eth1/ingress"),
    ([], TRAFFIC, "", "name one of them by --shape"),
    ([], ["udp 10.0.0.1>10.0.0.2 64b 5mbot"], "eth0", "column 27"),
    (["--json", "--csv"], TRAFFIC, "eth0", "expected one of them"),
    (["--filter", "udp"], TRAFFIC, "eth0", "expected --trace"),
    (["--trace", "/nonexistent"], [], "eth0", "/nonexistent"),
    (["--until", "5"], TRAFFIC, "eth0", "--until"),
])
def test_what_is_wrong_is_said(simulate, wrong):
    arguments, traffic, shape, words = wrong
    result = simulate(*arguments, traffic=traffic, shape=shape, check=False)
    assert result.returncode in (1, 2) and result.stdout == ""
    assert words in result.stderr


class Watched(Browser):
    """Notes what is asked of a network, too."""

    def __init__(self, *arguments):
        self.requests = []
        super().__init__(*arguments)

    def _note(self, message):
        super()._note(message)
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])


TOTALS = """Object.fromEntries([...document.querySelectorAll("path[data-line]")].map(
    (path) => [path.closest("figure").id + " " + path.dataset.line, Number(path.dataset.total)]))"""
# How high each point of a line stands, by the scale of its chart.
HEIGHTS = """(() => {
    const path = document.querySelector('#rate path[data-line="delivered"]'), scale = path.closest("svg").dataset;
    return path.getAttribute("d").slice(1).split("L").map((point) =>
        (scale.bottom - point.split(" ")[1]) / (scale.bottom - scale.top) * scale.most);
})()"""


NODES = """[...document.querySelectorAll("[data-node]")].map(
    (node) => [node.dataset.node, Number(node.dataset.sentBytes)])"""
RIGHT = 'document.querySelector("#rate svg").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}))'
PACKETS = """(() => {
    const unit = document.querySelectorAll("select")[1];
    unit.value = 1;
    unit.dispatchEvent(new Event("change"));
})()"""


def test_the_page_draws_the_figures_and_asks_nobody_for_anything(simulate, net, tmp_path):
    page = tmp_path / "page.html"
    # Until 2.56 s, a whole number of bins: each is as long as the others.
    figures = json.loads(simulate("--json", "--until", "2560ms", "--html", page).stdout)
    assert page.stat().st_size < 200_000
    browser = Watched(net.host, page.as_uri())
    try:
        browser.wait_for('document.querySelectorAll("figure path[data-line]").length > 0')
        interval = figures["series"]["interval_s"]
        series = {one["class"]: one for one in figures["series"]["classes"]}
        totals = browser.evaluate(TOTALS)
        offered, sent = (sum(sum(one[what]) for one in series.values()) * 8 / interval
                         for what in ("offered_bytes", "sent_bytes"))
        assert totals["rate offered"] == pytest.approx(offered, rel=0.01)
        assert totals["rate delivered"] == pytest.approx(sent, rel=0.01)
        for name, one in series.items():
            assert totals[f"classes {name}"] == pytest.approx(sum(one["sent_bytes"]) * 8 / interval, rel=0.01)
        assert totals["drops dropped"] == pytest.approx(figures["dropped"]["packets"] / interval, rel=0.01)
        assert totals["spacing share of the gaps"] == pytest.approx(1)
        heights = browser.evaluate(HEIGHTS)
        rates = [sum(one["sent_bytes"][i] for one in series.values()) * 8 / interval for i in range(len(heights))]
        scale = max(rates)
        assert heights[:-1] == pytest.approx(rates[:-1], abs=scale / 100)
        words = browser.evaluate("document.body.innerText.replaceAll('\\u202f', '')")
        assert "A trace does not react" in words
        law_line = "received {} = sent {} + dropped {} + queued {}".format(
            *(figures[what]["packets"] for what in ("received", "sent", "dropped", "queued")))
        assert law_line in words
        nodes = browser.evaluate(NODES)
        assert nodes == [[node["name"], node["sent"]["bytes"]] for node in figures["tree"]]

        colours = set()
        for scheme in ("light", "dark"):
            browser.look(400, 800, scheme)
            browser.wait_for(f"matchMedia('(prefers-color-scheme: {scheme})').matches && innerWidth === 400")
            colours.add(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
            browser.wait_for("document.documentElement.scrollWidth <= 400")
        assert len(colours) == 2
        # The keyboard tells what the pointer would, and the table what is drawn.
        browser.evaluate("document.querySelector('#drops details').open = true")
        browser.wait_for("document.querySelectorAll('#drops tbody tr').length > 10")
        browser.evaluate(RIGHT)
        assert "delivered" in browser.evaluate("document.querySelector('#rate .readout').textContent")
        browser.evaluate(PACKETS)
        packets = sum(sum(one["sent_packets"]) for one in series.values())
        assert browser.evaluate(TOTALS)["rate delivered"] == pytest.approx(packets / interval, rel=0.01)
        assert browser.problems == []
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []
    finally:
        browser.close()
