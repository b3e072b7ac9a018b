"""What can be said of a gateway's configuration without a server and without a file system."""

from __future__ import annotations

import msgspec
import pytest

from awf.domain.gate_file import Limits
from awf.domain.gateway_file import GatewayFile, GatewayServer, Listen, Profile, load_values, problems_in
from awf.domain.override import ToolOverride
from awf.domain.value_source import CallFacts, Sources, resolve

WEATHER = GatewayServer(command="uvx", args=["mcp-server-weather"], env={"API_KEY": "${env:WEATHER_KEY}"})
KB = GatewayServer(url="http://127.0.0.1:9000/mcp", transport="streamableHttp", timeout_ms=20000)
SOUND = GatewayFile(
    servers={"weather": WEATHER, "kb": KB},
    overrides={
        "weather:fetch_forecast": ToolOverride(rename="get_weather", defaults={"user": "${env:USER}"})
    },
    profiles={
        "reading": Profile(tools=["kb:*", "weath?r:get_*"], deny=["*:delete_*"]),
        "all": Profile(tools=["*"]),
    },
)


def nothing(name: str) -> str:
    raise FileNotFoundError(2, "No such file or directory", name)


def found(file: GatewayFile) -> list[tuple]:
    return [(problem.code.removeprefix("USER.GATEWAY."), problem.path) for problem in problems_in(file)]


def changed(**fields) -> GatewayFile:
    return msgspec.structs.replace(SOUND, **fields)


def test_a_sound_file_has_no_problems():
    assert problems_in(SOUND) == []


def test_a_file_without_servers_has_nothing_to_serve():
    (problem,) = problems_in(GatewayFile())
    assert problem.code == "USER.GATEWAY.EMPTY"
    assert "mcpServers" in problem.hint


@pytest.mark.parametrize("key", ["fetch_forecast", ":fetch", "weather:", ":"])
def test_an_override_says_of_which_server_the_tool_is(key):
    assert found(changed(overrides={key: ToolOverride()})) == [("INVALID_FILE", ("overrides", key))]


def test_an_override_of_an_unknown_server_is_told_with_the_one_that_was_meant():
    (problem,) = problems_in(changed(overrides={"wether:fetch": ToolOverride()}))
    assert problem.code == "USER.GATEWAY.UNKNOWN_SERVER"
    assert problem.hint == "did you mean “weather”?"
    assert problem.at_key
    (problem,) = problems_in(changed(overrides={"xyz:fetch": ToolOverride()}))
    assert problem.hint == "Servers here: kb, weather."


def test_the_name_of_a_tool_may_have_colons_of_its_own():
    assert problems_in(changed(overrides={"kb:a:b": ToolOverride()})) == []


@pytest.mark.parametrize("name", ["my server", "a" * 41, "", "ä", "a:b", "a\n"])
def test_the_name_of_a_server_can_stand_before_the_names_of_tools(name):
    servers = {**SOUND.servers, name: KB}
    assert found(changed(servers=servers)) == [("INVALID_FILE", ("mcpServers", name))]


def test_two_servers_that_differ_in_case_only_cannot_be_told_apart():
    assert found(changed(servers={**SOUND.servers, "Kb": KB})) == [("INVALID_FILE", ("mcpServers", "Kb"))]


@pytest.mark.parametrize(
    ("server", "path"),
    [
        (GatewayServer(), ("command",)),
        (GatewayServer(command="a", env={"1.2": "x"}), ("env", "1.2")),
        (GatewayServer(command="a", timeout_ms=0), ("timeout_ms",)),
        (GatewayServer(command="a", timeout_ms=2**53), ("timeout_ms",)),
        (GatewayServer(command="a", timeout_ms=5, timeout=2.0), ("timeout_ms",)),
        (GatewayServer(command="a", concurrency=0), ("concurrency",)),
        (GatewayServer(command="a", deny=[""]), ("deny",)),
    ],
)
def test_a_server_that_cannot_work_is_told_by_its_key(server, path):
    assert found(GatewayFile(servers={"x": server})) == [("INVALID_SERVER", ("mcpServers", "x", *path))]


