"""A registered server: when it is started, and what is told of its list."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from awf.application.tool_gateway.server_link import Hooks, OpenedServer, ServerLink
from awf.domain.errors import AwfError
from awf.domain.manifest import McpManifest
from awf.domain.tool import CallContext, ToolDefinition, ToolFailure, text_result

ECHO = {"name": "echo", "description": "Say it again", "inputSchema": {"type": "object"}}
MANIFEST = msgspec.convert({"serverId": "kb", "name": "KB", "version": "1", "tools": [ECHO]}, McpManifest)
CALL = CallContext(call_id="1")


class Provider:
    """A server whose list is what the test says."""

    def __init__(self) -> None:
        self.listed = [self.defined()]
        self.failing = 0
        self.lists = 0
        self.hold = asyncio.Event()
        self.hold.set()
        self.done: list[str] = []
        self.meta: dict = {}

    @staticmethod
    def defined(**more) -> ToolDefinition:
        usual = {"name": "echo", "description": "Say it again", "input_schema": {"type": "object"}}
        return ToolDefinition(source="mcp:kb", **{**usual, **more})

    async def list_tools(self):
        self.lists += 1
        await self.hold.wait()
        if self.failing:
            self.failing -= 1
            raise AwfError("EXECUTION.MCP_SERVER.UNAVAILABLE", "not \x1b[31mnow, my-key")
        return self.listed

    async def call_tool(self, name, arguments, context):
        self.done.append(name)
        return msgspec.structs.replace(text_result("ok"), meta=self.meta)

    async def close(self):
        self.done.append("closed")


class Stand:
    def __init__(self, hooks: Hooks = Hooks()) -> None:
        self.provider = Provider()
        self.events = []
        self.link = ServerLink(MANIFEST, self._opened, hooks, self.events.append)

    def _opened(self, on_change):
        self.list_changed = on_change
        return OpenedServer(self.provider, sandboxed=False, mask=lambda text: text.replace("my-key", "***"))

    async def call(self):
        return await self.link.call("echo", {}, CALL)

    @property
    def told(self):
        return [(event.tool_id, event.change, event.fields) for event in self.events]

    async def changed(self, *listed):
        """The server says so, and it was looked at."""
        self.provider.listed, before = list(listed), self.provider.lists
        self.list_changed()
        while self.link._watching is not None and not self.link._watching.done():
            await asyncio.sleep(0)
        assert self.provider.lists > before


async def test_nothing_is_started_before_the_first_call():
    stand = Stand()
    assert stand.provider.lists == 0
    await stand.call()
    await stand.call()
    assert (stand.provider.lists, stand.provider.done, stand.told) == (1, ["echo", "echo"], [])
    await stand.link.close()


async def test_the_hooks_come_before_the_first_use_and_after_the_last():
    heard = []

    async def initialize(server_id):
        heard.append(f"initialize {server_id}")

    stand = Stand(Hooks(initialize, lambda server_id: heard.append(f"cleanup {server_id}")))
    await stand.call()
    await stand.call()
    assert heard == ["initialize kb"]
    await stand.link.close()
    assert heard == ["initialize kb", "cleanup kb"]
    assert stand.provider.done[-1] == "closed"


async def test_a_server_that_was_never_used_is_not_cleaned_up():
    heard = []
    stand = Stand(Hooks(heard.append, heard.append))
    await stand.link.close()
    assert heard == []


async def test_a_server_that_cannot_be_prepared_fails_its_call_and_is_tried_again():
    tries = []

    def initialize(server_id):
        tries.append(server_id)
        if len(tries) == 1:
            raise RuntimeError("no key")

    stand = Stand(Hooks(initialize))
    with pytest.raises(ToolFailure, match="no key") as caught:
        await stand.call()
    assert caught.value.code == "EXECUTION_FAILED"
    await stand.call()
    assert len(tries) == 2
    await stand.link.close()


async def test_a_clean_up_that_fails_does_not_keep_it_open():
    def cleanup(server_id):
        raise RuntimeError("broken")

    stand = Stand(Hooks(cleanup=cleanup))
    await stand.call()
    await stand.link.close()
    assert stand.provider.done[-1] == "closed"


async def test_a_server_that_does_not_list_its_tools_is_asked_again_by_the_next_call():
    stand = Stand()
    stand.provider.failing = 1
    with pytest.raises(AwfError):
        await stand.call()
    await stand.call()
    await stand.link.close()


async def test_who_stops_waiting_does_not_stop_the_start():
    stand = Stand()
    stand.provider.hold.clear()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await stand.call()
    waiting = asyncio.gather(stand.call(), stand.call())
    await asyncio.sleep(0)
    stand.provider.hold.set()
    await waiting
    assert stand.provider.lists == 1
    await stand.link.close()


async def test_closing_while_it_starts_fails_the_calls_that_wait():
    stand = Stand()
    stand.provider.hold.clear()
    call = asyncio.gather(stand.call(), return_exceptions=True)
    while not stand.provider.lists:
        await asyncio.sleep(0)
    await stand.link.close()
    (failure,) = await call
    assert isinstance(failure, ToolFailure)
    assert failure.code == "EXECUTION_FAILED"


async def test_a_definition_that_is_not_that_of_the_manifest_is_told_once():
    stand = Stand()
    stand.provider.listed = [
        stand.provider.defined(description="Other", input_schema={"type": "object", "a": 1})
    ]
    await stand.call()
    assert stand.told == [("kb:echo", "changed", ["description", "inputSchema"])]
    await stand.changed(*stand.provider.listed)
    assert len(stand.told) == 1
    await stand.link.close()


async def test_a_tool_that_vanishes_cannot_be_called_until_it_is_back():
    stand = Stand()
    await stand.call()
    await stand.changed()
    assert stand.told == [("kb:echo", "vanished", [])]
    with pytest.raises(ToolFailure) as caught:
        await stand.call()
    assert caught.value.code == "RESOURCE_NOT_FOUND"
    await stand.changed(stand.provider.defined(), stand.provider.defined(name="extra"))
    assert [change for _, change, _ in stand.told] == ["vanished", "returned"]
    await stand.call()
    await stand.link.close()


async def test_a_list_that_cannot_be_had_changes_nothing_and_is_logged_without_secrets(caplog):
    stand = Stand()
    await stand.call()
    stand.provider.failing = 1
    await stand.changed()
    assert stand.told == []
    assert caplog.messages == ["the tools of server kb are not known now: not \\u001b[31mnow, ***"]
    await stand.call()
    await stand.link.close()


async def test_what_only_the_gateway_may_say_is_taken_out_of_a_result():
    stand = Stand()
    stand.provider.meta = {"awf/spooled": {}, "other": 1}
    assert (await stand.call()).meta == {"other": 1}
    await stand.link.close()
