"""The project's gate file governs the tools of workflow steps, of editors, and of `awf mcp-serve`, too."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.journey
ASK_BASH = {"overrides": {"builtin:Bash": {"requires_confirmation": True}}}
WRITE = {"tool": {"name": "Bash", "input": {"command": "echo done >> trace"}}}
READ = {"tool": {"name": "Read", "input": {"file_path": "note.txt"}}}


@pytest.fixture
def gate_file(journey):
    """A function that writes the project's file with these keys."""

    def write(**keys):
        journey.write(".awf/gateway.yaml", json.dumps(keys))
        journey.write("note.txt", "milk\n")

    return write


@pytest.fixture(params=["files", "postgres"])
def kept(journey, request):
    """Where runs, and what the gate remembers, are kept."""
    if request.param == "postgres":
        journey.environment["AWF_DATABASE_URL"] = request.getfixturevalue("database_url")


def step(*actions, **more):
    return {
        "type": "agent",
        "provider": "scripted",
        "prompt": "Go.",
        "options": {"process": True, "turns": [{"do": list(actions)}]},
        "mcp_proxy": {"enable": True},
        **more,
    }


def workflow(journey, **steps):
    names = [*steps, "done"]
    states = {"initial": names[0], "done": {"type": "terminal"}}
    for one, following in itertools.pairwise(names):
        states[one] = {**steps[one], "on_success": following}
    return journey.workflow("work", states)


def finished(told):
    return [
        (event["tool"], event["error"]) for event in told.events() if event["type"] == "tool.call.finished"
    ]


def test_a_command_that_the_policy_denies_is_not_run_and_each_call_is_one_event_of_the_step(
    journey, gate_file, person
):
    rule = {
        "id": "no-shell",
        "action": "*",
        "tools": ["builtin:Bash"],
        "decision": "deny",
        "reason": "No shell here.",
    }
    gate_file(policy={"defaults": {"fallback": "allow"}, "rules": [rule]})
    told = journey.awf("run", workflow(journey, work=step(READ, WRITE)), "-o", "ndjson").succeeded()
    assert finished(told) == [("Read", ""), ("Bash", "PERMISSION_DENIED")]
    assert "No shell here." in told.stdout
    assert journey.trace() == []
    run_id = told.events()[0]["run_id"]
    events = person.audit()
    assert [(event["toolId"], event["outcome"], event["rule"]) for event in events] == [
        ("builtin:Read", "success", ""), ("builtin:Bash", "denied", "no-shell"),
    ]  # fmt: skip
    assert {(event["door"], event["context"], event["client"]) for event in events} == {
        ("step", f"run:{run_id}", f"run {run_id}")
    }
    ids = {event["call_id"] for event in told.events() if event["type"] == "tool.call.finished"}
    assert {event["requestId"] for event in events} == ids
    person.is_sound()


def test_rules_know_the_workflow_and_the_step(journey, gate_file):
    rule = {
        "id": "one",
        "action": "*",
        "when": "context.workflow == 'work' && context.step == 'second'",
        "decision": "deny",
    }
    gate_file(policy={"defaults": {"fallback": "allow"}, "rules": [rule]})
    told = journey.awf(
        "run", workflow(journey, first=step(READ), second=step(READ)), "-o", "ndjson"
    ).succeeded()
    assert finished(told) == [("Read", ""), ("Read", "PERMISSION_DENIED")]


def test_what_one_step_has_read_closes_the_world_to_the_next_and_not_to_another_run(
    journey, gate_file, person
):
    gate_file(overrides={"builtin:Read": {"classification": "confidential"}})
    file = workflow(journey, first=step(WRITE, READ), second=step(WRITE))
    for _ in range(2):
        told = journey.awf("run", file, "-o", "ndjson").succeeded()
        assert finished(told) == [("Bash", ""), ("Read", ""), ("Bash", "PERMISSION_DENIED")]
    assert journey.trace() == ["done"] * 2
    assert len({event["context"] for event in person.audit("--denied")}) == 2


