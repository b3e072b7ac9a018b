"""Configuration files of the gateway: ours to the letter, those of other clients as they come."""

from __future__ import annotations

import json

import pytest

from awf.domain.errors import AwfError, InvalidWorkflowError
from awf.infrastructure.expressions import ExpressionLanguage
from awf.infrastructure.gateway_files import load_gateway, read_client_file, read_gateway_file
from awf.infrastructure.yaml_files.config_file import read_record
from awf.infrastructure.yaml_files.nodes import parse_yaml

SIDECAR = """{
  "mcpServers": {
    "weather": {
      "command": "uvx",
      "args": ["mcp-server-weather"],
      "env": {"API_KEY": "secret"}
    }
  },
  "overrides": {
    "weather:fetch_forecast": {
      "rename": "get_weather",
      "description": "Get the weather for a city",
      "hide_fields": ["station_id", "debug_mode"],
      "defaults": {
        "station_id": "12345",
        "units": "metric"
      }
    }
  }
}
"""
OWN = """\
mcpServers:
  weather: {command: uvx, args: [mcp-server-weather], env: {API_KEY: "${env:WEATHER_KEY}"}}
  kb:
    url: http://127.0.0.1:9000/mcp
    transport: streamableHttp
    timeout_ms: 20000
    deny: [drop_*]
    start: lazy
    session: client
    concurrency: 8
overrides:
  "weather:fetch":
    rename: get_weather
    defaults: {key: "${file:key.txt}", id: "${uuid()}"}
profiles:
  reading: {tools: ["kb:*"], description: Only reading}
listen: {port: 9000, tokens: ["${env:DOOR}"], max_request: 1MiB, rate: 5}
"""

PLAIN = '{"mcpServers": {"a": {"type": "stdio", "command": "x", "timeout": TIMEOUT}}}'


@pytest.fixture
def put(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name: str, content) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    return write


def read(path: str):
    return read_gateway_file(path, read=read_record, parse=parse_yaml, conditions=ExpressionLanguage())


def problems(path: str, reading=read):
    with pytest.raises(InvalidWorkflowError) as caught:
        reading(path)
    return caught.value.problems


def test_the_sidecars_file_loads_as_its_text_writes_it(put):
    file, notes = read(put("sidecar_config.json", SIDECAR))
    assert notes == []
    assert file.servers["weather"].env == {"API_KEY": "secret"}
    override = file.overrides["weather:fetch_forecast"]
    assert (override.rename, override.hide_fields) == ("get_weather", ["station_id", "debug_mode"])
    assert override.defaults == {"station_id": "12345", "units": "metric"}


def test_every_key_of_our_own_form_is_read(put):
    file, notes = read(put("gateway.yaml", OWN))
    assert notes == []
    kb = file.servers["kb"]
    assert (kb.patience, kb.deny, kb.start, kb.session, kb.concurrency) == (
        20.0,
        ["drop_*"],
        "lazy",
        "client",
        8,
    )
    assert file.profiles["reading"].tools == ["kb:*"]
    assert (file.listen.port, file.listen.max_request, file.listen.rate) == (9000, 1024 * 1024, 5.0)


def test_references_are_filled_in_from_the_environment_and_files_beside_the_configuration(put):
    put("conf/key.txt", "s3cret\n")
    path = put("conf/gateway.yaml", OWN)
    environment = {"WEATHER_KEY": "k-1234", "DOOR": "sesame"}
    loaded, _ = load_gateway(
        path, read=read_record, parse=parse_yaml, environment=environment, conditions=ExpressionLanguage()
    )
    assert loaded.file.overrides["weather:fetch"].defaults["key"] == "s3cret"
    assert {"k-1234", "s3cret", "sesame"} == set(loaded.secrets.values())


def test_missing_values_are_told_with_line_and_column_and_without_the_line(put):
    path = put("gateway.yaml", OWN)
    found = problems(
        path,
        lambda p: load_gateway(
            p, read=read_record, parse=parse_yaml, environment={"DOOR": "x"}, conditions=ExpressionLanguage()
        ),
    )
    assert [(one.code, str(one.place)) for one in found] == [
        ("USER.GATEWAY.INVALID_REFERENCE", "gateway.yaml:2:70"),
        ("USER.GATEWAY.INVALID_REFERENCE", "gateway.yaml:14:21"),
    ]
    assert found[0].source_line == ""


