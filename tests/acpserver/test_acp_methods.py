"""The hand-written table of methods, held against the published schema."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path

import jsonschema_rs
import pytest

from acpserver.errors import Complaint
from acpserver.methods import AUTHENTICATE_PARAMS, INITIALIZE_PARAMS, NOTIFICATIONS, REQUESTS

SCHEMA = json.loads((Path(__file__).parents[1] / "protocols" / "acp" / "schema.json").read_text("utf-8"))
DEFINITIONS = {
    definition["x-method"]: name
    for name, definition in SCHEMA["$defs"].items()
    if definition.get("x-side") == "agent" and name.endswith(("Request", "Notification"))
}
TABLE = {**REQUESTS, **NOTIFICATIONS, "initialize": INITIALIZE_PARAMS, "authenticate": AUTHENTICATE_PARAMS}
PAIR = {"name": "N", "value": "v", "_meta": {"a": 1}}
SERVERS = [
    {"name": "fs", "command": "/bin/true", "args": ["-a"], "env": [PAIR], "_meta": None},
    {"type": "http", "name": "web", "url": "https://example.org", "headers": [PAIR]},
    {"type": "sse", "name": "old", "url": "https://example.org", "headers": []},
]
NOTES = {"audience": ["user"], "priority": 0.5}
BLOCKS = [
    {"type": "text", "text": "hi", "annotations": NOTES},
    {"type": "image", "data": "AAAA", "mimeType": "image/png", "uri": "file:///i"},
    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav", "annotations": None},
    {"type": "resource_link", "uri": "file:///a", "name": "a", "title": "A", "description": "d", "size": 3},
    {"type": "resource", "resource": {"uri": "file:///b", "text": "b", "mimeType": "text/plain"}},
    {"type": "resource", "resource": {"uri": "file:///c", "blob": "AAAA", "_meta": {}}},
]
FULL = {
    "initialize": {
        "protocolVersion": 1,
        "clientCapabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    },
    "authenticate": {"methodId": "m"},
    "session/new": {"cwd": "/w", "mcpServers": SERVERS, "additionalDirectories": ["/x"], "_meta": {}},
    "session/load": {"sessionId": "s", "cwd": "/w", "mcpServers": SERVERS, "additionalDirectories": []},
    "session/resume": {"sessionId": "s", "cwd": "/w", "mcpServers": SERVERS, "additionalDirectories": ["/x"]},
    "session/list": {"cwd": "/w", "cursor": "c"},
    "session/close": {"sessionId": "s"},
    "session/delete": {"sessionId": "s"},
    "session/set_mode": {"sessionId": "s", "modeId": "m"},
    "session/set_config_option": {"sessionId": "s", "configId": "c", "value": "v"},
    "session/prompt": {"sessionId": "s", "prompt": BLOCKS},
    "session/cancel": {"sessionId": "s"},
}
ODD = [None, True, 0, 1.5, "", "x", [], [None], {}, {"type": "text"}, {"type": 5}, [[]]]


def validator(method):
    root = {"$ref": f"#/$defs/{DEFINITIONS[method]}", "$defs": SCHEMA["$defs"]}
    return jsonschema_rs.validator_for(root)


VALIDATORS = {method: validator(method) for method in TABLE}


def places(value, path=()):
    """Every place inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*path, key)
        yield from places(item, (*path, key))


def inner(value, path):
    for key in path:
        value = value[key]
    return value


def mutations(params):
    """The params with one value gone or of another kind."""
    for path in list(places(params)):
        for odd in [*ODD, "gone"]:
            changed = copy.deepcopy(params)
            parent = inner(changed, path[:-1])
            if odd == "gone":
                del parent[path[-1]]
            else:
                parent[path[-1]] = odd
            yield changed


def relative(params):
    """The schema cannot say that a path is absolute; the specification does."""
    paths = [params.get("cwd"), *(params.get("additionalDirectories") or [])]
    return any(isinstance(path, str) and not path.startswith("/") for path in paths)


def unknown_server(params):
    """The schema takes a server of an unknown type for a command, if it has one."""
    servers = params.get("mcpServers") or []
    return any(server.get("type") not in {None, "http", "sse"} for server in servers)


def test_the_table_has_the_methods_of_the_schema():
    assert set(TABLE) == set(DEFINITIONS) - {"logout"}
    assert set(NOTIFICATIONS) == {
        method for method, name in DEFINITIONS.items() if name.endswith("Notification")
    }


@pytest.mark.parametrize("method", TABLE)
def test_good_params_are_taken_as_they_are(method):
    assert VALIDATORS[method].is_valid(FULL[method])
    seen = TABLE[method](copy.deepcopy(FULL[method]), "")
    assert drop_nulls(seen) == drop_nulls(FULL[method])


