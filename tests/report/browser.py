"""A headless Chromium driven over the DevTools protocol through two pipes: no driver, no port, no further package."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
    "--no-default-browser-check", "--remote-debugging-pipe",
)  # fmt: skip


def chromium() -> str | None:
    """The browser's program, or None where there is none."""
    return next(
        (
            found
            for name in ("chromium", "chromium-browser", "google-chrome")
            if (found := shutil.which(name))
        ),
        None,
    )


class Tab:
    """One page. `problems` collects what its console, its scripts and its loading complained about."""

    def __init__(self, reading: int, writing: int) -> None:
        self._in, self._out = reading, writing
        self._read = bytearray()
        self._last = 0
        self._session: str | None = None
        self.problems: list[str] = []
        self.requests: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer; events that come before it are noted."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._last:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def _message(self) -> dict[str, Any]:
        while (end := self._read.find(b"\0")) < 0:
            part = os.read(self._in, 1 << 16)
            assert part, "the browser has ended"
            self._read += part
        message: dict[str, Any] = json.loads(self._read[:end])
        del self._read[: end + 1]
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, params: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"])[:800])
        elif event == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(json.dumps(params["args"])[:800])
        elif event == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def open(self, path: Path, fragment: str = "") -> None:
        self.send("Page.navigate", url=path.as_uri() + fragment)
        self.wait("document.body && document.body.dataset.shown !== undefined")

    def run(self, script: str) -> Any:
        """The value of a script in the page; promises are awaited."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition: str, seconds: float = 60) -> None:
        """Waits until a script is true. Raises TimeoutError naming it."""
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(f"{condition} never came true; problems: {self.problems}")
            time.sleep(0.05)

    def press(self, key: str) -> None:
        code = {"text": key} if len(key) == 1 else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **code)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screen(self, width: int, height: int, *, dark: bool = False, mobile: bool = False) -> None:
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=scheme)
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def shot(self, path: Path) -> bytes:
        data = base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])
        path.write_bytes(data)
        return data


@contextmanager
def browser(profile: Path) -> Iterator[Tab]:
    """A browser of its own with a new profile, ended with the block."""
    program = chromium()
    assert program, "Chromium is not installed"
    to_browser, writing = os.pipe()
    reading, from_browser = os.pipe()

    def place() -> None:  # the protocol's pipes are the descriptors 3 and 4
        high_in, high_out = os.dup(to_browser), os.dup(from_browser)
        os.dup2(high_in, 3)
        os.dup2(high_out, 4)

    process = subprocess.Popen(
        [program, *FLAGS, f"--user-data-dir={profile}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=place,
        close_fds=False,
        start_new_session=True,
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Tab(reading, writing)
    finally:
        os.close(writing)  # the browser ends with its pipe
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(reading)