def test_mistakes_in_our_own_form_are_located_each_in_its_place(put):
    text = (
        OWN.replace("start: lazy", "start: lasy")
        .replace("rename:", "renam:")
        .replace("port: 9000", "prt: 9000")
    )
    found = problems(put("gateway.yaml", text))
    assert sorted((one.code, one.place.line) for one in found) == [
        ("USER.GATEWAY.INVALID_FILE", 8),
        ("USER.GATEWAY.INVALID_FILE", 13),
        ("USER.GATEWAY.INVALID_FILE", 17),
    ]
    assert {"did you mean 'lazy'?", "did you mean 'rename'?", "did you mean 'port'?"} == {
        one.hint for one in found
    }


def test_what_needs_the_whole_file_is_located_too(put):
    found = problems(put("gateway.yaml", OWN.replace('"weather:fetch"', '"wether:fetch"')))
    assert [(one.code, str(one.place), one.hint) for one in found] == [
        ("USER.GATEWAY.UNKNOWN_SERVER", "gateway.yaml:12:3", "did you mean “weather”?")
    ]


def test_the_line_with_a_token_is_not_shown(put):
    found = problems(put("gateway.yaml", OWN.replace("${env:DOOR}", "hunter2-hunter2")))
    assert found[0].code == "USER.GATEWAY.OPEN_DOOR"
    assert "hunter2" not in str(found)


@pytest.mark.parametrize("text", ["", "# nothing\n", "mcpServers: {}\n"])
def test_an_empty_file_has_nothing_to_serve(put, text):
    assert [one.code for one in problems(put("gateway.yaml", text))] == ["USER.GATEWAY.EMPTY"]


def test_a_misspelt_part_of_ours_does_not_go_by_as_a_key_of_some_client(put):
    (problem,) = problems(put("sidecar_config.json", SIDECAR.replace('"overrides"', '"override"')))
    assert (problem.code, problem.hint) == ("USER.GATEWAY.INVALID_FILE", "did you mean 'overrides'?")
    assert problem.place.line == 9


def test_a_json_file_with_keys_of_ours_alone_is_held_to_the_letter(put):
    path = put("servers.json", {"mcpServers": {"a": {"command": "x", "timeout": "soon"}}})
    assert problems(path)[0].code == "USER.GATEWAY.INVALID_FILE"


def test_a_file_that_is_not_there_or_no_text_is_told(put, tmp_path):
    with pytest.raises(AwfError) as caught:
        read(str(tmp_path / "gone.yaml"))
    assert caught.value.code == "USER.INPUT.MISSING_FILE"
    (tmp_path / "binary.json").write_bytes(b'{"mcpServers": "\xff"}')
    assert problems(str(tmp_path / "binary.json"))[0].code == "USER.GATEWAY.INVALID_FILE"
    with pytest.raises(AwfError):
        read(str(tmp_path))


def test_broken_json_is_told_with_its_place_also_behind_comments(put):
    (problem,) = problems(put(".mcp.json", '{ // what\n  /* a\n b */ "mcpServers": {"a" 1}\n}\n'))
    assert str(problem.place) == ".mcp.json:3:26"
    assert problems(put("deep.json", '{"a":' + "[" * 200_000))[0].code == "USER.GATEWAY.INVALID_FILE"


# -- files of other clients ------------------------------------------------------------------------------------------


def test_claude(put):
    path = put(
        ".mcp.json",
        {
            "mcpServers": {
                "files": {
                    "type": "stdio",
                    "command": "npx",
                    "args": ["-y", 1],
                    "env": {"A": "${B:-x}", "N": 1},
                },
                "hub": {"type": "http", "url": "${HUB}/mcp", "headers": {"X-Key": "$${k"}, "timeout": 5000},
            }
        },
    )
    file, notes = read(path)
    files, hub = file.servers.values()
    assert (files.args, files.env) == (["-y", "1"], {"A": "${env:B:-x}", "N": "1"})
    assert (hub.url, hub.transport, hub.timeout_ms) == ("${env:HUB}/mcp", "streamableHttp", 5000)
    assert notes == []


def test_claude_keeps_servers_of_one_folder_in_the_home_file(put):
    document = {
        "numStartups": 5,
        "mcpServers": {"a": {"command": "a"}},
        "projects": {
            "/p": {"mcpServers": {"b": {"command": "b"}}},
            "/q": {"mcpServers": {"c": {"command": "c"}}},
        },
    }
    assert list(read_client_file(put(".claude.json", document), "/p").entries) == ["a", "b"]


