"""Commands of the test run: whose they are, where their output goes, and that none outlives the run."""

import os
import pathlib
import pwd
import subprocess
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build" / "results"
NICE = ["nice", "--adjustment=19"]  # what runs beside tests

_running = set()
_lock = threading.Lock()


def as_owner():
    """Under sudo the build belongs to the user who called it: a prefix for commands, and their environment."""
    user = os.environ.get("SUDO_USER")
    environment = dict(os.environ)
    if os.geteuid() != 0 or not user or user == "root" or ROOT.stat().st_uid == 0:
        return [], environment
    environment["HOME"] = pwd.getpwnam(user).pw_dir
    return ["runuser", "-u", user, "--"], environment


def make_results():
    prefix, environment = as_owner()
    subprocess.run([*prefix, "mkdir", "-p", RESULTS], env=environment, check=True)


def run(command, log, owner=True):
    """Runs with all output in `log`; the exit code."""
    prefix, environment = as_owner() if owner else ([], dict(os.environ))
    with open(log, "w") as output:
        process = subprocess.Popen(prefix + [str(part) for part in command], cwd=ROOT, env=environment, stdout=output,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    with _lock:
        _running.add(process)
    try:
        return process.wait()
    finally:
        with _lock:
            _running.discard(process)


def end_all():
    """Ends what still runs, after an interrupt."""
    with _lock:
        for process in _running:
            process.terminate()
