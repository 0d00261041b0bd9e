"""A redis-server of the test's own, which can be killed, stopped, emptied and replaced."""

import asyncio
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import processes


class RedisServer:
    """Listens at `socket` alone, and keeps nothing on disk. `options` are those of redis-server."""

    def __init__(self, *options):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="hgt-redis-"))
        self.socket = self.directory / "redis.sock"
        self._options = options
        self._process = None
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self, patience=10):
        with open(self.directory / "log", "a") as log:
            self._process = processes.start(
                ["redis-server", "--port", 0, "--unixsocket", self.socket, "--save", "", "--appendonly", "no",
                 "--dir", self.directory, *self._options], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + patience
        while "PONG" not in (answer := self._ask("PING", check=False).stdout) and "NOAUTH" not in answer:
            assert self._process.poll() is None, (self.directory / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.01)

    @property
    def pid(self):
        return self._process.pid

    def kill(self):
        self._process.kill()
        self._process.wait()
        self.socket.unlink()

    def pause(self):
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self._process.send_signal(signal.SIGCONT)

    def wait_for_master(self, patience=10):
        """Until a replica has all that its master has."""
        deadline = time.monotonic() + patience
        while "master_link_status:up" not in self.ask("INFO", "replication"):
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def ask(self, *words):
        return self._ask(*words).stdout.strip()

    def _ask(self, *words, check=True):
        return processes.run(["redis-cli", "-s", self.socket, *words], check=check)

    def close(self):
        if self._process is not None and self._process.poll() is None:
            self._process.kill()  # one that is stopped, too
            self._process.wait()
        shutil.rmtree(self.directory)


class SlowAnswers:
    """Stands at a socket before the server of another one, and passes its answers on `delay` seconds late."""

    def __init__(self, server, socket, delay):
        self._server, self._socket, self._delay = server, socket, delay
        self._loop, started = asyncio.new_event_loop(), threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        assert started.wait(10)

    def _run(self, started):
        self._loop.run_until_complete(asyncio.start_unix_server(self._serve, self._socket))
        self._loop.call_soon(started.set)
        self._loop.run_forever()

    async def _serve(self, reader, writer):
        from_server, to_server = await asyncio.open_unix_connection(self._server)
        await asyncio.gather(self._pass_on(reader, to_server, 0), self._pass_on(from_server, writer, self._delay),
                             return_exceptions=True)

    @staticmethod
    async def _pass_on(reader, writer, delay):
        while data := await reader.read(1 << 16):
            await asyncio.sleep(delay)
            writer.write(data)
        writer.close()

    def close(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()
