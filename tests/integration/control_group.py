"""A control group with a quota of processor time."""

import contextlib
import os
import pathlib

_FIRST_VERSION = pathlib.Path("/sys/fs/cgroup/cpu")
_SECOND_VERSION = pathlib.Path("/sys/fs/cgroup")


class ControlGroup:
    """What is started within join() is in it. There is no quota before set_quota()."""

    def __init__(self, name):
        self._first_version = (_FIRST_VERSION / "cgroup.procs").exists()
        self._parent = _FIRST_VERSION if self._first_version else _SECOND_VERSION
        if not self._first_version:
            (self._parent / "cgroup.subtree_control").write_text("+cpu")
        self._path = self._parent / name
        self._path.mkdir()

    @contextlib.contextmanager
    def join(self):
        (self._path / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (self._parent / "cgroup.procs").write_text(str(os.getpid()))

    def set_quota(self, microseconds, period=100_000):
        if self._first_version:
            (self._path / "cpu.cfs_period_us").write_text(str(period))
            (self._path / "cpu.cfs_quota_us").write_text(str(microseconds))
        else:
            (self._path / "cpu.max").write_text(f"{microseconds} {period}")

    def end_quota(self):
        if self._first_version:
            (self._path / "cpu.cfs_quota_us").write_text("-1")
        else:
            (self._path / "cpu.max").write_text("max")

    def remove(self):
        self._path.rmdir()
