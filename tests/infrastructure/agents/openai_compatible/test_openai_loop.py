"""The loop between model and tools, against the fake model."""

from __future__ import annotations

import asyncio
import json

import pytest

from awf.domain.agent import AgentFailure, IsolationReport
from awf.domain.run import Session
from awf.domain.tool import ToolFailure, ToolResult
from awf.testing.fake_models import FakeModelServer, Scenario
from awf.testing.memory_tools import MemoryTools


@pytest.fixture
def scripted():
    """A fake model that answers "go" with these turns; gives the server."""
    running = []

    def start(*turns, **more):
        scenario = {
            "scripts": [{"name": "s", "prompt": "go", "turns": list(turns)}, *more.get("scripts", [])]
        }
        running.append(FakeModelServer(Scenario.from_dict(scenario)).start())
        return running[-1]

    yield start
    for fake in running:
        fake.stop()


def call(tool, call_id="", **args):
    return {"tool": tool, "args": args, **({"id": call_id} if call_id else {})}


def sent(fake, number=-1):
    return fake.model_requests()[number]["body"]


async def test_an_answer_without_tools_is_shown_as_it_comes(scripted, ask, shown):
    fake = scripted({"thinking": "Let me see.", "text": "Hello there, how are you?", "chunk": 5})
    reply = await ask(fake.url + "/v1")
    assert reply.text == shown.text == "Hello there, how are you?"
    assert shown.thoughts == "Let me see."
    assert len(shown) > 4
    assert "tools" not in sent(fake)
    assert fake.model_requests()[0]["stream"] is True


# AC-1 (in-process router of the OpenAI-compatible provider): what the model can call is what the router has.
async def test_the_model_has_exactly_the_tools_of_the_proxy_and_gets_their_results(
    scripted, ask, shown, memory, equip
):
    fake = scripted(
        {"text": "Reading. ", "chunk": 1, "tool_calls": [call("Read", "c1", file_path="note.txt")]},
        {"tool_calls": [call("Bash", "c2", command="make")]},
        {"text": "It says {{all_tool_results}}"},
    )
    reply = await ask(fake.url + "/v1", tools=await equip(memory))
    assert reply.text == "It says xyzzy\nran make"
    assert fake.tools_seen() == {"Read", "Bash"}
    assert memory.calls == [("Read", {"file_path": "note.txt"}), ("Bash", {"command": "make"})]
    assert shown[0] == IsolationReport("guaranteed", tools=("Read", "Bash"))
    assert [(event.call_id, event.name, event.input) for event in shown.started] == [
        ("c1", "Read", {"file_path": "note.txt"}),
        ("c2", "Bash", {"command": "make"}),
    ]
    assert [(event.call_id, event.output, event.is_error) for event in shown.finished] == [
        ("c1", "xyzzy", False),
        ("c2", "ran make", False),
    ]
    assistant, told = sent(fake, 1)["messages"][-2:]
    assert assistant["content"] == "Reading. "
    assert assistant["tool_calls"] == [
        {
            "id": "c1",
            "type": "function",
            "function": {"name": "Read", "arguments": json.dumps({"file_path": "note.txt"})},
        }
    ]
    assert told == {"role": "tool", "tool_call_id": "c1", "content": "xyzzy"}


# AC-7
async def test_a_turn_that_wants_tools_and_calls_none_is_stopped(scripted, ask, memory, equip):
    fake = scripted({"text": "Just a moment.", "stop": "tool_calls"})
    with pytest.raises(AgentFailure) as caught:
        await ask(fake.url + "/v1", tools=await equip(memory))
    assert caught.value.code == "USER.MCP_PROXY.INFINITE_LOOP_GUARD"
    assert not caught.value.retryable
    assert len(fake.model_requests()) == 1


async def test_calls_count_although_the_turn_says_that_it_just_stopped(scripted, ask, memory, equip):
    fake = scripted(
        {"stop": "stop", "tool_calls": [call("Read", file_path="note.txt")]}, {"text": "{{tool_result}}"}
    )
    assert (await ask(fake.url + "/v1", tools=await equip(memory))).text == "xyzzy"


