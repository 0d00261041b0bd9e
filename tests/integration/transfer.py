"""TCP payload that is compared at the far end, byte for byte by its digest."""

import hashlib
import random
import socket
import threading
import time

from packet_socket import inside

_PIECE = random.Random(1).randbytes(1 << 20)


class Transfer:
    """Sends `total` bytes from one namespace to an address of another, in the background; `pace`: so many a second.

    Without a total it sends until finish().
    """

    def __init__(self, source, destination, to, total=None, port=5300, idle=20, pace=None):
        family = socket.AF_INET6 if ":" in to else socket.AF_INET
        with inside(destination):
            listener = socket.create_server((to, port), family=family)
        with inside(source):
            self._client = socket.socket(family, socket.SOCK_STREAM)
        for end in (listener, self._client):
            end.settimeout(idle)
        self._listener, self._total, self._to, self._pace = listener, total, (to, port), pace
        self._sent, self._received, self.bytes_received = hashlib.sha256(), hashlib.sha256(), 0
        self._problems = []
        self._last, self.bytes_sent = threading.Event(), 0
        self._threads = [threading.Thread(target=self._watch, args=(its,), daemon=True) for its in (self._receive, self._send)]
        for thread in self._threads:
            thread.start()

    def _watch(self, work):
        try:
            work()
        except OSError as problem:
            self._problems.append(f"{work.__name__}: {problem}")

    def _send(self):
        with self._client as client:
            client.connect(self._to)
            start = time.monotonic()
            while not self._last.is_set() if self._total is None else self.bytes_sent < self._total:
                piece = _PIECE[self.bytes_sent % 1009:][:1 << 14 if self._pace else 1 << 20]  # no two alike
                if self._total is not None:
                    piece = piece[:self._total - self.bytes_sent]
                if self._pace:
                    time.sleep(max(0.0, start + self.bytes_sent / self._pace - time.monotonic()))
                self._sent.update(piece)
                client.sendall(piece)
                self.bytes_sent += len(piece)

    def _receive(self):
        with self._listener, self._listener.accept()[0] as connection:
            connection.settimeout(self._listener.gettimeout())
            while piece := connection.recv(1 << 18):
                self._received.update(piece)
                self.bytes_received += len(piece)

    def running(self):
        return any(thread.is_alive() for thread in self._threads)

    def finish(self):
        """Waits for the end, and compares."""
        self._last.set()
        for thread in self._threads:
            thread.join()
        assert not self._problems, f"{self._problems} after {self.bytes_received} bytes"
        assert self.bytes_received == self.bytes_sent
        assert self._received.digest() == self._sent.digest(), "the payload was changed on its way"
