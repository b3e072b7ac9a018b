"""`AsyncToolGateway`, beyond what all classes promise (tests/contracts/test_tool_gateway.py)."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

import awf.gateway
from awf.application.running.tasks import spawn
from awf.bootstrap.tool_gateways import ToolGatewayOptions, open_tool_gateway
from awf.gateway import AsyncToolGateway, GatewayError, ToolGateway

NINE = [
    "registerManifest",
    "registerServer",
    "listTools",
    "callTool",
    "grantCapability",
    "revokeCapability",
    "drainAuditEvents",
    "getSnapshot",
    "reset",
]


def hello(**more):
    return {"toolId": "kb:echo", "arguments": {"text": "hello"}, **more}


@pytest.fixture
async def gateway(tmp_path):
    async with AsyncToolGateway(workspace=tmp_path) as made:
        yield made


@pytest.mark.parametrize("cls", [AsyncToolGateway, ToolGateway])
def test_the_nine_methods_have_twins_in_both_spellings(cls):
    for name in NINE:
        snake = "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name)
        assert getattr(cls, name) is getattr(cls, snake)
    assert set(awf.gateway.__all__) == {"AsyncToolGateway", "ToolGateway", "GatewayError"}


# -- where things are kept -------------------------------------------------------------------------------------------


async def test_without_a_storage_nothing_is_left(tmp_path, monkeypatch, make):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    (tmp_path / "work").mkdir()
    async with AsyncToolGateway(workspace=tmp_path / "work") as gateway:
        await gateway.register_server(make.server())
        assert (await gateway.call_tool(hello()))["success"]
        assert any((tmp_path / "scratch").iterdir())
    assert list((tmp_path / "scratch").glob("awf-gateway-*")) == []
    assert list((tmp_path / "work").iterdir()) == []


async def test_with_a_storage_the_audit_goes_on_where_it_was(tmp_path, make):
    for number in range(2):
        async with AsyncToolGateway(storage=tmp_path / "kept", workspace=tmp_path) as gateway:
            await gateway.register_server(make.server())
            await gateway.call_tool(hello(requestId=f"r{number}"))
    async with AsyncToolGateway(storage=tmp_path / "kept", workspace=tmp_path) as gateway:
        assert [event["requestId"] for event in await gateway.drain_audit_events()] == ["r0", "r1"]
        assert (await gateway.get_snapshot())["grants"] == []


async def test_the_record_can_be_verified(tmp_path, make):
    async with AsyncToolGateway(storage=tmp_path, workspace=tmp_path) as gateway:
        await gateway.register_server(make.server())
        await gateway.call_tool(hello(arguments={"text": "x", "password": "hunter2-hunter2"}))
        report = await gateway._service._parts.log.verify()
        assert report.is_sound
    texts = b"".join(path.read_bytes() for path in (tmp_path / "audit").rglob("*") if path.is_file())
    assert b"hunter2" not in texts


async def test_a_reference_is_filled_in_and_its_value_never_comes_back(tmp_path, make, monkeypatch):
    monkeypatch.setenv("KB_TOKEN", "very-secret-value-1234")
    async with AsyncToolGateway(workspace=tmp_path) as gateway:
        await gateway.register_server(make.server(env={"API_TOKEN": "${env:KB_TOKEN}"}))
        result = await gateway.call_tool(hello(arguments={"text": "it is very-secret-value-1234"}))
        assert "very-secret" not in json.dumps(result)
        assert "very-secret" not in json.dumps(await gateway.drain_audit_events())


async def test_what_a_server_says_as_it_dies_is_told_without_its_key(tmp_path, make, monkeypatch):
    monkeypatch.setenv("KB_TOKEN", "very-secret-value-1234")
    async with AsyncToolGateway(workspace=tmp_path) as gateway:
        env = {"LAST_WORDS": "${env:KB_TOKEN}"}
        await gateway.register_server(make.server(make.tool("crash", schema={"type": "object"}), env=env))
        result = await gateway.call_tool(hello(toolId="kb:crash", arguments={}))
        assert result["success"] is False
        assert "***" in result["error"]["message"]
        assert "very-secret" not in json.dumps(result)


LOUD = """
import os, runpy, sys
print("junk \\x1b[31m" + os.environ["API_KEY"], flush=True)
print("trouble \\x1b[31m" + os.environ["API_KEY"], file=sys.stderr, flush=True)
runpy.run_path(sys.argv[1])
"""


async def test_the_log_of_the_program_has_neither_secrets_of_servers_nor_orders_to_its_terminal(
    tmp_path, make, monkeypatch, caplog
):
    """Its handlers are its own, and know no secrets."""
    caplog.set_level("DEBUG")
    monkeypatch.setenv("KB_TOKEN", "very-secret-value-1234")
    config = make.server(env={"API_KEY": "${env:KB_TOKEN}"})
    async with AsyncToolGateway(workspace=tmp_path) as gateway:
        await gateway.register_server({**config, "args": ["-c", LOUD, *config["args"]]})
        assert (await gateway.call_tool(hello()))["success"]
    assert "junk \\u001b[31m***" in caplog.text
    assert "trouble \\u001b[31m***" in caplog.text
    assert "very-secret" not in caplog.text
    assert "\x1b" not in caplog.text


async def test_a_list_that_names_a_secret_is_still_what_its_manifest_says(tmp_path, make, monkeypatch):
    monkeypatch.setenv("KB_TOKEN", "Say it again")
    heard = []
    async with AsyncToolGateway(workspace=tmp_path) as gateway:
        gateway.subscribe(lambda event: heard.append(event["type"]))
        await gateway.register_server(make.server(env={"API_KEY": "${env:KB_TOKEN}"}))
        await gateway.call_tool(hello())
    assert "tool_changed" not in heard


# -- the beginning and the end ---------------------------------------------------------------------------------------


async def test_after_close_everything_is_refused_and_close_is_harmless(tmp_path):
    gateway = AsyncToolGateway(workspace=tmp_path)
    await gateway.close()
    await gateway.close()
    for call in (gateway.list_tools, gateway.get_snapshot, gateway.reset, gateway.drain_audit_events):
        with pytest.raises(GatewayError) as caught:
            await call()
        assert caught.value.code == "USER.GATEWAY.CLOSED"


async def test_servers_end_with_reset_and_their_hooks_are_called(gateway, make):
    heard = []
    await gateway.register_server(
        make.server(),
        initialize=lambda server_id: heard.append(f"+{server_id}"),
        cleanup=lambda server_id: heard.append(f"-{server_id}"),
    )
    assert heard == []
    await gateway.call_tool(hello())
    assert heard == ["+kb"]
    await gateway.reset()
    assert heard == ["+kb", "-kb"]


async def test_what_is_called_while_servers_end_finds_nothing_and_leaves_nothing(gateway, make):
    """Not even what is known of a tool: another one of that name may have other rules."""
    leaving, gone = asyncio.Event(), asyncio.Event()

    async def cleanup(_):
        leaving.set()
        await gone.wait()

    await gateway.register_server(make.server(), cleanup=cleanup)
    await gateway.call_tool(hello())
    resetting = spawn(gateway.reset(), "resetting")
    await leaving.wait()
    between = await gateway.call_tool(hello())
    gone.set()
    await resetting
    assert between["error"]["code"] == "RESOURCE_NOT_FOUND"
    await gateway.register_server(make.server(make.tool(requiredScopes=["kb.read"])))
    assert (await gateway.call_tool(hello()))["error"]["code"] == "PERMISSION_DENIED"


async def test_a_value_that_does_not_fit_is_not_recorded_where_its_name_is_secret(gateway, make):
    short = {"type": "string", "maxLength": 3}
    schema = {"type": "object", "properties": {"password": {"type": "integer"}, "pin": short, "text": short}}
    await gateway.register_server(make.server(make.tool(schema=schema)))
    for name, keys in (("password", []), ("pin", ["PIN"]), ("text", [])):
        call = {"toolId": "kb:echo", "arguments": {name: "hunter2-and-more"}, "redactKeys": keys}
        result = await gateway.call_tool(call)
        assert result["error"]["code"] == "INVALID_ARGUMENTS"
        assert ("hunter2" in str(result)) is (name == "text")
    recorded = [event["reason"] for event in await gateway.drain_audit_events()]
    assert ["hunter2" in reason for reason in recorded] == [False, False, True]


async def test_arguments_that_no_server_can_be_sent_are_refused_without_a_word_in_the_log(
    gateway, make, caplog
):
    await gateway.register_server(make.server(make.tool(schema={"type": "object"})))
    broken = ({"text": "\ud800"}, {"\udc00": 1}, {"deep": [[["\ud800"]]]})
    for arguments in (*broken, {"n": float("inf")}, {"n": [float("nan")]}, {"n": -float("inf")}):
        result = await gateway.call_tool({"toolId": "kb:echo", "arguments": arguments})
        assert result["error"]["code"] == "INVALID_ARGUMENTS"
    events = await gateway.drain_audit_events()
    assert [event["error"] for event in events] == ["INVALID_ARGUMENTS"] * 6
    assert caplog.records == []


@pytest.mark.parametrize("workspace", [".", "/tmp/../tmp", "inner", "/a\0b"])
async def test_a_grant_for_a_folder_names_it_whole(gateway, workspace):
    with pytest.raises(GatewayError) as refused:
        await gateway.grant_capability({"capability": "kb.read", "scope": {"workspace": workspace}})
    assert refused.value.code == "USER.GRANT.INVALID"


@pytest.mark.parametrize("timeout", [0, -1, 2**53, 10**400])
async def test_a_time_that_nobody_can_wait_for_is_refused(gateway, timeout):
    with pytest.raises(GatewayError) as refused:
        await gateway.call_tool({"toolId": "kb:echo", "timeoutMs": timeout})
    assert refused.value.code == "USER.GATEWAY.INVALID_CALL"


async def test_a_time_of_ages_is_one(gateway, make):
    await gateway.register_server(make.server(make.tool(), timeoutMs=2**53 - 1))
    grant = await gateway.grant_capability({"capability": "*"})
    call = {"toolId": "kb:echo", "arguments": {"text": "a"}, "timeoutMs": 2**53 - 1, "grantIds": [grant]}
    assert (await gateway.call_tool(call))["success"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"config": {"polizy": {}}}, "USER.GATEWAY.INVALID_FILE"),
        ({"config": {"mcpServers": {}}}, "USER.GATEWAY.INVALID_FILE"),
        ({"config": {"limits": {"timeout_ms": 0}}}, "USER.GATEWAY.INVALID_FILE"),
        ({"config": {"limits": {"timeout_ms": 10**400}}}, "USER.GATEWAY.INVALID_FILE"),
        ({"config": {"policy": {"rules": [{"id": "a", "action": "x", "decision": "deny"}]}}}, "USER.GATEWAY.INVALID_FILE"),
        ({"config": {"overrides": {"kb:echo": {"rename": "say"}}}}, "USER.GATEWAY.INVALID_FILE"),
        ({"config": {"overrides": {"kb:echo": {"required_scopes": ["a b"]}}}}, "USER.GATEWAY.INVALID_FILE"),
        ({"config": {"overrides": {"kb:echo": {"limits": {"timeout_ms": 0}}}}}, "USER.GATEWAY.INVALID_FILE"),
        ({"config": {"sandbox": {"default": "fortress"}}}, "USER.SANDBOX.UNKNOWN_PROFILE"),
        ({"config": {"policy": object()}}, "USER.GATEWAY.INVALID_CALL"),
        ({"config": "none.yaml"}, "USER.INPUT.MISSING_FILE"),
        ({"workspace": "none"}, "USER.INPUT.MISSING_FILE"),
        ({"session": "a\nb"}, "USER.CONTEXT.INVALID"),
        ({"session": ""}, "USER.GATEWAY.INVALID_CALL"),
        ({"storage": ""}, "USER.GATEWAY.INVALID_CALL"),
        ({"workspace": ""}, "USER.GATEWAY.INVALID_CALL"),
        ({"config": ""}, "USER.GATEWAY.INVALID_CALL"),
        ({"user": ""}, "USER.GATEWAY.INVALID_CALL"),
        ({"user": "a\nb"}, "USER.GATEWAY.INVALID_CALL"),
        ({"user": "\0"}, "USER.GATEWAY.INVALID_CALL"),
        ({"user": "\ud800"}, "USER.GATEWAY.INVALID_CALL"),
        ({"user": "x" * 257}, "USER.GATEWAY.INVALID_CALL"),
        ({"user": 5}, "USER.GATEWAY.INVALID_CALL"),
        ({"storage": "a\0b"}, "USER.GATEWAY.INVALID_CALL"),
        ({"storage": "\ud800"}, "USER.GATEWAY.INVALID_CALL"),
        ({"workspace": "\0"}, "USER.GATEWAY.INVALID_CALL"),
        ({"workspace": "\ud800"}, "USER.GATEWAY.INVALID_CALL"),
        ({"config": "\0"}, "USER.GATEWAY.INVALID_CALL"),
    ],
)  # fmt: skip
def test_options_that_are_wrong_are_refused_at_once(options, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(GatewayError) as caught:
        AsyncToolGateway(**options)
    assert caught.value.code == code
    assert list(tmp_path.iterdir()) == []


async def test_the_gate_of_a_gateways_file_counts(tmp_path, make):
    rule = {"id": "closed", "action": "*", "decision": "deny", "reason": "Closed."}
    file = {"mcpServers": {"other": {"command": "other"}}, "policy": {"rules": [rule]}}
    (tmp_path / "gateway.yaml").write_text(json.dumps(file), encoding="utf-8")
    async with AsyncToolGateway(workspace=tmp_path, config="gateway.yaml") as gateway:
        assert await gateway.list_tools() == []
        await gateway.register_server(make.server())
        assert (await gateway.call_tool(hello()))["error"]["message"] == "Closed."


async def test_what_configuration_says_of_a_tool_counts_more_than_its_manifest(tmp_path, make):
    config = {"overrides": {"kb:echo": {"policy_action": "file.read", "required_scopes": ["kb:use"]}}}
    async with AsyncToolGateway(workspace=tmp_path, config=config) as gateway:
        await gateway.register_server(make.server(make.tool(policyAction="file.write")))
        refused = await gateway.call_tool(hello())
        assert refused["error"]["details"]["missing"] == ["kb:use", "file.read"]


async def test_limits_of_configuration_are_laid_over_those_of_the_server(tmp_path, make):
    config = {"overrides": {"kb:lines": {"limits": {"max_output_lines": 5}}}}
    lines = make.tool("lines", "Say many lines", {"type": "object"})
    async with AsyncToolGateway(workspace=tmp_path, config=config) as gateway:
        await gateway.register_server(make.server(lines, limits={"maxOutputLines": 40, "timeoutMs": 60000}))
        result = await gateway.call_tool({"toolId": "kb:lines"})
        assert result["meta"]["outputSpool"]["shownLines"] <= 5


async def test_servers_work_in_the_workspace(tmp_path, make):
    (tmp_path / "inner").mkdir()
    where = make.tool("where", "Say in which folder it runs", {"type": "object"})
    async with AsyncToolGateway(workspace=tmp_path) as gateway:
        await gateway.register_server(make.server(where))
        await gateway.register_server(make.server(where, server_id="inner", cwd="inner"))
        for server_id, folder in (("kb", tmp_path), ("inner", tmp_path / "inner")):
            result = await gateway.call_tool({"toolId": f"{server_id}:where"})
            assert result["content"][0]["text"] == str(folder.resolve())


async def test_a_server_whose_folder_is_missing_is_told_by_its_own_key(gateway, make):
    await gateway.register_server(make.server(cwd="nowhere"))
    message = (await gateway.call_tool(hello()))["error"]["message"]
    assert 'nowhere" does not exist' in message
    assert "`cwd` of the server" in message


# -- calls -----------------------------------------------------------------------------------------------------------


async def test_two_calls_of_one_request_id_cannot_be_under_way(gateway, make):
    await gateway.register_server(
        make.server(make.tool(), make.tool("slow", "Never answer", {"type": "object"}))
    )
    first = spawn(gateway.call_tool({"toolId": "kb:slow", "requestId": "same"}), "the first", awaited=True)
    async with asyncio.timeout(60):
        while not await gateway._service._parts.log.open_calls():
            await asyncio.sleep(0.01)
    second = await gateway.call_tool(hello(requestId="same"))
    assert second["error"]["code"] == "CONFLICT"
    first.cancel()
    await asyncio.wait([first])
    assert (await gateway.call_tool(hello(requestId="same")))["success"]
    told = [(event["error"], event["success"]) for event in await gateway.drain_audit_events()]
    assert told == [("CONFLICT", False), ("CANCELLED", False), ("", True)]


async def test_calls_of_an_exclusive_tool_wait_for_each_other(gateway, make):
    slow = make.tool("slow", "Never answer", {"type": "object"}, concurrency="exclusive")
    await gateway.register_server(make.server(slow))
    calls = [gateway.call_tool({"toolId": "kb:slow", "timeoutMs": 30 * (1 + at)}) for at in range(3)]
    results = await asyncio.gather(*calls)
    assert {one["error"]["code"] for one in results} == {"TIMEOUT"}
    # One that waited for another was never sent, and its time was over all the same.
    (known,) = gateway._service._calls._known.values()
    assert not known.alone.locked()


async def test_an_approval_of_the_desk_counts_for_just_this_call_once_it_is_granted(gateway, make):
    await gateway.register_server(make.server(make.tool(requiresConfirmation=True)))
    desk = gateway._service._parts.gate.desk
    asked = (await gateway.call_tool(hello()))["error"]["details"]["approvalId"]
    grant = await gateway.grant_capability({"capability": "x", "approvalId": asked})
    other = hello(arguments={"text": "other"}, grantIds=[grant])
    assert "about another call" in (await gateway.call_tool(other))["error"]["message"]
    await desk.decide(asked, granted=True, by="ann")
    assert "with a grant that carries" in (await gateway.call_tool(hello()))["error"]["message"]
    assert "about another call" in (await gateway.call_tool(other))["error"]["message"]
    assert (await gateway.call_tool(hello(grantIds=[grant])))["success"]
    assert "used already" in (await gateway.call_tool(hello(grantIds=[grant])))["error"]["message"]
    allowed = [event for event in await gateway.drain_audit_events() if event["success"]]
    assert [event["reason"] for event in allowed] == ["Approved by ann."]


async def test_an_approval_that_was_denied_is_none(gateway, make):
    await gateway.register_server(make.server(make.tool(requiresConfirmation=True)))
    asked = (await gateway.call_tool(hello()))["error"]["details"]["approvalId"]
    await gateway._service._parts.gate.desk.decide(asked, granted=False, by="ann")
    grant = await gateway.grant_capability({"capability": "x", "approvalId": asked})
    assert "was denied" in (await gateway.call_tool(hello(grantIds=[grant])))["error"]["message"]


@pytest.mark.race
async def test_of_many_calls_with_one_approval_one_is_carried_out(tmp_path, make):
    async with AsyncToolGateway(workspace=tmp_path) as gateway:
        await gateway.register_server(make.server(make.tool(requiresConfirmation=True)))
        grant = await gateway.grant_capability({"capability": "x", "approvalId": "ticket"})
        results = await asyncio.gather(*(gateway.call_tool(hello(grantIds=[grant])) for _ in range(10)))
        assert sorted(one["success"] for one in results) == [False] * 9 + [True]


async def test_an_approval_is_used_up_in_the_storage_not_in_the_process(tmp_path, make):
    successes = []
    for _ in range(2):
        async with AsyncToolGateway(storage=tmp_path, workspace=tmp_path, session="one") as gateway:
            await gateway.register_server(make.server(make.tool(requiresConfirmation=True)))
            grant = await gateway.grant_capability({"capability": "x", "approvalId": "ticket"})
            successes.append((await gateway.call_tool(hello(grantIds=[grant])))["success"])
    assert successes == [True, False]


async def test_approvals_that_are_wanted_are_told_to_listeners(gateway, make):
    heard = []
    gateway.subscribe(heard.append)
    await gateway.register_server(make.server(make.tool(requiresConfirmation=True)))
    asked = (await gateway.call_tool(hello()))["error"]["details"]["approvalId"]
    await gateway._service._parts.gate.desk.decide(asked, granted=True, by="ann")
    told = [(event["type"], event["status"]) for event in heard if event.get("approvalId") == asked]
    assert told == [("approval_required", "pending"), ("approval_resolved", "granted")]
    records = await gateway._service._parts.log.records()
    assert [one.entry.kind for one in records if one.entry.kind.startswith("approval")] == [
        "approval_required",
        "approval_resolved",
    ]


async def test_who_has_read_secrets_reaches_nobody_outside(gateway, make):
    secret, out = (
        make.tool(classification="secret"),
        make.tool("fail", "x", {"type": "object"}, category="external"),
    )
    await gateway.register_server(make.server(secret, out))
    assert (await gateway.call_tool({"toolId": "kb:fail"}))["error"]["code"] == "EXECUTION_FAILED"
    assert (await gateway.call_tool(hello()))["success"]
    refused = await gateway.call_tool({"toolId": "kb:fail"})
    assert refused["error"]["code"] == "PERMISSION_DENIED"
    assert "knows something secret" in refused["error"]["message"]


async def test_a_list_that_changes_is_followed(gateway, make):
    nothing = {"type": "object"}
    change, drop = (
        make.tool("change", "Define echo otherwise", nothing),
        make.tool("drop", "Stop offering echo", nothing),
    )
    heard: asyncio.Queue = asyncio.Queue()
    gateway.subscribe(lambda event: heard.put_nowait(event) if event["type"] == "tool_changed" else None)
    await gateway.register_server(make.server(make.tool(), change, drop))
    await gateway.call_tool({"toolId": "kb:change"})
    told = {"type": "tool_changed", "serverId": "kb", "toolId": "kb:echo"}
    async with asyncio.timeout(60):
        assert await heard.get() == {**told, "change": "changed", "fields": ["description"]}
        await gateway.call_tool({"toolId": "kb:drop"})
        assert await heard.get() == {**told, "change": "vanished"}
    assert (await gateway.call_tool(hello()))["error"]["code"] == "RESOURCE_NOT_FOUND"
    assert [entry["toolId"] for entry in await gateway.list_tools()] == ["kb:change", "kb:drop", "kb:echo"]
    assert (await gateway.call_tool({"toolId": "kb:extra"}))["error"]["code"] == "RESOURCE_NOT_FOUND"


async def test_a_listener_that_fails_keeps_nobody_from_anything(gateway, make):
    def broken(event):
        raise RuntimeError("broken")

    gateway.subscribe(broken)
    await gateway.register_server(make.server())
    assert (await gateway.call_tool(hello()))["success"]


async def test_what_a_program_changes_later_changes_nothing_here(gateway, make):
    config = make.server()
    await gateway.register_server(config)
    config["manifest"]["tools"][0]["name"] = "other"
    entries = await gateway.list_tools()
    entries[0]["tool"]["name"] = "other"
    assert [entry["tool"]["name"] for entry in await gateway.list_tools()] == ["echo"]


@pytest.mark.parametrize("value", [object(), {1, 2}, {"a": b"bytes"}])
async def test_what_has_no_json_form_is_refused(gateway, value):
    with pytest.raises(GatewayError) as caught:
        await gateway.call_tool({"toolId": "kb:echo", "arguments": {"text": value}})
    assert caught.value.code == "USER.GATEWAY.INVALID_CALL"


@pytest.mark.parametrize(
    "arguments",
    [
        {1: "a", "1": "b"},
        {"x": [{None: 1}]},
        {"x": ({"y": {True: 1}},)},
        {"x": {1.5: 1}},
        {"x": functools.reduce(lambda inner, _: [inner], range(500), {1: 2})},
    ],
)
async def test_keys_that_are_no_texts_are_refused_and_not_made_into_some(gateway, make, arguments):
    await gateway.register_server(make.server(make.tool(schema={"type": "object"})))
    for name in ("arguments", "unknown"):
        with pytest.raises(GatewayError) as caught:
            await gateway.call_tool({"toolId": "kb:echo", name: arguments})
        assert caught.value.code == "USER.GATEWAY.INVALID_CALL"
        assert "is a key, and no text" in caught.value.message
    assert await gateway.drain_audit_events() == []


def holding_itself():
    made = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (functools.reduce(lambda inner, _: [inner], range(1000), 1), "it is nested too deeply."),
        (functools.reduce(lambda inner, _: {"a": inner}, range(100_000), 1), "it is nested too deeply."),
        (holding_itself(), "it is nested too deeply."),
        ([10**5000], "an integer has more than 4300 digits."),
    ],
)
async def test_what_cannot_be_handed_over_is_told_without_advice_for_whoever_writes_python(
    gateway, tmp_path, value, said
):
    with pytest.raises(GatewayError) as caught:
        await gateway.call_tool({"toolId": "kb:echo", "arguments": {"text": value}})
    assert caught.value.code == "USER.GATEWAY.INVALID_CALL"
    assert caught.value.message.endswith(said)
    with pytest.raises(GatewayError) as caught:
        open_tool_gateway(ToolGatewayOptions(workspace=str(tmp_path), config={"policy": value}))
    assert caught.value.message.endswith(said)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
async def test_what_no_list_of_tools_could_say_is_not_registered(gateway, make, value):
    server = make.server({**make.tool(), "metadata": {"x": [value]}})
    for registering in (gateway.register_server(server), gateway.register_manifest(server["manifest"])):
        with pytest.raises(GatewayError) as caught:
            await registering
        assert caught.value.code == "USER.GATEWAY.INVALID_CALL"
    assert await gateway.list_tools() == []


# -- other ways to a server ------------------------------------------------------------------------------------------


class WebTools(BaseHTTPRequestHandler):
    """MCP over HTTP, as little of it as will do: each answer is one JSON document."""

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        results = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
            "tools/call": {
                "content": [
                    {
                        "type": "text",
                        "text": self.headers.get("X-Key") or self.headers.get("Authorization", ""),
                    }
                ]
            },
        }
        if "id" not in message:
            self.answer(202, b"")
            return
        found = results.get(message["method"])
        told = {"result": found} if found else {"error": {"code": -32601, "message": "Method not found"}}
        self.answer(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}).encode())

    def do_GET(self):
        self.answer(405, b"")

    do_DELETE = do_GET

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("transport", ["http", "streamableHttp"])
async def test_a_server_at_an_address_is_spoken_to_over_http(gateway, make, transport):
    web = ThreadingHTTPServer(("127.0.0.1", 0), WebTools)
    Thread(target=web.serve_forever, daemon=True).start()
    try:
        config = make.server(url=f"http://127.0.0.1:{web.server_address[1]}/mcp", headers={"X-Key": "abc"})
        config = {key: value for key, value in config.items() if key not in {"command", "args"}}
        await gateway.register_server({**config, "transport": transport})
        result = await gateway.call_tool(hello())
        assert (result["content"], result["meta"]["sandboxed"]) == ([{"type": "text", "text": "abc"}], False)
    finally:
        await gateway.close()
        web.shutdown()
        web.server_close()


class TokensAndTools(WebTools):
    def do_POST(self):
        if self.path != "/token":
            super().do_POST()
            return
        self.rfile.read(int(self.headers["Content-Length"]))
        given = {"access_token": "token-of-the-day", "token_type": "Bearer", "expires_in": 3600}
        self.answer(200, json.dumps(given).encode())


async def test_a_token_that_a_server_was_sent_is_not_for_whoever_calls_its_tools(gateway, make):
    web = ThreadingHTTPServer(("127.0.0.1", 0), TokensAndTools)
    Thread(target=web.serve_forever, daemon=True).start()
    try:
        base = f"http://127.0.0.1:{web.server_address[1]}"
        auth = {"tokenUrl": f"{base}/token", "clientId": "me", "clientSecret": "my-secret"}
        config = make.server(url=f"{base}/mcp", auth=auth, transport="http")
        config = {key: value for key, value in config.items() if key not in {"command", "args"}}
        await gateway.register_server(config)
        result = await gateway.call_tool(hello())
        assert result["content"] == [{"type": "text", "text": "Bearer ***"}]
    finally:
        await gateway.close()
        web.shutdown()
        web.server_close()


def sandbox_is_there() -> bool:
    from awf.bootstrap import App

    app = App(cwd=os.getcwd(), environment=os.environ)
    try:
        wall = app.sandbox
        return wall is not None and not wall.abilities().cannot
    finally:
        asyncio.run(app.close())


@pytest.fixture(scope="module")
def walls():
    if not sandbox_is_there():
        pytest.skip("this machine builds no walls")


PEEK = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    found = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "p", "version": "1"}}
    if message["method"] == "tools/list":
        found = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
    elif message["method"] == "tools/call":
        while message["params"]["arguments"]["text"] == "spin":
            pass
        try:
            said = open(message["params"]["arguments"]["text"]).read()
        except OSError as error:
            said = type(error).__name__
        found = {"content": [{"type": "text", "text": said}]}
    elif message["method"] != "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": found}), flush=True)
"""


