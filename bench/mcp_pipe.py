"""An MCP client that costs next to nothing: lines into a server's stdin, lines out of its stdout.

The same client drives every contestant. Requests are written out before the clock starts and answers are read as
they come and looked at afterwards, so what is measured is the server.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import time
from typing import TYPE_CHECKING, Any, Self

import psutil

from bench.measuring import Cost

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["INITIALIZE", "PipeClient", "first_answer"]

_LEGACY = "2025-11-25"
_MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}
_HELLO = {"protocolVersion": _LEGACY, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


INITIALIZE = _line({"id": 0, "method": "initialize", "params": _HELLO})
_READY = _line({"method": "notifications/initialized"})
_LIST = _line({"id": 1, "method": "tools/list", "params": {}})


class PipeClient:
    """One server process and its two pipes. Use it in a `with` block."""

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str, modern: bool = False
    ) -> None:
        self._errors = open(os.path.join(cwd, f"stderr-{time.monotonic_ns()}.txt"), "wb")  # noqa: SIM115  closed in `close`
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, env=env, cwd=cwd, stdin=pipe, stdout=pipe, stderr=self._errors)
        self._meta = {"_meta": _MODERN} if modern else {}
        self._number = 0
        if not modern:
            self._write(INITIALIZE)
            self._answers(1)
            self._write(_READY)

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

    # -- one after the other, and at once ----------------------------------------------------------------------------

    def one_by_one(self, count: int, method: str, params: Mapping[str, Any]) -> Cost:
        requests = self._requests(count, method, params)

        def work() -> list[bytes]:
            answers = []
            for request in requests:
                self._write(request)
                answers += self._answers(1)
            return answers

        return self._measured(work)

    def at_once(self, count: int, width: int, method: str, params: Mapping[str, Any]) -> Cost:
        """`count` calls of which `width` are always on their way."""
        requests = self._requests(count, method, params)

        def work() -> list[bytes]:
            waiting = iter(requests)
            self._write(b"".join(itertools.islice(waiting, width)))
            answers = []
            for _ in requests:
                answers += self._answers(1)
                self._write(next(waiting, b""))
            return answers

        return self._measured(work)

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._write(self._requests(1, method, params)[0])
        return _checked(self._answers(1)[0])

    def rss(self) -> float:
        """Megabytes in memory."""
        return float(psutil.Process(self.process.pid).memory_info().rss) / 2**20

    # -- the pipes ---------------------------------------------------------------------------------------------------

    def _requests(self, count: int, method: str, params: Mapping[str, Any]) -> list[bytes]:
        first = self._number + 1
        self._number += count
        whole = {**params, **self._meta}
        return [
            _line({"id": number, "method": method, "params": whole}) for number in range(first, first + count)
        ]

    def _measured(self, work: Callable[[], list[bytes]]) -> Cost:
        cpu, began = self._cpu(), time.perf_counter()
        answers = work()
        cost = Cost(time.perf_counter() - began, self._cpu() - cpu)
        for answer in answers:
            _checked(answer)
        return cost

    def _cpu(self) -> float:
        """Processor time of the server; what this client takes is the same for all."""
        used = psutil.Process(self.process.pid).cpu_times()
        return float(used.user + used.system)

    def _write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def _answers(self, count: int) -> list[bytes]:
        assert self.process.stdout is not None
        found: list[bytes] = []
        while len(found) < count:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"the server ended: see {self._errors.name}")
            if b'"method"' not in line:  # a log message or progress is no answer
                found.append(line)
        return found


def _checked(line: bytes) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(line)
    if "result" not in message or message["result"].get("isError"):
        raise RuntimeError(f"not the answer that was wanted: {line[:500]!r}")
    result: dict[str, Any] = message["result"]
    return result


def first_answer(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: str, errors: str, then_list: bool = False
) -> Cost:
    """From the start of a server to its answer to `initialize`, or to the list of tools; processor time until its end."""
    pipe = subprocess.PIPE
    with open(errors, "wb") as stderr:
        began = time.perf_counter()
        process = subprocess.Popen(argv, env=env, cwd=cwd, stdin=pipe, stdout=pipe, stderr=stderr)
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdout:
            with process.stdin:
                process.stdin.write(INITIALIZE)
                process.stdin.flush()
                answer = process.stdout.readline()
                if then_list and answer:
                    process.stdin.write(_READY + _LIST)
                    process.stdin.flush()
                    answer = process.stdout.readline()
                wall = time.perf_counter() - began
            _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if not answer:
        with open(errors, encoding="utf-8", errors="replace") as said:
            raise RuntimeError(f"no answer from {' '.join(argv)}: {said.read()[-2000:]}")
    _checked(answer)
    return Cost(wall, used.ru_utime + used.ru_stime)
