"""Which way a request takes, as whom, and for whom what the server says on it is meant."""

from __future__ import annotations

import asyncio
import math

import pytest

from awf.application.gateway.client import Client, Exchange
from awf.application.gateway.lane import Lane, LaneKey, guise_of, lane_key, least_grave
from awf.application.running.tasks import spawn
from awf.domain.errors import AwfError
from awf.domain.mcp import CLIENT_INFO, METHOD_NOT_FOUND, Era, RpcError
from awf.domain.ports.upstream import Guise
from awf.testing.memory_upstreams import MemoryServer

OLD, NEW = Era(modern=False, version="2025-11-25"), Era(modern=True, version="2026-07-28")
STATEFUL = Era(modern=False, version="2025-11-25", stateful=True)
ASKED = {"elicitation": {}, "x": {}}
SHARED, OLD_SHARED = LaneKey(legacy=False, owner=""), LaneKey(legacy=True, owner="")
MINE = LaneKey(legacy=True, owner="s1")
KEYED = LaneKey(legacy=True, owner="k elicitation")  # what we do not know opens no way of its own
KEYED_DUMB = LaneKey(legacy=True, owner="k ")


def client(modern=False, capabilities=None, session="s1", **more):
    version = "2026-07-28" if modern else "2025-06-18"
    return Client(
        id="" if modern else session,
        version=version,
        modern=modern,
        capabilities=capabilities or {},
        info={},
        key="k",
        **more,
    )


# -- the table -------------------------------------------------------------------------------------------------------

OLD_CLIENT = [
    # era, session, pipe, only_modern, cannot be asked, can be asked
    (OLD, "auto", True, False, OLD_SHARED, MINE),
    (OLD, "auto", False, False, OLD_SHARED, MINE),
    (OLD, "shared", True, False, OLD_SHARED, OLD_SHARED),
    (OLD, "shared", False, False, OLD_SHARED, OLD_SHARED),
    (OLD, "client", True, False, MINE, MINE),
    (OLD, "client", False, False, MINE, MINE),
    (STATEFUL, "auto", True, False, OLD_SHARED, MINE),
    (STATEFUL, "auto", False, False, MINE, MINE),
    (STATEFUL, "shared", True, False, OLD_SHARED, OLD_SHARED),
    (STATEFUL, "shared", False, False, OLD_SHARED, OLD_SHARED),
    (STATEFUL, "client", True, False, MINE, MINE),
    (STATEFUL, "client", False, False, MINE, MINE),
    (NEW, "auto", True, False, SHARED, MINE),
    (NEW, "auto", False, False, MINE, MINE),
    (NEW, "shared", True, False, SHARED, SHARED),
    (NEW, "shared", False, False, OLD_SHARED, OLD_SHARED),
    (NEW, "client", True, False, MINE, MINE),
    (NEW, "client", False, False, MINE, MINE),
    *[
        (NEW, session, pipe, True, SHARED, SHARED)
        for session in ("auto", "shared", "client")
        for pipe in (True, False)
    ],
    *[
        (era, "shared", pipe, True, OLD_SHARED, OLD_SHARED)
        for era in (OLD, STATEFUL)
        for pipe in (True, False)
    ],
    *[(era, "client", pipe, True, MINE, MINE) for era in (OLD, STATEFUL) for pipe in (True, False)],
    (OLD, "auto", True, True, OLD_SHARED, MINE),
    (OLD, "auto", False, True, OLD_SHARED, MINE),
    (STATEFUL, "auto", True, True, OLD_SHARED, MINE),
    (STATEFUL, "auto", False, True, MINE, MINE),
]


@pytest.mark.parametrize(("era", "session", "pipe", "only", "dumb", "able"), OLD_CLIENT)
def test_the_way_of_a_client_of_the_older_era(era, session, pipe, only, dumb, able):
    asked = {"session": session, "over_pipe": pipe, "only_modern": only}
    assert lane_key(client(), era, **asked) == dumb
    assert lane_key(client(capabilities=ASKED), era, **asked) == able


def test_the_table_of_the_older_era_is_complete():
    assert len({(id(era), *rest) for era, *rest, _, _ in OLD_CLIENT}) == 3 * 3 * 2 * 2


@pytest.mark.parametrize("only", [False, True])
@pytest.mark.parametrize("pipe", [False, True])
@pytest.mark.parametrize(
    ("era", "session", "dumb", "able"),
    [
        (NEW, "auto", SHARED, SHARED),
        (NEW, "shared", SHARED, SHARED),
        (NEW, "client", SHARED, SHARED),
        (OLD, "auto", OLD_SHARED, KEYED),
        (OLD, "shared", OLD_SHARED, OLD_SHARED),
        (OLD, "client", KEYED_DUMB, KEYED),
        (STATEFUL, "auto", OLD_SHARED, KEYED),
        (STATEFUL, "shared", OLD_SHARED, OLD_SHARED),
        (STATEFUL, "client", KEYED_DUMB, KEYED),
    ],
)
def test_the_way_of_a_client_of_the_newer_era(era, session, dumb, able, pipe, only):
    asked = {"session": session, "over_pipe": pipe, "only_modern": only}
    assert lane_key(client(modern=True), era, **asked) == dumb
    assert lane_key(client(modern=True, capabilities=ASKED), era, **asked) == able