# The program itself lies outside of the workspace.
HERE = {"extends": "workspace", "read": sorted({sys.prefix, sys.base_prefix})}


async def test_a_server_in_a_sandbox_sees_its_workspace_only(tmp_path, make, walls):
    work = tmp_path / "work"
    work.mkdir()
    (work / "peek.py").write_text(PEEK, encoding="utf-8")
    (work / "inside.txt").write_text("inside", encoding="utf-8")
    (tmp_path / "outside.txt").write_text("outside", encoding="utf-8")
    config = {"sandbox": {"default": "here", "profiles": {"here": HERE}}}
    async with AsyncToolGateway(workspace=work, config=config) as gateway:
        await gateway.register_server(make.server(args=["peek.py"]))
        await gateway.register_server(make.server(server_id="free", args=["peek.py"], sandboxProfile="none"))
        outside = str(tmp_path / "outside.txt")
        for server_id, name, said, sandboxed in [
            ("kb", "inside.txt", "inside", True),
            ("kb", outside, "FileNotFoundError", True),
            ("free", outside, "outside", False),
        ]:
            result = await gateway.call_tool({"toolId": f"{server_id}:echo", "arguments": {"text": name}})
            told = (result["content"][0]["text"], result["meta"]["sandboxed"])
            assert told == (said, sandboxed), result


