"""Claude Code, the real one, before a scripted model."""

from __future__ import annotations

import asyncio
import json
import signal

import pytest

from awf.application.running.tasks import spawn
from awf.domain.events import AgentIsolation, StepFailed, ToolCallStarted

pytestmark = pytest.mark.journey
NAMES = ("Read", "Write", "Edit", "Bash", "Glob", "Grep")
OURS = {f"mcp__awf-proxy__{name}" for name in NAMES}
QUICK = {"max_retries": 1}


def scripted(prompt, *turns):
    return {"name": prompt.replace(" ", "-"), "prompt": prompt, "turns": list(turns)}


def call(tool, **arguments):
    return {"tool_calls": [{"tool": tool, "args": arguments}]}


HIDDEN = scripted(
    "use a hidden tool", call("exact:Bash", command="touch hidden"), {"text": "So: {{tool_result}}"}
)
NATIVE = scripted(
    "use your own",
    call("exact:Bash", command="touch native"),
    call("re:Glob$", pattern="*.txt"),
    {"text": "Done."},
)
WRITE = scripted("write a file", call("exact:Write", file_path="new.txt", content="x"), {"text": "Wrote."})


# -- modes ---------------------------------------------------------------------------------------------------------------


async def test_its_model_has_our_tools_and_no_other_and_they_go_through_us(agent_lab):
    lab = agent_lab("claude")
    before = lab.files()

    seen = await lab.step("read the note", system_prompt="You are terse SYSMARK.")

    assert seen.tools == OURS
    assert seen.output.startswith("The note says: ")
    assert "xyzzy" in seen.output
    assert "from bash" in seen.output
    assert [one.name for one in seen.agent_calls] == ["Read", "Bash"] == [one.tool for one in seen.our_calls]
    assert not any(one.is_error for one in seen.agent_results)
    assert "let me see" in seen.thoughts
    assert seen.isolation == "guaranteed"
    assert set(seen.ran.of(AgentIsolation)[-1].tools) == OURS
    assert seen.warnings == []
    assert "SYSMARK" in seen.asked()
    assert (seen.usage[0].cost_source, seen.usage[0].cost > 0, seen.usage[0].input_tokens > 0) == (
        "reported",
        True,
        True,
    )
    after = {path: text for path, text in lab.files().items() if "/home/.claude" not in path}
    assert after == before  # but for its own sessions


async def test_a_call_to_a_hidden_tool_does_nothing_and_is_no_bypass(agent_lab):
    lab = agent_lab("claude", [HIDDEN])

    seen = await lab.step("use a hidden tool")

    assert "No such tool" in seen.output
    assert not (lab.project / "hidden").exists()
    assert [(one.name, one.bypass) for one in seen.agent_calls] == [("Bash", False)]
    assert seen.warnings == []
    assert seen.our_calls == []


async def test_in_additive_mode_its_own_tools_and_ours_are_both_there(agent_lab):
    lab = agent_lab("claude", [NATIVE])

    seen = await lab.step("use your own", "additive", options={"allowed_tools": ["Bash"]})

    assert {"Bash", "Read", "Edit", "mcp__awf-proxy__Glob"} <= seen.tools
    assert (lab.project / "native").exists()
    assert [one.name for one in seen.agent_calls] == ["Bash", "Glob"]
    assert [one.tool for one in seen.our_calls] == ["Glob"]
    assert seen.isolation == "none"
    assert seen.warnings == []


async def test_without_a_proxy_it_works_with_its_own_tools(agent_lab):
    lab = agent_lab("claude")

    seen = await lab.step("read the note", "native")

    assert "xyzzy" in seen.output
    assert not any(name.startswith("mcp__") for name in seen.tools)


