"""Builds what is measured and what it is measured with."""

import os
import pwd
import subprocess
import sys

from suite.paths import PROGRAMS, ROOT

TARGETS = ("headgated", "headgatectl", "frame_source", "far_end", "bare_forwarder", "bare_ring_loop", "bare_attach",
           "bare_pacer", "core_benchmark", "lease_hosts")


def _as_owner():
    """Under sudo the build belongs to the user who called it."""
    user = os.environ.get("SUDO_USER")
    if not user or user == "root" or ROOT.stat().st_uid == 0:
        return []
    return ["runuser", "-u", user, "--", "env", f"HOME={pwd.getpwnam(user).pw_dir}"]


def build():
    if not all((PROGRAMS / target).exists() for target in TARGETS):
        print("Building; the first time takes a few minutes ...", flush=True)
    for command in (["cmake", "--preset", "release"],
                    ["cmake", "--build", "--preset", "release", "--parallel", str(os.cpu_count()), "--target", *TARGETS]):
        result = subprocess.run([*_as_owner(), *command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        if result.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{result.stdout[-4000:]}")