def test_cursor(put, tmp_path):
    entry = {
        "command": "${workspaceFolder}/run",
        "env": {"H": "${userHome}", "K": "${env:K}"},
        "envFile": ".env",
    }
    found = read_client_file(put(".cursor/mcp.json", {"mcpServers": {"My Server": entry}}))
    assert found.client == "cursor"
    assert found.entries == {
        "My_Server": {"command": f"{tmp_path}/run", "env": {"H": "${env:HOME}", "K": "${env:K}"}}
    }
    assert found.notes == [
        ".cursor/mcp.json: server “My Server” is called “My_Server” here",
        (
            ".cursor/mcp.json: server “My Server”: `envFile` has no effect here: "
            "set the variables it holds, or write them under `env`"
        ),
    ]


def test_vs_code_with_comments_commas_and_inputs(put):
    text = """{
      // who asks
      "inputs": [{"id": "api-key", "type": "promptString"},],
      "servers": {
        "hub": {"type": "sse", "url": "https://example.org/sse" /* old */, "headers": {"X": "${input:api-key}"},},
        "odd": {"command": "a", "args": ["//not a comment", "${config:x}"], "dev": {"watch": "*"}, "gallery": true},
      },
    }"""
    file, notes = read(put(".vscode/mcp.json", text))
    assert (file.servers["hub"].transport, file.servers["hub"].headers) == ("sse", {"X": "${env:API_KEY}"})
    assert file.servers["odd"].args == ["//not a comment", "$${config:x}"]
    assert notes == [
        ".vscode/mcp.json: server “odd”: `dev`, `gallery` have no effect here",
        ".vscode/mcp.json: `inputs` are not asked for here: set API_KEY instead",
        ".vscode/mcp.json: ${config:x} means nothing here and is left as it is",
    ]


def test_gemini(put):
    document = {
        "theme": "dark",
        "mcpServers": {
            "new": {"httpUrl": "http://127.0.0.1:1/mcp", "timeout": 30000, "trust": True},
            "old": {"url": "http://127.0.0.1:1/sse", "includeTools": ["a", "b(x)"], "excludeTools": ["c"]},
            "own": {"command": "run", "env": {"K": "$KEY", "P": "5$", "Q": "a$b"}},
        },
    }
    file, notes = read(put(".gemini/settings.json", document))
    new, old, own = file.servers.values()
    assert (new.url, new.transport, new.timeout_ms) == ("http://127.0.0.1:1/mcp", "streamableHttp", 30000)
    assert (old.transport, old.tools, old.deny) == ("sse", ["a", "b"], ["c"])
    assert own.env == {"K": "${env:KEY}", "P": "5$", "Q": "a$b"}
    assert notes == [
        ".gemini/settings.json: server “new”: `trust` has no effect here: each client decides what it asks about"
    ]


def test_a_switched_off_server_stays_so(put):
    file, _ = read(put(".mcp.json", {"mcpServers": {"a": {"command": "x", "disabled": True}}}))
    assert file.servers["a"].enabled is False


def test_a_server_that_makes_no_sense_is_left_out_with_a_note_and_its_values_are_not_told(put):
    document = {
        "mcpServers": {
            "a": {"command": ["x", "hunter2"]},
            "b": "hunter2",
            "c": {"command": "x", "env": {"A": ["hunter2"]}},
            "d": {"command": "fine"},
            "e": {"command": "x", "includeTools": "hunter2"},
            "f": {"command": "\ud800"},
            "g": {"command": "x", "concurrency": "hunter2"},
            "\udfff": None,
        }
    }
    file, notes = read(put(".mcp.json", document))
    assert list(file.servers) == ["d"]
    assert len(notes) == 7
    "".join(notes).encode()
    assert all("is left out" in note for note in notes)
    assert "hunter2" not in str(notes)


def test_a_server_that_cannot_work_is_told_by_name_in_a_clients_file(put):
    (problem,) = problems(put(".vscode/mcp.json", {"servers": {"a": {"type": "stdio"}}}))
    assert (problem.code, problem.place.file) == ("USER.GATEWAY.INVALID_SERVER", ".vscode/mcp.json")
    assert "mcpServers.a" in problem.message


def test_a_loaded_default_reaches_the_server_through_the_composition(put):
    from awf.application.gateway.composition.composing import compose
    from awf.domain.value_source import CallFacts, resolve

    put("key.txt", "s3cret\n")
    path = put("gateway.yaml", OWN)
    environment = {"WEATHER_KEY": "k-1234", "DOOR": "sesame"}
    loaded, _ = load_gateway(
        path, read=read_record, parse=parse_yaml, environment=environment, conditions=ExpressionLanguage()
    )
    fields = {
        "key": {"type": "string"},
        "id": {"type": "string", "format": "uuid"},
        "city": {"type": "string"},
    }
    tool = {
        "name": "fetch",
        "inputSchema": {"type": "object", "properties": fields, "required": ["key", "id"]},
    }
    composed = compose(tool, loaded.file.overrides["weather:fetch"])
    assert composed.problems == ()
    assert list(composed.definition["inputSchema"]["properties"]) == ["city"]
    numbers = iter(["one", "two"])
    call = CallFacts("", {}, lambda: 0.0, lambda: next(numbers))
    sent = [composed.plan.upstream({"city": "Oslo"}, lambda value: resolve(value, call)) for _ in range(2)]
    assert sent == [{"city": "Oslo", "key": "s3cret", "id": name} for name in ("one", "two")]


