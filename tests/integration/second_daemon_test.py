"""One daemon shapes an interface in one direction, and nobody without business there can prevent it."""

import os
import pathlib
import stat
import subprocess

import pytest

import network
import processes
import traces
from daemon import EXIT_OK, EXIT_REFUSED, class_of
from traffic import Sender

SHAPE = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "load"
  match = "udp dst portrange 5000-5999"
  rate = "1000pps"
"""
RUNTIME_DIRECTORY = pathlib.Path("/run/headgate")

# What is at /run is that of the command alone.
OWN_RUN = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /run && exec "$@"', "sh"]


def lock_files(namespace):
    inode = namespace.run("stat", "--dereference", "--format=%i", "/proc/self/ns/net").stdout.strip()
    return list(RUNTIME_DIRECTORY.glob(f"net{inode}-*"))


def test_the_lock_is_a_file_that_names_the_process_and_is_nobodys_but_its_owners(net, headgate, divert):
    headgate.start(SHAPE, divert=divert)
    index = net.host.links()["eth0"]["ifindex"]
    lock, = lock_files(net.host)
    assert lock.name.endswith(f"-if{index}-egress.lock")
    assert lock.read_text() == f"{headgate.process.pid}\n"
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    assert lock.stat().st_uid == RUNTIME_DIRECTORY.stat().st_uid
    assert RUNTIME_DIRECTORY.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH) == 0
    headgate.stop()
    assert lock_files(net.host) == []


def test_a_killed_daemons_lock_is_free_and_its_file_is_swept(net, headgate, programs, divert):
    for _ in range(5):
        headgate.start(SHAPE, divert=divert)
        headgate.kill()
    left, = lock_files(net.host)
    headgate.start(SHAPE, divert=divert)
    assert left.read_text() == f"{headgate.process.pid}\n"
    headgate.kill()
    assert net.host.run(programs / "headgated", "--cleanup").returncode == EXIT_OK
    assert lock_files(net.host) == []


@pytest.mark.parametrize("where", ["the same /run", "a /run of its own"])
def test_a_second_daemon_is_refused_and_told_of_the_first(net, headgate, headgates, programs, divert, where):
    headgate.start(SHAPE, divert=divert)
    second = headgates(net.host)
    second.write(SHAPE, divert=divert)
    command = [programs / "headgated", "--control", second.control_path, "--config", second.config_path]
    result = net.host.run(*([] if where == "the same /run" else OWN_RUN), *command, check=False)
    assert result.returncode == EXIT_REFUSED
    assert result.stderr.splitlines() == [f"headgated: error: eth0 egress is already shaped by process {headgate.process.pid}"]
    cleanup = net.host.run(*([] if where == "the same /run" else OWN_RUN), programs / "headgated", "--cleanup", check=False)
    assert cleanup.returncode == EXIT_REFUSED
    assert f"eth0 egress is being shaped by process {headgate.process.pid}: nothing was removed" in cleanup.stderr
    offered = Sender(net.host, programs, network.PEER_IPV4, rate=500, count=200).finish()["sent"]
    assert headgate.settled_class("load", offered)["sent"]["packets"] == offered
    assert headgate.shape()["diverting"]


# By such names daemons were known once; any user can bind them, and whatever else has no rights.
OCCUPY = """
import signal, socket, sys
held = []
for index in range(1, 50):
    for name in (f"headgate/egress/{index}", f"headgate/ingress/{index}", f"headgate/device/hg{index - 1}"):
        held.append(socket.socket(socket.AF_UNIX))
        held[-1].bind("\\0" + name)
        held[-1].listen(0)
print("held", flush=True)
signal.pause()
"""


def test_another_user_hinders_neither_a_start_nor_a_clean_up(net, headgate, programs, divert):
    other = net.host.start("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "/usr/bin/python3", "-c",
                           OCCUPY, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "held\n"
    as_nobody = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]
    assert net.host.run(*as_nobody, "touch", RUNTIME_DIRECTORY / "x.lock", check=False).returncode != 0
    headgate.start(SHAPE, divert=divert)
    assert headgate.shape()["diverting"]
    lock, = lock_files(net.host)
    assert net.host.run(*as_nobody, "flock", "--nonblock", lock, "true", check=False).returncode != 0
    headgate.kill()
    assert net.host.run(programs / "headgated", "--cleanup").returncode == EXIT_OK
    traces.assert_none(net.host)
    headgate.start(SHAPE, divert=divert)
    assert headgate.shape()["diverting"]
    processes.end(other)


UNSAFE = {
    "anybody may write there": ("install -d -m 0777 /run/headgate",
                                "the directory /run/headgate may be written by others than its owner (mode 0777), who could "
                                "hold the locks of headgated: expected 0755 or less"),
    "it is another user's": ("install -d -o 4711 /run/headgate",
                             "the directory /run/headgate belongs to user 4711, who could hold the locks of headgated: "
                             "expected root or headgate"),
    "it is a symbolic link": ("mkdir /run/x && ln -s x /run/headgate",
                              "/run/headgate is no directory, expected one for the locks of headgated"),
    "the lock is a symbolic link": ("mkdir /run/headgate && touch /run/x && for i in $(seq 50); do ln -s ../x "
                                    "/run/headgate/net$(stat -Lc %i /proc/self/ns/net)-if$i-egress.lock; done",
                                    "Too many levels of symbolic links"),
}


@pytest.mark.parametrize("unsafe", UNSAFE)
def test_an_unsafe_directory_for_the_lock_is_refused_by_what_is_wrong_with_it(net, headgate, programs, unsafe):
    prepare, message = UNSAFE[unsafe]
    headgate.write(SHAPE)
    result = net.host.run("unshare", "--mount", "sh", "-c", f'mount -t tmpfs tmpfs /run && {prepare} && exec "$@"', "sh",
                          programs / "headgated", "--control", headgate.control_path, "--config", headgate.config_path,
                          check=False)
    assert result.returncode == EXIT_REFUSED
    assert message in result.stderr
    traces.assert_none(net.host)


def test_by_hand_root_needs_no_directory_made_before(net, headgate, programs):
    headgate.write(SHAPE)
    process = net.host.start(*OWN_RUN, programs / "headgated", "--config", headgate.config_path, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr.readline() == "headgated: shaping eth0 egress\n"
        directory = pathlib.Path(f"/proc/{process.pid}/root/run/headgate")
        assert stat.S_IMODE(directory.stat().st_mode) == 0o755
        assert sorted(os.listdir(directory))[0] == "control.sock"
        assert len(os.listdir(directory)) == 2
    finally:
        assert processes.end(process) == 0
