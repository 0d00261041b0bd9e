"""A terminal for the program under test, and what a person would see on it."""

import fcntl
import os
import pty
import select
import struct
import termios
import time

import pyte

import processes

# Of xterm and its kind.
ALTERNATE_SCREEN, MAIN_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"
SHOW_CURSOR = b"\x1b[?25h"


class Terminal:
    """Runs a command, or a shell that runs it, on a terminal of its own, `columns` by `rows`."""

    def __init__(self, command, columns=80, rows=24, shell=(), **environment):
        self._master, slave = pty.openpty()
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.received = b""  # all of it
        self._set_size(columns, rows)
        self.settings_before = termios.tcgetattr(slave)
        variables = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"} | environment
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
        # The terminal is the controlling one, as it is for a shell: it sends the signals of its keys.
        self.process = processes.start(["setsid", "--ctty", *shell, *command], stdin=slave, stdout=slave, stderr=slave,
                                       env=kept | variables)
        os.close(slave)

    def _set_size(self, columns, rows):
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self._screen.resize(rows, columns)
        self._set_size(columns, rows)

    def press(self, keys):
        os.write(self._master, keys.encode())

    def read_for(self, seconds):
        """Takes what comes; how many bytes that were."""
        taken, deadline = 0, time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self._master], [], [], left)[0]:
                break
            try:
                data = os.read(self._master, 65536)
            except OSError:  # the program has ended
                break
            self.received += data
            self._stream.feed(data)
            taken += len(data)
        return taken

    def lines(self):
        return [line.rstrip() for line in self._screen.display]

    def text(self):
        return "\n".join(self.lines())

    def selected(self):
        """The lines in reverse video."""
        return [line for row, line in enumerate(self.lines())
                if all(self._screen.buffer[row][column].reverse for column in range(self._screen.columns))]

    def cursor_hidden(self):
        return self._screen.cursor.hidden

    def wait_for(self, condition, patience=10):
        """Until condition(text) is true; the text."""
        deadline = time.monotonic() + patience
        while not condition(self.text()):
            assert time.monotonic() < deadline, f"it did not come within {patience} s:\n{self.text()}"
            self.read_for(0.05)
        return self.text()

    def wait_end(self, patience=10):
        """The exit code, with all that was written read."""
        deadline = time.monotonic() + patience
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it did not end within {patience} s:\n{self.text()}"
            self.read_for(0.05)
        self.read_for(0.2)
        return self.process.returncode

    def settings(self):
        return termios.tcgetattr(self._master)

    def close(self):
        processes.end(self.process)
        os.close(self._master)
