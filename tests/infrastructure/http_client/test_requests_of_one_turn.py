"""Requests that are begun in one turn go out together at its end: each of them once, or never."""

from __future__ import annotations

import asyncio
import re

import pytest

from awf.domain.ports.http_client import HttpBroken
from awf.infrastructure.http_client import LeanHttpClient
from awf.infrastructure.loop_turn import LoopTurn
from awf.testing.held_turn import HeldTurn
from awf.testing.loopback import Loopback

pytestmark = pytest.mark.anyio

PATIENCE = 30


class Echo(Loopback):
    """Answers each request with its body. What comes first on a connection is its name."""

    def __init__(self):
        super().__init__()
        self.bodies = []
        self.writers = {}

    async def serve(self, reader, writer):
        name = b""
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = int(re.search(r"(?i)content-length: (\d+)", head)[1])
            body = await reader.readexactly(length)
            name = name or body
            self.writers[name] = writer
            self.bodies.append(body)
            writer.write(answer_of(body))


def answer_of(body):
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


class Told:
    """Whom answers are told to. Those that are whole, or broken, are counted once."""

    def __init__(self):
        self.ended = []
        self._news = asyncio.Event()

    def __call__(self, answer):
        if (answer.complete or answer.failure) and answer not in self.ended:
            self.ended.append(answer)
            self._news.set()

    async def all(self, count):
        async with asyncio.timeout(PATIENCE):
            while len(self.ended) < count:
                self._news.clear()
                await self._news.wait()
        return {answer.tag: answer for answer in self.ended}


class Scene:
    def __init__(self, place, client, turn):
        self.place, self.client, self.turn = place, client, turn
        self.route = client.route("POST", place.url, {})
        self.told = Told()

    async def keep(self, count):
        """So many connections that wait for requests; the last one is taken first."""
        names = [b"kept%d" % number for number in range(count)]
        answers = [await self.client.send("POST", self.place.url, body=name) for name in names]
        for answer in answers:
            await answer.body(100)
            answer.finish()
        self.place.bodies.clear()

    def begin(self, body):
        return self.route.send_now(body, self.told, body)


@pytest.fixture
async def scene():
    turn = HeldTurn()
    client = LeanHttpClient(turn)
    async with Echo() as place:
        yield Scene(place, client, turn)
        await client.close()
        turn.end()


async def test_the_first_goes_out_at_once_and_those_with_company_at_the_end_of_the_turn(scene):
    await scene.keep(3)
    for body in (b"1", b"2", b"3"):
        assert scene.begin(body) is not None
    await scene.told.all(1)
    assert scene.place.bodies == [b"1"]
    assert len(scene.turn.works) == 2
    scene.turn.end()
    answers = await scene.told.all(3)
    assert sorted(scene.place.bodies) == [b"1", b"2", b"3"]
    assert {tag: answer.whole() for tag, answer in answers.items()} == {b"1": b"1", b"2": b"2", b"3": b"3"}


async def test_without_a_turn_all_go_out_at_once():
    client = LeanHttpClient()
    async with Echo() as place:
        scene = Scene(place, client, None)
        await scene.keep(2)
        scene.begin(b"1")
        scene.begin(b"2")
        answers = await scene.told.all(2)
        assert {answer.whole() for answer in answers.values()} == {b"1", b"2"}
        await client.close()


async def test_one_that_is_aborted_before_the_end_of_the_turn_is_never_sent(scene):
    await scene.keep(3)
    scene.begin(b"1")
    aborted, other = scene.begin(b"2"), scene.begin(b"3")
    aborted.abort()
    scene.turn.end()
    answers = await scene.told.all(3)
    assert isinstance(answers[b"2"].failure, HttpBroken)
    assert (other.whole(), sorted(scene.place.bodies)) == (b"3", [b"1", b"3"])


async def test_one_that_is_given_up_before_the_end_of_the_turn_is_never_sent(scene):
    await scene.keep(2)
    scene.begin(b"1")
    scene.begin(b"2").finish()
    scene.turn.end()
    answers = await scene.told.all(2)
    assert isinstance(answers[b"2"].failure, HttpBroken)
    assert scene.place.bodies == [b"1"]


async def test_a_connection_that_the_server_closes_before_the_end_of_the_turn_is_told_and_the_others_go(
    scene,
):
    await scene.keep(3)
    scene.begin(b"1")
    closed, other = scene.begin(b"2"), scene.begin(b"3")
    scene.place.writers[b"kept1"].close()
    async with asyncio.timeout(PATIENCE):
        while closed.failure is None:
            await asyncio.sleep(0)
    assert isinstance(closed.failure, HttpBroken)
    scene.turn.end()
    await scene.told.all(3)
    assert (other.whole(), sorted(scene.place.bodies)) == (b"3", [b"1", b"3"])


async def test_what_the_server_says_before_the_request_went_out_is_no_answer_to_it(scene):
    """An idle connection may get an answer that nobody asked for. Whoever has not sent anything cannot be meant."""
    await scene.keep(2)
    scene.begin(b"1")
    begun = scene.begin(b"2")
    scene.place.writers[b"kept0"].write(answer_of(b"unasked"))
    answers = await scene.told.all(2)
    assert answers[b"2"].whole() != b"unasked"
    assert isinstance(begun.failure, HttpBroken)
    scene.turn.end()


async def test_a_request_that_has_its_answer_does_not_go_out_any_more(scene):
    """Otherwise its true answer would be taken for that of the next request on the connection."""
    await scene.keep(2)
    scene.begin(b"1")
    begun = scene.begin(b"2")
    scene.place.writers[b"kept0"].write(answer_of(b"unasked"))
    await scene.told.all(2)
    begun.finish()
    scene.turn.end()
    async with (
        asyncio.timeout(PATIENCE),
        await scene.client.send("POST", scene.place.url, body=b"3") as answer,
    ):
        assert await answer.body(100) == b"3"
    assert b"2" not in scene.place.bodies


async def test_a_client_that_is_closed_before_the_end_of_the_turn_sends_nothing_more(scene):
    await scene.keep(2)
    scene.begin(b"1")
    scene.begin(b"2")
    await scene.client.close()
    scene.turn.end()
    answers = await scene.told.all(2)
    assert isinstance(answers[b"2"].failure, HttpBroken)
    assert b"2" not in scene.place.bodies


async def test_a_connection_is_used_again_after_a_turn_with_company(scene):
    await scene.keep(2)
    for number in range(3):
        bodies = [b"%d-%d" % (number, which) for which in range(2)]
        begun = [scene.begin(body) for body in bodies]
        scene.turn.end()
        await scene.told.all(2 * number + 2)
        for response, body in zip(begun, bodies, strict=True):
            assert response.whole() == body
            response.finish()
    assert len(scene.place.writers) == 2
    assert len(scene.place.bodies) == 6


async def test_turns_of_the_loop_send_each_request_once_and_mix_up_no_answers():
    client = LeanHttpClient(LoopTurn())
    async with Echo() as place:
        scene = Scene(place, client, None)
        await scene.keep(8)
        expected = []
        for number in range(20):
            bodies = [b"%d-%d" % (number, which) for which in range(8)]
            begun = [scene.begin(body) for body in bodies]
            expected += bodies
            await scene.told.all(len(expected))
            for response, body in zip(begun, bodies, strict=True):
                assert response.whole() == body
                response.finish()
        assert sorted(place.bodies) == sorted(expected)
        await client.close()