def test_a_long_result_is_cut_in_a_step_as_well(journey, gate_file):
    gate_file(limits={"max_output_bytes": 100})
    long = {"tool": {"name": "Bash", "input": {"command": "seq 1000"}}}
    told = journey.awf("run", workflow(journey, work=step(long)), "-o", "ndjson").succeeded()
    (output,) = [event["output"] for event in told.events() if event["type"] == "tool.call.finished"]
    assert "awf://artifact/" in output
    assert "\n999" not in output


# -- people ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_a_step_waits_until_somebody_answers_with_awf_approve(journey, kept, gate_file, person, answer):
    gate_file(**ASK_BASH)
    running = journey.start("run", workflow(journey, work=step(WRITE)), "-o", "ndjson")
    asked = running.until_event("approval.required")
    assert asked["tool"] == "builtin:Bash"
    assert "echo done >> trace" in asked["message"]
    journey.awf("approve", "last", *(["--deny"] if answer == "no" else [])).succeeded()
    told = running.wait()
    assert finished(told) == [("Bash", "" if answer == "yes" else "PERMISSION_DENIED")]
    assert journey.trace() == (["done"] if answer == "yes" else [])
    assert person.approvals() == []
    (resolved,) = person.records("approval_resolved")
    assert resolved["details"]["status"] == ("granted" if answer == "yes" else "denied")


def test_the_same_question_can_be_answered_as_one_of_the_gateway(journey, kept, gate_file, person):
    gate_file(**ASK_BASH)
    running = journey.start("run", workflow(journey, work=step(WRITE)), "-o", "ndjson")
    running.until_event("approval.required")
    person.say("approve", person.asked()).succeeded()
    told = running.wait()
    assert finished(told) == [("Bash", "")]
    (ended,) = [event for event in told.events() if event["type"] == "approval.resolved"]
    assert ended["outcome"] == "once"


@pytest.mark.parametrize(("typed", "passes"), [("y\n", True), ("n\n", False)])
def test_the_person_at_the_terminal_is_asked(journey, gate_file, typed, passes):
    gate_file(**ASK_BASH)
    told = journey.on_terminal("run", workflow(journey, work=step(WRITE)), typed=typed, after="[n] no: ")
    assert "builtin:Bash" in told.stdout
    assert (journey.trace() == ["done"]) is passes


def test_a_yes_for_the_run_is_for_the_rule_that_asked_and_not_for_another_one(journey, gate_file):
    def asks(word):
        when = f"arguments.command.contains('{word}')"
        return {"id": f"about-{word}", "action": "*", "when": when, "decision": "allow_with_confirm"}

    gate_file(policy={"defaults": {"fallback": "allow"}, "rules": [asks("one"), asks("two")]})
    calls = [
        {"tool": {"name": "Bash", "input": {"command": f"echo {word} >> trace"}}}
        for word in ("one", "one again", "two")
    ]
    running = journey.start("run", workflow(journey, work=step(*calls)), "-o", "ndjson")
    assert running.until_event("approval.required")["rule"] == "about-one"
    journey.awf("approve", "last", "--for-run").succeeded()
    running.until_event("approval.required", rule="about-two")
    assert journey.trace() == ["one", "one again"]
    journey.awf("approve", "last", "--deny").succeeded()
    assert len(running.wait().events()) > 0
    assert journey.trace() == ["one", "one again"]


def test_a_question_shows_no_secrets(journey, gate_file):
    """Neither those that are known nor those that are named so, in the event, the store, or the answer."""
    journey.environment["SERVICE_TOKEN"] = "hunter2-long-and-secret"
    gate_file(**ASK_BASH, mcpServers={})
    call = {
        "tool": {
            "name": "Bash",
            "input": {"command": "echo hunter2-long-and-secret", "description": '{"password": "swordfish"}'},
        }
    }
    running = journey.start("run", workflow(journey, work=step(call)), "-o", "ndjson")
    running.until_event("approval.required")
    shown = journey.awf("gateway", "approvals", "-o", "json").succeeded().stdout
    journey.awf("approve", "last", "--deny").succeeded()
    asked = next(event for event in running.wait().events() if event["type"] == "approval.required")
    for text in (asked["message"], shown):
        assert "swordfish" not in text
        assert "hunter2-long-and-secret" not in text


