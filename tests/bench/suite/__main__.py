"""The command line of tests/bench/run."""

import argparse
import os
import signal
import sys
import time

from suite import build, figures, machine, paths, plots, sides
from suite.other_build import OtherBuild
from suite.report import Report

EXPLANATION = """
Needs root: it makes network namespaces of its own, and removes them whatever happens. Each figure runs its sides
interleaved, several rounds of them, and prints the medians with the smallest and the largest of the rounds. A bar that
does not hold is said and is no failure: the exit code is 0 when everything could be measured.
"""


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tests/bench/run", epilog=EXPLANATION,
                                     description="Measures headgate against the kernel's shapers and bare forwarding.")
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="only these; see --list")
    parser.add_argument("--list", action="store_true", help="list the figures")
    parser.add_argument("--quick", action="store_true", help="two short rounds: whether the suite works, not how fast")
    parser.add_argument("--rounds", type=int, help="rounds of each comparison; 5 unless given")
    parser.add_argument("--against", metavar="BUILD", type=other_build,
                        help="also another build of headgate in turn with this one, such as of an older commit: its "
                             "build directory, or the bin/ in it")
    parser.add_argument("--only-headgate", action="store_true", help="leave out the peers")
    parser.add_argument("--capture", choices=("bpf", "ring"),
                        help="the capture back end of every shape of this build, not of the other; its default unless "
                             "given")
    parser.add_argument("--json", metavar="FILE", help="write every round's values")
    options = parser.parse_args()
    unknown = [name for name in options.figures if name not in figures.ALL]
    if unknown:
        parser.error(f"there is no figure {', '.join(unknown)}; there are: {', '.join(figures.ALL)}")
    return options


def other_build(path):
    try:
        return OtherBuild(path)
    except (ValueError, OSError) as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem


def measure(names, effort, report):
    """True when every figure could be measured."""
    complete = True
    for name in names:
        started = time.monotonic()
        figure = report.figure(name, figures.ALL[name].TITLE)
        try:
            figures.ALL[name].measure(figure, effort)
        except Exception as problem:  # the other figures are still worth having
            figure.failed(f"{type(problem).__name__}: {problem}")
            complete = False
        figure.finish(time.monotonic() - started)
    return complete


def main():
    options = parse_arguments()
    if options.list:
        for name, module in figures.ALL.items():
            print(f"{name:<12}{module.TITLE}")
        return 0
    if os.geteuid() != 0:
        sys.exit("tests/bench/run: needs root, for network namespaces: sudo tests/bench/run")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    build.build()
    paths.network.sweep()
    effort = figures.Effort(quick=options.quick, rounds=options.rounds, against=options.against,
                            only_headgate=options.only_headgate, capture=options.capture)
    sides.Headgate.capture = options.capture
    report = Report(machine.describe(), effort)
    complete = False
    try:
        complete = measure(options.figures or list(figures.ALL), effort, report)
    except KeyboardInterrupt:
        print("\ninterrupted")
    finally:
        paths.delete_all()
        if options.json:
            report.write(options.json)
    plots.draw(report)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