def test_a_profile_names_servers_that_are_there():
    profiles = {"p": Profile(tools=["kb:*", "weathr:*", "read"], deny=["zz*:x"]), "a/b": Profile()}
    assert found(changed(profiles=profiles)) == [
        ("UNKNOWN_SERVER", ("profiles", "p", "tools", 1)),
        ("INVALID_FILE", ("profiles", "p", "tools", 2)),
        ("UNKNOWN_SERVER", ("profiles", "p", "deny", 0)),
        ("INVALID_FILE", ("profiles", "a/b")),
    ]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "[::1]", "localhost", "127.9.9.9"])
def test_this_machine_alone_needs_no_token(host):
    assert problems_in(changed(listen=Listen(host=host))) == []


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "", "10.0.0.1", "gateway.example.org", "127.0.0.1.example.org"]
)
def test_a_door_for_others_needs_a_token(host):
    assert found(changed(listen=Listen(host=host))) == [("OPEN_DOOR", ("listen", "host"))]
    assert problems_in(changed(listen=Listen(host=host, tokens=["${env:GATEWAY_TOKEN}"]))) == []


def test_a_token_does_not_stand_in_the_file_and_is_never_shown():
    listen = Listen(tokens=["hunter2-hunter2"])
    (problem,) = problems_in(changed(listen=listen))
    assert (problem.code, problem.path) == ("USER.GATEWAY.OPEN_DOOR", ("listen", "tokens", 0))
    assert "hunter2" not in f"{problem} {listen!r} {changed(listen=listen)!r}"


@pytest.mark.parametrize(
    "fields",
    [
        {"port": -1},
        {"port": 65536},
        {"concurrency": 0},
        {"max_request": 0},
        {"rate": 0.0},
        {"rate": float("nan")},
    ],
)
def test_limits_of_the_door_are_sensible(fields):
    (name,) = fields
    assert found(changed(listen=Listen(**fields))) == [("INVALID_FILE", ("listen", name))]


def test_values_are_filled_in_and_secrets_reported():
    file = changed(listen=Listen(tokens=["${env:DOOR}"]))
    loaded = load_values(
        file, Sources({"WEATHER_KEY": "k-1234", "USER": "ann", "DOOR": "open-sesame"}, nothing)
    )
    assert loaded.problems == []
    assert loaded.file.servers["weather"].env == {"API_KEY": "k-1234"}
    assert loaded.file.servers["kb"] == KB
    assert loaded.file.overrides["weather:fetch_forecast"].defaults == {"user": "ann"}
    assert loaded.file.listen.tokens == ["open-sesame"]
    assert set(loaded.secrets.values()) == {"k-1234", "open-sesame"}


def test_tokens_may_have_names():
    named = {"ci": "${env:CI}", "desk-2": "${env:DESK}"}
    assert problems_in(changed(listen=Listen(host="0.0.0.0", tokens=named))) == []
    assert found(changed(listen=Listen(tokens={"of ci": "${env:CI}"}))) == [
        ("INVALID_FILE", ("listen", "tokens", "of ci"))
    ]
    assert found(changed(listen=Listen(tokens={"ci": "hunter2-hunter2"}))) == [
        ("OPEN_DOOR", ("listen", "tokens", "ci"))
    ]


def test_tokens_with_names_are_filled_in_kept_secret_and_told_apart():
    file = GatewayFile(servers={"kb": KB}, listen=Listen(tokens={"ci": "${env:CI}", "desk": "${env:DESK}"}))
    loaded = load_values(file, Sources({"CI": "open-sesame", "DESK": "close-sesame"}, nothing))
    assert loaded.problems == []
    assert loaded.file.listen.tokens == {"ci": "open-sesame", "desk": "close-sesame"}
    assert set(loaded.secrets.values()) == {"open-sesame", "close-sesame"}
    (problem,) = load_values(file, Sources({"CI": "open-sesame", "DESK": "open-sesame"}, nothing)).problems
    assert problem.path == ("listen", "tokens", "desk")
    assert "“ci”" in problem.message


def test_values_of_a_call_wait_in_the_defaults():
    file = changed(
        overrides={"kb:find": ToolOverride(defaults={"id": "${uuid()}", "by": "${header:X-User}"})}
    )
    loaded = load_values(file, Sources({"WEATHER_KEY": "k", "USER": "u"}, nothing))
    call = CallFacts("", {"x-user": "ann"}, lambda: 0.0, lambda: "new")
    assert resolve(loaded.file.overrides["kb:find"].defaults, call) == {"id": "new", "by": "ann"}


