"""The integration tests: those that judge no time side by side, the others with nothing beside them."""

import os
import threading

from runner.commands import RESULTS, ROOT, run
from runner.report import Stage, cases_of, count, end_of, name_of, problem_of

DIRECTORY = ROOT / "tests" / "integration"
SIDE_BY_SIDE = max(2, os.cpu_count())
MOST_TO_REPEAT = 12  # failed tests; more of them are no accident
# Exit codes of pytest after which its results are whole: all passed, some failed, none was to be run.
WHOLE = (0, 1, 5)


def files():
    """The largest first: they take longest, and what runs last should be short."""
    return sorted(DIRECTORY.glob("*_test.py"), key=lambda path: -path.stat().st_size)


class IntegrationTests:
    """Of one build. `every_value`: where no time is judged not each value of each parameter once, but all of their
    combinations."""

    def __init__(self, tally, preset, every_value):
        self._tally = tally
        self._preset = preset
        self._parameters = "all" if every_value else "each"
        self._pytest = ["/usr/bin/python3", "-B", "-m", "pytest", "--quiet", f"--preset={preset}", "--rootdir", DIRECTORY]

    def side_by_side(self, only=None):
        """Those that judge no time, some files at once."""
        stage = Stage(f"integration tests {self._preset}, {SIDE_BY_SIDE} at once")
        waiting = [path for path in files() if only is None or path.name in only]
        total, done, lock, threads = len(waiting), [], threading.Lock(), []

        def work():
            while True:
                with lock:
                    if not waiting:
                        return
                    path = waiting.pop(0)
                outcome = self._run(path.stem, [f"--parameters={self._parameters}", "--judging=no-time", path])
                with lock:
                    done.append(outcome)
                    stage.progress(f"{len(done)} of {total} files")

        for _ in range(SIDE_BY_SIDE):
            threads.append(threading.Thread(target=work, daemon=True))
            threads[-1].start()
        for thread in threads:
            thread.join()
        self._count(stage, "side-by-side", done)

    def alone(self, only=None):
        """Those that judge time, one after the other."""
        stage = Stage(f"integration tests {self._preset} that judge time")
        chosen = [path for path in files() if only is None or path.name in only]
        done = []
        for number, path in enumerate(chosen, 1):
            done.append(self._run(f"{path.stem}-time", ["--parameters=each", "--judging=time", path]))
            stage.progress(f"{number} of {len(chosen)} files")
        self._count(stage, "alone", done)

    def _run(self, name, arguments):
        """The test cases, and what was wrong with the run itself."""
        results, log = (RESULTS / f"integration-{self._preset}-{name}{suffix}" for suffix in (".xml", ".log"))
        results.unlink(missing_ok=True)
        code = run([*self._pytest, f"--junitxml={results}", *arguments], log, owner=False)
        return cases_of(results), [] if code in WHOLE else end_of(log.read_text())

    def _count(self, stage, name, done):
        cases = [case for its, _ in done for case in its]
        problems = [line for _, lines in done for line in lines]
        failed = [name_of(case) for case in cases if problem_of(case) is not None]
        # A pause of the machine can fail a test that is right; a fault fails it again.
        repaired = set()
        if 0 < len(failed) <= MOST_TO_REPEAT:
            stage.progress(f"{len(failed)} failed, and are repeated")
            again, more_problems = self._run(f"{name}-again", [DIRECTORY / test for test in failed])
            problems += more_problems
            repaired = {name_of(case) for case in again if problem_of(case) is None} & set(failed)
        count(self._tally, stage, cases, problems, repaired)
