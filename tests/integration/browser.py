"""A headless Chromium, driven over a pipe by its DevTools protocol."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

import processes

_FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
          "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
          "--remote-debugging-pipe"]


class Browser:
    """One page in a network namespace. `problems` has what it said of errors, refused content included."""

    def __init__(self, namespace, url, patience=30):
        self.problems = []
        self._profile = tempfile.mkdtemp(prefix="hgt-chromium-")
        self._number = 0
        self._buffer = b""
        self._patience = patience
        to_browser, self._output = os.pipe()
        self._input, from_browser = os.pipe()
        # It reads at 3 and writes at 4.
        command = ["bash", "-c", f'exec chromium "$@" 3<&{to_browser} 4>&{from_browser}', "bash", *_FLAGS,
                   f"--user-data-dir={self._profile}", "about:blank"]
        self._process = namespace.start(*command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, pass_fds=(to_browser, from_browser))
        os.close(to_browser)
        os.close(from_browser)
        page = next(target for target in self._call("Target.getTargets")["targetInfos"] if target["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=url)

    def call(self, method, **parameters):
        return self._call(method, self._session, **parameters)

    def _call(self, method, session=None, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._output, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self._patience
        while True:
            answer = self._read(deadline)
            self._note(answer)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _read(self, deadline):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._input], [], [], max(0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            part = os.read(self._input, 1 << 20)
            assert part, "the browser has ended"
            self._buffer += part
        line, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(line)

    def _note(self, message):
        if message.get("method") == "Runtime.exceptionThrown":
            self.problems.append(message["params"]["exceptionDetails"]["exception"].get("description", "an exception"))
        elif message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            self.problems.append(message["params"]["entry"]["text"])

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, expression, patience=10):
        deadline = time.monotonic() + patience
        while not self.evaluate(expression):
            assert time.monotonic() < deadline, (
                f"not within {patience} s: {expression}\n{self.evaluate('document.body.innerText')}")
            time.sleep(0.05)

    def look(self, width, height, scheme="light"):
        """How wide it is, and which colours its user likes."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, whole=False):
        """PNG."""
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(picture["data"])

    def close(self):
        os.close(self._output)  # it ends with the pipe
        processes.end(self._process)
        os.close(self._input)
        shutil.rmtree(self._profile, ignore_errors=True)
