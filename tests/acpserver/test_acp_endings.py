"""How a connection ends, and what an editor that does not read can do to us."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import warnings

import pytest

from acpserver import EditorGoneError
from acpserver.connection import MAX_UNSENT
from acpserver.descriptors import serve_descriptors

PATIENCE = 20


def ask(method, request_id, **params):
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def notice(method, **params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def block(text):
    return {"type": "text", "text": text}


INITIALIZE = ask("initialize", "hello", protocolVersion=1)


async def soon(event):
    await asyncio.wait_for(event.wait(), PATIENCE)


async def until(condition):
    """Wait for something that happens on this loop, but not for ever."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0)


def lines(*messages):
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def prompt(text, request_id):
    return ask("session/prompt", request_id, sessionId="s", prompt=[block(text)])


@pytest.mark.race
async def test_the_end_of_input_cancels_what_runs_and_closes_the_agent_once(peer, agent):
    first = peer.prompt("wait a")
    await soon(agent.started)
    (rest,) = await peer.end()
    assert (rest["id"], rest["error"]["code"]) == (first, -32800)
    assert agent.order[:2] == [("asked", "wait", "a"), ("started", "a")]
    assert sorted(map(str, agent.order[2:])) == ["('cancelled', 'a')", "closed"]


@pytest.mark.race
async def test_requests_that_came_before_the_end_are_delivered_and_cancelled(peer, agent):
    peer.send(prompt("wait a", 1), prompt("say b", 2), notice("session/cancel", sessionId="s"))
    peer.send_bytes(lines(ask("session/list", 3))[:-1])  # a last line may lack its newline
    rest = {message["id"]: message for message in await peer.end() if "id" in message}
    assert rest[1]["error"]["code"] == -32800
    assert rest[3]["result"] == {"sessions": []}
    assert ("asked", "say", "b") in agent.order
    assert ("session/cancel", {"sessionId": "s"}) in agent.order
    assert agent.closed == 1


async def test_an_agent_that_was_never_needed_is_not_made_to_be_closed(hall, connect):
    peer = await connect(hall.server)
    await peer.initialize()
    assert await peer.end() == []
    assert hall.agents == []


@pytest.mark.race
async def test_a_question_that_is_open_at_the_end_fails(peer, agent):
    asking = asyncio.get_running_loop().create_task(agent.client.request("session/request_permission", {}))
    await peer.receive()
    assert await peer.end() == []
    with pytest.raises(EditorGoneError):
        await asking


@pytest.mark.race
async def test_a_turn_that_waits_for_the_editor_is_cancelled_at_the_end_without_a_word(peer, agent):
    request_id = peer.prompt("permission p")
    assert (await peer.receive())["method"] == "session/request_permission"
    (rest,) = await peer.end()  # no $/cancel_request to an editor that has gone
    assert (rest["id"], rest["error"]["code"]) == (request_id, -32800)
    assert agent.order[1][0] in {"CancelledError", "EditorGoneError"}


@pytest.mark.race
async def test_an_answer_in_the_same_breath_as_the_end_is_given_to_who_asked(peer, agent):
    asking = asyncio.get_running_loop().create_task(agent.client.request("session/request_permission", {}))
    number = (await peer.receive())["id"]
    peer.send({"jsonrpc": "2.0", "id": number, "result": "just in time"})
    assert await peer.end() == []
    assert await asking == "just in time"


@pytest.mark.race
async def test_an_editor_that_vanishes_cancels_its_own_turns_and_nobody_elses(hall, connect):
    gone, stays = await connect(hall.server), await connect(hall.server)
    for each in (gone, stays):
        await each.initialize()
        each.prompt("wait x", request_id="w")
        await each.alive()
    gone.writer.transport.abort()
    await asyncio.wait_for(gone.serving, PATIENCE)
    assert ("cancelled", "x") in hall.agents[0].order
    hall.agents[1].release.set()
    assert (await stays.answer("w"))["result"] == {"waited": "x"}


