"""Tunnel devices of every kind, on Linux 6.1 as Debian 12 has it."""

import json
import re

import pytest

import debian_kernel
from conftest import ROOT
from daemon import check_law

pytestmark = pytest.mark.release

# Those that take their tunnel from metadata beside each packet.
EXTERNAL = {"external-gre": 1, "external-gretap": 1, "external-geneve": 1}
# And gre by a headgated that has the service's three capabilities alone.
DIRECTIONS = {"ipip": 2, "gre": 1, "sit": 1, "ip6tnl": 2, "ip6gre": 2, "wireguard": 2, "ppp": 2, "unprivileged": 1,
              **EXTERNAL}
FAMILIES = {"ipip": 1, "gre": 2, "sit": 1, "ip6tnl": 2, "ip6gre": 2, "wireguard": 2, "ppp": 1, "unprivileged": 2,
            **EXTERNAL}


@pytest.fixture(scope="module")
def results():
    script = ROOT / "tests" / "integration" / "links_on_debian_kernel.sh"
    console = debian_kernel.run([script, ROOT / "build" / "release" / "bin"])
    found = dict(re.findall(r"^RESULT (\S+) (.*)$", console, re.MULTILINE))
    assert "all.done" in found, console
    assert found["kernel.version"].startswith("6.1.")
    print(console)
    return found


@pytest.mark.parametrize("kind", DIRECTIONS)
def test_what_passes_a_shaped_tunnel_device_is_whole(results, kind):
    assert results[f"{kind}.pings"].split() == ["10"] * FAMILIES[kind]
    assert results[f"{kind}.tcp"].split() == ["same"] * 2 * FAMILIES[kind]
    shapes = json.loads(results[f"{kind}.show"])["shapes"]
    assert len(shapes) == DIRECTIONS[kind]
    for shape in shapes:
        check_law(shape)
        assert shape["diverting"] and shape["divert"] == "clsact"
        assert shape["sent"]["bytes"] > 600_000 * FAMILIES[kind]
        assert shape["unshapable"]["packets"] == 0
        assert shape["dropped"]["reasons"]["send_failed"]["packets"] == 0
    assert results[f"{kind}.killed"] == "5"