def drop_nulls(value):
    if isinstance(value, dict):
        return {key: drop_nulls(item) for key, item in value.items() if item is not None}
    return [drop_nulls(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("method", TABLE)
def test_what_the_agent_sees_is_always_valid_and_what_is_valid_is_never_refused(method):
    tried = taken = 0
    for params in mutations(FULL[method]):
        tried += 1
        original, known = copy.deepcopy(params), VALIDATORS[method].is_valid(params)
        try:
            seen = TABLE[method](params, "")
        except Complaint as complaint:
            assert complaint.code == -32602
            assert not known or relative(params) or unknown_server(params), (params, complaint.text)
            continue
        taken += 1
        assert params == original, "the sent params are changed"
        assert VALIDATORS[method].is_valid(without_hints(method, seen)), seen
        assert not has_null(seen), seen
    assert 0 < taken < tried


def without_hints(method, params):
    """What the engine passes on unread: what the editor says of itself, and annotations."""
    seen = copy.deepcopy(params)
    if method == "initialize":
        seen.pop("clientInfo", None)
        seen.pop("clientCapabilities", None)
    for block in seen.get("prompt", []):
        block.pop("annotations", None)
    return seen


def has_null(seen):
    lists = seen.get("mcpServers", []) + seen.get("prompt", [])
    return any(None in each.values() for each in [seen, *lists])


def test_mutated_deeper_the_same_holds():
    chance = random.Random(5)
    for _ in range(3000):
        method = chance.choice(list(TABLE))
        params = copy.deepcopy(FULL[method])
        for _ in range(chance.randrange(1, 4)):
            paths = list(places(params))
            if paths:
                path = chance.choice(paths)
                inner(params, path[:-1])[path[-1]] = copy.deepcopy(chance.choice(ODD))
        try:
            seen = TABLE[method](params, "")
        except Complaint:
            continue
        assert VALIDATORS[method].is_valid(without_hints(method, seen)), (method, seen)


WRONG = {
    "cwd must be an absolute path (it is missing)": ("session/new", {}),
    "cwd must be an absolute path": ("session/new", {"cwd": "src"}),
    "additionalDirectories[1] must be an absolute path": (
        "session/new",
        {"cwd": "/", "additionalDirectories": ["/a", "b"]},
    ),
    "mcpServers must be a list": ("session/new", {"cwd": "/", "mcpServers": {}}),
    "mcpServers[0] must be an object": ("session/new", {"cwd": "/", "mcpServers": ["x"]}),
    "mcpServers[0].type must be http or sse, or left out for a command; not 'acp'": (
        "session/new",
        {"cwd": "/", "mcpServers": [{"type": "acp", "name": "x", "id": "1"}]},
    ),
    "mcpServers[1].env[0].value must be a string (it is missing)": (
        "session/load",
        {"sessionId": "s", "cwd": "/", "mcpServers": [SERVERS[0], {"name": "x", "command": "y", "env": [{"name": "A"}]}]},
    ),
    "mcpServers[0].headers must be a list": (
        "session/resume",
        {"sessionId": "s", "cwd": "/", "mcpServers": [{"type": "http", "name": "x", "url": "u", "headers": {}}]},
    ),
    "sessionId must be a string (it is missing)": ("session/prompt", {"prompt": []}),
    "prompt must be a list": ("session/prompt", {"sessionId": "s", "prompt": "hi"}),
    "prompt[0].text must be a string": ("session/prompt", {"sessionId": "s", "prompt": [{"type": "text", "text": 1}]}),
    "prompt[0].type must be a string (it is missing)": ("session/prompt", {"sessionId": "s", "prompt": [{"text": "x"}]}),
    "prompt[1].type must be one of text, image, audio, resource_link, resource, not 'video'": (
        "session/prompt",
        {"sessionId": "s", "prompt": [BLOCKS[0], {"type": "video"}]},
    ),
    "prompt[0].resource must have text or blob, a string": (
        "session/prompt",
        {"sessionId": "s", "prompt": [{"type": "resource", "resource": {"uri": "u", "text": 5}}]},
    ),
    "value must be a string, true or false": (
        "session/set_config_option",
        {"sessionId": "s", "configId": "c", "value": 1},
    ),
    "cursor must be a string": ("session/list", {"cursor": 1}),
    "protocolVersion must be an integer": ("initialize", {"protocolVersion": "1"}),
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_the_complaint_names_the_field(text):
    method, params = WRONG[text]
    with pytest.raises(Complaint) as caught:
        TABLE[method](params, "")
    assert caught.value.text == text


def prompt(block):
    return REQUESTS["session/prompt"]({"sessionId": "s", "prompt": [block]}, "")["prompt"][0]


def test_what_editors_forget_is_filled_in():
    new = REQUESTS["session/new"]
    assert new({"cwd": "/"}, "") == {"cwd": "/", "mcpServers": []}
    assert new({"cwd": "/", "mcpServers": None, "additionalDirectories": None}, "") == {
        "cwd": "/",
        "mcpServers": [],
    }
    (server,) = new(
        {"cwd": "/", "mcpServers": [{"type": "stdio", "name": "x", "command": "y", "args": None}]}, ""
    )["mcpServers"]
    assert server == {"name": "x", "command": "y", "args": [], "env": []}
    assert prompt({"type": "resource_link", "uri": "file:///a"})["name"] == "file:///a"
    option = REQUESTS["session/set_config_option"]({"sessionId": "s", "configId": "c", "value": True}, "")
    assert option == {"sessionId": "s", "configId": "c", "value": True, "type": "boolean"}


def test_hints_that_are_wrong_count_as_none():
    assert prompt({"type": "text", "text": "x", "annotations": 5, "_meta": 7}) == {
        "type": "text",
        "text": "x",
    }
    link = {
        "type": "resource_link",
        "uri": "u",
        "name": "n",
        "size": "big",
        "title": 1,
        "description": [],
        "mimeType": {},
    }
    assert prompt(link) == {"type": "resource_link", "uri": "u", "name": "n"}
    resource = {"uri": "u", "text": 5, "blob": "AAAA", "mimeType": None}
    assert prompt({"type": "resource", "resource": resource})["resource"] == {"uri": "u", "blob": "AAAA"}


def test_an_integer_may_be_written_with_a_point():
    assert prompt({"type": "resource_link", "uri": "u", "name": "n", "size": 3.0})["size"] == 3


def test_a_path_with_a_nul_is_none():
    with pytest.raises(Complaint):
        REQUESTS["session/new"]({"cwd": "/a\0b"}, "")


def test_what_nobody_knows_is_passed_on():
    block = {"type": "text", "text": "x", "_meta": {"k": [1]}, "future": {"deep": None}}
    assert prompt(block) == block
