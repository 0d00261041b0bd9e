"""headgatectl report: what is in the file, and that no address is."""

import json
import os
import re
import stat
import subprocess

from daemon import EXIT_OK, EXIT_REFUSED

CONFIG = """
# The router is 02:00:00:aa:bb:cc.
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "limited"
  match = "src net 10.77.0.0/16 or host 2001:db8::7"
  key   = "src"
  rate  = "100pps"
    [[shape.class.plan]]
    name = "gold"
    rate = "200pps"
    members = ["10.99.0.7", "10.99.1.0/24", "2001:db8::7"]
"""
SECRETS = ("10.77.0", "10.99.", "2001:db8", "02:00:00:aa:bb:cc")


def report(headgate, *arguments):
    """In a directory of the test, and in the namespace of its interfaces."""
    command = headgate.namespace.start(headgate.programs / "headgatectl", "--control", headgate.control_path,
                                       *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       cwd=headgate.directory)
    output, errors = command.communicate(timeout=60)
    return command.returncode, output, errors


def sections(text):
    return dict(part.split("\n", 1) for part in text.split("\n== ")[1:])


def test_a_report_has_all_but_the_addresses_and_replaces_no_file_unasked(net, headgate):
    headgate.start(CONFIG)
    code, _, errors = report(headgate, "report")
    assert code == EXIT_OK, errors
    path = headgate.directory / "headgate-report.txt"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    found = sections(text)
    for title in found:
        assert f"  {title}\n" in errors
    for secret in SECRETS:
        assert secret not in text
    assert not re.search(r"\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\b", text.replace("00:00:00:00:00:00", ""))
    assert os.uname().release in found["Kernel"] and os.uname().nodename not in found["Kernel"]
    assert re.search(r"^eth0  kind \w+.*  mtu 1500 .*  mac mac-\d+$", found["Interfaces"], re.MULTILINE)
    configured = found[f"File {headgate.config_path}"]
    assert re.search(r"The router is mac-\d+\.", configured)
    member, network, host = re.search(r'members = \["(ipv4-\d+)", "(ipv4-\d+)/24", "(ipv6-\d+)"\]', configured).groups()
    assert member != network and f"host {host}" in configured
    assert "limited" in found["Show"]
    shown = json.loads(found["Show as JSON"])
    assert host in shown["shapes"][0]["classes"][0]["match"]
    assert {"Diff", "Log", "Versions", "Distribution"} <= set(found)

    code, _, errors = report(headgate, "report")
    assert code == EXIT_REFUSED and "headgate-report.txt is there already" in errors
    assert path.read_text() == text
    code, output, _ = report(headgate, "-j", "report", "--addresses", "-o", "headgate-report.txt")
    assert code == EXIT_OK and json.loads(output)["addresses_replaced"] == 0
    assert all(secret in path.read_text() for secret in SECRETS)


def test_a_report_without_a_daemon_says_so(net, headgate):
    code, output, errors = report(headgate, "report", "-o", "-")
    assert (code, errors) == (EXIT_OK, "")
    found = sections(output)
    assert "headgated" in found["Versions"].splitlines()[1]
    assert "Interfaces" in found and "Show" not in found