async def test_parallel_calls_run_side_by_side_and_are_answered_in_their_order(scripted, ask, equip):
    both = asyncio.Barrier(2)
    second_done = asyncio.Event()

    async def first(_given, _context):
        await both.wait()
        await second_done.wait()
        return "one"

    async def second(_given, _context):
        await both.wait()
        second_done.set()
        return "two"

    fake = scripted(
        {"chunk": 3, "tool_calls": [call("first", "a"), call("second", "b")]}, {"text": "{{tool_results}}"}
    )
    tools = await equip(MemoryTools().add("first", first).add("second", second))
    assert (await ask(fake.url + "/v1", tools=tools)).text == "one\ntwo"
    assert [message["tool_call_id"] for message in sent(fake)["messages"][-2:]] == ["a", "b"]


@pytest.mark.parametrize(("option", "most"), [({}, 8), ({"parallel_tool_calls": False}, 1)])
async def test_only_so_many_calls_run_at_a_time(scripted, ask, equip, option, most):
    running, highest = 0, 0

    async def work(_given, _context):
        nonlocal running, highest
        running += 1
        highest = max(highest, running)
        for _ in range(20):
            await asyncio.sleep(0)
        running -= 1
        return "done"

    fake = scripted({"tool_calls": [call("work", f"c{n}") for n in range(20)]}, {"text": "ok"})
    await ask(fake.url + "/v1", tools=await equip(MemoryTools().add("work", work)), **option)
    assert highest == most


async def test_broken_arguments_are_told_to_the_model_and_nothing_is_done(
    scripted, ask, shown, memory, equip
):
    fake = scripted(
        {"tool_calls": [{"tool": "Read", "raw_args": '{"file_path": "no'}]}, {"text": "{{tool_result}}"}
    )
    reply = await ask(fake.url + "/v1", tools=await equip(memory))
    assert reply.text.startswith("Error: The arguments of Read are not valid JSON")
    assert '{"file_path": "no' in reply.text
    assert memory.calls == []
    assert shown.finished[0].is_error
    # What is not JSON is not sent back as if it were.
    assert sent(fake)["messages"][-2]["tool_calls"][0]["function"]["arguments"] == "{}"


async def test_arguments_that_do_not_fit_are_told_to_the_model(scripted, ask, memory, equip):
    fake = scripted({"tool_calls": [call("Read", path=5)]}, {"text": "{{tool_result}}"})
    assert "do not fit" in (await ask(fake.url + "/v1", tools=await equip(memory))).text


@pytest.mark.parametrize("with_tools", [True, False])
async def test_a_tool_that_does_not_exist_is_told_to_the_model(scripted, ask, memory, equip, with_tools):
    fake = scripted({"tool_calls": [call("exact:NoSuchTool")]}, {"text": "{{tool_result}}"})
    tools = await equip(memory) if with_tools else None
    reply = await ask(fake.url + "/v1", tools=tools)
    assert "There is no tool 'NoSuchTool'" in reply.text
    assert ("Your tools: Read, Bash." in reply.text) == with_tools


async def test_a_tool_that_fails_is_told_to_the_model(scripted, ask, shown, equip):
    def fail(_given, _context):
        raise ToolFailure("PERMISSION_DENIED", "Not this one.")

    fake = scripted({"tool_calls": [call("touch")]}, {"text": "{{tool_result}}"})
    reply = await ask(fake.url + "/v1", tools=await equip(MemoryTools().add("touch", fail)))
    assert reply.text == "Error: Not this one."
    assert shown.finished[0].is_error


async def test_a_model_that_never_stops_is_stopped(scripted, ask, memory, equip):
    fake = scripted({"tool_calls": [call("Bash", command="true")]})
    with pytest.raises(AgentFailure, match="3 rounds") as caught:
        await ask(fake.url + "/v1", tools=await equip(memory), max_rounds=3)
    assert not caught.value.retryable
    assert "max_rounds" in caught.value.hint
    assert len(fake.model_requests()) == 3


