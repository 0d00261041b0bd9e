"""Linux 6.1 as Debian 12 has it: both directions by clsact, packets that IPsec has decrypted, a kill, a stop."""

import json
import re

import pytest

import debian_kernel
from conftest import ROOT

pytestmark = pytest.mark.release


@pytest.fixture(scope="module")
def results():
    script = ROOT / "tests" / "integration" / "on_debian_kernel.sh"
    console = debian_kernel.run([script, ROOT / "build" / "release" / "bin"])
    found = dict(re.findall(r"^RESULT (\S+) (.*)$", console, re.MULTILINE))
    assert "done" in found, console
    print(console)
    return found


def shapes(results):
    return {shape["direction"]: shape for shape in json.loads(results["show"])["shapes"]}


def test_the_kernel_is_the_one_meant_and_has_ipsec(results):
    assert results["kernel"].startswith("6.1.")
    assert results["undiverted"] == "3"


def test_both_directions_are_shaped_by_clsact(results):
    for shape in shapes(results).values():
        assert shape["diverting"] and shape["divert"] == "clsact" and shape["capture"] == "bpf"
        assert shape["received"]["packets"] == shape["sent"]["packets"] == 20  # encrypted
        assert shape["dropped"]["packets"] == 0


def test_what_ipsec_has_decrypted_goes_on_and_is_counted_as_unshapable(results):
    assert results["shaped"] == "20"
    frame = 14 + 20 + 8 + 56
    assert shapes(results)["ingress"]["unshapable"] == {"packets": 20, "bytes": 20 * frame}
    assert shapes(results)["egress"]["unshapable"]["packets"] == 0


def test_after_a_kill_the_host_is_open_and_clean_up_takes_all(results):
    assert results["killed"] == "5"
    assert results["left_after_cleanup"].split() == ["0"]


def test_a_stop_leaves_nothing(results):
    assert results["again"] == "5"
    assert results["exit_code"] == "0"
    assert results["left_after_stop"].split() == ["0"]
    assert results["open"] == "5"
