"""Drives a headless Chromium through its DevTools protocol, for tests that must see a page as a reader does."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
    "--hide-scrollbars",
)
START_S = 120.0
ANSWER_S = 120.0


def browser_path() -> str | None:
    """Where a Chromium is, if one is to be had."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Page:
    """One tab; `complaints` is all that its console, its scripts and its security policy said."""

    connection: ClientConnection
    complaints: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)
    _number: int = 0
    _loaded: bool = False

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of one command; what happens meanwhile is noted."""
        self._number += 1
        self.connection.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            message = self._receive()
            if message.get("id") == self._number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result

    def show(self, url: str, *, width: int, height: int = 900, dark: bool = False, scripts: bool = True) -> None:
        """The page at `url`, loaded, as wide as a screen of `width` pixels."""
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self._loaded = False
        self.call("Page.navigate", url="about:blank")
        while not self._loaded:
            self._receive()
        self._loaded = False
        self.call("Page.navigate", url=url)
        while not self._loaded:
            self._receive()

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self, *, whole: bool = False) -> bytes:
        """What the page looks like, as PNG."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(answer["data"])

    def _receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.connection.recv(timeout=ANSWER_S))
        params = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Runtime.exceptionThrown":
                self.complaints.append(str(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.complaints.append(str(params["args"]))
            case "Log.entryAdded":
                self.complaints.append(str(params["entry"]["text"]))
            case "Network.requestWillBeSent":
                self.requested.append(params["request"]["url"])
        return message


@contextmanager
def open_page(program: str, profile: Path) -> Iterator[Page]:
    """A tab of a browser of its own, with an empty `profile`; both end with the block."""
    command = [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with connect(_tab(profile, process), max_size=2**28, open_timeout=START_S, proxy=None) as connection:
            page = Page(connection)
            for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
                page.call(f"{domain}.enable")
            yield page
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _tab(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """The address of a new tab, asked of the browser as a whole."""
    said = profile / "DevToolsActivePort"
    deadline = time.monotonic() + START_S
    while not (said.exists() and said.read_text().count("\n") >= 1):
        assert process.poll() is None, f"the browser ended with {process.returncode}"
        assert time.monotonic() < deadline, "the browser did not start"
        time.sleep(0.05)
    port, path = said.read_text().splitlines()[:2]
    with connect(f"ws://127.0.0.1:{port}{path}", proxy=None, max_size=2**24) as connection:
        browser = Page(connection)
        targets = browser.call("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
    return f"ws://127.0.0.1:{port}/devtools/page/{target}"
