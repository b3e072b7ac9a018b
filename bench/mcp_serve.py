"""How fast an agent gets its tools, and how much each call of one costs, beside a server on the official SDK.

A speed that must be at least four times the SDK server's is written as a time that must be at most a quarter of its.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.mcp_pipe import PipeClient, first_answer
from bench.measuring import Cost, Series, interleaved
from bench.rows import Limits, Row, compared, figure
from bench.stage import BARE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bench.stage import Stage

__all__ = ["run"]

_SDK = "mcp==2.3.0"
_SERVERS = Path(__file__).parent / "servers"
_AT_ONCE = 32
_MANY = 200
_FEW_AND_MANY = (10, 1000)
_ECHO = {"name": "echo", "arguments": {"text": "hi"}}
_NOT_JUDGED = Limits()
_SMALL_FILE = "".join(f"line {number} of a small file\n" for number in range(1, 11))


def run(stage: Stage) -> list[Row]:
    servers = _Servers(stage)
    with servers.owner() as relay:
        return [
            *_first_answers(stage, servers, relay),
            *_calls(stage, servers, relay, modern=False),
            *_calls(stage, servers, relay, modern=True),
            *_lists(stage, servers),
            *_number_of_tools(stage, servers),
        ]


class _Servers:
    """What is started, and with which variables."""

    def __init__(self, stage: Stage) -> None:
        from awf.testing import peers

        self.stage = stage
        self.folder = stage.folder / "files"
        small = stage.write("files/small.txt", _SMALL_FILE)
        self.read_small = {"name": "Read", "arguments": {"file_path": small}}
        self.config = stage.write(
            "tools.json", json.dumps({"intercept_builtins": True, "root_dir": str(self.folder)})
        )
        self._sdk_environment = peers.peer_environment(stage.folder / "sdk-home")
        try:
            self._sdk = peers.python_peer(_SDK)
        except peers.PeerUnavailable as reason:
            self._sdk = ""
            stage.notes.append(f"mcp: nothing is compared with the official SDK: {reason}")

    def alone(self) -> list[str]:
        return self.stage.awf_argv("mcp-serve", f"--config={self.config}")

    def engine(self, tools: int) -> list[str]:
        return [sys.executable, str(_SERVERS / "engine_server.py"), str(tools)]

    def sdk(self, tools: int = 2) -> list[str]:
        return [self._sdk, str(_SERVERS / "sdk_server.py"), str(tools)]

    def environment(self, argv: list[str]) -> Mapping[str, str]:
        return self._sdk_environment if argv[0] == self._sdk else self.stage.environment

    @property
    def has_sdk(self) -> bool:
        return bool(self._sdk)

    def client(self, argv: list[str], *, modern: bool = False) -> PipeClient:
        return PipeClient(argv, env=self.environment(argv), cwd=str(self.stage.folder), modern=modern)

    @contextlib.contextmanager
    def owner(self) -> Iterator[list[str]]:
        """A process that owns tools, as a running workflow does; what an agent starts to reach them."""
        argv = [sys.executable, "-m", "awf.testing.tool_owner", str(self.folder)]
        pipe = subprocess.PIPE
        owner = subprocess.Popen(
            argv, env=self.stage.environment, cwd=self.stage.folder, stdin=pipe, stdout=pipe
        )
        assert owner.stdin is not None
        assert owner.stdout is not None
        with owner.stdout:
            with owner.stdin:
                yield json.loads(owner.stdout.readline())
            owner.wait(20)


def _first_answers(stage: Stage, servers: _Servers, relay: list[str]) -> list[Row]:
    errors = str(stage.folder / "stderr.txt")

    def starting(argv: list[str], *, then_list: bool = False) -> Callable[[], Cost]:
        env, cwd = servers.environment(argv), str(stage.folder)
        return lambda: first_answer(argv, env=env, cwd=cwd, errors=errors, then_list=then_list)

    contestants = {
        "bare": stage.process(*BARE),
        "relay": starting(relay),
        "typed": starting(stage.awf_argv("mcp-serve", relay[-1])),
        "alone": starting(servers.alone()),
        "no file": starting(stage.awf_argv("mcp-serve")),
        "relay list": starting(relay, then_list=True),
        "list": starting(servers.alone(), then_list=True),
    }
    if servers.has_sdk:
        contestants["sdk"] = starting(servers.sdk())
        contestants["sdk list"] = starting(servers.sdk(), then_list=True)
    taken = interleaved(stage.rounds(25), contestants)
    bare = taken["bare"]
    rows = [
        compared("mcp-serve relay, first answer / bare python", taken["relay"], bare, Limits(3, 2)),
        compared("mcp-serve relay as a person types it / bare python", taken["typed"], bare, Limits(3, 2)),
        compared("mcp-serve relay, first list of tools / bare python", taken["relay list"], bare),
        compared("mcp-serve alone, first answer / bare python", taken["alone"], bare, Limits(8, 5)),
        compared("mcp-serve alone without a file / bare python", taken["no file"], bare, Limits(8, 5)),
        compared("mcp-serve alone, first list of tools / bare python", taken["list"], bare),
    ]
    if servers.has_sdk:
        rows.append(compared("mcp-serve alone, first answer / SDK server", taken["alone"], taken["sdk"]))
        rows.append(compared("mcp-serve alone, first list / SDK server", taken["list"], taken["sdk list"]))
    return rows


def _calls(stage: Stage, servers: _Servers, relay: list[str], *, modern: bool) -> list[Row]:
    """Read of a small file and a tool that does nothing, one by one and at once; then the memory they took."""
    era = "2026-07-28" if modern else "2025-11-25"
    count = stage.size(500)
    argvs = {"alone": servers.alone(), "relay": relay, "engine": servers.engine(2)}
    if servers.has_sdk:
        argvs["sdk"] = servers.sdk()
    read, echo = _Load(count, servers.read_small), _Load(count, _ECHO)
    with contextlib.ExitStack() as stack:
        clients = {
            name: stack.enter_context(servers.client(argv, modern=modern)) for name, argv in argvs.items()
        }
        without_engine = {name: client for name, client in clients.items() if name != "engine"}
        alone = _in_turn(stage, without_engine, read)
        echoed = _in_turn(stage, {name: clients[name] for name in clients if name in {"engine", "sdk"}}, echo)
        burst = _in_turn(stage, without_engine, read._replace(width=_AT_ONCE))
        memory = {name: client.rss() for name, client in clients.items()}
    return [
        *_beside_sdk(f"Read, one by one, {era}: alone", alone, "alone", count, Limits(0.25)),
        *_beside_sdk(f"Read, one by one, {era}: relay", alone, "relay", count),
        *_beside_sdk(f"echo, one by one, {era}: engine", echoed, "engine", count),
        *_beside_sdk(f"Read, {_AT_ONCE} at once, {era}: alone", burst, "alone", count),
        *_beside_sdk(f"Read, {_AT_ONCE} at once, {era}: relay", burst, "relay", count),
        compared(
            f"Read, one by one, {era}: relay / alone, per call", alone["relay"], alone["alone"], per=count
        ),
        *_memory_rows(memory, era),
    ]


class _Load(NamedTuple):
    """So many requests, of which so many are on their way at any time."""

    count: int
    params: dict[str, Any]
    method: str = "tools/call"
    width: int = 1

    def put_on(self, client: PipeClient) -> Cost:
        if self.width == 1:
            return client.one_by_one(self.count, self.method, self.params)
        return client.at_once(self.count, self.width, self.method, self.params)


def _in_turn(stage: Stage, clients: Mapping[str, PipeClient], load: _Load) -> dict[str, Series]:
    return interleaved(
        stage.rounds(9), {name: partial(load.put_on, client) for name, client in clients.items()}
    )


def _beside_sdk(
    what: str, taken: Mapping[str, Series], ours: str, count: int, limits: Limits = _NOT_JUDGED
) -> list[Row]:
    """A row beside the SDK server where there is one, else a figure."""
    speed = f"{count / taken[ours].median:.0f}/s"
    if "sdk" not in taken:
        return [figure(what, speed)]
    row = compared(f"{what} / SDK server", taken[ours], taken["sdk"], limits, per=count)
    reference = f"{count / taken['sdk'].median:.0f}/s"
    return [row._replace(ours=f"{row.ours}, {speed}", reference=f"{row.reference}, {reference}")]


def _memory_rows(memory: Mapping[str, float], era: str) -> list[Row]:
    reference = f"{memory['sdk']:.1f} MB" if "sdk" in memory else "-"
    return [
        figure(f"memory after the calls, {era}: {name} / SDK server", f"{memory[name]:.1f} MB", reference)
        for name in ("alone", "relay", "engine")
    ]


def _lists(stage: Stage, servers: _Servers) -> list[Row]:
    """Six tools are what `mcp-serve` has by itself; the SDK server gets as many."""
    rows: list[Row] = []
    for number, ours in ((6, servers.alone()), (_MANY, servers.engine(_MANY))):
        argvs = {"ours": ours, **({"sdk": servers.sdk(number)} if servers.has_sdk else {})}
        load = _Load(stage.size(200), {}, "tools/list")
        with contextlib.ExitStack() as stack:
            clients = {name: stack.enter_context(servers.client(argv)) for name, argv in argvs.items()}
            for client in clients.values():
                assert len(client.ask("tools/list", {})["tools"]) == number
            taken = _in_turn(stage, clients, load)
        rows += _beside_sdk(f"tools/list, {number} tools", taken, "ours", load.count)
    return rows


def _number_of_tools(stage: Stage, servers: _Servers) -> list[Row]:
    """The cost of a call must not grow with the number of tools beside it."""
    few, many = _FEW_AND_MANY
    count = stage.size(1000)
    with servers.client(servers.engine(few)) as small, servers.client(servers.engine(many)) as large:
        taken = _in_turn(stage, {"few": small, "many": large}, _Load(count, _ECHO))
    what = f"echo, engine with {many} tools / with {few} tools, per call"
    return [compared(what, taken["many"], taken["few"], Limits(1.2, 1.05), per=count)]
