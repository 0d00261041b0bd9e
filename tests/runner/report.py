"""What the test run says: a line when a stage begins and one when it ends, and all of what failed."""

import os
import re
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree

IN_CI = bool(os.environ.get("CI"))
LINES_OF_A_FAILURE = 60
# What the tools write beside what is wrong.
NOISE = re.compile(r"\d+ warnings? generated\.|.*clang-tidy.* -p=|-- |Suppressed \d+ warnings|Use -header-filter")

_began = time.monotonic()
_lock = threading.RLock()


class Tally:
    """What passed and what failed so far."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def add(self, passed, failed):
        with _lock:
            self.passed += passed
            self.failed += failed


def say(text):
    with _lock:
        print(("\033[K" if sys.stdout.isatty() else "") + text, flush=True)  # over a stage's progress


class Stage:
    """A part of the run, announced when it begins and when it ends."""

    def __init__(self, name):
        self.name = name
        self._started = time.monotonic()
        say(f"{clock()}  {name} ...")

    def progress(self, text):
        """Only on a terminal, over the line before."""
        if sys.stdout.isatty():
            with _lock:
                print(f"       {self.name}: {text}\033[K", end="\r", flush=True)

    def end(self, outcome, details=()):
        with _lock:
            say(f"{clock()}  {self.name}: {outcome} ({time.monotonic() - self._started:.0f} s)")
            for line in details:
                say(line)


def clock():
    """Since the run began, as minutes and seconds."""
    seconds = int(time.monotonic() - _began)
    return f"{seconds // 60:3}:{seconds % 60:02}"


def end_of(text):
    """The last lines of an output, as lines to be said."""
    lines = [line for line in text.rstrip().splitlines() if not NOISE.match(line)]
    left_out = len(lines) - LINES_OF_A_FAILURE
    shown = [f"    ... {left_out} lines before"] if left_out > 0 else []
    return shown + [f"    {line}" for line in lines[-LINES_OF_A_FAILURE:]]


def cases_of(results):
    """The test cases of a JUnit file; none if it is not there or broken."""
    try:
        return list(ElementTree.parse(results).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return []


def problem_of(case):
    """The failure of a case, or None."""
    problem = case.find("failure") if case.find("failure") is not None else case.find("error")
    return problem if problem is not None or case.get("status") != "fail" else case


def count(tally, stage, cases, problems=(), repaired=()):
    """Adds test cases to the tally and says what failed. `problems`: of the run itself. `repaired`: the names of those
    that have passed when repeated."""
    passed, failed, skipped = [], [], []
    for case in cases:
        if name_of(case) in repaired:
            passed.append(case)
        elif problem_of(case) is not None:
            failed.append(case)
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            skipped.append(case)
        else:
            passed.append(case)
    if not cases and not problems:
        problems = ["    no test ran"]

    outcome = f"{len(passed)} passed" + (f", {len(failed)} FAILED" if failed else "")
    outcome += (f", {len(skipped)} SKIPPED" if skipped else "") + (", the run itself FAILED" if problems else "")
    outcome += f", {len(repaired)} only when repeated" if repaired else ""
    details = [f"  passed only when repeated: {test}" for test in sorted(repaired)]
    for case in failed:
        details += [f"  FAILED: {name_of(case)}", *end_of(output_of(case))]
    details += [f"  SKIPPED: {name_of(case)}" for case in skipped]
    stage.end(outcome, [*details, *problems])
    tally.add(len(passed), len(failed) + (len(skipped) if IN_CI else 0) + bool(problems))


def name_of(case):
    """Of an integration test as pytest takes it."""
    module = (case.get("classname") or "").split(".")[-1]
    return f"{module}.py::{case.get('name')}" if module.endswith("_test") else case.get("name")


def output_of(case):
    problem = problem_of(case)
    return "\n".join(filter(None, [problem.text or problem.get("message"),
                                   *(case.findtext(part) for part in ("system-out", "system-err"))]))
