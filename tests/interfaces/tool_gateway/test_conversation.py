"""JSON-RPC with one program: every line gets an answer, and no line can hurt."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from awf.bootstrap.tool_gateways import ToolGatewayOptions, open_tool_gateway
from awf.interfaces.tool_gateway import conversation
from awf.interfaces.tool_gateway.conversation import METHODS, Conversation

NOTHING = {"type": "object"}
MANIFEST = {
    "serverId": "kb",
    "name": "KB",
    "version": "1",
    "tools": [{"name": "a", "description": "A", "inputSchema": NOTHING}],
}


class Program:
    """The other side."""

    def __init__(self, workspace) -> None:
        self.opened = []
        self.heard = []
        self._workspace = str(workspace)
        self.conversation = Conversation(self._open, lambda line: self.heard.append(json.loads(line)))

    def _open(self, options):
        self.opened.append(options)
        return open_tool_gateway(ToolGatewayOptions(**{"workspace": self._workspace, **options}))

    def say(self, *messages):
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.conversation.feed(line + b"\n")

    async def ask(self, method, params=None, number=1):
        self.say(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": method,
                **({"params": params} if params is not None else {}),
            }
        )
        await self.conversation.settled(60)
        return self.heard[-1]

    @property
    def answers(self):
        return [one for one in self.heard if "id" in one]


@pytest.fixture
async def program(tmp_path):
    made = Program(tmp_path)
    yield made
    await made.conversation.close()


async def test_parameters_are_given_by_place_or_by_name(program):
    assert (await program.ask("registerManifest", [MANIFEST]))["result"] is None
    again = await program.ask("registerManifest", {"manifest": MANIFEST})
    assert again["error"]["data"]["code"] == "USER.GATEWAY.DUPLICATE_SERVER"
    assert (await program.ask("drainAuditEvents", {"limit": 5}))["result"] == []
    assert (await program.ask("drainAuditEvents", [None, 5]))["result"] == []
    assert (await program.ask("drainAuditEvents"))["result"] == []


async def test_an_infinity_among_arguments_is_refused_and_not_sent_as_nothing(program):
    """What was judged and recorded would be another call than the one that is made."""
    await program.ask("registerManifest", [MANIFEST])
    call = b'[{"toolId": "kb:a", "arguments": {"n": [1e999]}}]'
    program.say(b'{"jsonrpc": "2.0", "id": 2, "method": "callTool", "params": %b}' % call)
    await program.conversation.settled(60)
    result = program.answers[-1]["result"]
    assert result["error"]["code"] == "INVALID_ARGUMENTS"
    assert "n.0: inf" in result["error"]["message"]


async def test_a_manifest_with_an_infinity_is_refused_since_no_list_of_tools_could_say_it(program):
    manifest = json.dumps(MANIFEST).replace('"description"', '"metadata": {"x": 1e999}, "description"', 1)
    text = f'{{"jsonrpc": "2.0", "id": 2, "method": "registerManifest", "params": [{manifest}]}}'
    program.say(text.encode())
    await program.conversation.settled(60)
    assert program.answers[-1]["error"]["data"]["code"] == "USER.GATEWAY.INVALID_CALL"
    assert (await program.ask("listTools"))["result"] == []


async def test_every_method_that_is_offered_can_be_carried_out(program):
    given_ = {
        "registerManifest": [MANIFEST],
        "registerServer": [{}],
        "callTool": [{"toolId": "kb:a"}],
        "grantCapability": [{"capability": "x"}],
        "revokeCapability": ["x"],
        "readArtifact": ["x"],
    }
    for method in METHODS:
        answer = await program.ask(method, given_.get(method))
        assert "result" in answer or answer["error"]["code"] == -32000, answer


async def test_what_the_gateway_refuses_says_all_that_is_wrong(program):
    answer = await program.ask("registerManifest", [{}])
    error = answer["error"]
    assert (error["code"], error["data"]["code"]) == (-32000, "USER.GATEWAY.INVALID_MANIFEST")
    assert [one["path"] for one in error["data"]["problems"]] == [
        ["serverId"],
        ["name"],
        ["version"],
        ["tools"],
    ]
    assert all(one["hint"] for one in error["data"]["problems"])


@pytest.mark.parametrize(
    ("message", "code", "number"),
    [
        (b"{", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "reset", "params": NaN}', -32700, None),
        ([], -32600, None),
        ([{"jsonrpc": "2.0", "id": 1, "method": "reset"}], -32600, None),
        (1, -32600, None),
        ({"id": 1, "method": "reset"}, -32600, 1),
        ({"jsonrpc": "2.0", "id": None, "method": "reset"}, -32600, None),
        ({"jsonrpc": "2.0", "id": True, "method": "reset"}, -32600, None),
        ({"jsonrpc": "2.0", "id": {}, "method": "reset"}, -32600, None),
        (b'{"jsonrpc": "2.0", "id": 1e999, "method": "reset"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": -1e999, "method": "nonsense"}', -32600, None),
        (b'{"id": 1e999, "method": "reset"}', -32600, None),
        ({"jsonrpc": "2.0", "id": 7}, -32600, 7),
        ({"jsonrpc": "2.0", "id": 7, "method": 7}, -32600, 7),
        ({"jsonrpc": "2.0", "id": "x", "method": "__init__"}, -32601, "x"),
        ({"jsonrpc": "2.0", "id": 1, "method": "close"}, -32601, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": "reset", "params": [1]}, -32602, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": "reset", "params": "x"}, -32602, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": "callTool"}, -32602, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": "callTool", "params": {"call": {}}}, -32602, 1),
    ],
)
async def test_what_is_no_request_is_answered_with_its_code(program, message, code, number):
    program.say(message)
    await program.conversation.settled(60)
    (answer,) = program.heard
    assert (answer["error"]["code"], answer["id"]) == (code, number)
    assert (await program.ask("listTools", number=99))["result"] == []


async def test_a_message_that_is_too_long_is_dropped_and_answered(program, monkeypatch):
    program.conversation._frames._ceiling = 1000
    program.conversation.feed(b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * 5000)
    program.conversation.feed(b"x" * 5000 + b'"}\n')
    (answer,) = program.heard
    assert (answer["error"]["code"], answer["id"]) == (-32600, None)
    assert (await program.ask("listTools"))["result"] == []


async def test_a_program_opens_its_gateway_once_with_its_options(program):
    answer = await program.ask("open", [{"user": "bob", "session": "mine", "storage": None}])
    assert answer["result"]["session"] == "mine"
    assert program.opened == [{"user": "bob", "session": "mine"}]
    assert (await program.ask("open", []))["error"]["data"]["code"] == "USER.GATEWAY.INVALID_CALL"


@pytest.mark.parametrize(
    "options",
    [
        *({"userr": "bob"}, [], {"user": 1}, {"config": 1}, {"config": {"nonsense": 1}}),
        *({"user": ""}, {"user": "a\nb"}, {"user": "\ud800"}, {"storage": "\0"}, {"workspace": "\0"}),
    ],
)
async def test_wrong_options_are_refused_and_may_be_given_again(program, options):
    assert (await program.ask("open", [options]))["error"]["code"] == -32000
    assert "error" in await program.ask("listTools", [])  # nothing goes on without what was asked for
    assert "result" in await program.ask("open", [{}])
    assert "result" in await program.ask("listTools", [])


async def test_events_are_told_without_being_asked_for(program):
    await program.ask("registerManifest", [MANIFEST])
    (event,) = [one for one in program.heard if "id" not in one]
    assert event == {
        "jsonrpc": "2.0",
        "method": "event",
        "params": {"type": "server_registered", "serverId": "kb"},
    }


async def test_events_are_left_out_for_a_program_that_does_not_read(program):
    program.conversation.is_behind = lambda: True
    await program.ask("registerManifest", [MANIFEST])
    assert [one["id"] for one in program.heard] == [1]


class Stuck:
    """A gateway whose calls end when the test says so."""

    session = "stuck"

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    def subscribe(self, listener):
        return lambda: None

    async def call_tool(self, invocation):
        await self.go_on.wait()
        return {"success": True}

    async def close(self):
        pass


@pytest.fixture
async def stuck():
    service, heard = Stuck(), []
    made = Conversation(lambda options: service, lambda line: heard.append(json.loads(line)))
    yield made, service, heard
    await made.close()


def a_call(number):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "callTool", "params": [{}]}).encode() + b"\n"


async def test_an_id_that_is_under_way_cannot_be_used_again(stuck):
    made, service, heard = stuck
    made.feed(a_call(1) + a_call(1))
    assert heard[0]["error"]["code"] == -32600
    service.go_on.set()
    await made.settled(60)
    assert heard[1] == {"jsonrpc": "2.0", "id": 1, "result": {"success": True}}


async def test_a_call_can_be_given_up(stuck):
    made, _, heard = stuck
    made.feed(a_call("x"))
    await asyncio.sleep(0)
    made.feed(b'{"jsonrpc": "2.0", "method": "cancel", "params": {"id": "y"}}\n')
    made.feed(b'{"jsonrpc": "2.0", "method": "cancel", "params": {"id": "x"}}\n')
    await made.settled(60)
    await asyncio.sleep(0)
    assert [(one["id"], one["error"]["code"]) for one in heard] == [("x", -32800)]


async def test_what_is_no_id_gives_up_nothing(stuck):
    """`true` is not 1, though Python finds one under the other."""
    made, service, heard = stuck
    made.feed(a_call(1))
    for number in (b"true", b"1e999", b"[1]", b"null"):
        made.feed(b'{"jsonrpc": "2.0", "method": "cancel", "params": {"id": %b}}\n' % number)
    service.go_on.set()
    await made.settled(60)
    assert heard == [{"jsonrpc": "2.0", "id": 1, "result": {"success": True}}]


async def test_a_call_that_is_given_up_before_it_began_is_answered_too(stuck):
    made, _, heard = stuck
    made.feed(a_call(1) + b'{"jsonrpc": "2.0", "method": "cancel", "params": {"id": 1}}\n')
    await made.settled(60)
    await asyncio.sleep(0)
    assert [one["error"]["code"] for one in heard] == [-32800]


async def test_who_asks_too_much_at_a_time_is_not_read_from_until_some_is_answered(stuck):
    made, service, heard = stuck
    told = []
    made.on_full, made.on_enough = lambda: told.append("full"), lambda: told.append("enough")
    for number in range(conversation.MOST - 1):
        made.feed(a_call(number))
    assert told == []
    made.feed(a_call(conversation.MOST))
    assert told == ["full"]
    service.go_on.set()
    await made.settled(60)
    await asyncio.sleep(0)
    assert told == ["full", "enough"]
    assert len(heard) == conversation.MOST


async def test_closing_ends_what_is_under_way(stuck):
    made, _, heard = stuck
    made.feed(a_call(1))
    await asyncio.sleep(0)
    await made.close()
    assert heard == []


async def test_a_failure_of_ours_is_an_answer_too(stuck):
    made, service, heard = stuck

    async def broken(invocation):
        raise RuntimeError("secret things")

    service.call_tool = broken
    made.feed(a_call(1))
    await made.settled(60)
    assert heard[0]["error"]["code"] == -32603
    assert "secret" not in json.dumps(heard)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | json_values, "id": st.integers(0, 9) | json_values},
    optional={"method": st.sampled_from(list(METHODS)) | json_values, "params": json_values},
)


@settings(deadline=None, max_examples=40)
@given(st.lists(messages | json_values, max_size=8))
@example([{"jsonrpc": "2.0", "id": 0, "method": "open", "params": [False]}])
def test_whatever_is_said_each_line_is_answered_once_and_the_conversation_goes_on(tmp_path_factory, said):
    async def talk():
        program = Program(tmp_path_factory.getbasetemp())
        try:
            program.say(*said)
            await program.conversation.settled(60)
            assert len(program.answers) == len(said)
            last = await program.ask("listTools", number="the last one")
            if "error" in last:  # until an `open` that was wrong is given again
                assert "open" in [one["method"] for one in said if isinstance(one, dict) and "method" in one]
                assert "result" in await program.ask("open", [{}])
                last = await program.ask("listTools", number="the last one")
            assert "result" in last
        finally:
            await program.conversation.close()

    asyncio.run(talk())
