"""Requests to a program that are begun at the end of a turn go out in one piece: each of them once, or never."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from functools import partial
from pathlib import Path

import pytest

from awf.domain.mcp_server import McpServer
from awf.domain.ports.upstream import Guise
from awf.infrastructure.upstreams import ServerWays
from awf.testing.held_turn import HeldTurn

PATIENT = 30.0
ODD = str(Path(__file__).parent / "odd_server.py")


def _tell(told, *outcome):
    told.set_result(outcome)  # fails when it is told twice


class Deaf:
    """A `Hearer` of nothing."""

    def notified(self, message, tag): ...
    async def asked(self, message, tag): ...
    def paused(self, tag): ...


class Bench:
    """A client of the odd server. `pieces`: what was offered to its pipe at once, and whether that was taken."""

    def __init__(self, client, turn):
        self.client, self.turn = client, turn
        self.pieces = []
        self.process = client._channel._process
        self._write_now = self.process.write_now
        self.process.write_now = self._watched

    def _watched(self, data):
        taken = self._write_now(data)
        self.pieces.append((data, taken))
        return taken

    def begin(self, *texts, then=lambda _: None):
        """Together, and `then` what comes before the end of the turn. What was begun, and how it ends."""
        begun = []

        def work():
            for text in texts:
                told = asyncio.get_running_loop().create_future()
                params = {"name": "echo", "arguments": {"text": text}}
                pending = self.client.begin("tools/call", params, partial(_tell, told))
                begun.append((pending, told))
            then(begun)

        self.turn.at_end(work)
        self.turn.end()
        return begun

    async def said(self, outcomes):
        async with asyncio.timeout(PATIENT):
            ended = [await told for _, told in outcomes]
        assert [error for _, error in ended] == [None] * len(ended)
        return [result["content"][0]["text"] for result, _ in ended]


@pytest.fixture
async def bench(runner, tmp_path):
    turn = HeldTurn()
    options = ["--log", str(tmp_path / "log"), "--starts", str(tmp_path / "starts")]
    server = McpServer(command=sys.executable, args=[ODD, *options])
    ways = ServerWays("odd", server, runner, dict(os.environ), lambda: None, None, turn)
    client = ways.open(Guise(), Deaf())
    await client.connect()
    yield Bench(client, turn)
    await client.close()


@pytest.fixture
def arrived(tmp_path, received):
    """The texts that the server was called with, in their order."""
    return lambda: [
        one["params"]["arguments"]["text"]
        for one in received(tmp_path / "log")
        if one.get("method") == "tools/call"
    ]


async def test_they_are_written_together_and_each_has_its_own_answer(bench, arrived):
    texts = [f"text {number}" for number in range(5)]
    begun = bench.begin(*texts)
    assert len(bench.pieces) == 1
    assert await bench.said(begun) == texts == arrived()


async def test_nothing_is_written_before_all_are_begun(bench):
    seen = []
    bench.turn.at_end(lambda: bench.client.begin("tools/call", {"name": "echo"}, lambda *_: None))
    bench.turn.at_end(lambda: seen.append(len(bench.pieces)))
    bench.turn.end()
    assert (seen, len(bench.pieces)) == ([0], 1)


async def test_one_that_is_begun_by_itself_is_written_at_once(bench):
    assert bench.client.begin("tools/call", {"name": "echo"}, lambda *_: None) is not None
    assert len(bench.pieces) == 1
    assert bench.turn.works == []


async def test_no_piece_is_longer_than_a_pipe_takes_as_a_whole(bench, arrived):
    texts = [f"{number}:{'x' * 1300}" for number in range(20)]
    begun = bench.begin(*texts)
    assert len(bench.pieces) > 5
    assert all(len(data) <= select.PIPE_BUF for data, _ in bench.pieces)
    assert await bench.said(begun) == texts == arrived()


@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_one_at_the_limit_of_a_pipe_is_sent_as_a_whole_or_not_at_all(bench, more):
    frame = len(
        b'{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"echo","arguments":{"text":""}}}\n'
    )
    [(pending, told)] = bench.begin("x" * (select.PIPE_BUF - frame + more))
    if pending is None:  # whoever has asked goes another way
        assert not any(taken for _, taken in bench.pieces)
    else:
        assert len(await bench.said([(pending, told)])) == 1


async def test_one_that_is_cancelled_meanwhile_is_never_heard_of(bench, arrived, received, tmp_path):
    begun = bench.begin("a", "b", "c", then=lambda begun: begun[1][0].cancel())
    assert await bench.said([begun[0], begun[2]]) == ["a", "c"] == arrived()
    assert not begun[1][1].done()
    assert await bench.said(bench.begin("d")) == ["d"]  # nothing was on its way behind them
    assert [one for one in received(tmp_path / "log") if one.get("method") == "notifications/cancelled"] == []


async def test_where_the_pipe_is_full_they_wait_for_it_and_none_is_lost_or_doubled(bench, arrived):
    os.kill(bench.process.pid, signal.SIGSTOP)
    texts, outcomes = [], []
    while all(taken for _, taken in bench.pieces):
        some = [f"{len(texts) + number}:{'x' * 900}" for number in range(8)]
        texts += some
        outcomes += bench.begin(*some)
    outcomes[-1][0].cancel()
    os.kill(bench.process.pid, signal.SIGCONT)
    assert await bench.said(outcomes[:-1]) == texts[:-1]
    assert sorted(text for text in arrived() if text != texts[-1]) == sorted(texts[:-1])


async def test_what_a_server_that_has_ended_cannot_have_read_is_sent_to_the_next_one(
    bench, arrived, tmp_path
):
    process = bench.process

    def kill(_):
        os.kill(process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # its pipe is closed, and nobody knows yet

    begun = bench.begin("a", "b", then=kill)
    assert [taken for _, taken in bench.pieces] == [False]
    assert await bench.said(begun) == ["a", "b"]
    assert bench.client._channel._process is not process
    assert len((tmp_path / "starts").read_text(encoding="utf-8").split()) == 2
    assert sorted(arrived()) == ["a", "b"]