async def test_a_server_that_its_sandbox_ends_is_a_violation(tmp_path, make, walls):
    (tmp_path / "peek.py").write_text(PEEK, encoding="utf-8")
    config = {"sandbox": {"profiles": {"tight": {**HERE, "cpu": "1s"}}}}
    async with AsyncToolGateway(workspace=tmp_path, config=config) as gateway:
        await gateway.register_server(make.server(args=["peek.py"], sandboxProfile="tight"))
        result = await gateway.call_tool(hello(arguments={"text": "spin"}))
        assert result["error"]["code"] == "SANDBOX_VIOLATION", result
        assert [event["error"] for event in await gateway.drain_audit_events()] == ["SANDBOX_VIOLATION"]


async def test_who_reads_on_in_a_secret_result_knows_it(tmp_path, make):
    config = {
        "overrides": {"kb:echo": {"classification": "confidential"}},
        "limits": {"max_output_bytes": 100},
        "spool": {},
    }
    async with AsyncToolGateway(
        workspace=tmp_path, storage=tmp_path / "kept", session="mine", config=config
    ) as one:
        await one.register_server(make.server(make.tool(), make.tool("wide", openWorldHint=True)))
        result = await one.call_tool({"toolId": "kb:echo", "arguments": {"text": "x" * 5000}})
        address = result["meta"]["outputSpool"]["uri"]
        await one._service._parts.gate.contexts.reset("mine", "ann")
        await one.read_artifact(address)
        refused = await one.call_tool({"toolId": "kb:wide", "arguments": {"text": "a"}})
    assert refused["error"]["code"] == "PERMISSION_DENIED"