async def test_our_server_missing_fails_the_step(agent_lab):
    lab = agent_lab("claude")
    # The program is told of another file than ours, in which the server does not start.
    broken = lab.project / "broken.json"
    broken.write_text(
        json.dumps({"mcpServers": {"awf-proxy": {"command": "/nowhere/awf"}}}), encoding="utf-8"
    )

    seen = await lab.step("just answer", options={"extra_args": ["--mcp-config", str(broken)]})

    assert seen.error.code == "EXECUTION.AGENT.NO_TOOLS"


async def test_a_hostile_project_has_no_say_in_intercept_mode(agent_lab):
    lab = agent_lab("claude")
    touch = {"hooks": [{"type": "command", "command": "touch hooked"}]}
    settings = {
        "hooks": {
            "SessionStart": [touch],
            "UserPromptSubmit": [touch],
            "PreToolUse": [{"matcher": "*", **touch}],
        },
        "permissions": {"deny": ["mcp__awf-proxy__Read"]},
        "env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"},
    }
    server = {"mcpServers": {"evil": {"command": "touch", "args": ["started"]}}}
    (lab.project / ".claude").mkdir()
    (lab.project / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    (lab.project / ".mcp.json").write_text(json.dumps(server), encoding="utf-8")
    (lab.project / "CLAUDE.md").write_text("HOSTILE-INSTRUCTIONS", encoding="utf-8")

    seen = await lab.step("read the note")

    assert "xyzzy" in seen.output
    assert seen.tools == OURS
    assert "HOSTILE-INSTRUCTIONS" not in seen.asked()
    assert not (lab.project / "hooked").exists()
    assert not (lab.project / "started").exists()


# -- sessions ------------------------------------------------------------------------------------------------------------


async def test_a_session_goes_on_with_the_instructions_of_each_step_and_counts_each_cost_once(agent_lab):
    lab = agent_lab("claude")
    again = {"conversation": {"continue_from": "work"}}

    seen = await lab.steps({
        "work": lab.state("read the note", conversation={}, system_prompt="FIRST-ROLE"),
        "second": lab.state("say again", system_prompt="SECOND-ROLE", **again),
        "third": lab.state("say again", **again),
    })  # fmt: skip

    steps = seen.ran.steps
    assert steps["second"].result.session.id == steps["work"].result.session.id
    assert "read the note" in json.dumps(seen.requests[-1]["body"]["messages"])
    assert seen.tools == OURS
    second = json.dumps(seen.requests[3]["body"]["system"])
    assert "SECOND-ROLE" in second
    assert "FIRST-ROLE" not in second
    costs = [one.cost for one in seen.usage]
    assert len(costs) == 3
    assert max(costs[1:]) < costs[0]  # one question is less than three, so no sum is told twice


# -- options -------------------------------------------------------------------------------------------------------------


async def test_options_that_shape_the_request_reach_the_api(agent_lab):
    lab = agent_lab("claude")

    seen = await lab.step("just answer", options={"model": "claude-opus-4-6", "effort": "low"})

    body = seen.requests[0]["body"]
    assert body["model"] == "claude-opus-4-6"
    assert body["output_config"] == {"effort": "low"}


async def test_the_number_of_turns_is_limited_without_a_second_attempt(agent_lab):
    lab = agent_lab("claude")

    seen = await lab.step(
        "read the note", options={"max_turns": 1}, retry={"max_attempts": 3, "initial_delay": "1ms"}
    )

    assert "max" in seen.error.message.lower()
    assert seen.error.permanent
    assert len(seen.ran.of(StepFailed)) == 1


@pytest.mark.parametrize(
    ("options", "written"),
    [({}, False), ({"permission_mode": "acceptEdits"}, True), ({"allowed_tools": ["Write"]}, True),
     ({"permission_mode": "acceptEdits", "disallowed_tools": ["Write"]}, False)],
    ids=["nothing said", "mode", "allowed", "disallowed"],
)  # fmt: skip
async def test_permissions_decide_what_its_own_tools_may_do(agent_lab, options, written):
    lab = agent_lab("claude", [WRITE])

    seen = await lab.step("write a file", "native", options=options)

    assert seen.ran.outcome.status == "completed"
    assert (lab.project / "new.txt").exists() is written
    assert ("Write" in seen.tools) is ("disallowed_tools" not in options)


@pytest.mark.parametrize("added", [True, False])
async def test_more_folders_can_be_opened_to_its_own_tools(agent_lab, tmp_path, added):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = str(elsewhere / "new.txt")
    lab = agent_lab(
        "claude", [scripted("write there", call("exact:Write", file_path=path, content="x"), {"text": "."})]
    )
    options = {"permission_mode": "acceptEdits", **({"add_dir": [str(elsewhere)]} if added else {})}

    await lab.step("write there", "native", options=options)

    assert (elsewhere / "new.txt").exists() is added


# -- errors --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "permanent"),
    [
        ("answer 401", True),
        ("answer 403", True),
        ("answer 400", True),
        ("answer 429", False),
        ("answer 500", False),
    ],
)
async def test_an_error_of_the_api_fails_the_step(agent_lab, prompt, permanent):
    lab = agent_lab("claude")

    seen = await lab.step(prompt, options=QUICK)

    assert seen.error.code == "EXECUTION.AGENT.FAILED"
    assert f"scripted {prompt.split()[1]}" in seen.error.message
    assert seen.error.permanent is permanent


