"""A hundred changes of the configuration while calls go through: none of them may notice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import uvloop

from bench.gateway import processes
from bench.gateway.books import Books
from bench.gateway.http_wire import HttpPeer
from bench.gateway.listening import listen, open_stream
from bench.gateway.starting import started
from bench.gateway.targets import Bench, Setting, config_of
from bench.gateway.waiting import until
from bench.gateway.wire import LEGACY, MODERN, NoAnswer
from bench.rows import Limits, Row, counted, figure

if TYPE_CHECKING:
    from pathlib import Path

    from bench.gateway.listening import Stream
    from bench.gateway.starting import Running
    from bench.gateway.targets import Target
    from bench.stage import Stage

__all__ = ["run"]

_RELOADS = 100
_WIDTH = 8  # connections in each era
_PATIENCE = 15.0  # seconds for a change to be seen and heard
_LOOK = 0.01
_GROWN = Limits(8, 2, " MB")
_SETTLED = 10  # reloads after which memory is looked at first


def run(stage: Stage, reloads: int = _RELOADS) -> list[Row]:
    bench = Bench(stage)
    trial = _Reloading(bench, min(reloads, 6) if stage.quick else reloads)
    try:
        uvloop.run(trial.hold())
    except NoAnswer as error:
        return [
            figure("reload", f"not measured: {' '.join(str(error).split())[:160]}"),
            counted("reload: could not be started", 1),
        ]
    stage.notes += [f"reload: {text}" for text in trial.remarks]
    return trial.rows()


class _Reloading:
    def __init__(self, bench: Bench, reloads: int) -> None:
        self._bench, self._reloads = bench, reloads
        self._pids = bench.stage.folder / "reload-pids.txt"
        self._setting: Setting
        self.remarks: list[str] = []
        self._seen: dict[str, list[float]] = {"SIGHUP": [], "a change of the file": []}
        self._heard = {LEGACY: 0, MODERN: 0}
        self._second_answered = self._leftovers = 0
        self._early = self._late = 0.0
        self._books: Books

    # -- the gateway and its file ------------------------------------------------------------------------------------

    def _target(self) -> Target:
        plain = self._bench.ours("http", "stdio")
        made = plain.command
        assert made is not None

        def command(setting: Setting) -> list[str]:
            argv = made(setting)  # it writes the file, too
            self._setting = setting
            self._write(0)
            return argv

        return plain._replace(command=command)

    @property
    def _file(self) -> Path:
        return self._setting.folder / "gateway.json"

    def _write(self, number: int) -> None:
        """In one piece, as editors do it."""
        text = json.dumps(self._config(number))
        beside = self._file.with_suffix(".new")
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, self._file)

    def _config(self, number: int) -> dict[str, Any]:
        """Every other one has a tool under another name, one more described, and one more server."""
        config = config_of(self._setting, "stdio")
        overrides = {"up:tool_0001": {"rename": _renamed(number)}}
        if number % 2:
            second = self._bench.upstream("--stdio", "--tools", "3", "--prefix", "second_")
            config["mcpServers"]["second"] = {"command": second[0], "args": second[1:]}
            overrides["up:tool_0002"] = {"description": f"Change {number}."}
        return {**config, "overrides": overrides}

    # -- reloading ---------------------------------------------------------------------------------------------------

    async def hold(self) -> None:
        options = ("--delay-ms", "4", "--spread", "--pid-file", str(self._pids))
        async with started(self._bench, self._target(), 10, *options) as running:
            url = running.access.url
            callers = [HttpPeer(url, LEGACY), HttpPeer(url, MODERN)]
            onlookers = {LEGACY: HttpPeer(url, LEGACY), MODERN: HttpPeer(url, MODERN)}
            for peer in (*callers, *onlookers.values()):
                await peer.hello()
            streams = {LEGACY: await open_stream(onlookers[LEGACY]), MODERN: await listen(onlookers[MODERN])}
            self._books = Books(callers, running.access.tool, None)
            await self._books.begin(_WIDTH)
            try:
                for number in range(1, self._reloads + 1):
                    await self._reload(running, number, onlookers, streams)
                    if number == min(_SETTLED, self._reloads):
                        self._early = processes.megabytes(running.processes())
            finally:
                self._books.stop()
            await self._books.finished()
            self._late = processes.megabytes(running.processes())
            self._leftovers = (
                len(processes.own(running.pid, with_upstream=True)) - len(running.processes()) - 1
            )
            for stream in streams.values():
                stream.close()
            for peer in (*callers, *onlookers.values()):
                await peer.close()

    async def _reload(
        self, running: Running, number: int, onlookers: dict[str, HttpPeer], streams: dict[str, Stream]
    ) -> None:
        before = {era: stream.changes for era, stream in streams.items()}
        # In pairs, so that each kind brings the second server as often as it takes it away.
        kind = "SIGHUP" if number % 4 in {1, 2} else "a change of the file"
        began = time.perf_counter()
        self._write(number)
        if kind == "SIGHUP":
            os.kill(running.pid, signal.SIGHUP)
        seen = False
        while time.perf_counter() - began < _PATIENCE and not seen:
            seen = all([_shows(await _names(peer), number) for peer in onlookers.values()])
            await asyncio.sleep(0 if seen else _LOOK)
        if not seen:
            self._remark(f"change {number} by {kind} was not seen within {_PATIENCE:g} s")
            return
        self._seen[kind].append(time.perf_counter() - began)
        if number % 2:
            await self._ask_the_second(onlookers[MODERN], number)
        for era, stream in streams.items():
            left = _PATIENCE - (time.perf_counter() - began)
            heard = await until(partial(_heard_more, stream, before[era]), left)
            self._heard[era] += heard
            if not heard:
                self._remark(f"change {number} by {kind} was not heard in {era}; closed: {stream.closed}")

    async def _ask_the_second(self, peer: HttpPeer, number: int) -> None:
        text = f"second {number}"
        try:
            result = await peer.ask("tools/call", {"name": "second_echo", "arguments": {"text": text}})
        except NoAnswer as error:
            self._remark(f"the second server, change {number}: {error}")
            return
        self._second_answered += result["content"][0]["text"] == text

    def _remark(self, text: str) -> None:
        if len(self.remarks) < 10:
            self.remarks.append(text)

    # -- what came of it ---------------------------------------------------------------------------------------------

    def rows(self) -> list[Row]:
        books, total = self._books, self._reloads
        self.remarks += [*books.worst, *(failure.text for failure in books.failures[:3])]
        starts = len(self._pids.read_text("ascii").split())
        grown = self._late - self._early
        memory = f"{self._early:.1f} to {self._late:.1f} MB: {grown:+.1f} MB"
        seen = sum(map(len, self._seen.values()))
        return [
            figure("reload: calls meanwhile", str(books.answered)),
            _at_least("  changes of the configuration that took effect", seen, total),
            *(figure(f"  from {kind} until all see it", _times(taken)) for kind, taken in self._seen.items()),
            counted("  calls that failed", len(books.failures)),
            counted("  answers lost", books.lost),
            counted("  answers that nobody waited for", books.unasked),
            counted("  answers of another call", books.foreign),
            counted("  starts of the server that did not change", starts, 1),
            _at_least("  list_changed heard by a session with a GET stream", self._heard[LEGACY], total),
            _at_least("  list_changed heard by a subscriptions/listen", self._heard[MODERN], total),
            _at_least(
                "  right answers of the server that comes and goes", self._second_answered, (total + 1) // 2
            ),
            counted("  servers left over", self._leftovers, total % 2),
            figure("  memory after ten changes and after all", memory, limits=_GROWN, judged=grown)._replace(
                by_the_clock=False
            ),
        ]


def _heard_more(stream: Stream, before: int) -> bool:
    return stream.changes > before


def _renamed(number: int) -> str:
    return f"renamed_{number % 2}"


def _shows(names: set[str], number: int) -> bool:
    stale = _renamed(number + 1) in names
    return _renamed(number) in names and not stale and ("second_echo" in names) == bool(number % 2)


async def _names(peer: HttpPeer) -> set[str]:
    return {tool["name"] for tool in (await peer.ask("tools/list", {}))["tools"]}


def _times(taken: list[float]) -> str:
    if not taken:
        return "-"
    return f"{statistics.median(taken) * 1e3:.0f} ms, slowest {max(taken) * 1e3:.0f} ms"


def _at_least(what: str, found: int, wanted: int) -> Row:
    limits = Limits(wanted, unit="", at_least=True)
    return Row(what, str(found), limits=limits, judged=found, by_the_clock=False)
