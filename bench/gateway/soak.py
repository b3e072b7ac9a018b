"""Many calls through the gateway while the server behind it is killed again and again.

A call may fail only if it was on its way to a server that died: sent before that server was over, answered after the
kill. Every other call has to wait for the next server and get its own answer, once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import statistics
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil
import uvloop

from bench.gateway import processes
from bench.gateway.books import Books
from bench.gateway.http_wire import HttpPeer
from bench.gateway.starting import started
from bench.gateway.targets import UPSTREAM, Bench
from bench.gateway.waiting import until
from bench.gateway.wire import LEGACY, MODERN, NoAnswer
from bench.rows import Limits, Row, counted, figure

if TYPE_CHECKING:
    from bench.gateway.books import Failure
    from bench.gateway.starting import Running
    from bench.stage import Stage

__all__ = ["run"]

_CALLS, _CONNECTIONS, _KILL_EVERY = 100_000, 64, 5.0
_DELAY_MS = 40  # on average; so all connections have a call on its way when the server dies
_EARLY = 0.2  # the share of the calls after which memory is looked at first
_KINDS = 8  # of errors that are shown
_GROWN = Limits(5, 1, " MB")


class Kill(NamedTuple):
    at: float
    over: float  # when the process was gone


def run(
    stage: Stage, calls: int = _CALLS, connections: int = _CONNECTIONS, kill_every: float = _KILL_EVERY
) -> list[Row]:
    bench = Bench(stage)
    if stage.quick:
        calls, kill_every = min(calls, 2000), min(kill_every, 0.7)
    soak = _Soak(stage.folder / "soak-pids.txt", stage.folder / "soak-calls.txt", kill_every)
    soak.most_kills = (
        2 if stage.quick else None
    )  # a gateway leaves a server alone that dies too often too soon
    try:
        uvloop.run(soak.hold(bench, calls, connections))
    except NoAnswer as error:
        return [
            figure("soak", f"not measured: {' '.join(str(error).split())[:160]}"),
            counted("soak: could not be started", 1),
        ]
    stage.notes += [f"soak: {text}" for text in soak.remarks()]
    return soak.rows()


class _Soak:
    def __init__(self, pids: Path, ran: Path, kill_every: float) -> None:
        self._pids, self._ran, self._kill_every = pids, ran, kill_every
        self.most_kills: int | None = None
        self.kills: list[Kill] = []
        self.recoveries: list[float] = []
        self.seconds = self.early = self.late = 0.0
        self.books: Books

    async def hold(self, bench: Bench, calls: int, connections: int) -> None:
        files = ("--pid-file", str(self._pids), "--calls-file", str(self._ran))
        slow = ("--delay-ms", str(_DELAY_MS), "--spread")
        async with started(bench, bench.ours("http", "stdio"), 10, *slow, *files) as running:
            peers = [HttpPeer(running.access.url, protocol) for protocol in (LEGACY, MODERN)]
            for peer in peers:
                await peer.hello()
            self.books = Books(peers, running.access.tool, calls)
            self.books.on_right = self._recovered
            await self._through(running, calls, max(1, connections // 2))
            for peer in peers:
                await peer.close()

    async def _through(self, running: Running, calls: int, width: int) -> None:
        began = time.perf_counter()
        loop = asyncio.get_running_loop()
        killer = loop.create_task(self._keep_killing())
        watcher = loop.create_task(self._look_early(running, int(calls * _EARLY)))
        try:
            await self.books.begin(width)
            await self.books.finished()
        finally:
            self.books.stop()
            for task in (killer, watcher):
                task.cancel()
            await asyncio.gather(killer, watcher, return_exceptions=True)
        self.seconds = time.perf_counter() - began
        self.late = processes.megabytes(running.processes())

    async def _look_early(self, running: Running, after: int) -> None:
        await until(lambda: self.books.answered >= after)
        self.early = processes.megabytes(running.processes())

    # -- killing -----------------------------------------------------------------------------------------------------

    async def _keep_killing(self) -> None:
        last = 0
        while self.most_kills is None or len(self.kills) < self.most_kills:
            await asyncio.sleep(self._kill_every)
            await until(
                lambda: len(self.recoveries) == len(self.kills)
            )  # it has answered: it is no failed start
            await until(lambda last=last: self._running_server() not in {0, last})  # type: ignore[misc]
            pid = self._running_server()
            at = time.perf_counter()
            os.kill(pid, signal.SIGKILL)
            await until(lambda pid=pid: not _is_alive(pid), look=0)  # type: ignore[misc]
            self.kills.append(Kill(at, time.perf_counter()))
            last = pid

    def _running_server(self) -> int:
        """The one that started last, if it is really ours; 0 while there is none."""
        with contextlib.suppress(OSError, psutil.Error):
            pid = int(self._pids.read_text("ascii").split()[-1])
            if str(UPSTREAM) in psutil.Process(pid).cmdline() and _is_alive(pid):
                return pid
        return 0

    def _recovered(self, sent: float) -> None:
        if len(self.recoveries) < len(self.kills) and sent > self.kills[-1].over:
            self.recoveries.append(time.perf_counter() - self.kills[-1].over)

    # -- what came of it ---------------------------------------------------------------------------------------------

    def _excused(self, failure: Failure) -> bool:
        return any(failure.sent <= kill.over and failure.answered >= kill.at for kill in self.kills)

    def rows(self) -> list[Row]:
        books = self.books
        ran = Counter(self._ran.read_text("ascii").split())
        twice = sum(number > 1 for number in ran.values())
        invented = len(books.right_tokens - ran.keys())
        excused = sum(map(self._excused, books.failures))
        grown = self.late - self.early
        memory = f"{self.early:.1f} to {self.late:.1f} MB: {grown:+.1f} MB"
        recovery = f"{statistics.median(self.recoveries) * 1e3:.0f} ms" if self.recoveries else "-"
        slowest = f"slowest {max(self.recoveries, default=0) * 1e3:.0f} ms"
        speed = f"{books.answered} in {self.seconds:.1f} s, {books.answered / self.seconds:.0f}/s"
        at_least_one = Limits(1, unit="", at_least=True)
        return [
            figure("soak: calls", speed),
            counted("  kills of the server behind", len(self.kills))._replace(limits=at_least_one),
            counted("  answers lost", books.lost),
            counted("  answers that nobody waited for", books.unasked),
            counted("  answers of another call", books.foreign),
            counted("  right answers to calls that no server ran", invented),
            counted("  calls that ran twice", twice),
            counted(
                "  errors of calls that were not on their way to a dying server",
                len(books.failures) - excused,
            ),
            figure("  errors of those that were", str(excused)),
            figure("  from the end of a server to the next right answer", f"{recovery}, {slowest}"),
            figure(
                "  memory after a fifth of the calls and after all", memory, limits=_GROWN, judged=grown
            )._replace(by_the_clock=False),
        ]

    def remarks(self) -> list[str]:
        """The texts of the errors, and when after the end of a server those calls were sent that had no excuse."""
        kinds: dict[tuple[bool, str], list[float]] = defaultdict(list)
        for failure in self.books.failures:
            kinds[self._excused(failure), failure.text[:200]].append(self._after_an_end(failure))
        ranked = sorted(kinds.items(), key=lambda item: -len(item[1]))[:_KINDS]
        return [*self.books.worst, *(_remark(*kind, after) for kind, after in ranked)]

    def _after_an_end(self, failure: Failure) -> float:
        """Milliseconds."""
        before = [kill.over for kill in self.kills if kill.over <= failure.sent]
        return (failure.sent - before[-1]) * 1e3 if before else 0.0


def _remark(excused: bool, text: str, after: list[float]) -> str:
    if excused:
        return f"{len(after)} excused: {text}"
    return f"{len(after)} without excuse, sent {min(after):.0f} to {max(after):.0f} ms after the end: {text}"


def _is_alive(pid: int) -> bool:
    """A zombie is over: its pipes are closed."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}