def test_sign_in_of_other_clients_has_no_effect_and_client_credentials_have(put):
    oauth = {"token_url": "https://example.org/token", "client_id": "me", "client_secret": "${env:S}"}
    document = {
        "mcpServers": {
            "page": {"httpUrl": "http://a/", "oauth": {"enabled": True}},
            "own": {"httpUrl": "http://b/", "oauth": oauth},
        }
    }
    file, notes = read(put(".gemini/settings.json", document))
    assert file.servers["page"].oauth is None
    assert file.servers["own"].oauth.client_id == "me"
    assert len(notes) == 1
    assert "`oauth` has no effect here" in notes[0]


@pytest.mark.parametrize("timeout", ["1e999", "NaN", "-1", "[]", '"soon"', "true", "0"])
def test_a_timeout_that_is_none_gives_a_note(put, timeout):
    file, notes = read(put("plain.json", PLAIN.replace("TIMEOUT", timeout)))
    assert file.servers["a"].patience == 60.0
    assert notes == ["plain.json: server “a”: `timeout` is not understood, so the usual one holds"]


def test_a_number_with_too_many_digits_is_no_crash(put):
    path = put("plain.json", PLAIN.replace("TIMEOUT", "9" * 5000))
    assert problems(path)[0].code == "USER.GATEWAY.INVALID_FILE"


def test_names_in_yaml_need_not_be_text(put):
    found = read_client_file(put("other.yaml", "mcpServers:\n  1: {command: x}\n  2: {url: 3}\nlisten: {}\n"))
    assert found.entries == {"1": {"command": "x"}}
    assert found.notes[0].startswith("other.yaml: server “2” is left out.")
    assert found.notes[1] == "other.yaml: only servers are taken over, not `listen`"


# -- the policy ---------------------------------------------------------------------------------------------------------


def test_a_rule_that_can_never_apply_is_a_note_with_its_place(tmp_path):
    path = tmp_path / "gateway.yaml"
    path.write_text(
        "mcpServers: {kb: {command: kb}}\n"
        "policy:\n"
        "  rules:\n"
        "    - {id: all, action: '*', decision: deny}\n"
        "    - {id: never, action: 'file.*', decision: allow}\n",
        encoding="utf-8",
    )
    file, notes = read_gateway_file(
        str(path), read=read_record, parse=parse_yaml, conditions=ExpressionLanguage()
    )
    assert file.policy is not None
    (note,) = notes
    assert "gateway.yaml:5:" in note
    assert "“never” can never apply: “all” decides before it" in note


def test_a_key_called_keys_is_read_like_others(tmp_path):
    path = tmp_path / "gateway.yaml"
    path.write_text("mcpServers: {kb: {command: kb}}\nredaction: {keys: [pin]}\n", encoding="utf-8")
    file, _ = read_gateway_file(
        str(path), read=read_record, parse=parse_yaml, conditions=ExpressionLanguage()
    )
    assert file.redaction.names == ["pin"]


def test_what_is_secret_can_be_told_in_the_file_and_a_bad_expression_has_its_place(put):
    text = 'mcpServers: {a: {command: x}}\nredaction: {keys: [ssn], patterns: ["EMP-[0-9]+"]}\n'
    file, _ = read_gateway_file(
        put("gateway.yaml", text), read=read_record, parse=parse_yaml, conditions=ExpressionLanguage()
    )
    assert (file.redaction.names, file.redaction.patterns) == (["ssn"], ["EMP-[0-9]+"])
    bad = 'mcpServers: {a: {command: x}}\nredaction:\n  patterns:\n    - "fine"\n    - "(a+)+"\n'
    with pytest.raises(InvalidWorkflowError) as told:
        load_gateway(
            put("bad.yaml", bad),
            read=read_record,
            parse=parse_yaml,
            environment={},
            conditions=ExpressionLanguage(),
        )
    (problem,) = told.value.problems
    assert (problem.code, problem.place.line) == ("USER.GATEWAY.INVALID_FILE", 5)
    assert "regular expression" in problem.message