async def test_its_own_attempts_are_limited_by_an_option(agent_lab):
    lab = agent_lab("claude")

    none, one = (
        await lab.step("answer 500", options={"max_retries": 0}),
        await lab.step("answer 500", options=QUICK),
    )

    assert (len(none.requests), len(one.requests)) == (1, 2)


async def test_a_cut_stream_ends_with_the_answer_it_gets_without_streaming(agent_lab):
    lab = agent_lab("claude")

    seen = await lab.step("cut the stream", options=QUICK)

    assert seen.output == "This sentence is never finished."
    assert [request["stream"] for request in seen.requests] == [True, True, False]


async def test_a_wrong_argument_is_told_in_its_own_words(agent_lab):
    lab = agent_lab("claude")

    seen = await lab.step("just answer", options={"extra_args": ["--no-such-flag"]})

    assert "unknown option '--no-such-flag'" in seen.error.message


# -- endings -------------------------------------------------------------------------------------------------------------

LONG = scripted(
    "work for long", {"text": "Starting now. ", **call("Bash", command="sleep 300")}, {"text": "."}
)


@pytest.mark.parametrize("prompt", ["take long", "work for long"], ids=["mid-stream", "mid-tool"])
async def test_a_run_that_is_given_up_leaves_nothing(agent_lab, prompt):
    lab = agent_lab("claude", [LONG])
    calls = []
    states = {"work": lab.state(prompt, timeout="10m")}
    running = spawn(
        lab.steps(states, listener=lambda stamped: calls.append(type(stamped.event))), "run", awaited=True
    )
    await _until(lambda: ToolCallStarted in calls if prompt == "work for long" else lab.fake.model_requests())

    running.cancel()

    assert (await asyncio.wait_for(running, 60)).ran.outcome.status == "cancelled"
    lab.nothing_is_left()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
async def test_a_program_that_somebody_else_ends_is_a_failure_and_leaves_nothing(agent_lab, number):
    lab = agent_lab("claude", [LONG])
    running = spawn(lab.step("take long", timeout="10m"), "run", awaited=True)
    await _until(lab.fake.model_requests)
    (program,) = [
        one for one in lab.processes() if one.name() == "claude" and one.parent().name() != "claude"
    ]
    program.send_signal(number)

    seen = await asyncio.wait_for(running, 60)

    assert seen.error.code == "EXECUTION.AGENT.FAILED"
    lab.nothing_is_left()


async def _until(check):
    async with asyncio.timeout(60):
        while not check():
            await asyncio.sleep(0.02)