@pytest.mark.parametrize("contexts", ["open", "minted"])
def test_a_run_that_takes_over_results_knows_what_they_tell(journey, gate_file, contexts):
    secret = {"builtin:Read": {"classification": "confidential"}, "builtin:Bash": {"open_world": True}}
    gate_file(overrides=secret, levels={"contexts": contexts})
    told = journey.awf(
        "run", workflow(journey, read=step(READ), write=step(WRITE)), "-o", "ndjson"
    ).succeeded()
    again = journey.awf("rerun", "last", "--from", "write", "-o", "ndjson").succeeded()
    assert [error for _, error in finished(told)] == ["", "PERMISSION_DENIED"]
    assert finished(again) == [("Bash", "PERMISSION_DENIED")]
    assert not (journey.project / "trace").exists()


OPEN_SHELL = {"builtin:Read": {"classification": "confidential"}, "builtin:Bash": {"open_world": True}}
MENDED = {"type": "step", "command": "test -e mended"}


def test_a_run_stays_in_the_context_it_was_started_in_whoever_goes_on_with_it(journey, gate_file, kept):
    gate_file(overrides=OPEN_SHELL)
    journey.environment["AWF_CONTEXT"] = "the agent's"
    told = journey.awf(
        "run", workflow(journey, read=step(READ), wait=MENDED, write=step(WRITE)), "-o", "ndjson"
    )
    assert finished(told) == [("Read", "")]
    del journey.environment["AWF_CONTEXT"]
    journey.touch("mended")
    assert finished(journey.awf("resume", "last", "-o", "ndjson").succeeded()) == [
        ("Bash", "PERMISSION_DENIED")
    ]
    again = journey.awf("rerun", "last", "--from", "write", "-o", "ndjson").succeeded()
    assert finished(again) == [("Bash", "PERMISSION_DENIED")]
    assert journey.trace() == []


def test_what_whoever_goes_on_with_a_run_has_read_counts_for_the_run(journey, gate_file):
    gate_file(overrides=OPEN_SHELL)
    journey.awf("run", workflow(journey, wait=MENDED, write=step(WRITE)), "-o", "ndjson")
    first = journey.run_record("last")["id"]
    journey.environment["AWF_CONTEXT"] = "the agent's"
    journey.awf("run", workflow(journey, read=step(READ)), "-o", "ndjson").succeeded()
    journey.touch("mended")
    told = journey.awf("resume", first, "-o", "ndjson").succeeded()
    assert finished(told) == [("Bash", "PERMISSION_DENIED")]
    assert journey.trace() == []


# -- mcp-serve and the gateway's tools in a step ------------------------------------------------------------------------


