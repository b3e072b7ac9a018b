"""How a client is spoken to over HTTP: one answer, or a stream that may be lost and taken up again."""

from __future__ import annotations

import asyncio
import json

import pytest

from awf.domain.ports.http_server import ClientGone, HttpReply
from awf.interfaces.mcp.gateway import reach as module
from awf.interfaces.mcp.gateway.event_log import EventLog
from awf.interfaces.mcp.gateway.reach import AnswerReach, StandingReach


class Stream:
    def __init__(self, gone=False):
        self.written, self.closed, self.gone = [], 0, gone
        self.taken = asyncio.Event()
        self.drains = 0

    def write(self, data):
        if self.gone:
            raise ClientGone
        self.written.append(data)

    async def drained(self):
        self.drains += 1
        await self.taken.wait()
        if self.gone:
            raise ClientGone

    def close(self):
        self.closed += 1

    @property
    def text(self):
        return b"".join(self.written).decode()


class Request:
    def __init__(self, gone=False):
        self.gone, self.streams = gone, []

    def stream(self, status, headers):
        if self.gone:
            raise ClientGone
        self.streams.append(Stream())
        self.begun = status, dict(headers)
        return self.streams[-1]


@pytest.fixture
def request_():
    return Request()


def reach_for(request, *, streams=True, logged=False, primed=False):
    logs = iter([EventLog("7"), None])
    return AnswerReach(
        request,
        (("X", "y"),),
        streams=streams,
        new_log=(lambda: next(logs)) if logged else None,
        primed=primed,
    )


async def test_an_answer_with_nothing_before_it_is_plain_json(request_):
    reach = reach_for(request_)
    reply = reach.finish(b"{}", 404)
    assert reply == HttpReply(404, (("Content-Type", "application/json"), ("X", "y")), b"{}")
    assert not reach.streaming


async def test_what_is_said_before_the_answer_makes_it_a_stream(request_):
    reach = reach_for(request_)
    assert reach.send({"method": "m"})
    assert reach.streaming
    assert reach.finish(b"{}") is None
    assert request_.begun[0] == 200
    assert request_.begun[1]["Content-Type"] == "text/event-stream"
    assert request_.begun[1]["X"] == "y"
    assert request_.streams[0].text == 'data: {"method":"m"}\n\ndata: {}\n\n'
    assert request_.streams[0].closed == 1


async def test_a_client_that_takes_no_streams_hears_only_the_answer(request_):
    reach = reach_for(request_, streams=False)
    assert not reach.send({"method": "m"})
    reach.pause()
    assert json.loads(reach.finish(b"{}").body) == {}


async def test_a_stream_that_can_be_taken_up_again_begins_with_its_place_where_that_is_understood(request_):
    reach = reach_for(request_, logged=True, primed=True)
    reach.send({"n": 1})
    reach.finish(b"{}")
    assert request_.streams[0].text == 'id: 7-0\ndata: \n\nid: 7-1\ndata: {"n":1}\n\nid: 7-2\ndata: {}\n\n'
    assert reach.log.complete
    other = Request()
    older = reach_for(other, logged=True)
    older.send({"n": 1})
    assert other.streams[0].text == 'id: 7-1\ndata: {"n":1}\n\n'


async def test_a_client_that_left_before_its_stream_began_hears_nothing_on_it():
    reach = reach_for(Request(gone=True))
    assert not reach.send({"n": 1})
    assert reach.open() is None
    assert reach.finish(b"{}") is not None


async def test_a_client_that_never_had_the_stream_cannot_come_back_for_it_and_is_told_elsewhere():
    """What is said then must go by another way: nobody can ask for the rest of a stream they never saw."""
    assert not reach_for(Request(gone=True), logged=True).send({"n": 1})


async def test_a_stream_that_breaks_off_is_lost_or_kept_for_the_client(request_):
    lost = reach_for(request_)
    lost.send({"n": 1})
    request_.streams[0].gone = True
    assert not lost.send({"n": 2})
    assert not lost.send({"n": 3})
    assert lost.finish(b"{}") is None
    kept = reach_for(request_, logged=True)
    kept.send({"n": 1})
    request_.streams[1].gone = True
    assert kept.send({"n": 2})
    kept.finish(b"{}")
    assert len(kept.log.after(1)) == 2


async def test_a_client_comes_back_for_the_rest(request_):
    reach, ended = reach_for(request_, logged=True), []
    for number in range(3):
        reach.send({"n": number})
    request_.streams[0].gone = True
    stream = Stream()
    reach.attach(stream, 1, lambda: ended.append(True))
    reach.send({"n": 3})
    assert not ended
    reach.finish(b"{}")
    assert [line for line in stream.text.splitlines() if line.startswith("id")] == [
        f"id: 7-{number}" for number in range(2, 6)
    ]
    assert stream.closed == 1
    assert ended == [True]