def test_on_a_shared_way_we_speak_as_ourselves_who_can_answer_nothing():
    assert guise_of(SHARED, client(), NEW) == Guise(era=NEW)
    assert guise_of(OLD_SHARED, client(capabilities=ASKED), NEW) == Guise(legacy=True)


def test_on_its_own_way_a_server_sees_the_client():
    named = client(capabilities=ASKED)
    named.info = {"name": "n"}
    made = guise_of(MINE, named, NEW)
    assert made == Guise(capabilities=ASKED, client_info={"name": "n"}, legacy=True, version="2025-06-18")


def test_a_client_of_the_newer_era_is_introduced_with_a_version_that_has_a_handshake():
    made = guise_of(KEYED, client(modern=True, capabilities=ASKED), OLD)
    assert (made.version, made.legacy, made.client_info) == ("2025-11-25", True, CLIENT_INFO)


def test_the_level_for_all_is_the_least_grave_that_someone_wants():
    assert least_grave(["error", "debug", "info"]) == "debug"
    assert least_grave([]) == ""


# -- who hears what --------------------------------------------------------------------------------------------------


class News:
    guarded = False

    def __init__(self):
        self.told = []

    def changed(self, kind):
        self.told.append(("changed", kind))

    def updated(self, message):
        self.told.append(("updated", message["params"]["uri"]))

    def overheard(self, message):
        self.told.append(("overheard", message["method"]))

    def cleaned(self, said):
        return said

    async def question(self, client, method, params):
        self.told.append(("question", method))
        return await client.ask(method, params, None)


@pytest.fixture
def news():
    return News()


@pytest.fixture
def server():
    return MemoryServer(capabilities={"tools": {}, "logging": {}}).tool("x")


@pytest.fixture
def lane(news, server):
    return Lane(news, server, Guise())


@pytest.fixture
def busy(lane, server, ear):
    """A function that has a request of a client under way on the lane."""
    gate = server.hold("tools/call")

    async def begin(one=None, lane=lane, **exchange):
        one = one or client()
        made = Exchange(one, 1, ear(), meta={}, headers={})
        waiting = gate.waiting
        task = spawn(lane.exchange(made, "tools/call", {"name": "x"}), "a request", awaited=True)
        await gate.reached(waiting + 1)
        return made, task

    begin.gate = gate
    return begin


def log(level="info"):
    return "notifications/message", {"level": level, "data": "d"}


async def test_announcements_are_news_for_all(lane, news):
    for kind in ("tools", "prompts", "resources"):
        lane.upstream.say(f"notifications/{kind}/list_changed")
    lane.upstream.say("notifications/resources/updated", {"uri": "u"})
    lane.upstream.say("notifications/subscriptions/acknowledged", {})
    assert news.told == [
        ("changed", "tools"),
        ("changed", "prompts"),
        ("changed", "resources"),
        ("updated", "u"),
    ]


async def test_what_is_shown_to_belong_to_a_request_goes_with_its_answer(lane, busy, news):
    one, two = client(session="1"), client(session="2")
    (first, task), (second, other) = await busy(one), await busy(two)
    lane.upstream.say(*log(), tag=second)
    assert [message["method"] for message in second.reach.heard] == ["notifications/message"]
    assert not first.reach.heard
    assert not news.told
    busy.gate.open()
    await asyncio.gather(task, other)


async def test_over_a_pipe_the_one_client_that_has_something_under_way_is_meant(lane, busy, news):
    one = client()
    first, task = await busy(one)
    second, other = await busy(one)
    lane.upstream.say(*log())
    assert [len(exchange.reach.heard) for exchange in (first, second)] == [0, 1]
    assert not news.told
    busy.gate.open()
    await asyncio.gather(task, other)
    lane.upstream.say(*log())
    assert news.told == [("overheard", "notifications/message")]


async def test_where_several_clients_are_busy_nobody_in_particular_is_meant(lane, busy, news):
    _, task = await busy(client(session="1"))
    _, other = await busy(client(session="2"))
    lane.upstream.say(*log())
    lane.upstream.say("notifications/unknown")
    assert news.told == [("overheard", "notifications/message"), ("overheard", "notifications/unknown")]
    busy.gate.open()
    await asyncio.gather(task, other)


