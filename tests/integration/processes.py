"""Processes that cannot outlive the test run: the kernel kills them when the test process dies."""

import os
import re
import signal
import subprocess

DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]


def start(command, **options):
    # Only from the main thread: the signal comes when the thread ends that started the process.
    return subprocess.Popen(DIE_WITH_PARENT + [str(part) for part in command], **options)


def run(command, *, check=True, timeout=60, **options):
    """Runs to the end and returns the result, with its output as text. A failure says what the command wrote."""
    result = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, timeout=timeout, **options)
    if check and result.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} exited with {result.returncode}:\n"
                             f"{result.stdout}{result.stderr}")
    return result


def end(process, how=signal.SIGTERM, patience=10):
    """Ends a process that may have ended already; returns its exit code."""
    if process.poll() is None:
        process.send_signal(how)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return process.returncode


def voluntary_switches(pid):
    """How often the threads of a process have gone to sleep by themselves, by thread name."""
    switches = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status") as status:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
        switches[f"{fields['Name']}-{thread}"] = int(fields["voluntary_ctxt_switches"])
    return switches


def handles_signal(pid, number):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"SigCgt:\s+(\w+)", status.read())[1], 16) >> number - 1 & 1 == 1


def has_real_time_thread(pid):
    return any(os.sched_getscheduler(int(thread)) == os.SCHED_FIFO for thread in os.listdir(f"/proc/{pid}/task"))


def locked_kilobytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmLck:\s+(\d+) kB", status.read())[1])


def resident_kilobytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1])


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))