def served(journey, *calls, options=()):
    """What `awf mcp-serve` answers, spoken to as any client does."""
    hello = {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }  # fmt: skip
    messages = [{"id": 0, "method": "initialize", "params": hello}, {"method": "notifications/initialized"}]
    messages += [
        {"id": number, "method": "tools/call", "params": {"name": name, "arguments": given}}
        for number, (name, given) in enumerate(calls, 1)
    ]
    answers = {}
    with subprocess.Popen(
        [sys.executable, "-m", "awf", "mcp-serve", *options], cwd=journey.project, env=journey.environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            while "id" in message and message["id"] not in answers:
                said = json.loads(process.stdout.readline())
                answers[said.get("id")] = said.get("result")
        process.stdin.close()
        process.wait(60)
    return [answers[number] for number in range(1, len(calls) + 1)]


def test_a_tool_server_by_itself_goes_by_the_same_file(journey, gate_file, person):
    rule = {"id": "no", "action": "file.write", "decision": "deny"}
    gate_file(
        policy={"defaults": {"fallback": "allow"}, "rules": [rule]},
        overrides={
            "builtin:Read": {"classification": "confidential"},
            "builtin:Bash": {"policy_action": "file.read"},
        },
    )
    calls = [
        ("Write", {"file_path": "x", "content": "y"}),
        ("Bash", {"command": "echo hello"}),
        ("Read", {"file_path": "note.txt"}),
        ("Bash", {"command": "echo hello"}),
    ]
    written, hello, read, bye = served(journey, *calls)
    assert written["isError"]
    assert "hello" in str(hello)
    assert "milk" in str(read)
    assert bye["isError"]
    assert not (journey.project / "x").exists()
    again = served(journey, ("Bash", {"command": "echo hello"}))[0]
    assert again["isError"]  # another session of the same server is the same client
    events = person.audit()
    assert [event["outcome"] for event in events] == ["denied", "success", "success", "denied", "denied"]
    (context,) = {event["context"] for event in events}
    assert context.startswith(f"mcp-serve:{journey.project.name}-")
    assert {event["door"] for event in events} == {"mcp-serve"}


def test_tools_of_the_gateway_in_a_step_are_governed_once_and_by_the_step(journey, noted, person):
    files = sys.modules["journeys_gate_files"]
    overrides = {**files.OVERRIDES, "office:write": {"policy_action": "file.write"}}
    rule = {"id": "no-writing", "action": "file.write", "decision": "deny"}
    file = files.office_file(overrides=overrides, policy={"defaults": {"fallback": "allow"}, "rules": [rule]})
    journey.write(".awf/gateway.yaml", json.dumps(file))
    calls = [{"tool": {"name": name, "input": {}}} for name in ("look", "write", "read", "fetch")]
    proxy = {"enable": True, "gateway": True, "intercept_builtins": False}
    told = journey.awf(
        "run", workflow(journey, work=step(*calls, mcp_proxy=proxy)), "-o", "ndjson"
    ).succeeded()
    assert finished(told) == [
        ("look", ""), ("write", "PERMISSION_DENIED"), ("read", ""), ("fetch", "PERMISSION_DENIED"),
    ]  # fmt: skip
    assert [len(noted(name)) for name in ("look", "write", "read", "fetch")] == [1, 0, 1, 0]
    events = person.audit()
    assert [(event["toolId"], event["outcome"]) for event in events] == [
        ("office:look", "success"), ("office:write", "denied"), ("office:read", "success"), ("office:fetch", "denied"),
    ]  # fmt: skip
    assert {event["door"] for event in events} == {"step"}


@pytest.mark.parametrize("way", ["gateway", "mcp_servers"])
def test_relative_paths_start_where_the_server_works(journey, noted, way):
    """Not where the step does."""
    files = sys.modules["journeys_gate_files"]
    (journey.project / "vault").mkdir()
    rule = {"id": "vault", "action": "*", "when": "path.contains('/vault/')", "decision": "deny"}
    file = files.office_file(policy={"defaults": {"fallback": "allow"}, "rules": [rule]}, overrides={})
    file["mcpServers"] = {"office": {**files.OFFICE, "cwd": str(journey.project / "vault")}}
    proxy = {"enable": True, "gateway": True, "intercept_builtins": False}
    if way == "mcp_servers":
        proxy = {"enable": True, "mcp_servers": file.pop("mcpServers"), "intercept_builtins": False}
    journey.write(".awf/gateway.yaml", json.dumps(file))
    calls = [
        {"tool": {"name": "look", "input": {"path": path}}}
        for path in ("key", "../key", "../x://../vault/key")
    ]
    told = journey.awf(
        "run", workflow(journey, work=step(*calls, mcp_proxy=proxy)), "-o", "ndjson"
    ).succeeded()
    assert finished(told) == [("look", "PERMISSION_DENIED"), ("look", ""), ("look", "PERMISSION_DENIED")]
    assert len(noted("look")) == 1


def in_the_office(journey, gate_file):
    rules = [
        {"id": "vault", "action": "*", "when": "path.contains('/office/vault/')", "decision": "deny"},
        {"id": "kept", "action": "*", "when": "risk.exists(t, t == 'overwrite')", "decision": "deny"},
    ]
    gate_file(policy={"defaults": {"fallback": "allow"}, "rules": rules})
    journey.write("office/vault/key", "secret\n")
    journey.write("office/letter", "old\n")
    return [
        ("Read", {"file_path": "vault/key"}),
        ("Write", {"file_path": "letter", "content": "new"}),
        ("Write", {"file_path": "other", "content": "new"}),
    ]


def left_in_the_office(journey):
    office = journey.project / "office"
    return (office / "letter").read_text(encoding="utf-8"), (office / "other").exists()


def test_rules_look_where_the_step_works(journey, gate_file):
    calls = [{"tool": {"name": name, "input": given}} for name, given in in_the_office(journey, gate_file)]
    told = journey.awf("run", workflow(journey, work=step(*calls, dir="office")), "-o", "ndjson").succeeded()
    denied = "PERMISSION_DENIED"
    assert finished(told) == [("Read", denied), ("Write", denied), ("Write", "")]
    assert left_in_the_office(journey) == ("old\n", True)


@pytest.mark.parametrize("options", [("--root", "office"), ("--config", "tools.json")])
def test_rules_look_where_a_tool_server_by_itself_works(journey, gate_file, options):
    calls = in_the_office(journey, gate_file)
    journey.write("tools.json", '{"root_dir": "office"}')
    answers = served(journey, *calls, options=options)
    assert [answer.get("isError", False) for answer in answers] == [True, True, False]
    assert left_in_the_office(journey) == ("old\n", True)


def test_a_run_that_goes_on_elsewhere_starts_its_servers_in_its_project(journey, noted):
    files = sys.modules["journeys_gate_files"]
    here = "import os; open('where', 'w').write(os.getcwd())"
    server = {"command": sys.executable, "args": ["-c", here]}
    proxy = {
        "enable": True,
        "mcp_servers": {"office": files.OFFICE, "late": server},
        "intercept_builtins": False,
    }
    calls = [{"tool": {"name": "look", "input": {}}}]
    file = workflow(journey, wait=MENDED, work=step(*calls, mcp_proxy=proxy))
    run_id = journey.awf("run", file, "-o", "ndjson").events()[0]["run_id"]
    journey.touch("mended")
    (journey.project.parent / "elsewhere").mkdir()
    journey.awf("resume", run_id, "-o", "ndjson", cwd=journey.project.parent / "elsewhere")
    assert (journey.project / "where").read_text(encoding="utf-8") == str(journey.project)


def test_a_folder_that_looks_like_an_address_hides_no_path(journey, gate_file):
    rule = {"id": "secret", "action": "*", "when": "path.contains('/secret/')", "decision": "deny"}
    gate_file(policy={"defaults": {"fallback": "allow"}, "rules": [rule]})
    journey.write("secret/key.txt", "milk\n")
    paths = ["x:/a", "x://../secret/key.txt", "x://../secret/new", "file:/a", "file:/../secret/key.txt"]
    calls = [{"tool": {"name": "Write", "input": {"file_path": path, "content": "y"}}} for path in paths]
    told = journey.awf("run", workflow(journey, work=step(*calls)), "-o", "ndjson").succeeded()
    assert [error for _, error in finished(told)] == ["", *["PERMISSION_DENIED"] * 2, "", "PERMISSION_DENIED"]
    assert (journey.project / "secret" / "key.txt").read_text(encoding="utf-8") == "milk\n"