async def test_on_a_way_that_belongs_to_someone_everything_is_for_them(news, server, ear):
    one = client()
    one.standing = ear()
    lane = Lane(news, server, Guise(), one)
    lane.upstream.say(*log())
    assert one.standing.of("notifications/message")
    assert not news.told


async def test_a_client_hears_only_messages_as_grave_as_it_asked_for(news, server, ear):
    one = client(level="warning")
    one.standing = ear()
    lane = Lane(news, server, Guise(), one)
    for level in ("debug", "notice", "warning", "emergency", "own-level"):
        lane.upstream.say(*log(level))
    lane.upstream.say("notifications/unknown", {"level": "debug"})
    assert [message["params"]["level"] for message in one.standing.heard] == [
        "warning",
        "emergency",
        "own-level",
        "debug",
    ]


async def test_a_message_is_a_sign_of_life_of_its_request(lane, busy):
    exchange, task = await busy()
    exchange.deadline, exchange.patience = 1.0, 60.0
    lane.upstream.say(*log())
    assert exchange.deadline > 60
    busy.gate.open()
    await task


async def test_a_server_that_ends_an_answer_for_now_lets_its_client_go_for_now(lane, busy):
    exchange, task = await busy()
    lane.paused(exchange)
    lane.paused(None)
    assert exchange.reach.pauses == 1
    busy.gate.open()
    await task


# -- questions -------------------------------------------------------------------------------------------------------


async def test_a_question_on_a_way_of_nobody_is_refused(lane):
    with pytest.raises(RpcError, match="Nobody here can answer roots/list") as caught:
        await lane.upstream.ask("roots/list")
    assert caught.value.code == METHOD_NOT_FOUND


async def test_a_question_on_its_own_way_is_put_to_the_client(news, server, ear):
    one = client(capabilities={"roots": {}})
    one.standing = ear()
    lane = Lane(news, server, Guise(), one)
    asking = spawn(lane.upstream.ask("roots/list"), "asking", awaited=True)
    question = await one.standing.until("roots/list")
    assert "params" not in question
    assert one.answered({"id": question["id"], "result": {"roots": []}})
    assert await asking == {"roots": []}


async def test_where_there_is_a_gate_a_question_is_over_with_the_call_in_which_it_was_asked(news, lane, busy):
    news.guarded = True
    one = client(capabilities=ASKED)
    exchange, task = await busy(one)
    other, unrelated = await busy(one)
    asking = spawn(lane.upstream.ask("elicitation/create", tag=exchange), "asking", awaited=True)
    question = await exchange.reach.until("elicitation/create")
    task.cancel()
    with pytest.raises(RpcError, match="The call in which elicitation/create was asked is over"):
        await asking
    assert not one.answered({"id": question["id"], "result": {"action": "accept"}})
    assert exchange.reach.of("notifications/cancelled")
    still = spawn(lane.upstream.ask("elicitation/create", tag=other), "asking", awaited=True)
    question = await other.reach.until("elicitation/create")
    one.answered({"id": question["id"], "result": {"action": "accept"}})
    assert await still == {"action": "accept"}
    busy.gate.open()
    await unrelated


async def test_without_a_gate_a_server_may_go_on_asking_after_its_answer(lane, busy):
    one = client(capabilities=ASKED)
    exchange, task = await busy(one)
    asking = spawn(lane.upstream.ask("elicitation/create", tag=exchange), "asking", awaited=True)
    question = await exchange.reach.until("elicitation/create")
    busy.gate.open()
    await task
    one.answered({"id": question["id"], "result": {"action": "accept"}})
    assert await asking == {"action": "accept"}


async def test_a_question_stops_the_clock_of_its_request_until_it_is_answered(lane, busy):
    one = client(capabilities=ASKED)
    exchange, task = await busy(one)
    exchange.deadline, exchange.patience = 1.0, 60.0
    asking = spawn(lane.upstream.ask("elicitation/create", {"message": "?"}), "asking", awaited=True)
    question = await exchange.reach.until("elicitation/create")
    assert exchange.deadline == math.inf
    lane.upstream.say(*log())
    assert exchange.deadline == math.inf  # a sign of life does not start it again
    one.answered({"id": question["id"], "result": {"action": "accept"}})
    assert await asking == {"action": "accept"}
    assert 60 < exchange.deadline < math.inf
    busy.gate.open()
    await task


async def test_two_questions_stop_the_clock_until_both_are_answered(lane, busy):
    one = client(capabilities=ASKED)
    exchange, task = await busy(one)
    exchange.deadline, exchange.patience = 1.0, 60.0
    asking = [spawn(lane.upstream.ask("elicitation/create"), "asking", awaited=True) for _ in range(2)]
    await exchange.reach.until("elicitation/create", 2)
    for at, question in enumerate(exchange.reach.heard):
        one.answered({"id": question["id"], "result": {}})
        await asking[at]
        assert (exchange.deadline == math.inf) is (at == 0)
    busy.gate.open()
    await task


