"""Headless Chromium, controlled by its debugging protocol over two pipes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--window-size=800,450",
)


class Browser:
    """One page from the file system; `problems` are the errors and warnings of its console."""

    def __init__(self, page: Path) -> None:
        assert CHROMIUM is not None
        self.problems: list[str] = []
        self._count = 0
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # the browser reads commands from descriptor 3 and writes answers to descriptor 4
        command = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'
        words = [*SWITCHES, "--remote-debugging-pipe", f"--user-data-dir={page.parent / 'profile'}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", command, CHROMIUM, *words],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(page.parent)},
        )
        os.close(to_read)
        os.close(to_write)
        self._answers = os.fdopen(self._read, "rb")
        self._session: dict[str, str] = {}
        [target] = [one for one in self.send("Target.getTargets")["targetInfos"] if one["type"] == "page"]
        attached = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Runtime", "Log", "Page"):
            self.send(f"{domain}.enable")
        self.send("Page.navigate", url=page.as_uri())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._answers.close()
        os.close(self._write)

    def send(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol, and return its result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters, **self._session}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._note(answer)

    def run(self, script: str) -> Any:
        """Run the body of an asynchronous function, and return its result."""
        result = self.send(
            "Runtime.evaluate", expression=f"(async () => {{{script}}})()", awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def _next(self) -> Any:
        message = b""
        while not message.endswith(b"\0"):
            byte = self._answers.read(1)
            assert byte, "the browser ended"
            message += byte
        return json.loads(message[:-1])

    def _note(self, event: Any) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(event["params"]["exceptionDetails"]))
        if event.get("method") == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning"):
            self.problems.append(json.dumps(event["params"]["args"]))
        if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            self.problems.append(event["params"]["entry"]["text"])
