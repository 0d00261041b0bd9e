"""headgatectl capture: what a class receives, sends and drops, as tcpdump reads it."""

import collections
import os
import re
import signal
import struct
import subprocess
import time

import pytest

import network
import processes
from frames import IEEE_802_1AD, IEEE_802_1Q, IPV6_ADDRESSES, numbered, udp_frame
from packet_socket import FrameSender
from traffic import Sender

CONFIG = """
[[shape]]
interface = "eth0"
%s
  [[shape.class]]
  name   = "names"
  match  = "udp port 53"
  bypass = true

  [[shape.class]]
  name  = "limited"
  match = "udp dst port 5000"
  rate  = "200pps"
  queue = "20p"
"""


def comments(trace):
    """How often each comment stands in a pcapng trace, read without any library for it."""
    counts, at = collections.Counter(), 0
    while at < len(trace):
        kind, length = struct.unpack_from("=II", trace, at)
        assert length >= 12 and at + length <= len(trace), "the trace does not end with a whole block"
        if kind == 6:
            captured, = struct.unpack_from("=I", trace, at + 20)
            option = at + 28 + (captured + 3) // 4 * 4
            code, size = struct.unpack_from("=HH", trace, option)
            assert code == 1
            counts[trace[option + 4:option + 4 + size].decode()] += 1
        at += length
    return counts


def tcpdump(path):
    """The time and the rest of each line."""
    shown = processes.run(["tcpdump", "-tt", "--nano", "-nr", path]).stdout.splitlines()
    return [(float(line.split()[0]), line.split(maxsplit=1)[1]) for line in shown]


def start_capture(headgate, *arguments, **options):
    process = processes.start([headgate.programs / "headgatectl", "--control", headgate.control_path, "capture",
                               *arguments], stderr=subprocess.PIPE, text=True, **options)
    time.sleep(0.5)
    return process


def end(process):
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    return errors


def test_a_capture_into_a_fifo_that_nobody_reads_yet_can_be_interrupted(net, headgate, programs):
    headgate.start(CONFIG % "")
    fifo = headgate.directory / "fifo"
    os.mkfifo(fifo)
    assert end(start_capture(headgate, "limited", "-w", fifo)) == "headgatectl: 0 packets captured, 0 missed\n"
    process = start_capture(headgate, "limited", "-w", fifo)
    with open(fifo, "rb") as trace:
        Sender(net.host, programs, network.PEER_IPV4, rate=100, count=10).finish()
        headgate.settled_class("limited", 10)
        end(process)
        assert comments(trace.read())["received"] == 10


def capture_and_compare(headgate, net, programs):
    path = headgate.directory / "trace.pcapng"
    process = start_capture(headgate, "limited", "-w", path)
    began = time.time()
    Sender(net.host, programs, network.PEER_IPV4, rate=1000, count=1000).finish()
    counters = headgate.settled_class("limited", 1000)
    errors = end(process)
    seen = comments(path.read_bytes())
    dropped = counters["dropped"]["packets"]
    assert dropped > 0
    starved = counters["dropped"]["reasons"]["starved"]["packets"]
    expected = {"received": 1000, "sent": counters["sent"]["packets"], "dropped: queue_full": dropped - starved}
    assert seen == expected | ({"dropped: starved": starved} if starved else {})
    assert errors == "headgatectl: 2000 packets captured, 0 missed\n"
    lines = tcpdump(path)
    assert len(lines) == 2000
    for at, line in lines:
        assert began - 0.1 < at < time.time()
        assert re.search(r"> 10\.\S+\.5000: UDP", line), line


@pytest.mark.each_back_end
def test_every_packet_is_in_the_trace_with_what_became_of_it(net, headgate, programs, divert):
    headgate.start(CONFIG % "", divert=divert)
    capture_and_compare(headgate, net, programs)


def frames_by_tcpdump(output):
    """The bytes of each packet of `tcpdump -xx`."""
    found = []
    for line in output.splitlines():
        if line.startswith("\t0x"):
            found[-1] += bytes.fromhex(line.split(":", 1)[1].replace(" ", ""))
        else:
            found.append(b"")
    return found