@pytest.mark.race
async def test_cancelling_serve_cancels_the_turns_and_closes_the_agent_first(peer, agent):
    peer.prompt("wait a")
    await soon(agent.started)
    peer.serving.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait_for(peer.serving, PATIENCE)
    assert peer.serving.cancelled()
    assert ("cancelled", "a") in agent.order
    assert agent.closed == 1


@pytest.mark.race
async def test_serve_cancelled_twice_still_waits_for_the_agent_to_close(peer, agent):
    release, closing = asyncio.Event(), asyncio.Event()

    async def close():
        closing.set()
        await release.wait()
        agent.order.append("closed late")

    agent.close = close
    peer.serving.cancel()
    await soon(closing)
    for _ in range(2):
        peer.serving.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
    assert not peer.serving.done()
    release.set()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait_for(peer.serving, PATIENCE)
    assert agent.order == ["closed late"]


@pytest.mark.race
@pytest.mark.parametrize("patience", [0.0, 0.05])
async def test_an_agent_that_does_not_close_in_time_is_given_up(hall, connect, patience):
    peer = await connect(hall.server, patience=patience)
    await peer.initialize()
    await peer.alive()
    ended = []

    async def close():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(1)

    hall.agents[0].close = close
    assert await peer.end() == []
    assert ended == [1]


@pytest.mark.race
async def test_a_handler_that_will_not_be_cancelled_does_not_keep_serve_from_returning(hall, connect, caplog):
    peer = await connect(hall.server, patience=0.05)
    await peer.initialize()
    await peer.alive()
    agent, release = hall.agents[0], asyncio.Event()

    async def stubborn(rest):
        agent.started.set()
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()
        agent.client.notify("session/update", {})
        return "too late"

    agent.stubborn = stubborn
    peer.prompt("stubborn")
    await soon(agent.started)
    assert await peer.end() == []
    assert "given up: acp session/prompt" in caplog.text
    release.set()


async def test_a_request_in_the_last_breath_begins_even_without_patience(hall, connect):
    """Were it not, its coroutine would never be awaited, which is a warning, and warnings are errors."""
    peer = await connect(hall.server, patience=0)
    await peer.initialize()
    await peer.alive()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        peer.send(prompt("wait z", 9))
        (answer,) = await peer.end()
    assert answer["error"]["code"] == -32800
    assert ("started", "z") in hall.agents[0].order


async def test_an_agent_that_fails_to_close_is_logged(peer, agent, caplog):
    async def close():
        raise OSError("disk gone")

    agent.close = close
    assert await peer.end() == []
    assert "could not be closed" in caplog.text


# Pipes that break.


class BrokenWriter:
    """A writer whose reader has gone."""

    def __init__(self):
        self.closed = False

    def write(self, data):
        raise BrokenPipeError

    async def drain(self):
        pass

    def close(self):
        self.closed = True


@pytest.mark.race
async def test_a_broken_pipe_ends_everything_and_serve_returns_quietly(hall):
    reader, writer = asyncio.StreamReader(), BrokenWriter()
    serving = asyncio.get_running_loop().create_task(hall.server.serve(reader, writer))
    reader.feed_data(lines(INITIALIZE))  # its answer finds the pipe broken
    await asyncio.wait_for(serving, PATIENCE)
    assert writer.closed


class Fading(BrokenWriter):
    """A pipe that breaks when it is told to."""

    broken = False
    written = b""

    def write(self, data):
        if self.broken:
            raise BrokenPipeError
        self.written += data


