"""Builds and tests, quiet about what works and clear about what failed. Started by tests/run."""

import argparse
import os
import sys
import threading

from runner.commands import NICE, ROOT, end_all, make_results
from runner.integration import IntegrationTests, files
from runner.report import IN_CI, Tally, clock, say
from runner.stages import build, check_format, lint, unit_tests

# Tests of figures, of long runs and of the installed service: sanitizers would only slow them down.
ONLY_RELEASE = ("change_test.py", "churn_test.py", "death_test.py", "debian_kernel_test.py", "demo_test.py",
                "field_reports_test.py", "ingress_test.py", "rate_test.py", "segmentation_test.py", "service_test.py",
                "tcp_test.py", "workers_test.py")
WITH_THREAD_SANITIZER = ("reload_test.py", "stop_test.py", "bypass_test.py")
# Of the tests that judge time, those that say most in little time.
SOONEST = ("death_test.py", "rate_test.py", "starvation_test.py")
PROGRAMS = ("headgated", "headgatectl", "headgate-exporter", "traffic_send", "traffic_receive")
INSTALLED = ("headgate_limiters_shared", "headgate_redis", "completions")  # what cmake --install takes besides

EXPLANATION = """
Stages: format, unit tests under ASan and UBSan, and, as root, the integration tests in network namespaces on the release
build. Tests that judge no time run side by side, beside what is still to be built, and of the others a few, alone. A
failed integration test is repeated once, alone, and named then. The integration tests take each value of each parameter
once. --all adds all that judge time, all combinations of values where no time is judged, integration tests on a
sanitizer build, lint, and what has threads under TSan.
The last line is "N passed, N failed". With CI set in the environment a test that did not run counts as failed.
"""


def in_background(work):
    """Begins it now, beside what follows; the returned function waits for its end."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread.join


def quick(tally):
    check_format(tally)
    if build(tally, "dev"):
        unit_tests(tally, "dev")


def without_root(tally, all_of_it):
    quick(tally)
    if all_of_it:
        lint(tally)
        if build(tally, "tsan", "threaded_tests"):
            unit_tests(tally, "tsan", "--label-regex", "threaded")
    say("integration tests: NOT RUN, they need root: sudo tests/run")
    tally.add(0, int(IN_CI))


def everything(tally, all_of_it):
    check_format(tally)
    if not build(tally, "release", *PROGRAMS, *INSTALLED):
        return
    built = {}

    def build_dev():
        built["dev"] = build(tally, "dev", prefix=NICE)

    def build_rest():
        built["tsan"] = build(tally, "tsan", "threaded_tests", *PROGRAMS, prefix=NICE)
        lint(tally)

    release = IntegrationTests(tally, "release", every_value=all_of_it)
    dev, tsan = (IntegrationTests(tally, preset, every_value=False) for preset in ("dev", "tsan"))
    with_sanitizers = [path.name for path in files() if path.name not in ONLY_RELEASE]
    wait = in_background(build_dev)
    release.side_by_side()
    wait()
    if all_of_it:
        wait = in_background(build_rest)
        if built["dev"]:
            dev.side_by_side(with_sanitizers)
        wait()
    if built["dev"]:
        unit_tests(tally, "dev")
    release.alone(None if all_of_it else SOONEST)
    if all_of_it and built["tsan"]:
        unit_tests(tally, "tsan", "--label-regex", "threaded")
        tsan.side_by_side(WITH_THREAD_SANITIZER)
        tsan.alone(WITH_THREAD_SANITIZER)


def main():
    parser = argparse.ArgumentParser(prog="tests/run", epilog=EXPLANATION,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description="Installs what is missing, builds, and tests within 20 minutes.")
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--quick", action="store_true", help="only format and unit tests, under ASan and UBSan")
    extent.add_argument("--all", action="store_true", help="every test, in about an hour; what continuous integration runs")
    options = parser.parse_args()

    make_results()
    figures = ROOT / "build" / "release" / "integration-figures.json"
    figures.unlink(missing_ok=True)
    tally = Tally()
    try:
        if options.quick:
            quick(tally)
        elif os.geteuid() != 0:
            without_root(tally, options.all)
        else:
            everything(tally, options.all)
    except KeyboardInterrupt:
        end_all()
        say("interrupted")
        tally.add(0, 1)
    if figures.exists():
        say(f"measured figures: {figures.relative_to(ROOT)}")
    say(f"{clock().strip()} in all")
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 0 if tally.failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