async def test_ids_that_come_again_in_the_next_round_are_replaced(scripted, ask, shown, memory, equip):
    fake = scripted(
        {"tool_calls": [call("Read", "same", file_path="note.txt")]},
        {"tool_calls": [call("Bash", "same", command="x")]},
        {"text": "done"},
    )
    await ask(fake.url + "/v1", tools=await equip(memory))
    ids = [event.call_id for event in shown.started]
    assert ids[0] == "same"
    assert len(set(ids)) == 2
    messages = sent(fake)["messages"]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == ids


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        ({"text": "This answer ends in the mid", "stop": "length"}, "cut off"),
        ({"text": "", "stop": "content_filter"}, "content filter"),
        ({"text": "Half of", "stop": "error"}, "gave up in the middle"),
        ({"text": ""}, "without an answer"),
    ],
)
async def test_an_answer_that_is_none_is_a_failure(scripted, ask, turn, said):
    with pytest.raises(AgentFailure, match=said):
        await ask(scripted(turn).url + "/v1")


# -- usage and costs ----------------------------------------------------------------------------------------------------


async def test_usage_of_all_rounds_is_added_up(scripted, ask, memory, equip):
    fake = scripted(
        {"usage": {"input": 100, "output": 10}, "tool_calls": [call("Read", file_path="note.txt")]},
        {"usage": {"input": 200, "output": 20}, "text": "done"},
    )
    tools = await equip(memory)
    usage = (await ask(fake.url + "/v1", tools=tools)).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cost, usage.cost_source) == (
        300,
        30,
        None,
        "unknown",
    )
    priced = (await ask(fake.url + "/v1", tools=tools, prices={"input": 10, "output": 100})).usage
    assert (priced.cost, priced.cost_source) == (pytest.approx(0.006), "computed")


# -- pictures and thoughts ----------------------------------------------------------------------------------------------


async def test_pictures_are_sent_on_to_a_model_that_sees(scripted, ask, equip):
    picture = {"type": "image", "mimeType": "image/png", "data": "QUJD"}
    look = MemoryTools().add("look", lambda _given, _context: ToolResult(content=[picture]))
    fake = scripted({"tool_calls": [call("look", "a"), call("look", "b")]}, {"text": "ok"})
    await ask(fake.url + "/v1", tools=await equip(look))
    assert [message["role"] for message in sent(fake)["messages"]] == ["user", "assistant", "tool", "tool"]
    assert "cannot be shown" in sent(fake)["messages"][-1]["content"]
    await ask(fake.url + "/v1", tools=await equip(look), images=True)
    *_, last = sent(fake)["messages"]
    assert (last["role"], [part["type"] for part in last["content"]]) == (
        "user",
        ["text", "image_url", "image_url"],
    )


async def test_thoughts_go_back_only_when_they_are_wanted(scripted, ask, memory, equip):
    turns = ({"thinking": "hm", "tool_calls": [call("Read", file_path="note.txt")]}, {"text": "ok"})
    fake, tools = scripted(*turns), await equip(memory)
    await ask(fake.url + "/v1", tools=tools)
    assert "reasoning_content" not in sent(fake)["messages"][-2]
    await ask(fake.url + "/v1", tools=tools, return_thoughts=True)
    assert sent(fake)["messages"][-2]["reasoning_content"] == "hm"


# -- sessions -----------------------------------------------------------------------------------------------------------


async def test_a_conversation_goes_on_from_its_history(scripted, ask, memory, equip):
    again = {"name": "again", "prompt": "and now", "turns": [{"text": "I see {{user_turns}} messages."}]}
    fake = scripted(
        {"tool_calls": [call("Read", "c1", file_path="note.txt")]},
        {"text": "It says xyzzy."},
        scripts=[again],
    )
    first = await ask(fake.url + "/v1", tools=await equip(memory), system_prompt="Be brief.")
    assert (first.session.provider, first.session.turns) == ("openai_compatible", 1)
    second = await ask(fake.url + "/v1", "and now", session=first.session, system_prompt="Be brief.")
    assert second.text == "I see 2 messages."
    assert (second.session.id, second.session.turns) == (first.session.id, 2)
    roles = [message["role"] for message in sent(fake)["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert second.session.history[-1] == {"role": "assistant", "content": "I see 2 messages."}


async def test_the_session_of_another_agent_is_refused(ask):
    with pytest.raises(AgentFailure, match="belongs to claude"):
        await ask("http://127.0.0.1:1/v1", session=Session(provider="claude", id="x"))