@pytest.mark.race
async def test_a_pipe_that_breaks_in_the_middle_of_a_turn_cancels_it_and_fails_its_questions(hall):
    reader, writer = asyncio.StreamReader(), Fading()
    serving = asyncio.get_running_loop().create_task(hall.server.serve(reader, writer))
    reader.feed_data(lines(INITIALIZE, prompt("wait a", 1)))
    await until(lambda: hall.agents and ("started", "a") in hall.agents[0].order)
    agent = hall.agents[0]
    asking = asyncio.get_running_loop().create_task(agent.client.request("session/request_permission", {}))
    await until(lambda: b"request_permission" in writer.written)
    writer.broken = True
    agent.client.notify("session/update", {})
    agent.client.notify("session/update", {})
    with pytest.raises(EditorGoneError):
        await asking
    with pytest.raises(EditorGoneError):
        await agent.client.request("session/request_permission", {})
    await asyncio.wait_for(serving, PATIENCE)
    assert ("cancelled", "a") in agent.order
    assert agent.closed == 1


@pytest.mark.race
async def test_a_question_that_finds_the_pipe_broken_fails(hall):
    reader, writer = asyncio.StreamReader(), Fading()
    serving = asyncio.get_running_loop().create_task(hall.server.serve(reader, writer))
    reader.feed_data(lines(INITIALIZE, ask("session/list", 1)))
    await until(lambda: hall.agents)
    writer.broken = True
    with pytest.raises(EditorGoneError):
        await hall.agents[0].client.request("session/request_permission", {})
    await asyncio.wait_for(serving, PATIENCE)


class FailingReader:
    async def read(self, size):
        raise ConnectionResetError


async def test_a_reader_that_fails_is_an_editor_that_has_gone(hall):
    await asyncio.wait_for(hall.server.serve(FailingReader(), Fading()), PATIENCE)


# Over descriptors.


class Pipes:
    """A server over a socket's descriptors, and the other end of it."""

    def __init__(self, hall, patience=1.0):
        self.ours, self.theirs = socket.socketpair()
        self.theirs.setblocking(False)
        number = self.ours.fileno()
        self.serving = asyncio.get_running_loop().create_task(
            serve_descriptors(hall.server, number, number, patience=patience)
        )
        self.heard = b""

    async def send(self, data):
        await asyncio.wait_for(asyncio.get_running_loop().sock_sendall(self.theirs, data), PATIENCE)

    async def line(self):
        while b"\n" not in self.heard:
            data = await asyncio.wait_for(
                asyncio.get_running_loop().sock_recv(self.theirs, 1 << 20), PATIENCE
            )
            assert data, "the server went away"
            self.heard += data
        line, _, self.heard = self.heard.partition(b"\n")
        return json.loads(line)

    async def over(self):
        await asyncio.wait_for(self.serving, PATIENCE)


@pytest.fixture
async def pipes(hall):
    opened = []

    def open_pipes(**options):
        opened.append(Pipes(hall, **options))
        return opened[-1]

    yield open_pipes
    for each in opened:
        each.theirs.close()
        await each.over()
        each.ours.close()


@pytest.mark.race
async def test_a_conversation_over_descriptors(hall, pipes):
    wire = pipes()
    await wire.send(lines(INITIALIZE, ask("session/list", 1)))
    assert [(await wire.line())["id"] for _ in range(2)] == ["hello", 1]
    await wire.send(lines(prompt("wait a", 2)))
    await wire.send(lines(ask("session/list", 3)))
    assert (await wire.line())["id"] == 3
    wire.theirs.shutdown(socket.SHUT_WR)
    assert (await wire.line())["error"]["code"] == -32800
    await wire.over()
    assert os.get_blocking(wire.ours.fileno())
    assert hall.agents[0].closed == 1


@pytest.mark.race
async def test_an_editor_that_does_not_read_is_still_heard_and_gets_everything_later(hall, pipes):
    wire = pipes()
    await wire.send(lines(INITIALIZE, ask("session/list", 1)))
    await wire.line(), await wire.line()
    agent = hall.agents[0]
    for number in range(100):
        agent.client.notify("session/update", {"number": number, "x": "y" * 20_000})
    assert agent.client.congested()
    await wire.send(lines(notice("session/cancel", sessionId="s")))
    await until(lambda: agent.order)
    assert [(await wire.line())["params"]["number"] for _ in range(100)] == list(range(100))
    assert not agent.client.congested()


