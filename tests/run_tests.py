"""Builds and tests everything, quiet about what works and clear about what failed. Started by tests/run."""

import argparse
import os
import pathlib
import pwd
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "build" / "results"
IN_CI = bool(os.environ.get("CI"))
LINES_OF_A_FAILURE = 60
# What the tools write beside what is wrong.
NOISE = re.compile(r"\d+ warnings? generated\.|.*clang-tidy.* -p=|-- |Suppressed \d+ warnings|Use -header-filter")
MOST_TO_REPEAT = 12  # failed integration tests; more of them are no accident
# Tests of figures, of long runs and of the installed service: sanitizers would only slow them down.
ONLY_RELEASE = ("change_test.py", "churn_test.py", "death_test.py", "demo_test.py", "field_reports_test.py",
                "ingress_test.py", "rate_test.py", "segmentation_test.py", "service_test.py", "tcp_test.py",
                "workers_test.py")
PROGRAMS = ("headgated", "headgatectl", "traffic_send", "traffic_receive")

EXPLANATION = """
Stages: format and lint, unit tests under ASan and UBSan, those with threads under TSan, and, as root, the integration tests in
network namespaces on the release build and again on the sanitizer builds. The last line is "N passed, N failed".
With CI set in the environment a test that did not run counts as failed.
"""


