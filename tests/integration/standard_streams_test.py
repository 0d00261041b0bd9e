"""Standard input, output and error of the daemon, whatever is behind them."""

import os
import re
import signal
import subprocess
import time

import pytest

import processes
from daemon import EXIT_OK, EXIT_REFUSED, EXIT_USAGE

CONFIG = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "all"
  rate = "1000pps"
"""

# Three errors, and a line that says that nothing has changed.
BAD_CONFIG = CONFIG.replace("1000pps", "fast") + """
[[shape]]
interface = "lo"
  [[shape.class]]
  name = "?"
  rate = "1000pps"
"""
LINES_A_RELOAD = 4
RELOADS = 450


@pytest.fixture
def full_pipe():
    """A pipe without room, whose other end nobody reads. The descriptors are in blocking mode."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"~")
    except BlockingIOError:
        os.set_blocking(writer, True)
    yield reader, writer
    for end in (reader, writer):
        try:
            os.close(end)
        except OSError:
            pass


def reload_in_vain(headgate, times):
    """Each is waited for: signals that are pending are one."""
    for _ in range(times):
        seen = len(headgate.notifications())
        headgate.signal(signal.SIGHUP)
        headgate.wait_notification("READY=1", since=seen)


@pytest.mark.measured
def test_a_standard_error_that_nobody_reads_stops_nothing(net, headgate, full_pipe):
    reader, writer = full_pipe
    headgate.standard_error = writer
    headgate.start(CONFIG)
    headgate.write(BAD_CONFIG)
    reload_in_vain(headgate, RELOADS)
    assert headgate.shape()["diverting"]
    begun = time.monotonic()
    headgate.stop()
    assert time.monotonic() - begun < 5


def test_lines_that_standard_error_did_not_take_are_counted_in_it(net, headgate, full_pipe):
    reader, writer = full_pipe
    headgate.standard_error = writer
    headgate.start(CONFIG)
    headgate.write(BAD_CONFIG)
    reload_in_vain(headgate, RELOADS)
    os.close(writer)
    stream = open(reader, closefd=False)
    lines = [stream.readline().lstrip("~")]
    while " lost: " not in lines[-1]:
        lines.append(stream.readline())
    headgate.stop()
    lines += stream.readlines()
    lost = [int(match[1]) for line in lines if (match := re.search(r"warning: (\d+) log lines? (was|were) lost", line))]
    written = sum("error: " in line for line in lines)
    assert lost and written > 0
    assert written + sum(lost) == RELOADS * LINES_A_RELOAD
    assert "stopping" in lines[-1]


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_no_socket_becomes_a_standard_descriptor_that_was_closed(net, headgates, programs, tmp_path, closed):
    closing = tmp_path / "headgated"
    closing.write_text(f'#!/bin/sh\nexec {programs / "headgated"} "$@" {closed}\n')
    closing.chmod(0o755)
    headgate = headgates(net.host)
    headgate.programs = tmp_path
    headgate.start(CONFIG)
    headgate.programs = programs
    for descriptor in re.findall(r"\d", closed):
        assert os.readlink(f"/proc/{headgate.process.pid}/fd/{descriptor}") == "/dev/null"
    headgate.write(BAD_CONFIG)
    reload_in_vain(headgate, 1)
    assert headgate.shape()["diverting"]
    headgate.stop()


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_output_that_cannot_be_written_is_an_error(programs, option):
    with open("/dev/full", "w") as full:
        result = subprocess.run([programs / "headgated", option], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == EXIT_REFUSED
    assert result.stderr == "headgated: error: cannot write to standard output: No space left on device\n"


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_output_that_nobody_reads_any_more_is_none(programs, option):
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run([programs / "headgated", option], stdout=writer, stderr=subprocess.PIPE, text=True,
                            restore_signals=False)  # SIGPIPE stays ignored, as Python has it
    os.close(writer)
    assert result.returncode == EXIT_OK
    assert result.stderr == ""


def test_a_check_loses_no_error_however_slowly_it_is_read(programs, tmp_path):
    path = tmp_path / "headgate.toml"
    path.write_text('[[shape]]\ninterface = "eth0"\n' + '  [[shape.class]]\n  name = "?"\n  rate = "1pps"\n' * 3000)
    check = processes.start([programs / "headgated", "--check", "--config", path], stderr=subprocess.PIPE, text=True)
    time.sleep(2)  # longer than the end of a daemon waits for its log
    errors = check.stderr.readlines()
    assert check.wait(10) == EXIT_USAGE
    assert sum("is no name of a class" in line for line in errors) == 3000
    assert sum(map(len, errors)) > 65536  # more than the pipe holds


def test_what_cannot_be_seen_is_shown_in_the_log(net, headgate):
    headgate.start(CONFIG)
    headgate.write(CONFIG.replace('"all"', '"a\\u001b[2J\u202eb"'))
    reload_in_vain(headgate, 1)
    assert 'name: "a\\x1b[2J\\u202eb" is no name of a class' in headgate.log()
    assert "\x1b" not in headgate.log() and "\u202e" not in headgate.log()