@pytest.mark.race
async def test_an_editor_that_neither_reads_nor_stops_sending_is_not_read_from_without_limit(hall, pipes):
    wire = pipes()
    await wire.send(lines(INITIALIZE, ask("session/list", 1)))
    await wire.line(), await wire.line()
    agent = hall.agents[0]
    big = "y" * (1024 * 1024)
    for _ in range(MAX_UNSENT // len(big) + 2):
        agent.client.notify("session/update", {"x": big})
    data, sent, idle = lines(notice("session/cancel", sessionId="s")) * 100, 0, 0
    while idle < 100 and sent < 8_000_000:
        try:
            sent += wire.theirs.send(data)
            idle = 0
        except BlockingIOError:
            idle += 1
        await asyncio.sleep(0)
    assert sent < 4_000_000
    told = len(agent.order)
    for _ in range(MAX_UNSENT // len(big) + 2):  # once it reads, it is read from again
        await wire.line()
    await until(lambda: len(agent.order) > told)


@pytest.mark.race
async def test_an_editor_that_vanishes_while_much_is_unsent_ends_the_service(hall, pipes):
    wire = pipes()
    await wire.send(lines(INITIALIZE, prompt("wait a", 1), ask("session/list", 2)))
    await wire.line(), await wire.line()
    agent = hall.agents[0]
    for _ in range(100):
        agent.client.notify("session/update", {"x": "y" * 20_000})
    wire.theirs.close()
    await wire.over()
    assert ("cancelled", "a") in agent.order


@pytest.mark.race
async def test_an_editor_that_never_reads_does_not_keep_the_service_from_ending(hall, pipes):
    wire = pipes()
    await wire.send(lines(INITIALIZE, ask("session/list", 1)))
    await wire.line(), await wire.line()
    for _ in range(100):
        hall.agents[0].client.notify("session/update", {"x": "y" * 20_000})
    wire.theirs.shutdown(socket.SHUT_WR)
    await wire.over()


@pytest.mark.race
async def test_what_outlives_the_service_has_nothing_more_to_say(hall, pipes):
    wire = pipes(patience=0)
    await wire.send(lines(INITIALIZE, ask("session/list", 1)))
    await wire.line(), await wire.line()
    wire.theirs.shutdown(socket.SHUT_WR)
    await wire.over()
    hall.agents[0].client.notify("session/update", {"too": "late"})
    wire.ours.shutdown(socket.SHUT_WR)
    assert await asyncio.get_running_loop().sock_recv(wire.theirs, 100) == b""


class Slow:
    """A writer whose transport says how much is unsent."""

    def __init__(self):
        self.transport = self
        self.size = 0
        self.drained = asyncio.Event()
        self.reads = asyncio.Event()

    def is_closing(self):
        return False

    def get_write_buffer_size(self):
        return self.size

    def write(self, data):
        pass

    async def drain(self):
        self.drained.set()
        await self.reads.wait()

    def close(self):
        pass


async def test_streams_are_read_from_until_much_is_unsent(hall):
    reader, writer = asyncio.StreamReader(), Slow()
    serving = asyncio.get_running_loop().create_task(hall.server.serve(reader, writer))
    writer.size = MAX_UNSENT
    reader.feed_data(lines(INITIALIZE, notice("session/cancel", sessionId="a")))
    await until(lambda: hall.agents and hall.agents[0].order)
    writer.size += 1
    reader.feed_data(lines(notice("session/cancel", sessionId="b")))
    await soon(writer.drained)
    reader.feed_data(lines(notice("session/cancel", sessionId="c")))
    for _ in range(50):
        await asyncio.sleep(0)
    assert len(hall.agents[0].order) == 2
    writer.reads.set()
    reader.feed_eof()
    await asyncio.wait_for(serving, PATIENCE)
    assert len([each for each in hall.agents[0].order if each != "closed"]) == 3
