"""The stages of the test run, but for the integration tests."""

import os

from runner.commands import NICE, RESULTS, ROOT, run
from runner.report import Stage, cases_of, count, end_of


def step(tally, name, *commands):
    """Commands that pass or fail as one, shown only when they fail."""
    stage = Stage(name)
    log = RESULTS / (name.replace(" ", "-") + ".log")
    ok = all(run(command, log) == 0 for command in commands)
    stage.end("ok" if ok else "FAILED", [] if ok else end_of(log.read_text()))
    tally.add(ok, not ok)
    return ok


def build(tally, preset, *targets, prefix=()):
    select = ["--target", *targets] if targets else []
    return step(tally, f"build {preset}", [*prefix, "cmake", "--preset", preset],
                [*prefix, "cmake", "--build", "--preset", preset, "--parallel", os.cpu_count(), *select, "--", "--quiet"])


def unit_tests(tally, preset, *select):
    stage = Stage(f"unit tests {preset}")
    results, log = RESULTS / f"unit-{preset}.xml", RESULTS / f"unit-{preset}.log"
    results.unlink(missing_ok=True)
    # As root: those that look at the kernel make network namespaces.
    # Those that look at the kernel depend on what else the machine does: one that fails gets a second try.
    run(["ctest", "--preset", preset, *select, "--parallel", os.cpu_count(), "--timeout", 120, "--repeat", "until-pass:2",
         "--output-junit", results], log, owner=False)
    cases = cases_of(results)
    count(tally, stage, cases, [] if cases else end_of(log.read_text()))


def lint(tally):
    step(tally, "lint", [*NICE, "run-clang-tidy", "-quiet", "-p", ROOT / "build" / "dev",
                         f"^{ROOT}/(daemon|tools)/.*\\.cpp$"])


def sources(*suffixes):
    folders = ("include", "daemon", "tools", "tests", "examples")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in suffixes)


def check_format(tally):
    stage = Stage("format")
    log = RESULTS / "format.log"
    check = ["clang-format", "--dry-run", "-Werror"]
    files = sources(".cpp", ".hpp", ".c", ".h")
    wrong = [] if run([*check, *files], log) == 0 else [path for path in files if run([*check, path], log) != 0]
    details = ["    not as clang-format has it:", *(f"    {path.relative_to(ROOT)}" for path in wrong)] if wrong else []
    stage.end("FAILED" if wrong else "ok", details)
    tally.add(not wrong, bool(wrong))
