"""Another build of headgate, such as of an older commit, measured beside this one."""

import pathlib
import re

from suite.machine import commit_of

NEEDED = ("headgated", "headgatectl")
PREFIX = "other "  # of the names of its sides


def of_other_build(name):
    return PREFIX + name


class OtherBuild:
    """`path` is its build directory, or the bin/ in it."""

    def __init__(self, path):
        path = pathlib.Path(path).resolve()
        self.programs = path if (path / NEEDED[0]).exists() else path / "bin"
        for program in NEEDED:
            if not (self.programs / program).exists():
                raise ValueError(f"{path} is no build directory of headgate: there is no {self.programs / program}")
        self._cache = self._read_cache(self.programs.parent / "CMakeCache.txt")
        if self._cache.get("CMAKE_BUILD_TYPE", "Release") != "Release" or self._cache.get("HEADGATE_SANITIZE"):
            raise ValueError(f"{path} is no release build, so that its figures would mean nothing")

    @staticmethod
    def _read_cache(path):
        return dict(re.findall(r"^(\w+):\w+=(.*)$", path.read_text(), re.MULTILINE)) if path.exists() else {}

    def describe(self):
        return {"programs": str(self.programs), "commit": self._commit()}

    def _commit(self):
        """Of the sources as they are now; None where they are not to be found."""
        source = self._cache.get("CMAKE_HOME_DIRECTORY")
        if not source:
            return None
        return commit_of(source) or None