async def test_a_question_that_the_server_takes_back_is_taken_back_from_the_client(lane, busy):
    one = client(capabilities=ASKED)
    exchange, task = await busy(one)
    asking = spawn(lane.upstream.ask("elicitation/create", number="q7"), "asking", awaited=True)
    question = await exchange.reach.until("elicitation/create")
    lane.upstream.say("notifications/cancelled", {"requestId": "other"})
    lane.upstream.say("notifications/cancelled")
    assert not asking.cancelling()
    lane.upstream.say("notifications/cancelled", {"requestId": "q7"})
    await asyncio.wait([asking])
    assert asking.cancelled()
    assert exchange.reach.heard[-1]["params"]["requestId"] == question["id"]
    assert not one.answered({"id": question["id"], "result": {}})
    busy.gate.open()
    await task


async def test_a_server_that_answers_before_its_question_is_answered_breaks_nothing(house, until):
    asking = []

    async def impatient(asked):
        asking.append(spawn(asked.ask("elicitation/create", {"message": "?"}), "asking", awaited=True))
        await until(lambda: asked.way.hearer._answering)
        return "done without you"

    one = await house(a=MemoryServer().tool("x", impatient))
    visitor = await one.visitor(capabilities=ASKED)
    call = visitor.begin("tools/call", {"name": "x"})
    await call.answer()
    visitor.answered(call.ear.of("elicitation/create")[0], {"action": "decline"})
    assert await asking[0] == {"action": "decline"}


async def test_a_misbehaving_server_of_the_newer_era_that_asks_is_refused_and_nobody_waits(house):
    async def asks(asked):
        try:
            return await asked.ask("elicitation/create", {"message": "?"})
        except RpcError as error:
            return str(error.code)

    one = await house(a=MemoryServer(modern=True, shows_requests=True).tool("x", asks))
    call = (await one.modern(capabilities=ASKED)).begin("tools/call", {"name": "x"})
    await asyncio.wait([call.task], timeout=1)
    if not call.task.done():
        await call.cancelled()
        pytest.fail("the question was put to a client that cannot be asked, and the call waits for ever")
    assert (await call.answer())["content"][0]["text"] == str(METHOD_NOT_FOUND)


# -- a new connection ------------------------------------------------------------------------------------------------


async def test_a_new_connection_is_told_the_level_and_the_subscriptions_of_the_last_one(lane, server, ear):
    made = Exchange(client(), 1, ear(), meta={}, headers={})
    await lane.exchange(made, "tools/call", {"name": "x"})
    lane.level, lane.subscribed = "error", {"u": 1, "v": 2}
    await lane.exchange(made, "tools/call", {"name": "x"})
    assert server.seen("logging/setLevel") == [{"level": "error"}]
    assert server.seen("resources/subscribe") == [{"uri": "u"}, {"uri": "v"}]
    await lane.exchange(made, "tools/call", {"name": "x"})
    assert len(server.seen("logging/setLevel")) == 1
    server.die()
    await lane.repeat()
    assert len(server.seen("logging/setLevel")) == 2
    assert len(server.seen("resources/subscribe")) == 4


async def test_a_subscription_that_is_refused_does_not_lose_the_others(lane, server):
    def subscribe(asked):
        return RpcError(-32602, "gone") if asked.params["uri"] == "u" else {}

    server.on("resources/subscribe", subscribe).on("logging/setLevel", RpcError(-32603, "no"))
    lane.level, lane.subscribed = "error", {"u": 1, "v": 1}
    await lane.repeat()
    assert server.seen("resources/subscribe") == [{"uri": "u"}, {"uri": "v"}]


async def test_a_server_without_logging_and_one_of_the_newer_era_is_not_told_a_level(news):
    for server in (MemoryServer(), MemoryServer(modern=True, capabilities={"logging": {}})):
        lane = Lane(news, server, Guise())
        lane.level = "error"
        await lane.repeat()
        assert not server.received


async def test_a_level_is_told_once_and_only_where_there_is_a_connection(lane, server):
    await lane.set_level("error")
    assert not server.received
    await lane.upstream.connect()
    await lane.set_level("error")
    assert not server.received
    await lane.set_level("debug")
    assert server.seen("logging/setLevel") == [{"level": "debug"}]
    server.refusal = AwfError("EXECUTION.MCP_SERVER.UNAVAILABLE", "gone")
    server.die()
    await lane.set_level("info")
    assert lane.level == "info"


async def test_closing_a_way_tells_whoever_waits_on_it(lane, busy):
    _, task = await busy()
    await lane.close()
    with pytest.raises(AwfError):
        await task
    assert lane.in_flight == 0