class Tally:
    """What passed and what failed so far."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def one(self, ok):
        self.passed += ok
        self.failed += not ok


def as_owner():
    """Under sudo the build belongs to the user who called it: a prefix for commands, and their environment."""
    user = os.environ.get("SUDO_USER")
    environment = dict(os.environ)
    if os.geteuid() != 0 or not user or user == "root" or ROOT.stat().st_uid == 0:
        return [], environment
    environment["HOME"] = pwd.getpwnam(user).pw_dir
    return ["runuser", "-u", user, "--"], environment


def announce(what, started, outcome):
    print(f"{what}: {outcome} ({time.monotonic() - started:.0f} s)", flush=True)


def run(command, log, owner=True):
    """Runs with all output in `log`; the exit code."""
    prefix, environment = as_owner() if owner else ([], dict(os.environ))
    with open(log, "w") as output:
        return subprocess.run(prefix + [str(part) for part in command], cwd=ROOT, env=environment, stdout=output,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL).returncode


def show_end(text):
    lines = [line for line in text.rstrip().splitlines() if not NOISE.match(line)]
    if len(lines) > LINES_OF_A_FAILURE:
        print(f"    ... {len(lines) - LINES_OF_A_FAILURE} lines before")
    for line in lines[-LINES_OF_A_FAILURE:]:
        print(f"    {line}")


def step(tally, name, *commands):
    """Commands that pass or fail as one, shown only when they fail."""
    started = time.monotonic()
    log = RESULTS / (name.replace(" ", "-") + ".log")
    for command in commands:
        if run(command, log) != 0:
            announce(name, started, "FAILED")
            show_end(log.read_text())
            tally.one(False)
            return False
    announce(name, started, "ok")
    tally.one(True)
    return True


def build(tally, preset, *targets):
    select = ["--target", *targets] if targets else []
    return step(tally, f"build {preset}", ["cmake", "--preset", preset],
                ["cmake", "--build", "--preset", preset, "--parallel", os.cpu_count(), *select, "--", "--quiet"])


def count(tally, name, started, results, log, repaired=()):
    """Adds a JUnit file to the tally and shows what failed in it. The tests of `repaired` have passed when repeated."""
    try:
        cases = list(ElementTree.parse(results).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        cases = []
    passed, failed, skipped = [], [], []
    for case in cases:
        problem = case.find("failure") if case.find("failure") is not None else case.find("error")
        if f"{(case.get('classname') or '').split('.')[-1]}.py::{case.get('name')}" in repaired:
            passed.append(case)
        elif problem is not None or case.get("status") == "fail":
            failed.append((case, problem))
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            skipped.append(case)
        else:
            passed.append(case)

    outcome = f"{len(passed)} passed" + (f", {len(failed)} FAILED" if failed else "")
    outcome += f", {len(skipped)} SKIPPED" if skipped else ""
    announce(name, started, outcome if cases else "FAILED")
    for test in sorted(repaired):
        print(f"  passed only when repeated: {test}")
    for case, problem in failed:
        print(f"  FAILED: {case.get('classname')}: {case.get('name')}")
        show_end("\n".join(filter(None, [
            (problem.text or problem.get("message")) if problem is not None else "",
            *(case.findtext(part) for part in ("system-out", "system-err"))])))
    for case in skipped:
        print(f"  SKIPPED: {case.get('classname')}: {case.get('name')}")
    if not cases:
        show_end(log.read_text())
    tally.passed += len(passed)
    tally.failed += len(failed) + (len(skipped) if IN_CI else 0) + (not cases)


def unit_tests(tally, preset, *select):
    name, started = f"unit tests {preset}", time.monotonic()
    results, log = RESULTS / f"unit-{preset}.xml", RESULTS / f"unit-{preset}.log"
    results.unlink(missing_ok=True)
    # As root: those that look at the kernel make network namespaces.
    # Those that look at the kernel depend on what else the machine does: one that fails gets a second try.
    run(["ctest", "--preset", preset, *select, "--parallel", os.cpu_count(), "--timeout", 120, "--repeat", "until-pass:2",
         "--output-junit", results], log, owner=False)
    count(tally, name, started, results, log)


def failed_in(results):
    """The failed integration tests of a JUnit file, as pytest takes them."""
    try:
        cases = list(ElementTree.parse(results).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return []
    return [f"{case.get('classname').split('.')[-1]}.py::{case.get('name')}" for case in cases
            if case.find("failure") is not None or case.find("error") is not None]


def integration_tests(tally, preset, *files):
    name, started = f"integration tests {preset}", time.monotonic()
    results, log = RESULTS / f"integration-{preset}.xml", RESULTS / f"integration-{preset}.log"
    results.unlink(missing_ok=True)
    directory = ROOT / "tests" / "integration"
    pytest = ["/usr/bin/python3", "-B", "-m", "pytest", "--quiet", f"--preset={preset}", "--rootdir", directory]
    run([*pytest, f"--junitxml={results}", *(directory / file for file in files or ["."])], log, owner=False)

    # A pause of the machine can fail a test that is right; a fault fails it again.
    failed = failed_in(results)
    repaired = set()
    if 0 < len(failed) <= MOST_TO_REPEAT:
        second, second_log = RESULTS / f"integration-{preset}-again.xml", RESULTS / f"integration-{preset}-again.log"
        second.unlink(missing_ok=True)
        run([*pytest, f"--junitxml={second}", *(directory / test for test in failed)], second_log, owner=False)
        if second.exists():
            repaired = set(failed) - set(failed_in(second))
    count(tally, name, started, results, log, repaired)
    if preset == "release" and results.exists():
        print(f"  measured figures: {(ROOT / 'build' / preset / 'integration-figures.json').relative_to(ROOT)}")


def sources(*suffixes):
    folders = ("include", "daemon", "tools", "tests")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in suffixes)


def check_format(tally):
    started = time.monotonic()
    log = RESULTS / "format.log"
    wrong = [path for path in sources(".cpp", ".hpp", ".c", ".h")
             if run(["clang-format", "--dry-run", "-Werror", path], log) != 0]
    announce("format", started, "FAILED" if wrong else "ok")
    if wrong:
        show_end("\n".join(["not as clang-format has it:", *(str(path.relative_to(ROOT)) for path in wrong)]))
    tally.one(not wrong)


def quick(tally):
    check_format(tally)
    if build(tally, "dev"):
        unit_tests(tally, "dev")


def everything(tally):
    quick(tally)
    step(tally, "lint", ["run-clang-tidy", "-quiet", "-p", ROOT / "build" / "dev", f"^{ROOT}/(daemon|tools)/.*\\.cpp$"])
    tsan_built = build(tally, "tsan", "threaded_tests", *PROGRAMS)
    if tsan_built:
        unit_tests(tally, "tsan", "--label-regex", "threaded")
    if not build(tally, "release", *PROGRAMS):
        return
    if os.geteuid() != 0:
        print("integration tests: NOT RUN, they need root: sudo tests/run")
        tally.failed += IN_CI
        return
    integration_tests(tally, "release")
    integration_tests(tally, "dev", *(path.name for path in sorted((ROOT / "tests/integration").glob("*_test.py"))
                                      if path.name not in ONLY_RELEASE))
    if tsan_built:
        integration_tests(tally, "tsan", "reload_test.py", "stop_test.py", "bypass_test.py")


def main():
    parser = argparse.ArgumentParser(prog="tests/run", epilog=EXPLANATION,
                                     description="Installs what is missing, builds, and runs every test.")
    parser.add_argument("--quick", action="store_true", help="only format and unit tests, under ASan and UBSan")
    options = parser.parse_args()

    prefix, environment = as_owner()
    subprocess.run([*prefix, "mkdir", "-p", RESULTS], env=environment, check=True)
    tally = Tally()
    try:
        quick(tally) if options.quick else everything(tally)
    except KeyboardInterrupt:
        print("interrupted")
        tally.failed += 1
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 0 if tally.failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
