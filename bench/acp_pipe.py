"""An editor that costs next to nothing: lines into an agent's stdin, lines out of its stdout, each with its arrival.

A frame is stamped as soon as its bytes are read, before anything looks at it. The same client drives every contestant.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import psutil

from bench.measuring import Cost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["Editor", "Frame", "first_answer"]

_CHUNK = 1 << 20
_PATIENCE = 120.0  # seconds for any one answer; later than this something hangs


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


_HELLO = {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
_INITIALIZE = _line({"id": 0, "method": "initialize", "params": _HELLO})


class Frame(NamedTuple):
    arrived: int  # nanoseconds since the epoch, as the programs under test stamp theirs
    line: bytes

    @property
    def message(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.line)
        return found

    @property
    def is_update(self) -> bool:
        return b'"method":"session/update"' in self.line[:80]


class Editor:
    """One agent process and its two pipes. Use it in a `with` block."""

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str) -> None:
        self._errors = open(os.path.join(cwd, f"stderr-{time.monotonic_ns()}.txt"), "wb")  # noqa: SIM115  closed in `__exit__`
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, env=env, cwd=cwd, stdin=pipe, stdout=pipe, stderr=self._errors)
        assert self.process.stdout is not None
        self._source = self.process.stdout.fileno()
        self._number = 0
        self._rest = b""
        self._heard: deque[Frame] = deque()
        self._write(_INITIALIZE)
        self.answer(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self._errors.close()

    # -- what is said ------------------------------------------------------------------------------------------------

    def ask(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a request; its id."""
        self._number += 1
        self._write(_line({"id": self._number, "method": method, "params": params}))
        return self._number

    def prompt(self, session: str, text: str) -> int:
        return self.ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    def cancel(self, session: str) -> None:
        self._write(_line({"method": "session/cancel", "params": {"sessionId": session}}))

    def new_session(self, folder: str) -> str:
        frame = self.answer(self.ask("session/new", {"cwd": folder, "mcpServers": []}))
        return str(frame.message["result"]["sessionId"])

    # -- what is heard -----------------------------------------------------------------------------------------------

    def frames(self, patience: float = _PATIENCE) -> Iterator[Frame]:
        """Every frame as it comes. Raises when the agent ends, or says nothing for so long."""
        while True:
            while not self._heard:
                self._listen(patience)
            yield self._heard.popleft()

    def answer(self, number: int, hear: Callable[[Frame], object] = lambda _frame: None) -> Frame:
        """The answer to this request; `hear` is given the frames before it. An error is raised."""
        mark = b'"id":%d,' % number
        for frame in self.frames():
            if not frame.is_update and mark in frame.line[:60]:
                if "error" in frame.message:
                    raise RuntimeError(f"refused: {frame.line[:500]!r}")
                return frame
            hear(frame)
        raise AssertionError("frames do not end")

    def commands(self, at_least: int) -> Frame:
        """The first list of commands with so many entries."""
        for frame in self.frames():
            listed = b"available_commands_update" in frame.line
            if listed and len(frame.message["params"]["update"]["availableCommands"]) >= at_least:
                return frame
        raise AssertionError("frames do not end")

    def listen_for(self, seconds: float) -> None:
        """Take what comes for so long; it is heard later."""
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0:
            if select.select([self._source], [], [], rest)[0]:
                self._take()

    def _listen(self, patience: float) -> None:
        if not select.select([self._source], [], [], patience)[0]:
            raise RuntimeError(f"the agent said nothing for {patience:.0f} s: see {self._errors.name}")
        self._take()

    def _take(self) -> None:
        data = os.read(self._source, _CHUNK)
        now = time.time_ns()
        if not data:
            raise RuntimeError(f"the agent ended: see {self._errors.name}")
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._heard += [Frame(now, line) for line in lines]

    def _write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    # -- what it takes -----------------------------------------------------------------------------------------------

    def rss(self) -> float:
        """Megabytes in memory."""
        return float(psutil.Process(self.process.pid).memory_info().rss) / 2**20

    def peak(self) -> float:
        """The most megabytes it ever had; where the system does not say, what it has now."""
        try:
            with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
                found = next(line for line in status if line.startswith("VmHWM"))
        except (OSError, StopIteration):
            return self.rss()
        return int(found.split()[1]) / 1024

    def descriptors(self) -> int:
        return int(psutil.Process(self.process.pid).num_fds())

    def cpu(self) -> float:
        used = psutil.Process(self.process.pid).cpu_times()
        return float(used.user + used.system)


def first_answer(argv: Sequence[str], *, env: Mapping[str, str], cwd: str, errors: str) -> Cost:
    """From the start of an agent to its answer to `initialize`; processor time until its end."""
    pipe = subprocess.PIPE
    with open(errors, "wb") as stderr:
        began = time.perf_counter()
        process = subprocess.Popen(argv, env=env, cwd=cwd, stdin=pipe, stdout=pipe, stderr=stderr)
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdout:
            with process.stdin:
                process.stdin.write(_INITIALIZE)
                process.stdin.flush()
                answer = process.stdout.readline()
                wall = time.perf_counter() - began
            _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if b'"protocolVersion"' not in answer:
        with open(errors, encoding="utf-8", errors="replace") as said:
            raise RuntimeError(f"no answer from {' '.join(argv)}: {answer!r} {said.read()[-2000:]}")
    return Cost(wall, used.ru_utime + used.ru_stime)
