"""What the shorter run leaves out, and what it must not leave out."""

import itertools
from types import SimpleNamespace

from selection import each_value_once, judges_time


def items(name, marks=(), **parameters):
    """A test with all combinations of its parameters, as pytest would collect them."""
    return [SimpleNamespace(path="a_test.py", originalname=name, callspec=SimpleNamespace(params=dict(zip(parameters, its))),
                            get_closest_marker=lambda mark: mark if mark in marks else None)
            for its in itertools.product(*parameters.values())]


def values(kept, name):
    return {item.callspec.params[name] for item in kept}


def test_every_value_of_every_parameter_is_kept_and_few_combinations():
    kept = each_value_once(items("test_1", divert=["tcx", "clsact"], mtu=[576, 1500, 9000, 65535], where=["egress", "ingress"]))
    assert len(kept) == 4
    assert values(kept, "mtu") == {576, 1500, 9000, 65535}
    assert values(kept, "where") == {"egress", "ingress"}
    assert values(kept, "divert") == {"tcx", "clsact"}


def test_tests_of_a_file_take_the_divert_methods_in_turn_and_another_build_takes_another_one():
    tests = [item for number in range(4) for item in items(f"test_{number}", divert=["tcx", "clsact"])]
    assert [item.callspec.params["divert"] for item in each_value_once(tests)] == ["tcx", "clsact", "tcx", "clsact"]
    assert [item.callspec.params["divert"] for item in each_value_once(tests, 1)] == ["clsact", "tcx", "clsact", "tcx"]


def test_a_test_that_differs_by_divert_method_keeps_them_all():
    kept = each_value_once(items("test_1", marks=["each_divert"], divert=["tcx", "clsact", "pcap"]))
    assert values(kept, "divert") == {"tcx", "clsact", "pcap"}


def test_a_value_that_one_divert_method_does_not_go_with_is_kept_with_another():
    # Whichever method would be its turn.
    tests = [item for item in items("test_1", divert=["tcx", "clsact", "pcap"], mtu=[576, 1500, 9000])
             if item.callspec.params["divert"] != "pcap" or item.callspec.params["mtu"] == 1500]
    for first in range(3):
        assert values(each_value_once(tests, first), "mtu") == {576, 1500, 9000}


def test_a_test_without_parameters_is_kept():
    plain = SimpleNamespace(path="a_test.py", originalname="test_1")
    assert each_value_once([plain]) == [plain]


def test_what_is_measured_or_timed_judges_time_and_a_test_without_a_mark_does_not():
    for marks, wanted in ((["measured"], True), (["timed"], True), (["each_back_end"], False), ([], False)):
        assert judges_time(items("test_1", marks=marks, divert=["tcx"])[0]) == wanted
