"""headgatectl top on a real terminal, with a real daemon and traffic."""

import json
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

import network
import processes
from daemon import EXIT_NOT_RUNNING, EXIT_OK, EXIT_REFUSED, EXIT_USAGE
from terminal import ALTERNATE_SCREEN, MAIN_SCREEN, SHOW_CURSOR, Terminal
from traffic import Sender

CONFIG = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "voice"
  match = "udp dst port 5060"
  rate  = "400pps"

  [[shape.class]]
  name  = "clients"
  match = "udp dst port 5000"
  key   = "dst"
  rate  = "500pps"
  queue = "50ms"

  [[shape.class]]
  name   = "around"
  match  = "udp port 53"
  bypass = true
"""
INGRESS = """
[[shape]]
interface = "eth0"
direction = "ingress"
  [[shape.class]]
  name = "all"
  rate = "50mbit"
"""
CLASSES = 20
LINK_OF_MANY = '[[shape]]\ninterface = "eth0"\n' + "".join(f"""
  [[shape.class]]
  name  = "class{port}"
  match = "udp dst port {port}"
  rate  = "50pps"
  queue = "20p"
""" for port in range(5000, 5000 + CLASSES))
COLOUR = re.compile(rb"\x1b\[[\d;]*\b(?:3[0-7]|4[0-7]|38|48|9[0-7])[\d;]*m")
MOST_BYTES_A_TICK = 2000  # for a screen of 80x24 on which all goes on as it did
ESCAPE, ENTER, DOWN, INTERRUPT, SUSPEND = "\x1b", "\r", "\x1bOB", "\x03", "\x1a"


@pytest.fixture
def traffic(net, programs):
    """Two addresses of `clients` get 750 packets a second each, of which 500 pass, and `voice` less than its rate."""
    senders = [Sender(net.host, programs, [network.PEER_IPV4, network.PEER_MORE_IPV4[0]], rate=1500, seconds=100),
               Sender(net.host, programs, network.PEER_IPV4, rate=100, seconds=100, port=5060)]
    yield
    for sender in senders:
        sender.stop(refusals=True)


@pytest.fixture
def top(headgate, programs):
    terminals = []

    def start(*arguments, **options):
        terminals.append(Terminal([programs / "headgatectl", "--control", headgate.control_path, "top", *arguments],
                                  **options))
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.close()


def row(text, name):
    """The cells of a row: the charts are left out."""
    line = next(line for line in text.splitlines() if re.match(rf"(?:! )?{re.escape(name)}(?: |$)", line))
    return [cell for cell in line.split() if not re.fullmatch(r"[▁▂▃▄▅▆▇█]+", cell)]


def names(text):
    """Those of the rows, from the top."""
    lines = text.splitlines()
    return [line.split()[0] for line in lines[3:lines.index("", 3)]]


def has_rates(text):
    return re.search(r"^clients +\S*\d", text, re.M) is not None


def check_restored(terminal):
    assert terminal.received.rindex(MAIN_SCREEN) > terminal.received.rindex(ALTERNATE_SCREEN)
    assert terminal.received.rindex(SHOW_CURSOR) > terminal.received.rindex(ALTERNATE_SCREEN)
    assert terminal.settings() == terminal.settings_before


def test_it_shows_classes_and_opens_flows(net, headgate, top, traffic):
    headgate.start(CONFIG + INGRESS)
    screen = top()
    screen.wait_for(lambda text: re.search(r"^eth0 egress +\S*\dk? ", text, re.M))
    assert "headgate: links" in screen.lines()[0] and "eth0 ingress" in screen.text()
    assert [line.split()[1] for line in screen.selected()] == ["egress"]
    screen.press(ENTER)
    screen.wait_for(has_rates)
    time.sleep(2)
    text = screen.wait_for(lambda text: row(text, "clients")[2] != "0")
    rates = row(text, "clients")
    assert rates[1].endswith("k") or rates[1].endswith("M")
    assert rates[-1].isdigit() and int(rates[-1]) > 0  # the queue
    assert row(text, "voice")[2] == "0" and row(text, "around")[1] == "0"
    assert "▁" in text and "█" in text
    assert names(text)[0] == "clients" and "eth0/egress/clients: 500pps, key dst, queue 50ms" in text
    screen.press(ENTER)
    text = screen.wait_for(lambda text: re.search(r"^→ 10\.77\.0\.2 +\d+k .* [1-9]\d\d ", text, re.M))
    assert "eth0 egress / clients" in text and "2 flows" in text and network.PEER_MORE_IPV4[0] in text
    screen.press(ESCAPE)
    screen.wait_for(lambda text: text.startswith("eth0 egress  "))
    screen.press(ESCAPE)
    screen.wait_for(lambda text: text.startswith("headgate: links"))
    screen.press("q")
    assert screen.wait_end() == EXIT_OK
    check_restored(screen)


def test_sort_filter_and_pause(net, headgate, top, traffic):
    headgate.start(CONFIG)
    screen = top()
    screen.wait_for(has_rates)  # the only link is open
    screen.press("ssss")
    text = screen.wait_for(lambda text: "by name" in text.splitlines()[0])
    assert names(text) == ["(unmatched)", "around", "clients", "voice"]
    screen.press("r")
    screen.wait_for(lambda text: names(text) == ["voice", "clients", "around", "(unmatched)"])
    screen.press("/CLI")
    screen.wait_for(lambda text: names(text) == ["clients"] and text.endswith("filter: CLI"))
    assert not screen.cursor_hidden()
    screen.press(ENTER)
    screen.wait_for(lambda text: "q quit" in text and "/CLI" in text.splitlines()[0])
    assert screen.cursor_hidden()
    screen.press("p")
    paused = screen.wait_for(lambda text: "PAUSED" in text)
    assert screen.read_for(2.5) < 100 and screen.text() == paused
    screen.press(" ")
    screen.wait_for(lambda text: "PAUSED" not in text and text.splitlines()[22] != paused.splitlines()[22])
    screen.press(ESCAPE)
    screen.wait_for(lambda text: len(names(text)) == 4)
    screen.press("?")
    screen.wait_for(lambda text: "each interface of a pattern" in text)
    screen.press("q")
    assert screen.wait_end() == EXIT_OK


def test_another_size_of_the_terminal(net, headgate, top, traffic):
    headgate.start(CONFIG)
    screen = top()
    screen.wait_for(has_rates)
    screen.resize(40, 10)
    text = screen.wait_for(lambda text: "Esc back" in text.splitlines()[9] and has_rates(text))
    assert max(map(len, text.splitlines())) <= 40 and "P99" in text and "█" not in text
    screen.resize(120, 30)
    text = screen.wait_for(lambda text: "LIMIT" in text and "q quit" in text.splitlines()[29])
    assert row(text, "clients")[-1] == "500pps"


@pytest.mark.parametrize("way", ["TERM", "HUP", "QUIT", INTERRUPT])
def test_a_signal_ends_it_and_restores_the_terminal(net, headgate, top, way):
    headgate.start(CONFIG)
    screen = top()
    screen.wait_for(lambda text: "(unmatched)" in text)
    assert screen.settings() != screen.settings_before
    if way == INTERRUPT:
        screen.press(way)
    else:
        screen.process.send_signal(signal.Signals[f"SIG{way}"])
    assert screen.wait_end() == EXIT_OK
    check_restored(screen)


def test_it_is_stopped_and_goes_on(net, headgate, top):
    headgate.start(CONFIG)
    screen = top(shell=["bash", "-mc", '"$@"; echo stopped; read -r; fg', "bash"])
    screen.wait_for(lambda text: "(unmatched)" in text)
    screen.press(SUSPEND)
    screen.wait_for(lambda text: "stopped" in text)
    assert screen.received.count(MAIN_SCREEN) == 1
    assert screen.settings() == screen.settings_before
    screen.press(ENTER)
    screen.wait_for(lambda _: screen.received.count(ALTERNATE_SCREEN) == 2)
    screen.wait_for(lambda text: text.startswith("eth0 egress") and "(unmatched)" in text)
    screen.press("q")
    assert screen.wait_end() == EXIT_OK
    check_restored(screen)


def test_a_daemon_that_is_gone_is_waited_for(net, headgate, top, traffic):
    headgate.start(CONFIG)
    screen = top()
    screen.wait_for(has_rates)
    headgate.stop()
    screen.wait_for(lambda text: "headgated does not answer since" in text)
    screen.press("s")
    screen.wait_for(lambda text: "by drops" in text)
    headgate.start(CONFIG)
    screen.wait_for(lambda text: "does not answer" not in text and re.search(r"█ +█", text))
    headgate.signal(signal.SIGSTOP)
    screen.wait_for(lambda text: "headgated does not answer since" in text and "busy or stopped" in text)
    screen.press("s")
    screen.wait_for(lambda text: "by delay" in text, patience=2)
    headgate.signal(signal.SIGCONT)
    screen.wait_for(lambda text: "does not answer" not in text)
    screen.press("q")
    assert screen.wait_end() == EXIT_OK


def test_a_class_that_goes_is_no_end(net, headgate, top, traffic):
    headgate.start(CONFIG)
    screen = top("clients")
    screen.wait_for(lambda text: text.startswith("eth0 egress / clients") and network.PEER_MORE_IPV4[0] in text)
    headgate.write(CONFIG.replace("clients", "others"))
    headgate.reload()
    screen.wait_for(lambda text: "no class \"eth0/egress/clients\"" in text)
    screen.press(ESCAPE)
    screen.wait_for(lambda text: "others" in text and "clients" not in text)


def test_it_begins_with_what_is_named(net, headgate, top):
    headgate.start(CONFIG.replace('"eth0"', '"eth*"'))
    for name, title in (("eth0", "eth0 egress  "), ("eth*", "eth* egress  "), ("clients", "eth* egress / clients"),
                        ("eth0/egress/clients", "eth0 egress / clients")):
        screen = top(name)
        screen.wait_for(lambda text: text.startswith(title) and "q quit" in text)
        screen.press("\x7f" if "clients" in title else "")
        screen.wait_for(lambda text: "(unmatched)" in text and "any more" not in text)
        screen.press("q")
        assert screen.wait_end() == EXIT_OK


class OddDaemon:
    """Answers as headgated did, so many times, and then with what makes no sense."""

    def __init__(self, path, reply, times):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._replies = times * [reply] + 100 * [b'{"schema": 1}\n']
        threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self):
        for reply in self._replies:
            connection, _ = self._socket.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(reply)


def test_an_error_restores_the_terminal(net, headgate, top):
    headgate.start(CONFIG)
    reply = json.dumps(headgate.show()).encode() + b"\n"
    headgate.stop()
    OddDaemon(headgate.control_path, reply, times=3)
    screen = top()
    assert screen.wait_end() == EXIT_REFUSED
    check_restored(screen)
    assert b"the reply of headgated lacks a part" in screen.received[screen.received.rindex(MAIN_SCREEN):]


def test_colours_and_characters_are_those_the_terminal_has(net, headgate, top, traffic):
    headgate.start(CONFIG)
    coloured, plain, old = top(), top(NO_COLOR="1"), top(LC_ALL="C", TERM="vt100")
    for screen in (coloured, plain, old):
        screen.wait_for(has_rates)
        screen.read_for(1)
    assert COLOUR.search(coloured.received)
    assert not COLOUR.search(plain.received) and not COLOUR.search(old.received)
    assert "#" in old.text() and old.received.isascii()
    assert plain.selected() == [line for line in plain.lines() if line.startswith("clients ")]


@pytest.mark.measured
def test_a_tick_of_a_steady_screen_sends_few_bytes(net, headgate, programs, top, figure):
    """As many classes as there are rows, each with twice the packets that it lets through."""
    headgate.start(LINK_OF_MANY)
    sender = Sender(net.host, programs, network.PEER_IPV4, rate=100 * CLASSES, flows=CLASSES, seconds=60)
    screen = top()
    screen.wait_for(lambda text: len(re.findall(r"^class\d+ +[\d.]+k .*[1-9]\d ", text, re.M)) == 18)
    screen.read_for(10)  # until the charts are full
    ticks = 8
    bytes_a_tick = screen.read_for(ticks) / ticks
    figure("bytes a tick on 80x24", round(bytes_a_tick))
    assert 0 < bytes_a_tick < MOST_BYTES_A_TICK
    screen.press(60 * (DOWN + "\x1bOA"))  # keys do not make it ask more often
    assert screen.read_for(1) < 5 * MOST_BYTES_A_TICK
    sender.stop(refusals=True)


def test_where_there_is_no_terminal_it_prints_tables_or_json(net, headgate, top, traffic):
    headgate.start(CONFIG)
    tables = headgate.control("top", "-n", "2", "-i", "0.5", "--sort", "name").stdout
    assert tables.count("CLASS") == 2 and "\x1b" not in tables
    assert len(re.findall(r"^  eth0/egress/clients +\d+k +[1-9]\d+ +[1-9]\d+ ", tables, re.M)) == 2
    flows = headgate.control("top", "clients", "-n", "1").stdout
    assert flows.count("FLOW") == 1 and network.PEER_MORE_IPV4[0] in flows
    first, second = headgate.control("-j", "top", "-n", "2", "-i", "0.5", "--sort", "drops").stdout.splitlines()
    reply = json.loads(second)
    assert reply["schema"] == json.loads(first)["schema"] == 1 and 0.5 < reply["interval_s"]
    assert {each["name"] for each in reply["classes"]} == {
        f"eth0/egress/{name}" for name in ("clients", "voice", "around", "(unmatched)")}
    assert reply["classes"][0]["name"] == "eth0/egress/clients" and reply["classes"][0]["flows"] == 2
    dumb = top("-n", "1", TERM="dumb")
    assert dumb.wait_end() == EXIT_OK and ALTERNATE_SCREEN not in dumb.received and b"CLASS" in dumb.received


@pytest.mark.measured
def test_its_rates_and_delays_are_those_of_the_interval(net, headgate, traffic):
    headgate.start(CONFIG)
    time.sleep(2)
    [clients, *_] = headgate.json("top", "-n", "1", "-i", "3", "--sort", "drops")["classes"]
    assert abs(clients["packets_per_second"] - 1000) < 20 and abs(clients["drops_per_second"] - 500) < 40
    assert abs(clients["bits_per_second"] / clients["packets_per_second"] - 800) < 1
    assert 45_000 < clients["delay_us"]["p50"] <= clients["delay_us"]["p99"] < 55_000


def test_plain_output_goes_on_when_the_daemon_is_back(net, headgate, programs):
    headgate.start(CONFIG)
    process = processes.start([programs / "headgatectl", "--control", headgate.control_path, "top", "-i", "0.2"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("  CLASS")
    headgate.stop()
    assert "no headgated answers" in process.stderr.readline()
    headgate.start(CONFIG)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=10)
    assert "CLASS" in output and "AddressSanitizer" not in errors


def test_wrong_words_are_refused_with_what_would_be_right(net, headgate):
    headgate.start(CONFIG)
    wrong = headgate.control("top", "client", check=False)
    assert wrong.returncode == EXIT_USAGE and "clients" in wrong.stderr
    wrong = headgate.control("top", "--sort", "size", check=False)
    assert wrong.returncode == EXIT_USAGE and '"rate", "drops", "delay", "queue" or "name"' in wrong.stderr
    wrong = headgate.control("top", "around", check=False)
    assert wrong.returncode == EXIT_USAGE and "bypass class" in wrong.stderr
    headgate.stop()
    assert headgate.control("top", check=False).returncode == EXIT_NOT_RUNNING
