"""Which tools are registered, in which order, and what is wrong with those that are not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.application.gate.manifest_checks import ManifestRules
from awf.application.gate.registry import RegistrationRefused, ToolRegistry
from awf.infrastructure.json_schemas.schemas import RustJsonSchemas

RULES = ManifestRules(RustJsonSchemas().problem_with)


def tool(name: str, **more):
    return {"name": name, "description": f"Does {name}", "inputSchema": {"type": "object"}, **more}


def manifest(server_id: str = "kb", *tools, **more):
    return {
        "serverId": server_id,
        "name": "KB",
        "version": "1",
        "tools": list(tools) or [tool("echo")],
        **more,
    }


def server(server_id: str = "kb", **more):
    return {
        "serverId": server_id,
        "transport": "stdio",
        "command": "x",
        "manifest": manifest(server_id),
        **more,
    }


def registered(*given_) -> ToolRegistry:
    registry = ToolRegistry(RULES)
    for one in given_:
        registry.add(registry.checked_manifest(one))
    return registry


def refused(given_, rules: ManifestRules = RULES, *, of_server: bool = False):
    registry = ToolRegistry(rules)
    with pytest.raises(RegistrationRefused) as caught:
        registry.checked_server(given_) if of_server else registry.checked_manifest(given_)
    return {(one.code.rpartition(".")[2], ".".join(map(str, one.path))) for one in caught.value.problems}


# -- the seed's required tests ---------------------------------------------------------------------------------------


def test_manifest_validation_rejects_duplicate_server_ids():
    registry = registered(manifest("kb"))
    for check in (
        lambda: registry.checked_manifest(manifest("kb", tool("other"))),
        lambda: registry.checked_server(server("kb")),
    ):
        with pytest.raises(RegistrationRefused) as caught:
            check()
        assert [one.code for one in caught.value.problems] == ["USER.GATEWAY.DUPLICATE_SERVER"]


def test_manifest_validation_rejects_duplicate_tool_names():
    assert refused(manifest("kb", tool("a"), tool("b"), tool("a "))) == {("DUPLICATE_TOOL", "tools.2.name")}


# -- order and names -------------------------------------------------------------------------------------------------

names = st.text("abcXYZ019_-.", min_size=1, max_size=6)


@settings(deadline=None)
@given(st.dictionaries(names, st.sets(names, max_size=4), max_size=5), st.randoms())
def test_the_order_is_that_of_server_ids_then_tool_names_however_they_came(servers, random):
    given_ = [(server_id, random.sample(sorted(tools), len(tools))) for server_id, tools in servers.items()]
    random.shuffle(given_)
    registry = registered(*({**manifest(one), "tools": list(map(tool, tools))} for one, tools in given_))
    pairs = [(entry.server_id, entry.tool.name) for entry in registry.entries()]
    assert pairs == sorted((one, name) for one, tools in servers.items() for name in tools)
    assert [entry.tool_id for entry in registry.entries()] == [f"{one}:{name}" for one, name in pairs]


def test_a_name_alone_means_a_tool_where_only_one_server_has_it():
    registry = registered(manifest("kb", tool("echo"), tool("find")), manifest("web", tool("find")))
    assert registry.resolve("echo").tool_id == "kb:echo"
    assert registry.resolve("find").candidates == ("kb:find", "web:find")
    assert registry.resolve("web:find").tool is not None
    assert "kb:echo" in registry.resolve("kb:ecko").reason
    assert registry.resolve("").tool is None


def test_a_server_that_is_not_enabled_is_known_and_offers_nothing():
    registry = ToolRegistry(RULES)
    registry.add(registry.checked_server(server("kb", enabled=False)))
    assert registry.entries() == []
    assert "not enabled" in registry.resolve("kb:echo").reason
    with pytest.raises(RegistrationRefused):
        registry.checked_manifest(manifest("kb"))


def test_http_is_another_word_for_streamable_http():
    given_ = {key: value for key, value in server("kb").items() if key != "command"}
    registry = ToolRegistry(RULES)
    found = registry.checked_server({**given_, "transport": "http", "url": "http://127.0.0.1:1/mcp"})
    assert found.config.transport == "streamableHttp"


# -- what is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given_", [None, [], "kb", 1])
def test_what_is_no_object_is_refused(given_):
    assert refused(given_) == {("INVALID_MANIFEST", "")}
    assert refused(given_, of_server=True) == {("INVALID_SERVER", "")}


def test_every_required_field_is_asked_for_at_once():
    assert refused({}) == {("INVALID_MANIFEST", key) for key in ("serverId", "name", "version", "tools")}
    assert refused(manifest("kb", {})) == {
        ("INVALID_MANIFEST", f"tools.0.{key}") for key in ("name", "description", "inputSchema")
    }
    assert refused(manifest("kb", {**tool("a"), "description": " "})) == {
        ("INVALID_MANIFEST", "tools.0.description")
    }


@pytest.mark.parametrize("name", ["", "a:b", "a b", "ä", "x" * 65, "a\n"])
def test_the_id_of_a_server_has_no_colon_and_nothing_odd(name):
    assert ("INVALID_MANIFEST", "serverId") in refused(manifest(name))


@pytest.mark.parametrize("name", ["", "a:b", "a b", "ä", "x" * 129])
def test_the_name_of_a_tool_has_nothing_odd(name):
    assert refused(manifest("kb", tool(name))) == {("INVALID_MANIFEST", "tools.0.name")}


@pytest.mark.parametrize("action", ["file.delete", "FILE.READ", "", 1, ["file.read"]])
def test_an_action_that_is_none_is_refused_wherever_it_stands(action):
    assert refused(manifest("kb", tool("a", annotations={"policyAction": action}))) == {
        ("INVALID_ANNOTATION", "tools.0.annotations.policyAction")
    }
    assert refused(manifest("kb", tool("a", _meta={"policyAction": action}))) == {
        ("INVALID_ANNOTATION", "tools.0._meta.policyAction")
    }


@pytest.mark.parametrize("scope", ["a b", "a*b", "", "x" * 257])
def test_a_scope_that_nobody_could_grant_is_refused_wherever_it_stands(scope):
    scopes = {"requiredScopes": ["kb.*", scope]}
    assert refused(manifest("kb", tool("a", annotations=scopes))) == {
        ("INVALID_ANNOTATION", "tools.0.annotations.requiredScopes.1")
    }
    assert refused(manifest("kb", tool("a", _meta=scopes))) == {
        ("INVALID_ANNOTATION", "tools.0._meta.requiredScopes.1")
    }


def test_annotations_that_nobody_supports_or_of_a_wrong_type_are_refused():
    said = {"requiresConfirmation": "yes", "requiredScopes": "kb", "mood": 1, "concurrency": "wild"}
    assert refused(manifest("kb", tool("a", annotations=said))) == {
        ("INVALID_ANNOTATION", f"tools.0.annotations.{key}") for key in said
    }
    assert refused(manifest("kb", tool("a", annotations=[]))) == {
        ("INVALID_ANNOTATION", "tools.0.annotations")
    }


def test_a_strict_policy_wants_an_action_from_the_manifest_or_the_configuration():
    strict = ManifestRules(RULES.problem_with, strict=True, has_action=lambda tool_id: tool_id == "kb:known")
    given_ = manifest("kb", tool("a", annotations={"policyAction": "file.read"}), tool("known"), tool("b"))
    assert refused(given_, strict) == {("INVALID_ANNOTATION", "tools.2.annotations.policyAction")}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {},
        {"type": "object", "properties": {"a": {"type": "nothing"}}},
        {"type": "object", "properties": {"a": {"pattern": "("}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}},
        {"type": "object", "properties": {"a": {"$ref": "https://example.org/a.json"}}},
    ],
)
def test_schemas_that_cannot_be_used_are_refused(schema):
    assert refused(manifest("kb", {**tool("a"), "inputSchema": schema})) == {
        ("INVALID_SCHEMA", "tools.0.inputSchema")
    }


def test_an_output_schema_is_looked_at_too():
    assert refused(manifest("kb", tool("a", outputSchema={"type": "nothing"}))) == {
        ("INVALID_SCHEMA", "tools.0.outputSchema")
    }


def test_limits_are_more_than_nothing():
    given_ = server("kb", timeoutMs=0, limits={"maxOutputBytes": -1, "lines": 3})
    assert refused(given_, of_server=True) == {
        ("INVALID_SERVER", key) for key in ("timeoutMs", "limits.maxOutputBytes", "limits.lines")
    }
    assert refused(server("kb", timeoutMs=10**400), of_server=True) == {("INVALID_SERVER", "timeoutMs")}


def test_the_manifest_of_a_server_is_its_own():
    assert refused(server("kb", manifest=manifest("web")), of_server=True) == {
        ("INVALID_MANIFEST", "manifest.serverId")
    }


def test_the_message_tells_everything_with_its_place():
    with pytest.raises(RegistrationRefused) as caught:
        ToolRegistry(RULES).checked_manifest(manifest("kb", {**tool("a"), "nam": 1, "description": 5}))
    assert str(caught.value).splitlines() == [
        "tools[0].description: `description` does not fit: expected `str`, got `int`.",
        "tools[0].nam: There is no key “nam”.",
    ]
    assert [one.hint for one in caught.value.problems][1] == "did you mean “name”?"


# -- listeners -------------------------------------------------------------------------------------------------------


def test_listeners_hear_of_servers_that_come_and_go():
    registry = ToolRegistry(RULES)
    heard = []
    stop = registry.listen(lambda event: heard.append((event.type, event.server_id)))
    registry.add(registry.checked_manifest(manifest("b")))
    registry.add(registry.checked_manifest(manifest("a")))
    registry.clear()
    assert heard == [
        ("server_registered", "b"),
        ("server_registered", "a"),
        ("server_unregistered", "a"),
        ("server_unregistered", "b"),
    ]
    assert registry.entries() == []
    stop()
    registry.add(registry.checked_manifest(manifest("b")))
    assert len(heard) == 4
