"""What the bench suite makes of the values that it is given; needs no root and measures nothing."""

import pytest

from suite import paths
from suite.effort import Effort
from suite.figures import million, shapes, throughput
from suite.other_build import OtherBuild
from suite.report import Figure, Metric, Table
from suite.sides import BareRingLoop, Headgate, Kernel, htb


class Build:
    programs = "/other/bin"


def names(sides):
    return [side.name for side in sides]


def table_of(ours, others, better="less", heading="us"):
    table = Table("a table:", "headgate", [Metric("value", heading, 1, better=better)], compared="value")
    for one, other in zip(ours, others):
        table.add("headgate", {"value": one})
        table.add("other headgate", {"value": other})
    return table


def test_both_builds_stand_side_by_side_in_each_round_and_take_turns_in_coming_first():
    effort = Effort(rounds=2, against=Build)
    assert names(effort.turns([Headgate(""), Kernel("no divert")])) == [
        "headgate", "other headgate", "no divert", "no divert", "other headgate", "headgate"]


def test_peers_are_left_out_on_demand_but_for_those_without_which_nothing_can_be_told():
    effort = Effort(rounds=1, against=Build, only_headgate=True)
    none, peer = Kernel("no divert"), Kernel("tc htb")
    assert names(effort.turns([none, Headgate(""), peer], keep=[none])) == ["no divert", "headgate", "other headgate"]


def test_without_another_build_each_side_is_measured_once_a_round():
    assert names(Effort(rounds=1).turns([Headgate(""), Kernel("tc htb")])) == ["headgate", "tc htb"]


@pytest.mark.parametrize("side", [Headgate("", name="headgate, 7 flows"), million.AllFlowsFirst(million.headgate(7), 7),
                                  shapes.ManyShapes()])
def test_the_side_of_the_other_build_differs_in_name_and_programs_alone(side):
    other = side.by(Build)
    assert other.name == "other " + side.name
    inner, other_inner = getattr(side, "side", side), getattr(other, "side", other)
    assert other_inner._programs == Build.programs
    assert inner._programs != Build.programs
    assert other_inner._classes == inner._classes and other_inner._daemon_keys == inner._daemon_keys


def test_what_capture_says_is_for_this_build_and_not_for_the_other(monkeypatch):
    monkeypatch.setattr(Headgate, "capture", "bpf")
    side = Headgate("")
    assert side.capture == "bpf" and side.by(Build).capture is None


@pytest.fixture
def figure():
    return Figure("a", "b")


def test_the_side_by_the_ring_stands_beside_the_default_and_is_no_side_of_the_other_build():
    side = Headgate("", name="headgate, shaped")
    twins = side.by_ring()
    assert [twin.capture for twin in twins] == ["ring"] and side.capture is None
    assert names(Effort(rounds=1, against=Build).turns([side, *twins])) == [
        "headgate, shaped", "other headgate, shaped", "headgate, shaped, capture ring"]


@pytest.mark.parametrize("back_end", ["bpf", "ring"])
def test_where_every_side_has_one_back_end_there_is_no_other_one_beside_it(monkeypatch, back_end):
    monkeypatch.setattr(Headgate, "capture", back_end)
    assert Headgate("").by_ring() == []


class EgressPath:
    name = paths.EGRESS


@pytest.mark.parametrize("kpps, cpu_us, holds", [(170, 1.2, [True, True, True]), (119, 1.21, [False, False, False])])
def test_single_packets_are_judged_by_the_other_build_by_htb_and_by_the_bare_ring_buffer_loop(figure, kpps, cpu_us, holds):
    table = Table("a table:", "headgate", throughput.METRICS, compared="kpps")
    table.add("headgate", {"kpps": kpps, "cpu_us": cpu_us})
    for peer in ("other headgate", "tc htb", throughput.RING_LOOP):
        table.add(peer, {"kpps": 100, "cpu_us": 1})
    throughput.judge_single_packets(figure, table, EgressPath, 64)
    assert [bar["holds"] for bar in figure.bars] == holds


def test_bars_of_peers_that_were_left_out_are_not_shown(figure):
    table = Table("a table:", "headgate", throughput.METRICS, compared="kpps")
    table.add("headgate", {"kpps": 1, "cpu_us": 1})
    throughput.judge_single_packets(figure, table, EgressPath, 1000)
    assert figure.bars == []


def test_the_names_by_which_peers_are_judged_are_those_of_the_sides():
    egress = EgressPath()
    egress.source = egress.shaper = None
    names_of_peers = {side.name for side in (BareRingLoop(), *throughput.bare_forwarders(), htb(egress, 1, 1))}
    assert {throughput.RING_LOOP, throughput.ONE_THREAD_FIFO, "tc htb"} <= names_of_peers


def test_the_ratio_to_the_other_build_is_taken_round_by_round():
    comparison = table_of([2, 9, 4], [1, 3, 4]).against()["headgate"]["value"]
    assert comparison.json() == {"median": 2, "smallest": 1, "largest": 3, "rounds": 3, "better_in": 0}


def test_a_round_that_one_build_could_not_finish_makes_no_pair_with_another_round():
    table = table_of([2, 9], [1, 3])
    table.rounds["other headgate"][0] = {}
    assert table.against()["headgate"]["value"].ratios == [3]


def test_ratios_of_what_may_be_negative_are_left_out():
    assert table_of([2, -1], [1, 1]).against()["headgate"] == {}
    assert table_of([2, -1], [1, 1]).lines()[-1].split() == ["headgate", "-"]


def test_what_is_worse_in_every_round_is_said_and_nothing_else():
    assert table_of([2, 2, 2], [1, 1, 1]).worse() == ["headgate, us: 2.000"]
    assert table_of([2, 2, 2], [1, 1, 1], better="more").worse() == []
    assert table_of([2, 2, 2], [1, 1, 3]).worse() == []
    assert table_of([2, 2, 2], [1, 1, 1], better="").worse() == []


def test_json_holds_the_comparison_only_where_there_is_another_build(capsys):
    figure = Figure("a", "b")
    figure.show(table_of([2], [1]))
    capsys.readouterr()
    assert figure.json()["tables"][0]["against"]["headgate"]["value"]["median"] == 2
    alone = Table("alone:", "headgate", [Metric("value", "us")])
    alone.add("headgate", {"value": 1})
    assert "against" not in alone.json()


@pytest.fixture
def build(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for program in ("headgated", "headgatectl"):
        (programs / program).touch()
    return tmp_path


def test_another_build_is_found_by_its_build_directory_and_by_its_bin(build):
    assert OtherBuild(build).programs == OtherBuild(build / "bin").programs == build / "bin"


def test_what_is_no_build_is_refused_by_what_is_missing(build):
    (build / "bin" / "headgatectl").unlink()
    with pytest.raises(ValueError, match="no build directory of headgate: there is no .*headgatectl"):
        OtherBuild(build)


def test_a_build_with_sanitizers_is_refused_for_its_figures_mean_nothing(build):
    (build / "CMakeCache.txt").write_text("CMAKE_BUILD_TYPE:STRING=Release\nHEADGATE_SANITIZE:STRING=address\n")
    with pytest.raises(ValueError, match="no release build"):
        OtherBuild(build)
