"""GitHub Copilot CLI, the real one."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.journey
OURS = {f"awf-proxy-{name}" for name in ("Read", "Write", "Edit", "Bash", "Glob", "Grep")}
NATIVE = {
    "name": "native",
    "prompt": "use your own shell",
    "turns": [
        {
            "tool_calls": [
                {
                    "tool": "exact:bash",
                    "args": {"command": "touch native-was-here", "description": "touch it"},
                }
            ]
        },
        {"text": "It said: {{tool_result}}"},
    ],
}


def instructions(request):
    return json.dumps([message for message in request["body"]["messages"] if message["role"] == "system"])


async def test_its_model_has_our_tools_and_no_other_and_nothing_is_written_elsewhere(agent_lab):
    lab = agent_lab("github_copilot")
    (lab.project / "AGENTS.md").write_text("EVILMARK", encoding="utf-8")
    evil = {"mcpServers": {"evil": {"type": "local", "command": "touch", "args": ["evil"], "tools": ["*"]}}}
    (lab.project / ".mcp.json").write_text(json.dumps(evil), encoding="utf-8")
    before = lab.files()

    seen = await lab.step("read the note", system_prompt="You are terse SYSMARK.")

    assert seen.tools == OURS
    assert seen.isolation == "guaranteed"
    assert [(call.name, call.bypass) for call in seen.agent_calls] == [("Read", False), ("Bash", False)]
    assert [call.tool for call in seen.our_calls] == ["Read", "Bash"]
    assert "xyzzy" in seen.output
    assert "from bash" in seen.output
    assert seen.thoughts == "let me see"
    assert seen.text.startswith("Reading. ")
    assert not seen.output.startswith("Reading")
    assert all("SYSMARK" in instructions(request) for request in seen.requests)
    assert "EVILMARK" not in seen.asked()
    assert "Copilot" in instructions(seen.requests[0])  # its own prompt is still there
    assert seen.result.usage.input_tokens > 0
    assert seen.result.usage.cost is None
    assert lab.files() == before


async def test_a_hidden_tool_of_its_own_does_nothing(agent_lab):
    lab = agent_lab("github_copilot", [NATIVE])
    lab.environment["COPILOT_ALLOW_ALL"] = "true"

    seen = await lab.step("use your own shell")

    assert "does not exist" in seen.output
    assert not (lab.project / "native-was-here").exists()
    assert seen.tools == OURS
    assert [(call.name, call.bypass) for call in seen.agent_calls] == [("bash", True)]
    assert seen.agent_results[0].is_error


async def test_a_session_goes_on_with_its_role_and_our_tools_and_counts_only_what_is_new(agent_lab):
    lab = agent_lab("github_copilot")
    before = lab.files()

    seen = await lab.steps(
        {
            "work": lab.state("just answer", system_prompt="ROLEMARK one", conversation={}),
            "more": lab.state(
                "say again", system_prompt="ROLEMARK two", conversation={"continue_from": "work"}
            ),
        }
    )

    more = seen.ran.steps["more"].result
    assert more.output == "Again, message 2."
    assert more.session.id == seen.result.session.id
    assert "ROLEMARK one" in instructions(seen.requests[0])
    assert "ROLEMARK two" in instructions(seen.requests[-1])
    assert seen.tools == OURS
    assert more.usage.input_tokens < 1.5 * seen.result.usage.input_tokens
    assert lab.files() == before


async def test_its_own_tools_and_ours_are_both_there_when_asked_for(agent_lab):
    lab = agent_lab("github_copilot", [NATIVE])
    before = lab.files()

    seen = await lab.step(
        "use your own shell", "additive", system_prompt="SYSMARK", options={"allow_all_tools": True}
    )

    assert {"bash", "view", "edit", "awf-proxy-Glob"} <= seen.tools
    assert (lab.project / "native-was-here").exists()
    assert seen.isolation == "none"
    assert not seen.agent_calls[0].bypass
    assert "SYSMARK" in instructions(seen.requests[0])
    (lab.project / "native-was-here").unlink()
    assert lab.files() == before


async def test_its_own_tools_need_leave(agent_lab):
    lab = agent_lab("github_copilot", [NATIVE])

    found = await lab.together(
        {
            "asks": lab.state("use your own shell", "native"),
            "may": lab.state("use your own shell", "native", options={"allowed_tools": ["shell(touch:*)"]}),
        }
    )

    assert "denied" in found["asks"].output.lower()
    assert "denied" not in found["may"].output.lower()
    assert (lab.project / "native-was-here").exists()


ERRORS = {
    "refused": ("answer 401", True),
    "wrong": ("answer 400", True),
    "busy": ("answer 429", False),
    "broken": ("answer 500", False),
    "cut": ("cut the stream", False),
}


async def test_errors_of_the_api_fail_the_step_and_tell_whether_to_try_again(agent_lab):
    lab = agent_lab("github_copilot")

    found = await lab.together({name: lab.state(prompt) for name, (prompt, _) in ERRORS.items()})

    assert {result.status for result in found.values()} == {"failed"}
    assert {name: result.error.permanent for name, result in found.items()} == {
        name: permanent for name, (_, permanent) in ERRORS.items()
    }
    assert "HTTP 401" in found["refused"].error.message
    assert "api_key" in found["refused"].error.hint


async def test_without_a_login_it_says_how_to_sign_in(agent_lab):
    lab = agent_lab("github_copilot")

    seen = await lab.step("just answer", options={"api_key": None, "base_url": None, "model": None})

    assert seen.result.status == "failed"
    assert seen.error.permanent
    assert "copilot login" in seen.error.hint
    assert not seen.requests


async def test_when_our_server_does_not_come_up_the_step_fails(agent_lab):
    lab = agent_lab("github_copilot")

    server = {"type": "local", "command": "/nowhere/awf", "args": [], "tools": ["*"]}
    broken = json.dumps({"mcpServers": {"awf-proxy": server}})

    seen = await lab.step("just answer", options={"extra_args": ["--additional-mcp-config", broken]})

    assert seen.error.code == "EXECUTION.AGENT.NO_TOOLS"
    assert seen.tools == set()
