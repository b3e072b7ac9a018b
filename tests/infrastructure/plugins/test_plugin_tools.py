"""Operations of a plugin as tools."""

from __future__ import annotations

import msgspec
import pytest

from awf.domain.errors import AwfError
from awf.domain.ports.plugins import Operation, OperationOutcome, PluginFacts
from awf.domain.tool import CallContext, ToolFailure, UnknownTool
from awf.infrastructure.plugins.tools import PluginTools

CONTEXT = CallContext(call_id="1", trace={"traceparent": "00-a-b-01"})


class Scripted:
    """A host that answers what it is told to."""

    def __init__(self, answer=None, facts=None):
        self.answer = answer
        self.calls = []
        operations = {
            "get": Operation(name="get", description="Gets.", read_only=True),
            "put": Operation(name="put", output_schema={"type": "object", "properties": {}}),
        }
        self.told = facts or PluginFacts(name="kv", operations=operations)

    async def facts(self, names, workflows=None):
        return dict.fromkeys(names, self.told)

    async def execute(self, plugin, operation, inputs, *, timeout=None, trace=None):
        self.calls.append((plugin, operation, inputs, trace))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def call(outcome, tool="kv_get"):
    return await PluginTools(Scripted(outcome), "kv").call_tool(tool, {"k": 1}, CONTEXT)


async def test_operations_are_listed_as_tools():
    tools = await PluginTools(Scripted(), "kv").list_tools()
    assert [tool.name for tool in tools] == ["kv_get", "kv_put"]
    assert tools[0].source == "plugin:kv"
    assert tools[0].description == "Gets."
    assert tools[0].annotations == {"readOnlyHint": True}
    assert tools[1].annotations == {}
    assert tools[1].output_schema == {"type": "object", "properties": {}}


async def test_only_exposed_operations_are_listed():
    tools = await PluginTools(Scripted(), "kv", ["put", "put"]).list_tools()
    assert [tool.name for tool in tools] == ["kv_put"]


async def test_a_call_reaches_the_operation_with_its_trace():
    host = Scripted(OperationOutcome(success=True, output="done"))
    result = await PluginTools(host, "kv").call_tool("kv_get", {"k": 1}, CONTEXT)
    assert host.calls == [("kv", "get", {"k": 1}, {"traceparent": "00-a-b-01"})]
    assert result.text == "done"
    assert not result.is_error
    assert result.structured is msgspec.UNSET


async def test_data_is_structured_and_text_where_there_is_no_other():
    result = await call(OperationOutcome(success=True, data={"n": 1}))
    assert result.structured == {"n": 1}
    assert result.text == '{"n":1}'


async def test_an_announced_output_is_structured_even_when_it_is_empty():
    result = await call(OperationOutcome(success=True, output="ok"), tool="kv_put")
    assert result.structured == {}


async def test_a_refusal_is_an_error_result():
    result = await call(OperationOutcome(success=False, error="no such key", output="looked in 3 places"))
    assert result.is_error
    assert result.text == "no such key\nlooked in 3 places"
    assert (await call(OperationOutcome(success=False))).text.startswith("The operation 'get' failed")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("EXECUTION.PLUGIN.TIMEOUT", "TIMEOUT"),
        ("EXECUTION.PLUGIN.CRASHED", "EXECUTION_FAILED"),
        ("EXECUTION.PLUGIN.PROTOCOL", "EXECUTION_FAILED"),
        ("EXECUTION.PLUGIN.UNAVAILABLE", "EXECUTION_FAILED"),
        ("USER.PLUGIN.UNKNOWN_OPERATION", "RESOURCE_NOT_FOUND"),
    ],
)
async def test_a_plugin_that_fails_is_told_to_the_model(code, told):
    with pytest.raises(ToolFailure, match="it broke") as caught:
        await call(AwfError(code, "it broke"))
    assert caught.value.code == told


async def test_a_tool_that_is_not_exposed_cannot_be_called():
    with pytest.raises(UnknownTool):
        await PluginTools(Scripted(), "kv", ["get"]).call_tool("kv_put", {}, CONTEXT)


async def test_an_unknown_operation_is_told_with_the_one_that_was_meant():
    with pytest.raises(AwfError) as caught:
        await PluginTools(Scripted(), "kv", ["gte"]).list_tools()
    assert caught.value.code == "USER.MCP_PROXY.UNKNOWN_OPERATION"
    assert caught.value.hint == "did you mean 'get'?"


async def test_an_operation_whose_schema_is_refused_cannot_be_exposed():
    facts = PluginFacts(name="kv", operations={"odd": Operation(name="odd", refusal="the input 'x' is odd")})
    with pytest.raises(AwfError, match="cannot be a tool: the input 'x' is odd") as caught:
        await PluginTools(Scripted(facts=facts), "kv").list_tools()
    assert caught.value.code == "USER.MCP_PROXY.UNKNOWN_OPERATION"


async def test_two_operations_with_one_tool_name_collide():
    operations = {name: Operation(name=name) for name in ("a.b", "a_b")}
    tools = PluginTools(Scripted(facts=PluginFacts(name="kv", operations=operations)), "kv")
    with pytest.raises(AwfError, match="kv_a_b") as caught:
        await tools.list_tools()
    assert caught.value.code == "USER.MCP_PROXY.NAME_COLLISION"


async def test_a_plugin_in_trouble_has_no_tools():
    facts = PluginFacts(name="kv", trouble="It does not start.", hint="Mend it.")
    with pytest.raises(AwfError, match="It does not start") as caught:
        await PluginTools(Scripted(facts=facts), "kv").list_tools()
    assert caught.value.code == "EXECUTION.PLUGIN.UNAVAILABLE"
    assert caught.value.hint == "Mend it."


async def test_a_real_plugin_serves_a_tool(project):
    tools = PluginTools(project.sample(), "sample", ["echo", "data"])
    listed = {tool.name: tool for tool in await tools.list_tools()}
    assert listed["sample_echo"].input_schema["required"] == ["text"]
    assert (await tools.call_tool("sample_data", {}, CONTEXT)).structured == {"answer": 42}
    await tools.close()
    assert (await tools.call_tool("sample_echo", {"text": "x"}, CONTEXT)).text == "you said x"