@pytest.mark.each_back_end
@pytest.mark.parametrize("event", ["received", "sent", "dropped"])
def test_tcpdump_reads_each_event_alone_from_a_pipe_with_its_tags_byte_for_byte(net, headgate, divert, event):
    headgate.start(CONFIG % "", divert=divert)
    tags = [[], [(IEEE_802_1Q, 0x2005)], [(IEEE_802_1AD, 7), (IEEE_802_1Q, 5)]]
    sent = [udp_frame(numbered(number), tags=tags[number % 3], **({"addresses": IPV6_ADDRESSES} if number % 2 else {}))
            for number in range(60)]
    with start_capture(headgate, "limited", f"--{event}", "-w", "-", stdout=subprocess.PIPE) as process:
        reader = processes.start(["tcpdump", "-xx", "-nr", "-"], stdin=process.stdout, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        process.stdout.close()
        FrameSender(net.host).send_all(sent)  # at once: a queue of 20 overflows
        counters = headgate.settled_class("limited", len(sent))
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        output, errors = reader.communicate(timeout=10)
        assert process.wait(timeout=10) == 0
    assert "reading from file -, link-type EN10MB" in errors
    seen = frames_by_tcpdump(output)
    assert len(seen) == counters[event]["packets"] >= 20
    assert all(frame in sent for frame in seen)
    if event == "received":
        assert seen == sent


def test_dropped_packets_are_shown_by_tcpdump_as_they_are_dropped(net, headgate, programs):
    headgate.start(CONFIG % "")
    with start_capture(headgate, "limited", "--dropped", "-w", "-", stdout=subprocess.PIPE) as process:
        reader = processes.start(["tcpdump", "-l", "-nr", "-", "-c", "10"], stdin=process.stdout,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        process.stdout.close()
        Sender(net.host, programs, network.PEER_IPV4, rate=1000, count=500).finish()
        output, _ = reader.communicate(timeout=10)
        assert len(output.splitlines()) == 10
        assert process.wait(timeout=10) == 0  # nobody reads its output any more


def test_a_bypass_class_is_captured_and_a_number_of_packets_ends_it(net, headgate, programs):
    headgate.start(CONFIG % "")
    path = headgate.directory / "trace.pcapng"
    process = start_capture(headgate, "eth0/egress/names", "-w", path, "-c", "30", "--sent")
    Sender(net.host, programs, network.PEER_IPV4, rate=1000, count=100, port=53).finish()
    assert process.wait(timeout=10) == 0
    assert comments(path.read_bytes()) == {"sent": 30}


def test_a_reader_that_stops_delays_nothing_and_learns_what_it_missed(net, headgate, programs):
    headgate.start(CONFIG % "")
    path = headgate.directory / "trace.pcapng"
    process = start_capture(headgate, "names", "-w", path)
    process.send_signal(signal.SIGSTOP)
    sent = 8000  # of 1400 bytes, each received and sent: five times what is kept for a capture
    Sender(net.host, programs, network.PEER_IPV4, rate=8000, count=sent, port=53, size=1400).finish()
    counters = headgate.settled_class("names", sent)
    assert counters["sent"]["packets"] == sent
    assert headgate.shape()["lost"]["ring"]["packets"] == 0
    process.send_signal(signal.SIGCONT)
    time.sleep(1)
    captured, missed = map(int, re.findall(r"\d+", end(process)))
    assert missed > 0
    assert captured + missed == 2 * sent
    assert sum(comments(path.read_bytes()).values()) == captured


def test_a_capture_goes_on_through_a_reload_and_ends_with_its_class(net, headgate, programs):
    headgate.start(CONFIG % "")
    path = headgate.directory / "trace.pcapng"
    process = start_capture(headgate, "limited", "--sent", "-w", path)
    headgate.write((CONFIG % "").replace("200pps", "1000pps"))
    headgate.reload()
    Sender(net.host, programs, network.PEER_IPV4, rate=100, count=20).finish()
    headgate.settled_class("limited", 20)
    headgate.write((CONFIG % "").replace("limited", "others"))
    headgate.reload()
    assert process.wait(timeout=10) == 2
    assert "headgated ended the capture" in process.stderr.read()
    assert comments(path.read_bytes()) == {"sent": 20}


def test_at_most_four_captures_run_and_one_that_ended_makes_room(net, headgate):
    headgate.start(CONFIG % "")
    running = [start_capture(headgate, "names", "-w", headgate.directory / f"{i}.pcapng") for i in range(4)]
    refused = headgate.control("capture", "names", "-w", headgate.directory / "5.pcapng", check=False)
    assert refused.returncode == 2
    assert "4 captures run already" in refused.stderr
    end(running.pop())
    running.append(start_capture(headgate, "names", "-w", headgate.directory / "6.pcapng"))
    for process in running:
        end(process)
