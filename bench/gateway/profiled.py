"""Where the processor time of a call goes inside the gateway, as notes below the table."""

from __future__ import annotations

import pstats
import signal
import sys
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import uvloop

from bench.gateway import processes
from bench.gateway.load import Load, echo, listing, put_on
from bench.gateway.starting import started
from bench.gateway.waiting import until
from bench.gateway.wire import NoAnswer

if TYPE_CHECKING:
    from pathlib import Path

    from bench.gateway.targets import Bench, Setting, Target

__all__ = ["profile_notes"]

_CALLS = 20_000
_LISTS = 2000
_SHOWN = 40
_FOLDERS_SHOWN = 20
# The profile is of the calls only: signals say when it begins and ends.
_PROFILED = """
import cProfile, signal, sys
from awf.__main__ import main
profile = cProfile.Profile()
file = sys.argv.pop(1)
def begin(*_): profile.enable()
def finish(*_):
    profile.disable()
    profile.dump_stats(file)
signal.signal(signal.SIGUSR1, begin)
signal.signal(signal.SIGUSR2, finish)
main()
"""


def profile_notes(bench: Bench) -> list[str]:
    calls, lists = bench.stage.size(_CALLS), bench.stage.size(_LISTS)
    return [
        *_notes(bench, "http", "tools/call", echo(calls, 32)),
        *_notes(bench, "stdio", "tools/call", echo(calls, 32)),
        *_notes(bench, "stdio", "tools/list", listing(lists)),
    ]


def _notes(bench: Bench, back: str, what: str, load: Load) -> list[str]:
    ours = bench.ours("http", back)
    file = bench.stage.folder / f"profile-{back}-{what.rpartition('/')[2]}"
    uvloop.run(_profiled(bench, _under_profile(ours, file), file, load))
    found = pstats.Stats(str(file)).stats  # type: ignore[attr-defined]
    name = f"{what}, {ours.path}"
    return [_by_folder(name, found, load.total), _by_function(name, found, load.total)]


def _under_profile(target: Target, file: Path) -> Target:
    plain = target.command
    assert plain is not None

    def command(setting: Setting) -> list[str]:
        argv = plain(setting)
        return [sys.executable, "-c", _PROFILED, str(file), *argv[argv.index("gateway") :]]

    return target._replace(command=command)


async def _profiled(bench: Bench, target: Target, file: Path, load: Load) -> None:
    async with started(bench, target) as running:
        await put_on(running.peer, echo(500, 32))
        processes.own(running.pid)[0].send_signal(signal.SIGUSR1)
        await put_on(running.peer, load)
        processes.own(running.pid)[0].send_signal(signal.SIGUSR2)
        await running.peer.ask("tools/list", {})  # the loop turns, so the signal is seen
        if not await until(file.exists, 20):
            raise NoAnswer("the gateway wrote no profile")


def _by_function(path: str, found: dict[Any, Any], calls: int) -> str:
    unit = 1e6 / calls
    rows = sorted(
        ((own, below, number, place) for place, (_, number, own, below, _) in found.items()), reverse=True
    )
    lines = [
        f"  {own * unit:8.2f} {below * unit:8.2f} {number / calls:7.2f}  {_name(place)}"
        for own, below, number, place in rows[:_SHOWN]
    ]
    total = sum(number for _, _, number, _ in rows) / calls  # the same on every machine, busy or not
    head = f"Profile of {path}, each call, {total:.0f} functions: own µs, µs with what it calls, calls"
    return "\n".join([head, *lines])


def _by_folder(path: str, found: dict[Any, Any], calls: int) -> str:
    """What is built in counts where it was called from."""
    spent: dict[str, float] = defaultdict(float)
    for place, (_, _, own, _, callers) in found.items():
        if place[0] != "~":
            spent[_folder(place[0])] += own
            continue
        for caller, (_, _, part, _) in callers.items():
            spent[_folder(caller[0])] += part
    ranked = sorted(spent.items(), key=lambda item: -item[1])[:_FOLDERS_SHOWN]
    lines = [f"  {seconds * 1e6 / calls:8.2f}  {folder}" for folder, seconds in ranked]
    total = sum(spent.values()) * 1e6 / calls
    return "\n".join([f"Profile of {path}, by file: own µs of {total:.1f} for each call", *lines])


def _folder(file: str) -> str:
    return "built in" if file == "~" else "/".join(file.rsplit("/", 3)[-3:])


def _name(place: tuple[str, int, str]) -> str:
    file, line, function = place
    return function if file == "~" else f"{_folder(file)}:{line} {function}"
