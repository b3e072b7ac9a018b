"""A browser driven over the DevTools protocol: JSON messages that end with a NUL, through two pipes.

No driver has to be installed, and no port is opened. The page and the gateway that serves it share the test's loop.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import fcntl
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

PATIENCE = 60.0
_ABOVE_THE_STANDARD_ONES = 20
# The browser reads its orders from 3 and answers on 4.
_TAKE_PIPES = "import os,sys; os.dup2(int(sys.argv[1]),3); os.dup2(int(sys.argv[2]),4); os.execv(sys.argv[3],sys.argv[3:])"
_OPTIONS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",  # as root there is none, and the only pages are our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-extensions",
    "--metrics-recording-only",
    "--no-proxy-server",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--mute-audio",
)


class BrowserFailure(Exception):
    """The browser did not do what it was told; the text is its own."""


class Chromium:
    """One browser process with a profile of its own."""

    def __init__(self, process, orders, answers, home) -> None:
        self._process, self._orders, self._home = process, orders, home
        self._answers = answers
        self._waiting: dict[int, asyncio.Future] = {}
        self._listeners: dict[str, object] = {}
        self._number = 0
        self._buffer = bytearray()
        asyncio.get_running_loop().add_reader(answers, self._read)

    @classmethod
    async def start(cls, executable: str, environment: dict[str, str], more: tuple[str, ...] = ()):
        home = tempfile.mkdtemp(prefix="awf-browser-")
        read_orders, orders = _pipe()
        answers, write_answers = _pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _TAKE_PIPES, str(read_orders), str(write_answers), executable),
                *(*_OPTIONS, *more, f"--user-data-dir={home}/profile", "about:blank"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                pass_fds=(read_orders, write_answers),
                env={**environment, "HOME": home},
                start_new_session=True,
            )
        finally:
            os.close(read_orders)
            os.close(write_answers)
        os.set_blocking(answers, False)
        return cls(process, orders, answers, home)

    def _read(self) -> None:
        try:
            data = os.read(self._answers, 1 << 20)
        except BlockingIOError:
            return
        if not data:
            asyncio.get_running_loop().remove_reader(self._answers)
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(BrowserFailure("the browser has ended"))
            return
        self._buffer += data
        while (end := self._buffer.find(b"\0")) >= 0:
            message = json.loads(self._buffer[:end])
            del self._buffer[: end + 1]
            self._take(message)

    def _take(self, message) -> None:
        waiting = self._waiting.pop(message.get("id", 0), None)
        if waiting is None:
            listener = self._listeners.get(message.get("sessionId", ""))
            if listener is not None and "method" in message:
                listener(message["method"], message["params"])
        elif waiting.done():
            pass
        elif "error" in message:
            waiting.set_exception(BrowserFailure(json.dumps(message["error"])))
        else:
            waiting.set_result(message["result"])

    async def order(self, method: str, session: str = "", **parameters):
        self._number += 1
        answer = self._waiting[self._number] = asyncio.get_running_loop().create_future()
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._orders, json.dumps(message).encode() + b"\0")
        async with asyncio.timeout(PATIENCE):
            return await answer

    async def page(self, **view) -> Page:
        """A page in a context of its own, which shares nothing with the others."""
        context = (await self.order("Target.createBrowserContext"))["browserContextId"]
        target = await self.order("Target.createTarget", url="about:blank", browserContextId=context)
        session = await self.order("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page = Page(self, session["sessionId"], context)
        self._listeners[page.session] = page.heard
        await page.prepare(**view)
        return page

    async def close(self) -> None:
        with contextlib.suppress(BrowserFailure, TimeoutError, OSError):
            async with asyncio.timeout(10):
                await self.order("Browser.close")
                await self._process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        asyncio.get_running_loop().remove_reader(self._answers)
        os.close(self._orders)
        os.close(self._answers)
        shutil.rmtree(self._home, ignore_errors=True)


def _pipe() -> tuple[int, int]:
    """Numbers high enough not to be overwritten when the child moves them to 3 and 4."""
    moved = []
    for low in os.pipe():
        moved.append(fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _ABOVE_THE_STANDARD_ONES))
        os.close(low)
    return moved[0], moved[1]


KEYS = {
    "Tab": ("Tab", 9, ""),
    "Enter": ("Enter", 13, "\r"),
    "Space": ("Space", 32, " "),
    "Escape": ("Escape", 27, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "Home": ("Home", 36, ""),
    "End": ("End", 35, ""),
    "Delete": ("Delete", 46, ""),
}
SHIFT, CONTROL = 8, 2


class Page:
    """What a person does with a page, and what the page says and asks for."""

    def __init__(self, browser: Chromium, session: str, context: str) -> None:
        self.session = session
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self._browser, self._context = browser, context

    async def prepare(self, *, width=1280, height=900, dark=False, scale=1.0) -> None:
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.order(f"{domain}.enable")
        await self.order(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.order("Emulation.setEmulatedMedia", features=[scheme])

    def heard(self, method: str, params) -> None:
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in {"error", "warning", "assert"}:
            self.complaints.append(json.dumps(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    async def order(self, method: str, **parameters):
        return await self._browser.order(method, self.session, **parameters)

    async def open(self, url: str) -> None:
        await self.order("Page.navigate", url=url)

    async def ask(self, expression: str):
        """The value of an expression in the page."""
        given = await self.order(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in given:
            raise BrowserFailure(json.dumps(given["exceptionDetails"]))
        return given["result"].get("value")

    async def until(self, expression: str):
        """Wait until it is true, and give its value. What the page shows is part of the failure."""
        value = None
        try:
            async with asyncio.timeout(PATIENCE):
                while not value:
                    # A page that is just being built or replaced has no answer yet.
                    with contextlib.suppress(BrowserFailure):
                        value = await self.ask(expression)
                    await asyncio.sleep(0 if value else 0.02)
        except TimeoutError:
            shown = await self.ask("document.body.innerText")
            raise AssertionError(f"never true: {expression}\n{shown[:3000]}\n{self.complaints}") from None
        return value

    async def press(self, key: str, *, shift=False) -> None:
        name, code, text = KEYS.get(key) or (key, ord(key.upper()), key)
        key_value = " " if key == "Space" else name
        event = {
            "key": key_value,
            "code": name if key in KEYS else f"Key{key.upper()}",
            "windowsVirtualKeyCode": code,
            "modifiers": SHIFT if shift else 0,
        }
        kind = "keyDown" if text else "rawKeyDown"
        await self.order("Input.dispatchKeyEvent", type=kind, text=text, **event)
        await self.order("Input.dispatchKeyEvent", type="keyUp", **event)

    async def click(self, x: float, y: float) -> None:
        where = {"x": x, "y": y, "button": "left", "clickCount": 1}
        await self.order("Input.dispatchMouseEvent", type="mousePressed", **where)
        await self.order("Input.dispatchMouseEvent", type="mouseReleased", **where)

    async def type(self, text: str) -> None:
        await self.order("Input.insertText", text=text)

    async def focused(self) -> str:
        """What has the focus, in a few words."""
        return await self.ask(
            "(e => e === document.body ? '' : (e.id ? '#' + e.id : e.tagName.toLowerCase())"
            " + ' ' + (e.getAttribute('aria-label') || e.textContent || e.value || '').trim().slice(0, 60))"
            "(document.activeElement)"
        )

    async def picture(self, path: Path, *, whole=False) -> None:
        taken = await self.order("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))

    async def close(self) -> None:
        await self._browser.order("Target.disposeBrowserContext", browserContextId=self._context)
