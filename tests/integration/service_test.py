"""The service under a real systemd, installed by cmake --install, run as the unprivileged user."""

import json
import os
import re
import signal
import time

import pytest

import network
import processes
import traces
from conftest import ROOT
from daemon import EXIT_NOT_PERMITTED, EXIT_OK, class_of
from systemd_machine import Machine
from traffic import Ping, Receiver, Sender

pytestmark = pytest.mark.release

CONFIG = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "udp"
  match = "udp dst portrange 5000-5999"
  rate  = "{rate}"
  queue = "100p"

  [[shape.class]]
  name = "ping"
  match = "icmp"
  rate = "1000pps"
"""

CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_RESOURCE, CAP_BPF = 12, 13, 24, 39


@pytest.fixture(scope="module")
def installed():
    """A machine with the release build installed as the README says, and its network."""
    net = network.Network()
    try:
        machine = Machine(net.host)
        try:
            processes.run(["cmake", "--install", ROOT / "build" / "release"],
                          env=dict(os.environ, DESTDIR=str(machine.root)))
            machine.shell("systemd-sysusers && systemd-tmpfiles --create && systemctl daemon-reload")
            yield machine, net
        finally:
            machine.shut_down()
    finally:
        net.delete()


@pytest.fixture
def machine(installed):
    machine, _ = installed
    write(machine, CONFIG.format(rate="1000pps"))
    yield machine
    print(machine.journal("headgated"))
    machine.systemctl("stop", "headgated")
    machine.systemctl("reset-failed", "headgated", check=False)


@pytest.fixture
def net(installed):
    return installed[1]


@pytest.fixture
def started(machine):
    machine.systemctl("start", "headgated")
    return machine


def write(machine, config):
    (machine.root / "etc/headgate/headgate.toml").write_text(config)


def show(machine):
    return json.loads(machine.run("headgatectl", "-j", "show").stdout)


def shape(machine):
    return show(machine)["shapes"][0]


def main_pid(machine):
    return machine.property("headgated", "MainPID")


def wait_until(condition, patience, what):
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"not within {patience} s: {what}"
        time.sleep(0.02)


def is_active(machine):
    return machine.systemctl("is-active", "headgated", check=False).stdout.strip() == "active"


def test_the_installed_example_shapes_nothing_until_edited(installed):
    machine, net = installed
    machine.systemctl("start", "headgated")
    assert is_active(machine)
    assert show(machine)["shapes"] == []
    assert "shapes nothing" in machine.systemctl("status", "headgated").stdout
    machine.systemctl("stop", "headgated")


def test_an_upgrade_keeps_the_administrators_configuration(machine):
    write(machine, CONFIG.format(rate="1234pps"))
    processes.run(["cmake", "--install", ROOT / "build" / "release"],
                  env=dict(os.environ, DESTDIR=str(machine.root)))
    assert "1234pps" in (machine.root / "etc/headgate/headgate.toml").read_text()


def test_its_exposure_is_low(machine, figure):
    report = machine.run("systemd-analyze", "--no-pager", "security", "headgated.service").stdout
    exposure = float(re.search(r"exposure level for headgated.service: ([\d.]+)", report)[1])
    figure("exposure level of 10", exposure)
    assert exposure <= 2.5


def test_systemd_finds_no_fault_with_the_unit(machine):
    result = machine.run("systemd-analyze", "--no-pager", "verify", "headgated.service")
    assert result.stderr == ""


def test_the_unit_has_room_for_hundreds_of_shapes(started):
    assert {name: started.property("headgated", name) for name in
            ("LimitNOFILE", "TimeoutStartUSec", "TimeoutStopUSec", "TimeoutAbortUSec", "WatchdogUSec")} == {
        "LimitNOFILE": "65536", "TimeoutStartUSec": "2min", "TimeoutStopUSec": "1min", "TimeoutAbortUSec": "2s",
        "WatchdogUSec": "2s"}


def test_status_has_a_line_of_its_own(started):
    status = started.systemctl("status", "headgated").stdout
    assert "active (running)" in status
    assert re.search(r'Status: ".*eth0.*"', status), status


def test_it_runs_unprivileged_with_three_capabilities(started):
    user = int(started.run("id", "-u", "headgate").stdout)
    with open(f"/proc/{started.outside_pid(main_pid(started))}/status") as status:
        fields = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    assert user != 0
    assert fields["Uid"].split() == [str(user)] * 4
    wanted = 1 << CAP_NET_ADMIN | 1 << CAP_NET_RAW | 1 << CAP_BPF
    for its in ("CapEff", "CapPrm", "CapBnd", "CapAmb"):
        assert int(fields[its], 16) == wanted
    assert fields["NoNewPrivs"] == "1"
    assert shape(started)["diverting"]


def test_it_has_real_time_threads_and_locked_memory_or_says_why_not(started):
    pid = started.outside_pid(main_pid(started))
    with open(f"/proc/{started.init}/status") as status:
        may_raise_limits = int(re.search(r"CapEff:\s+(\w+)", status.read())[1], 16) >> CAP_SYS_RESOURCE & 1
    real_time, locked = processes.has_real_time_thread(pid), processes.locked_kilobytes(pid)
    if may_raise_limits:
        assert real_time
        assert locked > 1024
    else:  # LimitRTPRIO= and LimitMEMLOCK= have no effect in here
        assert not real_time and "LimitRTPRIO=" in started.journal("headgated")
        assert locked == 0 and "LimitMEMLOCK=" in started.journal("headgated")


def test_members_of_its_group_and_nobody_else_may_use_headgatectl(started):
    group = started.run("id", "-g", "headgate").stdout.strip()
    as_nobody = ["setpriv", "--reuid", "nobody", "--regid", "nogroup"]
    assert started.run(*as_nobody, "--groups", group, "headgatectl", "show").returncode == EXIT_OK
    refused = started.run(*as_nobody, "--clear-groups", "headgatectl", "show", check=False)
    assert refused.returncode == EXIT_NOT_PERMITTED
    assert "headgate" in refused.stderr


def test_members_of_its_group_look_and_operators_change(started):
    group = started.run("id", "-g", "headgate").stdout.strip()
    as_nobody = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--groups", group, "headgatectl"]
    limit = ["limit", "eth0", "5mbit", "--ingress"]
    for change in (limit, ["reload"], ["undo"]):
        refused = started.run(*as_nobody, *change, check=False)
        assert refused.returncode == EXIT_NOT_PERMITTED, (change, refused)
        assert "may look at headgated, and not change it" in refused.stderr and "operators" in refused.stderr
    write(started, "[daemon]\noperators = \"headgate\"\n" + CONFIG.format(rate="1000pps"))
    started.systemctl("restart", "headgated")
    started.run(*as_nobody, *limit)
    started.run(*as_nobody, "undo")
    assert "nobody (uid " in started.journal("headgated")


def test_reloads_under_load_lose_nothing(started, net, programs):
    receiver = Receiver(net.peer, programs)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=900, seconds=5)
    reloads = 0
    while load.running():
        write(started, CONFIG.format(rate=["2000pps", "1000pps"][reloads % 2]))
        started.systemctl("reload", "headgated")
        reloads += 1
    offered = load.finish()["sent"]
    wait_until(lambda: shape(started)["queued"]["packets"] == 0, 2, "all packets sent")
    after = shape(started)
    udp = class_of(after, "udp")
    arrivals = receiver.stop()
    assert reloads > 10
    # Without processor time for its workers a host opens, and a queue overflows. A reload does neither.
    starved = sum(udp["dropped"]["reasons"][reason]["packets"] for reason in ("starved", "overtaken"))
    assert udp["received"]["packets"] + after["unshaped"]["packets"] == offered
    assert udp["dropped"]["packets"] == starved
    assert len(arrivals) == offered - starved
    assert arrivals.reordered() == 0
    assert started.property("headgated", "NRestarts") == "0"


def test_a_reload_ends_when_it_is_in_force(started):
    for rate in ["2000pps", "1000pps"] * 5:
        write(started, CONFIG.format(rate=rate))
        started.systemctl("reload", "headgated")
        assert class_of(shape(started), "udp")["rate"] == [rate]


def test_reload_of_a_bad_file_fails_and_the_good_one_stays(started):
    before = shape(started)["classes"]
    write(started, CONFIG.format(rate="fast"))
    assert started.systemctl("reload", "headgated", check=False).returncode != 0
    assert is_active(started)
    assert [its["rate"] for its in shape(started)["classes"]] == [its["rate"] for its in before]
    assert "/etc/headgate/headgate.toml:7:" in started.journal("headgated")


@pytest.mark.timed
def test_killed_it_is_back_by_itself(started, net, programs, figure):
    first = main_pid(started)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=600)
    ping = Ping(net.host, network.PEER_IPV4, interval=0.01)
    time.sleep(0.5)
    killed = time.time()
    os.kill(started.outside_pid(first), signal.SIGKILL)
    wait_until(lambda: is_active(started) and main_pid(started) not in ("0", first), 10, "restarted")
    figure("seconds until shaping again after kill -9", round(time.time() - killed, 2))
    time.sleep(0.5)
    echoes = ping.stop()
    load.stop()
    assert longest_silence(echoes) <= 0.8
    assert started.property("headgated", "NRestarts") == "1"
    assert class_of(shape(started), "udp")["dropped"]["packets"] > 0
    assert len(traces.divert_devices(net.host)) == 2


@pytest.mark.timed
def test_stopped_for_longer_than_the_watchdog_it_is_restarted_and_traffic_flows(started, net, programs, figure):
    first = main_pid(started)
    load = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=600)
    ping = Ping(net.host, network.PEER_IPV4, interval=0.01)
    time.sleep(0.5)
    stopped = time.time()
    os.kill(started.outside_pid(first), signal.SIGSTOP)
    wait_until(lambda: is_active(started) and main_pid(started) not in ("0", first), 20, "restarted")
    figure("seconds until shaping again after SIGSTOP", round(time.time() - stopped, 2))
    time.sleep(0.5)
    echoes = ping.stop()
    load.stop()
    figure("longest silence in seconds", round(longest_silence(echoes), 3))
    assert longest_silence(echoes) <= 1
    assert "watchdog" in started.journal("headgated").lower()
    assert shape(started)["diverting"]


def longest_silence(echoes):
    received = sorted(echo.sent + echo.round_trip for echo in echoes)
    return max(after - before for before, after in zip(received, received[1:]))


def test_a_stop_leaves_nothing(started, net, programs):
    load = Sender(net.host, programs, network.PEER_IPV4, rate=3000, seconds=600)
    time.sleep(0.3)
    pid = started.outside_pid(main_pid(started))
    started.systemctl("stop", "headgated")
    assert not os.path.exists(f"/proc/{pid}")
    traces.assert_none(net.host)
    assert not (started.root / "run/headgate/control.sock").exists()
    assert started.property("headgated", "Result") == "success"
    load.stop()


def test_an_interface_that_comes_after_the_service_is_shaped(machine, net):
    write(machine, CONFIG.format(rate="1000pps").replace("eth0", "late0"))
    machine.systemctl("start", "headgated")
    assert not shape(machine)["diverting"]
    assert "there is no interface late0 yet" in machine.systemctl("status", "headgated").stdout
    network.connect(["netns", net.host.name], ["netns", net.peer.name], "late0")
    try:
        net.host.run("ip", "link", "set", "late0", "up")
        wait_until(lambda: is_active(machine) and shape(machine)["diverting"], 8, "late0 is shaped")
    finally:
        machine.systemctl("stop", "headgated")
        net.host.run("ip", "link", "delete", "late0")


def test_a_bad_configuration_is_not_tried_again_and_again(machine):
    write(machine, CONFIG.format(rate="fast"))
    assert machine.systemctl("start", "headgated", check=False).returncode != 0
    time.sleep(3)
    assert machine.property("headgated", "NRestarts") == "0"
    assert machine.property("headgated", "ActiveState") == "failed"


def test_networkd_leaves_the_divert_devices_alone(started, net):
    (started.root / "etc/systemd/network").mkdir(exist_ok=True)
    everything = started.root / "etc/systemd/network/90-everything.network"
    everything.write_text("[Match]\nName=*\n[Network]\nLinkLocalAddressing=yes\nAddress=192.0.2.1/24\nKeepConfiguration=yes\n")
    try:
        started.systemctl("start", "systemd-networkd")
        wait_until(lambda: "192.0.2.1" in net.host.run("ip", "address", "show", "eth0").stdout, 10, "eth0 is configured")
        links = json.loads(started.run("networkctl", "--json=short", "list").stdout)["Interfaces"]
        states = {link["Name"]: link["AdministrativeState"] for link in links}
        for device in traces.divert_devices(net.host):
            assert states[device] == "unmanaged"
            assert "192.0.2.1" not in net.host.run("ip", "address", "show", device).stdout
    finally:
        everything.unlink()
        started.systemctl("stop", "systemd-networkd", "systemd-networkd.socket")
        net.host.run("ip", "address", "delete", "192.0.2.1/24", "dev", "eth0", check=False)


def test_the_udev_rule_tells_network_manager_to_leave_the_divert_devices_alone(started, net):
    for device in traces.divert_devices(net.host):
        assert "NM_UNMANAGED=1" in started.run("udevadm", "test", f"/sys/class/net/{device}").stdout
    assert "NM_UNMANAGED" not in started.run("udevadm", "test", "/sys/class/net/lo").stdout


BUDGET = """
[budget.uplink]
rate  = "100mbit"
floor = "1mbit"
hosts = 2
redis = "{redis}"
password_file = "/etc/headgate/redis-password"

