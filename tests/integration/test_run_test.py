"""What tests/run makes of the results of its tests."""

import sys
import xml.etree.ElementTree as ElementTree

import pytest

from conftest import ROOT

sys.path.append(str(ROOT / "tests"))
from runner import report  # noqa: E402

RESULTS = """
<testsuites><testsuite>
 <testcase classname="a_test" name="test_good" />
 <testcase classname="a_test" name="test_bad[tcx]"><failure message="1 == 2">where it was</failure></testcase>
 <testcase classname="a_test" name="test_not_run"><skipped message="no root" /></testcase>
</testsuite></testsuites>
"""


@pytest.fixture
def counted(monkeypatch, capsys):
    """Counts RESULTS: the tally and what was said."""

    def count(in_ci=True, **options):
        monkeypatch.setattr(report, "IN_CI", in_ci)
        tally = report.Tally()
        report.count(tally, report.Stage("a stage"), list(ElementTree.fromstring(RESULTS).iter("testcase")), **options)
        return (tally.passed, tally.failed), capsys.readouterr().out

    return count


def test_a_failed_test_is_named_with_what_it_said(counted):
    numbers, said = counted(in_ci=False)
    assert numbers == (1, 1)
    assert "FAILED: a_test.py::test_bad[tcx]" in said and "where it was" in said


def test_a_skipped_test_counts_as_failed_in_continuous_integration(counted):
    numbers, said = counted(in_ci=True)
    assert numbers == (1, 2)
    assert "SKIPPED: a_test.py::test_not_run" in said


def test_a_test_that_passed_when_repeated_counts_as_passed_and_is_named(counted):
    numbers, said = counted(in_ci=False, repaired={"a_test.py::test_bad[tcx]"})
    assert numbers == (2, 0)
    assert "2 passed, 1 SKIPPED, 1 only when repeated" in said
    assert "passed only when repeated: a_test.py::test_bad[tcx]" in said


def test_a_run_that_broke_off_counts_as_failed_though_its_tests_passed(counted):
    numbers, said = counted(in_ci=False, repaired={"a_test.py::test_bad[tcx]"}, problems=["    INTERNALERROR"])
    assert numbers == (2, 1)
    assert "the run itself FAILED" in said and "INTERNALERROR" in said


def test_no_test_at_all_counts_as_failed(capsys):
    tally = report.Tally()
    report.count(tally, report.Stage("a stage"), [])
    assert (tally.passed, tally.failed) == (0, 1)