async def test_whoever_comes_back_twice_is_on_the_latest_stream_and_the_other_ends(request_):
    reach, ended = reach_for(request_, logged=True), []
    reach.send({"n": 0})
    first, second = Stream(), Stream()
    reach.attach(first, 0, lambda: ended.append(1))
    reach.attach(second, 0, lambda: ended.append(2))
    reach.finish(b"{}")
    assert "id: 7-2" in second.text
    assert "id: 7-2" not in first.text
    assert sorted(ended) == [1, 2]


async def test_a_pause_sends_clients_away_that_know_how_to_come_back(request_):
    reach = reach_for(request_, logged=True, primed=True)
    reach.pause()
    stream = request_.streams[0]
    assert stream.text == f"id: 7-0\ndata: \n\nid: 7-0\nretry: {module.RETRY_MS}\ndata: \n\n"
    assert stream.closed == 1
    reach.pause()
    assert stream.closed == 1
    assert reach.send({"n": 1})
    assert reach.log.after(0)


@pytest.mark.parametrize(("logged", "primed"), [(False, False), (True, False), (False, True)])
async def test_a_pause_means_nothing_to_others(request_, logged, primed):
    reach = reach_for(request_, logged=logged, primed=primed)
    reach.pause()
    assert not request_.streams


async def test_a_pulse_is_sent_only_on_a_stream(request_):
    reach = reach_for(request_)
    reach.pulse()
    assert not request_.streams
    reach.open()
    reach.pulse()
    assert request_.streams[0].text == ": \n\n"


async def test_a_request_that_is_given_up_ends_its_stream_or_is_accepted(request_):
    assert reach_for(request_).abandon() == HttpReply(202)
    reach, ended = reach_for(request_, logged=True), []
    reach.send({"n": 1})
    assert reach.abandon() is None
    assert request_.streams[0].closed == 1
    reach.attach(Stream(), 0, lambda: ended.append(True))
    assert reach.abandon() is None
    assert ended == [True]


# -- clients that do not read ----------------------------------------------------------------------------------------


async def test_a_client_that_falls_behind_is_watched_and_forgiven_when_it_reads(monkeypatch, until):
    monkeypatch.setattr(module, "UNREAD_CHECK", 10)
    monkeypatch.setattr(module, "UNREAD_LIMIT", 100)
    stream = Stream()
    reach = StandingReach(stream)
    for _ in range(3):
        assert reach.raw(b"x" * 20)
    await asyncio.sleep(0)
    assert stream.drains == 1
    stream.taken.set()
    await until(lambda: not reach._outlet._unread)
    assert reach.raw(b"x" * 60)
    assert reach.open


async def test_a_client_that_reads_nothing_is_given_up(monkeypatch):
    monkeypatch.setattr(module, "UNREAD_CHECK", 10)
    monkeypatch.setattr(module, "UNREAD_LIMIT", 100)
    stream = Stream()
    reach = StandingReach(stream)
    for _ in range(6):
        reach.raw(b"x" * 20)
    assert not reach.open
    assert not reach.raw(b"x")
    stream.taken.set()
    await asyncio.sleep(0)


async def test_a_client_that_leaves_while_it_is_behind_is_gone(monkeypatch):
    monkeypatch.setattr(module, "UNREAD_CHECK", 10)
    stream = Stream()
    reach = StandingReach(stream)
    reach.raw(b"x" * 20)
    await asyncio.sleep(0)
    stream.gone = True
    stream.taken.set()
    async with asyncio.timeout(30):
        while reach.open:
            await asyncio.sleep(0)


# -- what is said between requests -----------------------------------------------------------------------------------


async def test_what_is_said_between_requests_goes_out_as_events():
    stream, closed = Stream(), []
    reach = StandingReach(stream)
    reach.pulse()
    reach.pause()
    assert reach.send({"n": 1})
    assert reach.write(b"x", "endpoint")
    assert stream.text == ': \n\ndata: {"n":1}\n\nevent: endpoint\ndata: x\n\n'
    reach.on_close(lambda: closed.append(True))
    reach.close()
    assert (stream.closed, closed) == (1, [True])
    assert not reach.send({"n": 2})
    reach.close()
    assert stream.closed == 1
    StandingReach(Stream()).close()


async def test_what_is_said_between_requests_may_be_kept():
    log = EventLog("9")
    assert StandingReach(Stream(), log).send({"n": 1})
    assert log.after(0) == [b'id: 9-1\ndata: {"n":1}\n\n']