[[shape]]
interface = "eth0"
budget    = "uplink"
"""


@pytest.fixture
def redis(machine):
    """On TCP, and on a socket in a directory that only its user and group may enter."""
    machine.shell("systemd-run --unit=test-redis --service-type=notify -p User=redis -p Group=redis -p RuntimeDirectory=test-redis"
                  " -p RuntimeDirectoryMode=0750 redis-server --supervised systemd --save '' --requirepass secret"
                  " --bind 127.0.0.1 --port 6379"
                  " --unixsocket /run/test-redis/redis.sock --unixsocketperm 770")
    password = machine.root / "etc/headgate/redis-password"
    password.write_text("secret\n")
    machine.shell("chown root:headgate /etc/headgate/redis-password && chmod 640 /etc/headgate/redis-password")
    yield machine
    password.unlink()
    machine.shell("rm -rf /etc/systemd/system/headgated.service.d")
    machine.systemctl("stop", "test-redis", "headgated")
    machine.systemctl("daemon-reload")


def let_out(machine, change):
    """Installs the drop-in of the examples, changed."""
    directory = machine.root / "etc/systemd/system/headgated.service.d"
    directory.mkdir(exist_ok=True)
    example = (machine.root / "usr/share/doc/headgate/examples/headgated-redis.conf").read_text()
    (directory / "headgated-redis.conf").write_text(change(example))
    machine.systemctl("daemon-reload")
    machine.systemctl("restart", "headgated")


def budget(machine):
    its, = show(machine)["budgets"]
    return its


def is_leased(machine):
    return budget(machine)["lease_ends_in_s"] is not None


@pytest.mark.parametrize("address,advice", [("127.0.0.1:6379", "Address family not supported by protocol"),
                                            ("unix:/run/test-redis/redis.sock", "Permission denied")])
def test_it_is_let_out_to_the_redis_server_of_a_budget_by_the_drop_in_only(redis, address, advice):
    write(redis, BUDGET.format(redis=address))
    redis.systemctl("start", "headgated")
    wait_until(lambda: budget(redis)["trouble"], 5, "there is no answer")
    assert f"Redis at {address}: cannot connect" in budget(redis)["trouble"]
    assert f"{advice} (what lets the service out: headgate-budget(7)" in budget(redis)["trouble"]
    assert budget(redis)["rate_bps"] == 1_000_000 and not is_leased(redis)
    if address.startswith("unix:"):
        let_out(redis, lambda text: "[Service]\n" + re.search("^#(SupplementaryGroups=.*)$", text, re.M)[1] + "\n")
    else:
        let_out(redis, lambda text: text.replace("10.0.0.1", "127.0.0.1"))
    wait_until(lambda: is_leased(redis), 5, "there is a lease")
    assert budget(redis)["trouble"] is None


def test_the_drop_in_lets_it_out_to_no_other_address(redis):
    write(redis, BUDGET.format(redis="127.0.0.1:6379"))
    let_out(redis, lambda text: text)
    wait_until(lambda: budget(redis)["trouble"], 5, "there is no answer")
    assert "cannot connect: " in budget(redis)["trouble"]
    assert not is_leased(redis)


@pytest.mark.parametrize("page", ["headgated.8", "headgatectl.1", "headgate.toml.5", "headgate-budget.7"])
def test_the_manual_pages_are_installed_and_clean(machine, page):
    name, section = page.rsplit(".", 1)
    result = machine.run("man", "--warnings", "--encoding=utf-8", section, name, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert len(result.stdout.splitlines()) > 40
