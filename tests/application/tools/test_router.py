"""Every call passes the router: routed, checked, recorded, logged, traced."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest

from awf.application.tools.router import Observers, ToolRouter
from awf.domain.errors import AwfError
from awf.domain.events import ToolCallFinished, ToolCallStarted
from awf.domain.redaction import Masker
from awf.domain.tool import ToolFailure, ToolResult, UnknownTool
from awf.infrastructure.json_schemas.schemas import RustJsonSchemas
from awf.infrastructure.telemetry.tracing import NoTracer
from awf.testing.memory_tools import MemoryTools, object_schema


def observers(record=None, **more) -> Observers:
    return Observers(tracer=NoTracer(), masker=Masker(), record=record, step="work", path="work", **more)


async def opened(*providers, record=None, **more) -> ToolRouter:
    return await ToolRouter.open(providers, RustJsonSchemas(), observers(record, **more))


def echo(arguments, _context) -> str:
    return arguments["text"]


def echoing(source: str = "builtin", name: str = "echo") -> MemoryTools:
    return MemoryTools(source).add(name, echo, object_schema(text="string"))


async def test_tools_are_listed_provider_by_provider_in_their_own_order():
    first = MemoryTools().add("b", echo).add("a", echo)
    router = await opened(first, echoing("plugin:p", "p_z"))
    assert [tool.name for tool in router.definitions()] == ["b", "a", "p_z"]


async def test_a_call_goes_to_the_provider_that_has_the_tool():
    builtin, plugin = echoing(), echoing("plugin:p", "p_echo")
    router = await opened(builtin, plugin)
    result = await router.call("p_echo", {"text": "hi"})
    assert (result.text, result.is_error) == ("hi", False)
    assert (builtin.calls, plugin.calls) == ([], [("p_echo", {"text": "hi"})])


async def test_an_unknown_tool_is_refused_with_the_one_that_was_meant_and_recorded():
    events = []
    router = await opened(echoing(), record=events.append)
    with pytest.raises(UnknownTool, match="'echo'"):
        await router.call("ehco", {"text": 1})
    assert (events[0].tool, events[0].source, events[0].input) == ("ehco", "unknown", {"text": 1})
    assert (events[1].error, events[1].is_error) == ("RESOURCE_NOT_FOUND", True)


async def test_a_known_secret_in_the_name_of_an_unknown_tool_is_told_to_nobody():
    events = []
    router = await opened(echoing(), record=events.append)
    router._pipeline.observers.masker.add("KEY", "hunter2-hunter3")
    with pytest.raises(UnknownTool, match=r"There is no tool 'no \*\*\*'\.$"):
        await router.call("no hunter2-hunter3", {})
    assert (events[0].tool, events[1].output) == ("no ***", "There is no tool 'no ***'.")


async def test_arguments_that_break_the_schema_are_told_and_nothing_is_done():
    provider = echoing()
    router = await opened(provider)
    result = await router.call("echo", {"txt": 1})
    assert result.is_error
    assert provider.calls == []
    assert result.meta["awf/error"] == {"code": "INVALID_ARGUMENTS"}
    assert "text" in result.text
    assert "txt" in result.text


@pytest.mark.parametrize("text", ["half \ud800", "\udcff"])
async def test_what_no_server_can_be_sent_is_refused_and_the_built_in_tools_look_themselves(text):
    """Names of files need not be text."""
    server, builtin = echoing("mcp:files", "far"), echoing("builtin", "near")
    router = await opened(server, builtin)
    refused = await router.call("far", {"text": text})
    assert (refused.meta["awf/error"]["code"], server.calls) == ("INVALID_ARGUMENTS", [])
    assert not (await router.call("near", {"text": text})).is_error


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (ToolFailure("TIMEOUT", "It took too long."), "TIMEOUT", "It took too long."),
        (
            AwfError("EXECUTION.PLUGIN.CRASHED", "It died.", hint="Look."),
            "EXECUTION_FAILED",
            "It died. Look.",
        ),
        (ZeroDivisionError("oh"), "EXECUTION_FAILED", "ZeroDivisionError"),
    ],
)
async def test_whatever_a_provider_raises_becomes_an_answer(raised, code, words, caplog):
    def fail(_arguments, _context):
        raise raised

    events = []
    router = await opened(MemoryTools().add("fail", fail), record=events.append)
    result = await router.call("fail", {})
    assert result.is_error
    assert words in result.text
    assert events[-1].error == code
    assert events[-1].is_error


async def test_each_call_is_recorded_with_its_input_its_source_and_its_outcome():
    events = []
    router = await opened(echoing("mcp:notes"), record=events.append)
    await router.call("echo", {"text": "hi"})
    started, finished = events
    assert isinstance(started, ToolCallStarted)
    assert (started.step, started.path, started.tool, started.source) == ("work", "work", "echo", "mcp:notes")
    assert started.input == {"text": "hi"}
    assert isinstance(finished, ToolCallFinished)
    assert (finished.call_id, finished.is_error, finished.output) == (started.call_id, False, "hi")


async def test_each_call_writes_one_log_line(caplog):
    caplog.set_level(logging.INFO, "awf.tools")
    router = await opened(echoing())
    await router.call("echo", {"text": "hi"})
    (line,) = [record for record in caplog.records if record.getMessage() == "tool call"]
    assert line.fields["tool"] == "echo"
    assert line.fields["source"] == "builtin"
    assert "duration_ms" in line.fields


async def test_a_cancelled_call_reaches_the_provider_and_is_recorded_as_cancelled():
    entered, ended = asyncio.Event(), []

    async def hang(_arguments, _context):
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    events = []
    router = await opened(MemoryTools().add("hang", hang), record=events.append)
    call = asyncio.get_running_loop().create_task(router.call("hang", {}))
    await entered.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert ended == [True]
    assert (events[-1].cancelled, events[-1].error) == (True, "CANCELLED")


async def test_a_refused_call_is_not_carried_out():
    provider = echoing()

    async def refuse(tool, arguments, call_id):
        return f"no {tool.name} {arguments['text']}"

    router = await opened(provider, allow=refuse)
    result = await router.call("echo", {"text": "hi"})
    assert (result.is_error, result.text) == (True, "no echo hi")
    assert result.meta["awf/error"] == {"code": "PERMISSION_DENIED"}
    assert provider.calls == []


async def test_a_schema_that_cannot_be_used_does_not_block_the_tool():
    provider = MemoryTools("mcp:odd").add("odd", lambda *_: "done", {"type": "nonsense"})
    router = await opened(provider)
    assert (await router.call("odd", {"x": 1})).text == "done"


async def test_content_of_every_kind_and_meta_pass_unharmed():
    given = ToolResult(
        content=[{"type": "image", "data": "aGk=", "mimeType": "image/png", "x-new": 1}, {"type": "future"}],
        structured={"a": [1]},
        meta={"vendor/key": 1},
    )
    router = await opened(MemoryTools("mcp:x").add("draw", lambda *_: given))
    assert await router.call("draw", {}) == given


# -- names -----------------------------------------------------------------------------------------------------------


async def test_two_plugin_tools_of_one_name_are_refused_when_the_router_is_built():
    one, two = echoing("plugin:a", "a_b_c"), echoing("plugin:a-b", "a-b_c")
    with pytest.raises(AwfError) as caught:
        await opened(one, two)
    assert caught.value.code == "USER.MCP_PROXY.NAME_COLLISION"
    assert "plugin:a" in caught.value.message
    assert (one.closed, two.closed) == (1, 1)


async def test_a_plugin_tool_named_like_a_builtin_is_refused():
    with pytest.raises(AwfError) as caught:
        await opened(echoing("builtin", "Read"), echoing("plugin:x", "Read"))
    assert caught.value.code == "USER.MCP_PROXY.NAME_COLLISION"


async def test_tools_of_servers_keep_their_names_unless_another_tool_has_it():
    router = await opened(echoing("builtin", "Read"), echoing("mcp:fs", "read"), echoing("mcp:fs", "stat"))
    assert [tool.name for tool in router.definitions()] == ["Read", "fs__read", "stat"]
    assert (await router.call("fs__read", {"text": "there"})).text == "there"


async def test_names_are_made_legal_for_model_interfaces():
    long = "x" * 90
    router = await opened(
        echoing("mcp:s", "weather:get.now"),
        echoing("mcp:s", long),
        echoing("mcp:s", "1st"),
        echoing("mcp:s", "日本"),
    )
    names = [tool.name for tool in router.definitions()]
    assert names[0] == "weather_get_now"
    assert len(names[1]) == 64
    assert names[2] == "_1st"
    assert all(name.isascii() for name in names)
    assert (await router.call(names[1], {"text": "ok"})).text == "ok"


async def test_one_provider_that_fails_to_close_does_not_keep_the_others_open():
    class Bad(MemoryTools):
        async def close(self) -> None:
            raise OSError("no")

    good = echoing()
    router = await opened(Bad().add("x", echo), good)
    with contextlib.suppress(OSError):
        await router.close()
    assert good.closed == 1