def test_what_is_missing_is_told_with_its_place_all_at_once():
    file = changed(
        servers={"weather": WEATHER, "kb": GatewayServer(url="${file:gone}", headers={"X-Id": "${uuid()}"})}
    )
    loaded = load_values(file, Sources({}, nothing))
    assert [(problem.code, problem.path) for problem in loaded.problems] == [
        ("USER.GATEWAY.INVALID_REFERENCE", path)
        for path in (
            ("mcpServers", "weather", "env", "API_KEY"),
            ("mcpServers", "kb", "url"),
            ("mcpServers", "kb", "headers", "X-Id"),
            ("overrides", "weather:fetch_forecast", "defaults", "user"),
        )
    ]


def test_a_server_that_is_switched_off_needs_no_values():
    off = msgspec.structs.replace(WEATHER, enabled=False)
    assert load_values(GatewayFile(servers={"weather": off}), Sources({}, nothing)).problems == []


@pytest.mark.parametrize(
    ("server", "value", "path"),
    [
        (GatewayServer(url="http://a/", headers={"Authorization": "Bearer ${env:V}"}), "x\r\nHost: y", ("headers", "Authorization")),
        (GatewayServer(url="${env:V}"), "ftp://hunter2/", ("url",)),
        (GatewayServer(command="${env:V}"), "  ", ("command",)),
    ],
)  # fmt: skip
def test_a_value_that_spoils_its_place_is_refused_without_being_told(server, value, path):
    loaded = load_values(GatewayFile(servers={"x": server}), Sources({"V": value}, nothing))
    (problem,) = loaded.problems
    assert (problem.code, problem.path) == ("USER.GATEWAY.INVALID_SERVER", ("mcpServers", "x", *path))
    assert "hunter2" not in problem.message


def test_an_empty_token_opens_no_door():
    file = GatewayFile(servers={"kb": KB}, listen=Listen(host="0.0.0.0", tokens=["${env:T}"]))
    (problem,) = load_values(file, Sources({"T": " "}, nothing)).problems
    assert (problem.code, problem.path) == ("USER.GATEWAY.OPEN_DOOR", ("listen", "tokens", 0))


def test_literal_secrets_are_reported_for_masking_too():
    servers = {
        "a": GatewayServer(command="x", env={"API_KEY": "secret", "LANG": "C"}),
        "b": GatewayServer(url="http://b/", headers={"Authorization": "Bearer abcd", "X-Trace": "1"}),
    }
    assert load_values(GatewayFile(servers=servers), Sources({}, nothing)).secrets == {
        "a.env.API_KEY": "secret",
        "b.headers.Authorization": "abcd",
    }


def test_the_patience_with_a_server_comes_from_either_key():
    assert KB.patience == 20.0
    assert GatewayServer(command="a", timeout=5.0).patience == 5.0


def test_the_secret_of_an_oauth_client_is_filled_in_and_masked():
    from awf.domain.mcp_server import McpOAuth

    oauth = McpOAuth(token_url="https://a/token", client_id="me", client_secret="${env:V}")
    file = GatewayFile(servers={"a": GatewayServer(url="https://a/mcp", oauth=oauth)})
    loaded = load_values(file, Sources({"V": "s-1234"}, nothing))
    assert loaded.problems == []
    assert loaded.file.servers["a"].oauth.client_secret == "s-1234"
    assert loaded.secrets == {"a.oauth.client_secret": "s-1234"}
    (problem,) = load_values(file, Sources({}, nothing)).problems
    assert problem.path == ("mcpServers", "a", "oauth", "client_secret")


def test_what_the_gate_knows_of_our_own_tools_can_be_changed_and_nothing_else():
    gate = ToolOverride(policy_action="file.read", open_world=False)
    assert not found(changed(overrides={"builtin:Bash": gate, "plugin.db:query": gate}))
    for said, path in (
        (ToolOverride(required_scopes=["shell", "a b"]), ("required_scopes", 1)),
        (ToolOverride(limits=Limits(timeout_ms=0)), ("limits", "timeout_ms")),
    ):
        assert found(changed(overrides={"builtin:Bash": said})) == [
            ("INVALID_FILE", ("overrides", "builtin:Bash", *path))
        ]
    (problem,) = problems_in(changed(overrides={"builtin:Bash": ToolOverride(rename="Shell")}))
    assert problem.path == ("overrides", "builtin:Bash", "rename")
