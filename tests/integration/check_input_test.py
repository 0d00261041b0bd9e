"""What --check reads, and a daemon does not: pipes and standard input."""

import os
import subprocess

import pytest

from daemon import EXIT_OK, EXIT_USAGE

GOOD = '[[shape]]\ninterface = "eth0"\n[[shape.class]]\nname = "a"\nrate = "1000pps"\n'
BAD = GOOD + "ratte = 1\n"


def run(programs, *arguments, text="", program="headgated"):
    return subprocess.run([programs / program, *arguments], input=text, capture_output=True, text=True, timeout=30)


@pytest.mark.parametrize("source, name", [("-", "standard input"), ("/dev/stdin", "/dev/stdin")])
def test_check_reads_standard_input(programs, source, name):
    assert run(programs, "--check", "--config", source, text=GOOD).returncode == EXIT_OK
    bad = run(programs, "--check", "--config", source, text=BAD)
    assert bad.returncode == EXIT_USAGE
    assert f"{name}:6:1: unknown key \"ratte\"" in bad.stderr


def test_check_reads_a_pipe_of_the_shell(programs):
    command = '"$0" --check --config <(printf "%s" "$1")'
    for text, code in ((GOOD, EXIT_OK), (BAD, EXIT_USAGE)):
        result = subprocess.run(["bash", "-c", command, str(programs / "headgated"), text], capture_output=True,
                                text=True, timeout=30)
        assert result.returncode == code, result.stderr


def test_headgatectl_check_reads_a_pipe(programs):
    assert run(programs, "check", "/dev/stdin", text=GOOD, program="headgatectl").returncode == EXIT_OK
    assert run(programs, "check", "/dev/stdin", text=BAD, program="headgatectl").returncode == EXIT_USAGE


def test_a_daemon_refuses_a_pipe_and_does_not_wait_for_it(programs, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = run(programs, "--config", pipe)
    assert result.returncode == EXIT_USAGE
    assert f"{pipe}: this is not a regular file: headgated reads its file again at a reload" in result.stderr


def test_a_daemon_refuses_standard_input(programs):
    result = run(programs, "--config", "-", text=GOOD)
    assert result.returncode == EXIT_USAGE
    assert '--config: "-" is standard input, which only --check reads' in result.stderr
