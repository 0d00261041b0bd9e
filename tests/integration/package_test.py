"""The Debian packages of the release build, under a real systemd: installed, upgraded, removed and purged."""

import json
import os
import re
import shutil
import time

import pytest

import network
import processes
import traces
from conftest import ROOT
from systemd_machine import Machine
from traffic import Ping

pytestmark = pytest.mark.release

CONFIG = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "all"
  rate = "10000pps"
"""


class Packages:
    """Built from the programs that are there already: nothing is compiled."""

    def __init__(self, directory):
        self._directory = directory
        source = directory / "headgate"
        shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns("build", ".*"))
        processes.run(["dpkg-buildpackage", "--build=binary", "--no-sign"], cwd=source, timeout=300,
                      env=dict(os.environ, HEADGATE_BUILD_TREE=str(ROOT / "build" / "release"),
                               DEB_BUILD_OPTIONS="noautodbgsym nocheck"))

    def find(self, pattern):
        found, = self._directory.glob(pattern)
        return found

    def next_version(self):
        """The same package as a later version, whose configuration file has another text."""
        tree = self._directory / "next"
        processes.run(["dpkg-deb", "--raw-extract", self.find("headgate_*.deb"), tree])
        control = tree / "DEBIAN/control"
        control.write_text(control.read_text().replace("Version: 0.1.0", "Version: 0.1.1"))
        with open(tree / "etc/headgate/headgate.toml", "a", encoding="utf-8") as config:
            config.write("# What the next version says.\n")
        package = self._directory / "next.deb"
        processes.run(["dpkg-deb", "--root-owner-group", "--build", tree, package])
        return package


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    return Packages(tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="module")
def net():
    net = network.Network()
    yield net
    net.delete()


@pytest.fixture(scope="module")
def machine(net):
    machine = Machine(net.host)
    # What keeps services of a container from starting, and what makes every installation index all manual pages.
    machine.shell("rm -f /usr/sbin/policy-rc.d /var/lib/man-db/auto-update")
    yield machine
    machine.shut_down()


@pytest.fixture
def installed(machine, packages):
    dpkg(machine, "--install", packages.find("headgate_*.deb"))
    yield machine
    print(machine.journal("headgated"))
    dpkg(machine, "--purge", "headgate")


def dpkg(machine, action, *what, **options):
    """A package comes from outside."""
    names = []
    for part in what:
        if os.path.exists(part):
            shutil.copy(part, machine.root / "tmp")
            part = f"/tmp/{part.name}"
        names.append(part)
    return machine.run("env", "DEBIAN_FRONTEND=noninteractive", "dpkg", "--force-confold", action, *names, **options)


def is_active(machine):
    return machine.systemctl("is-active", "headgated", check=False).stdout.strip() == "active"


def show(machine):
    return json.loads(machine.run("headgatectl", "-j", "show").stdout)


def assert_network_is_open(net):
    assert len(Ping(net.host, network.PEER_IPV4, count=3).finish()) == 3


def edit_configuration(machine):
    (machine.root / "etc/headgate/headgate.toml").write_text(CONFIG)
    machine.systemctl("reload", "headgated")


def test_lintian_finds_no_fault_with_the_packages(packages):
    result = processes.run(["lintian", "--allow-root", "--fail-on", "error,warning", packages.find("*.changes")],
                           check=False, timeout=120)
    assert (result.returncode, result.stdout) == (0, "")


def test_an_installed_package_runs_the_service_and_shapes_nothing(installed, net):
    assert is_active(installed)
    assert installed.systemctl("is-enabled", "headgated").stdout.strip() == "enabled"
    assert show(installed)["shapes"] == []
    assert installed.run("dpkg-query", "--showformat=${Conffiles}", "--show", "headgate").stdout.split()[0] == \
        "/etc/headgate/headgate.toml"
    assert installed.run("stat", "--format=%U:%G", "/run/headgate").stdout == "headgate:headgate\n"
    for script in ("bash-completion/completions/headgatectl", "zsh/vendor-completions/_headgatectl",
                   "fish/vendor_completions.d/headgatectl.fish"):
        assert "capture" in (installed.root / "usr/share" / script).read_text()
    assert_network_is_open(net)


def test_an_upgrade_keeps_an_edited_configuration_and_restarts_the_service(installed, packages, net):
    edit_configuration(installed)
    before = installed.property("headgated", "MainPID")
    dpkg(installed, "--install", packages.next_version())
    assert is_active(installed)
    assert installed.property("headgated", "MainPID") != before
    assert (installed.root / "etc/headgate/headgate.toml").read_text() == CONFIG
    assert "next version" in (installed.root / "etc/headgate/headgate.toml.dpkg-dist").read_text()
    assert [shape["diverting"] for shape in show(installed)["shapes"]] == [True]
    assert_network_is_open(net)


def test_a_removed_package_leaves_its_configuration_and_a_purged_one_nothing(installed, net):
    edit_configuration(installed)
    dpkg(installed, "--remove", "headgate")
    assert not is_active(installed)
    assert (installed.root / "etc/headgate/headgate.toml").read_text() == CONFIG
    traces.assert_none(net.host)
    assert_network_is_open(net)
    dpkg(installed, "--purge", "headgate")
    assert installed.run("find", "/etc", "/lib", "/run", "/usr", "/var", "-xdev", "-name", "*headgate*").stdout == ""


def test_the_exporter_of_its_package_serves_unprivileged_and_locked_in(installed, packages, figure):
    dpkg(installed, "--install", packages.find("headgate-exporter_*.deb"))
    try:
        installed.systemctl("start", "headgate-exporter")  # which returns when it listens
        get = "exec 3<>/dev/tcp/127.0.0.1/9469; printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"
        answer = installed.run("bash", "-c", get).stdout
        assert "\nheadgate_up 1\n" in answer, answer + installed.journal("headgate-exporter")
        pid = installed.outside_pid(installed.property("headgate-exporter", "MainPID"))
        with open(f"/proc/{pid}/status") as status:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
        assert "0" not in fields["Uid"].split()
        assert {int(fields[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
        assert installed.run("systemd-analyze", "--no-pager", "verify", "headgate-exporter.service").stderr == ""
        report = installed.run("systemd-analyze", "--no-pager", "security", "headgate-exporter.service").stdout
        exposure = float(re.search(r"exposure level for headgate-exporter.service: ([\d.]+)", report)[1])
        figure("exposure level of the exporter, of 10", exposure)
        assert exposure <= 1.5
        installed.systemctl("stop", "headgated")
        time.sleep(0.3)  # what it knows may be that old
        assert "\nheadgate_up 0\n" in installed.run("bash", "-c", get).stdout
    finally:
        dpkg(installed, "--purge", "headgate-exporter")


def test_programs_find_the_library_by_its_packages(machine, packages):
    names = ("libheadgate1", "libheadgate-redis1", "libheadgate-dev")
    dpkg(machine, "--install", *(packages.find(f"{name}_*.deb") for name in names))
    shutil.copy(ROOT / "examples/api_limit.cpp", machine.root / "tmp")
    machine.shell("g++ -std=c++20 /tmp/api_limit.cpp -o /tmp/api_limit $(pkg-config --cflags --libs headgate)")
    assert "libheadgate.so.1 => /lib/" in machine.run("ldd", "/tmp/api_limit").stdout
    assert "alice: Retry-After: 1\n" in machine.run("/tmp/api_limit").stdout
    shutil.copy(ROOT / "examples/shared_api_limit.cpp", machine.root / "tmp")
    machine.shell("g++ -std=c++20 /tmp/shared_api_limit.cpp -o /tmp/shared_api_limit "
                  "$(pkg-config --cflags --libs headgate headgate-redis)")
    shutil.copy(ROOT / "tests/support/with_redis_server", machine.root / "tmp")
    output = machine.run("/tmp/with_redis_server", "/tmp", "/tmp/shared_api_limit", "unix:/tmp/redis.sock").stdout
    assert "\nX-RateLimit-Limit: 5, X-RateLimit-Remaining: 0, Retry-After: " in output
    dpkg(machine, "--purge", *reversed(names))
